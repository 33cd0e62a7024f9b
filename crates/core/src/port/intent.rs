//! What a store checks before it records an intent, and how it tells a repeat from another intent.
//!
//! Guarantees: pure; every store refuses the same values in the same words, names the commands of
//! a decision alike, and compares alike. Does not: read what stands; the stores do.

use std::collections::BTreeSet;

use super::store::{Append, Appended, WriteRefused};
use crate::domain::command::{BODY_BYTES_LIMIT, CommandRefused};
use crate::domain::{Command, CommandId, Digest, Event, OrderingKey, Stream};

/// The most bytes that a media type may have.
const CONTENT_TYPE_BYTES_MAX: usize = 255;
/// The most bytes that a cause may have.
const CAUSE_BYTES_MAX: usize = 255;

/// Checks what needs no store, for a bare command; gives its id.
///
/// # Errors
/// The first rule that is broken.
pub fn check_bare(command: &Command, body_bytes_max: usize) -> Result<&CommandId, WriteRefused> {
    let Some(id) = &command.id else {
        return Err(WriteRefused::Command(CommandRefused::Value {
            id: "(not yet named)".into(),
            what: "id",
            why: "a bare command names its intent: give it a business id, such as order.paid:A-001"
                .into(),
        }));
    };
    check(command, id, body_bytes_max)?;
    Ok(id)
}

/// Checks what needs no store, for a command that is or will be called `id`.
///
/// # Errors
/// The first rule that is broken.
pub fn check(
    command: &Command,
    id: &CommandId,
    body_bytes_max: usize,
) -> Result<(), CommandRefused> {
    command.check(body_bytes_max)?;
    if command.content_type.len() > CONTENT_TYPE_BYTES_MAX {
        return Err(CommandRefused::Value {
            id: id.to_string(),
            what: "content_type",
            why: "has more than 255 bytes; shorten it".into(),
        });
    }
    Ok(())
}

/// Checks what needs no store, and names the commands of a decision.
///
/// # Errors
/// The first rule that is broken.
pub fn plan(append: &Append, body_bytes_max: usize) -> Result<Appended, WriteRefused> {
    if append.events.is_empty() {
        return Err(WriteRefused::NoEvent { stream: append.stream.to_string() });
    }
    let mut causes = BTreeSet::new();
    for event in &append.events {
        check_event(event, &append.stream, body_bytes_max)?;
        if let Some(cause) = event.cause.as_deref().filter(|cause| !causes.insert(*cause)) {
            return Err(cause_taken(&append.stream, cause));
        }
    }
    let events = i64::try_from(append.events.len()).unwrap_or(i64::MAX);
    let seq = append.expected_seq.saturating_add(events);
    Ok(name(&append.stream, seq, &append.commands, body_bytes_max)?)
}

/// Names and checks the commands of the decision that ends at `seq`.
///
/// # Errors
/// The first rule that is broken.
pub fn name(
    stream: &Stream,
    seq: i64,
    commands: &[Command],
    body_bytes_max: usize,
) -> Result<Appended, CommandRefused> {
    let mut command_ids = Vec::with_capacity(commands.len());
    for (idx, command) in commands.iter().enumerate() {
        let id = CommandId::of_decision(stream, seq, idx)?;
        check(command, &id, body_bytes_max)?;
        command_ids.push(id);
    }
    Ok(Appended { seq, command_ids })
}

/// Checks what needs no store, for an event of `stream`.
///
/// # Errors
/// The first rule that is broken.
pub fn check_event(
    event: &Event,
    stream: &Stream,
    body_bytes_max: usize,
) -> Result<(), CommandRefused> {
    let id = || format!("(event {} of stream {stream})", event.kind);
    let max = body_bytes_max.min(BODY_BYTES_LIMIT);
    let len = event.body.len();
    if len > max {
        return Err(CommandRefused::BodyTooLong { id: id(), len, max });
    }
    let fits = |cause: &str| {
        let is_control = |byte: u8| byte < 0x20 || byte == 0x7f;
        (1..=CAUSE_BYTES_MAX).contains(&cause.len()) && !cause.bytes().any(is_control)
    };
    if event.cause.as_deref().is_none_or(fits) {
        return Ok(());
    }
    let why = "must be 1 to 255 bytes without control characters".into();
    Err(CommandRefused::Value { id: id(), what: "cause", why })
}

/// Whether the stream is a service's to append to, and where the decision expects it.
///
/// # Errors
/// [`WriteRefused::WorkflowStream`]; [`WriteRefused::VersionConflict`] with both numbers.
pub fn check_place(append: &Append, actual: i64, is_workflow: bool) -> Result<(), WriteRefused> {
    if is_workflow {
        return Err(WriteRefused::WorkflowStream { stream: append.stream.to_string() });
    }
    check_version(append, actual)
}

/// Whether the stream is where the decision expects it.
///
/// # Errors
/// [`WriteRefused::VersionConflict`] with both numbers.
pub fn check_version(append: &Append, actual: i64) -> Result<(), WriteRefused> {
    if actual == append.expected_seq {
        return Ok(());
    }
    let (stream, expected) = (append.stream.to_string(), append.expected_seq);
    Err(WriteRefused::VersionConflict { stream, expected, actual })
}

/// The refusal of a cause that has its event.
#[must_use]
pub fn cause_taken(stream: &Stream, cause: &str) -> WriteRefused {
    WriteRefused::CauseTaken { stream: stream.to_string(), cause: cause.into() }
}

/// The refusal of an id that stands with other content.
#[must_use]
pub fn conflict(id: &CommandId) -> WriteRefused {
    WriteRefused::Conflict { id: id.to_string() }
}

