//! What a command binds, and what the words of the server mean; the same for each driver.
//!
//! Guarantees: checked by the library's own rules before anything is sent. Does not: send.

use counterfoil_core::domain::command::BODY_BYTES_MAX;
use counterfoil_core::domain::{Command, CommandId, Micros, OrderingKey};
use counterfoil_core::port::intent;
use counterfoil_core::port::store::{Recorded, Reported, WriteRefused};

/// What a command binds, in the order of the statement.
pub(super) struct Bound<'c> {
    pub(super) id: &'c CommandId,
    pub(super) destination: &'c str,
    pub(super) kind: &'c str,
    pub(super) body: &'c [u8],
    pub(super) ordering_key: Option<&'c str>,
    pub(super) content_type: &'c str,
    pub(super) headers: Option<String>,
    pub(super) not_before: Option<i64>,
    pub(super) expires_at: Option<i64>,
    pub(super) core_digest: Option<String>,
}

impl<'c> Bound<'c> {
    pub(super) fn new(command: &'c Command) -> Result<Self, WriteRefused> {
        let id = intent::check_bare(command, BODY_BYTES_MAX)?;
        Ok(Self {
            id,
            destination: command.destination.as_str(),
            kind: command.kind.as_str(),
            body: &command.body,
            ordering_key: command.ordering_key.as_ref().map(OrderingKey::as_str),
            content_type: &command.content_type,
            headers: command.headers_json(),
            not_before: command.not_before.map(Micros::get),
            expires_at: command.expires_at.map(Micros::get),
            core_digest: command.core_digest.map(|digest| digest.to_hex()),
        })
    }

    /// What the word of the server means.
    pub(super) fn recorded(&self, word: &str) -> Result<Recorded, WriteRefused> {
        match word {
            "recorded" => Ok(Recorded::Recorded),
            "repeated" => Ok(Recorded::Repeated),
            _ => Err(intent::conflict(self.id)),
        }
    }
}

/// What several commands bind, a column each.
pub(super) struct Columns<'c> {
    bound: Vec<Bound<'c>>,
    pub(super) ids: Vec<&'c str>,
    pub(super) destinations: Vec<&'c str>,
    pub(super) kinds: Vec<&'c str>,
    pub(super) bodies: Vec<&'c [u8]>,
    pub(super) ordering_keys: Vec<Option<&'c str>>,
    pub(super) content_types: Vec<&'c str>,
    pub(super) headers: Vec<Option<String>>,
    pub(super) not_before: Vec<Option<i64>>,
    pub(super) expires_at: Vec<Option<i64>>,
    pub(super) core_digests: Vec<Option<String>>,
}

impl<'c> Columns<'c> {
    pub(super) fn new(commands: &'c [Command]) -> Result<Self, WriteRefused> {
        let bound: Vec<Bound<'c>> = commands.iter().map(Bound::new).collect::<Result<_, _>>()?;
        Ok(Self {
            ids: bound.iter().map(|it| it.id.as_str()).collect(),
            destinations: bound.iter().map(|it| it.destination).collect(),
            kinds: bound.iter().map(|it| it.kind).collect(),
            bodies: bound.iter().map(|it| it.body).collect(),
            ordering_keys: bound.iter().map(|it| it.ordering_key).collect(),
            content_types: bound.iter().map(|it| it.content_type).collect(),
            headers: bound.iter().map(|it| it.headers.clone()).collect(),
            not_before: bound.iter().map(|it| it.not_before).collect(),
            expires_at: bound.iter().map(|it| it.expires_at).collect(),
            core_digests: bound.iter().map(|it| it.core_digest.clone()).collect(),
            bound,
        })
    }

    /// What the words of the server mean; the first refusal is that of all.
    pub(super) fn recorded(&self, words: &[String]) -> Result<Vec<Recorded>, WriteRefused> {
        self.bound.iter().zip(words).map(|(bound, word)| bound.recorded(word)).collect()
    }
}

/// What the word of the server means for a report.
pub(super) fn reported(word: &str) -> Reported {
    match word {
        "recorded" => Reported::Recorded,
        "repeated" => Reported::Repeated,
        _ => Reported::Contradiction,
    }
}
