//! Facts appended to a stream at 1, 2, 3, …, and the decisions that issue commands with them.
//!
//! Guarantees: the ids of a decision's commands follow from its stream and last seq alone. Does
//! not: interpret a body.

use super::digest::Digest;
use super::id::{Kind, Stream};
use super::time::Micros;

/// A page of events ends with the one by which it has so many bytes, where a store is asked for
/// that: 4 MiB.
pub const EVENT_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Whether no event stood behind this page, for which at most `limit` were asked, when it was read.
#[must_use]
pub fn is_last_page(page: &[EventRow], limit: usize) -> bool {
    let bytes: usize = page.iter().map(EventRow::bytes).sum();
    page.len() < limit && bytes < EVENT_PAGE_BYTES
}

/// A fact to be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: Kind,
    /// Its bytes; JSON by custom.
    pub body: Vec<u8>,
    /// The id of the input that caused it; unique within its stream.
    pub cause: Option<String>,
}

impl Event {
    /// An event with a JSON body, keys sorted.
    ///
    /// # Errors
    /// A name that breaks its rule, or a value that is no JSON.
    pub fn json(
        kind: impl Into<String>,
        body: &impl serde::Serialize,
    ) -> Result<Self, super::command::CommandRefused> {
        let kind = Kind::new(kind)?;
        let body = super::json::to_sorted_vec(body).map_err(|error| {
            super::command::CommandRefused::Value {
                id: format!("(event {kind})"),
                what: "body",
                why: format!("no JSON: {error}"),
            }
        })?;
        Ok(Self { kind, body, cause: None })
    }
}

/// A fact as it stands in its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// The stream.
    pub stream: Stream,
    /// Its place in the stream, from 1, dense.
    pub seq: i64,
    /// What happened.
    pub kind: Kind,
    /// Its bytes; empty where they are [`archived`](Self::archived).
    pub body: Vec<u8>,
    /// The id of the input that caused it.
    pub cause: Option<String>,
    /// How many commands were issued with it (all of a decision's count on its last event).
    pub commands: i64,
    /// When it was recorded.
    pub recorded_at: Micros,
    /// What a workflow's decision said beside its events, on the event of its input; see
    /// [`Decided`](super::workflow::Decided). `None` in streams that are no workflow's.
    pub decided: Option<String>,
    /// Where its body lies, if not here: whoever needs the body has to read it there, and must not
    /// take it for an empty one.
    pub archived: Option<ArchivedBody>,
}

/// Where the body of an event lies that an archive took out of its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedBody {
    /// The name of the file, without folder.
    pub file: String,
    /// SHA-256 of the body; `None` only where a hand took it away.
    pub digest: Option<Digest>,
}

impl EventRow {
    /// The bytes of it that a page counts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.body.len() + self.decided.as_deref().map_or(0, str::len)
    }

    /// SHA-256 of its body, wherever that lies.
    #[must_use]
    pub fn body_digest(&self) -> Option<Digest> {
        match &self.archived {
            Some(archived) => archived.digest,
            None => Some(Digest::of(&self.body)),
        }
    }
}