/// The events of a decision with their seq and how many commands each says it issued: all of a
/// decision's commands count on its last event.
pub fn numbered(append: &Append) -> impl Iterator<Item = (i64, i64, &Event)> {
    let last = append.events.len();
    let commands = i64::try_from(append.commands.len()).unwrap_or(i64::MAX);
    let seqs = append.expected_seq.saturating_add(1)..;
    let events = append.events.iter().enumerate();
    seqs.zip(events)
        .map(move |(seq, (at, event))| (seq, if at + 1 == last { commands } else { 0 }, event))
}

/// To whom, what kind, in which lane: what every repeat has in common with what stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// The destination.
    pub destination: &'a [u8],
    /// The kind.
    pub kind: &'a [u8],
    /// The ordering key.
    pub ordering_key: Option<&'a [u8]>,
}

impl<'a> Address<'a> {
    /// The address of a command.
    #[must_use]
    pub fn of(command: &'a Command) -> Self {
        Self {
            destination: command.destination.as_str().as_bytes(),
            kind: command.kind.as_str().as_bytes(),
            ordering_key: command.ordering_key.as_ref().map(OrderingKey::as_str).map(str::as_bytes),
        }
    }
}

/// An outbox row as it stands under an id: bytes, since a stranger's may be no UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// Its address.
    pub address: Address<'a>,
    /// Its body.
    pub body: &'a [u8],
    /// Its core digest, 64 hexadecimal digits.
    pub core_digest: Option<&'a [u8]>,
    /// What was erased cannot be compared.
    pub erased: bool,
}

impl Standing<'_> {
    /// Whether `command` is the same intent: the same address, and core digest where both have
    /// one, else body.
    #[must_use]
    pub fn is_same(&self, command: &Command) -> bool {
        let core = command.core_digest.map(|digest| digest.to_hex());
        let same_content = match (self.core_digest, &core) {
            (Some(stored), Some(given)) => stored == given.as_bytes(),
            _ => self.body == command.body,
        };
        same_content && !self.erased && self.address == Address::of(command)
    }
}

/// A tombstone as it stands under an id: there the body stands by its digest.
#[derive(Clone, Copy, Debug)]
pub struct Tombstone<'a> {
    /// Its address.
    pub address: Address<'a>,
    /// The digest of its body.
    pub digest: Option<Digest>,
}

impl Tombstone<'_> {
    /// Whether `command` is the same intent.
    #[must_use]
    pub fn is_same(&self, command: &Command) -> bool {
        self.digest == Some(Digest::of(&command.body)) && self.address == Address::of(command)
    }
}

/// Whether two commands of one id are the same intent.
#[must_use]
pub fn is_same(one: &Command, other: &Command) -> bool {
    let core = one.core_digest.map(|digest| digest.to_hex());
    Standing {
        address: Address::of(one),
        body: &one.body,
        core_digest: core.as_ref().map(String::as_bytes),
        erased: false,
    }
    .is_same(other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn command(body: &str) -> Command {
        Command::bytes("a", "shop", "paid", body).unwrap()
    }

    #[test]
    fn a_repeat_has_address_and_content() {
        assert!(is_same(&command("1"), &command("1").header("X-Trace", "2")));
        assert!(!is_same(&command("1"), &command("2")));
        let key = OrderingKey::new("k").unwrap();
        assert!(!is_same(&command("1"), &command("1").ordering_key(key)));
        let core = |body| command(body).core(&[json!(7)]).unwrap();
        assert!(is_same(&core("1"), &core("2")), "both have a core");
        assert!(!is_same(&core("1"), &command("2")), "one has none");
        assert!(is_same(&core("1"), &command("1")));
    }

    #[test]
    fn what_was_erased_is_no_repeat() {
        let given = command("");
        let address = Address::of(&given);
        let erased = Standing { address, body: b"", core_digest: None, erased: true };
        assert!(!erased.is_same(&given));
        assert!(Standing { erased: false, ..erased }.is_same(&given));
    }

    #[test]
    fn a_tombstone_is_compared_by_its_digest() {
        let (given, other) = (command("1"), command("2"));
        let tombstone = |digest| Tombstone { address: Address::of(&given), digest };
        assert!(tombstone(Some(Digest::of(b"1"))).is_same(&given));
        assert!(!tombstone(Some(Digest::of(b"1"))).is_same(&other));
        assert!(!tombstone(None).is_same(&given));
    }

    #[test]
    fn a_decision_names_its_commands_by_its_last_event() {
        let append = Append {
            stream: Stream::new("o-1").unwrap(),
            expected_seq: 3,
            events: vec![Event::json("placed", &1).unwrap(), Event::json("paid", &2).unwrap()],
            commands: vec![command("x"), command("y")],
        };
        let planned = plan(&append, 100).unwrap();
        let ids: Vec<_> = planned.command_ids.iter().map(CommandId::as_str).collect();
        assert_eq!((planned.seq, ids), (5, vec!["o-1:5:0", "o-1:5:1"]));
        let numbers: Vec<_> = numbered(&append).map(|(seq, issued, _)| (seq, issued)).collect();
        assert_eq!(numbers, [(4, 0), (5, 2)]);
        assert!(check_version(&append, 3).is_ok() && check_version(&append, 4).is_err());
    }

    #[test]
    fn a_cause_stands_once_in_a_decision() {
        let event = Event { cause: Some("s-1".into()), ..Event::json("e", &1).unwrap() };
        let append = Append {
            stream: Stream::new("o-1").unwrap(),
            expected_seq: 0,
            events: vec![event.clone(), event],
            commands: Vec::new(),
        };
        assert_eq!(plan(&append, 100), Err(cause_taken(&append.stream, "s-1")));
    }
}
