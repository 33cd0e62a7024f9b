//! The digest of one row of each table that is only appended to.
//!
//! Guarantees: every column that the ports tell counts, each with its type and length, but for what
//! a tombstone's own digest covers, and rows that cannot be decoded. Does not: count where a row
//! lies in its table, which a database may change; see the order of arrival in
//! [`Horizon`](crate::port::seal::Horizon).

use crate::domain::digest::FieldDigest;
use crate::domain::laws::{AttemptFacts, CommandFacts, ContradictionFacts, ReceiptFacts};
use crate::domain::{Digest, EventRow, Micros, OutboxRow};
use crate::port::archive::{ActionRow, Entry, Tombstone};

/// The outbox row of a command whose columns have this digest; `None` where it has none.
pub(super) fn outbox_of(facts: &CommandFacts, row: Option<Digest>) -> Option<Digest> {
    match (&facts.outbox, row) {
        (Some(outbox), _) if facts.erased => Some(erased(outbox)),
        (_, Some(row)) => Some(row),
        // What cannot be decoded is known by its number and its id only.
        _ => facts.has_outbox.then(|| {
            let digest = FieldDigest::default().integer(Some(facts.n));
            digest.bytes(Some(facts.id.as_bytes())).bytes(None).finish()
        }),
    }
}

/// The outbox row of an entry.
pub(super) fn outbox_in(row: &OutboxRow, is_erased: bool) -> Digest {
    if is_erased { erased(row) } else { row.row_digest(Digest::of(&row.body)) }
}

/// The outbox row of an erased command: body and headers are gone, however a store says so.
fn erased(row: &OutboxRow) -> Digest {
    let left = OutboxRow { body: Vec::new(), headers: None, ..row.clone() };
    let left = left.row_digest(Digest::of(b""));
    FieldDigest::default().bytes(Some(left.as_bytes())).bytes(Some(b"erased")).finish()
}

pub(super) fn receipt(entry: &ReceiptFacts) -> Digest {
    let receipt = &entry.receipt;
    FieldDigest::default()
        .integer(Some(receipt.n))
        .integer(Some(i64::from(receipt.round)))
        .bytes(Some(receipt.outcome.name().as_bytes()))
        .bytes(receipt.result.as_deref())
        .bytes(text(receipt.evidence.as_ref()))
        .bytes(Some(receipt.source.as_bytes()))
        .bytes(Some(entry.destination.as_bytes()))
        .integer(Some(i64::from(receipt.attempts)))
        .integer(Some(receipt.token.get()))
        .integer(receipt.first_sent_at.map(Micros::get))
        .integer(receipt.key_seq)
        .bytes(entry.digest.as_ref().map(bytes))
        .bytes(entry.row_digest.as_ref().map(bytes))
        .integer(Some(receipt.recorded_at.get()))
        .finish()
}

pub(super) fn attempt(n: i64, entry: &AttemptFacts) -> Digest {
    FieldDigest::default()
        .integer(Some(n))
        .integer(Some(i64::from(entry.round)))
        .integer(Some(entry.token))
        .bytes(Some(entry.purpose.as_bytes()))
        .bytes(Some(entry.outcome.as_bytes()))
        .bytes(text(entry.reason.as_ref()))
        .integer(entry.started_at.map(Micros::get))
        .integer(Some(entry.ended_at.get()))
        .finish()
}

pub(super) fn contradiction(command_id: &str, said: &ContradictionFacts) -> Digest {
    FieldDigest::default()
        .bytes(Some(command_id.as_bytes()))
        .integer(Some(i64::from(said.round)))
        .bytes(Some(said.outcome.as_bytes()))
        .bytes(said.result.as_deref())
        .bytes(text(said.evidence.as_ref()))
        .bytes(Some(said.source.as_bytes()))
        .integer(Some(said.recorded_at.get()))
        .finish()
}

pub(super) fn action(row: &ActionRow) -> Digest {
    FieldDigest::default()
        .bytes(Some(row.verb.as_bytes()))
        .bytes(Some(row.about.as_bytes()))
        .bytes(Some(row.actor.as_bytes()))
        .bytes(text(row.reason.as_ref()))
        .bytes(text(row.before.as_ref()))
        .bytes(text(row.after.as_ref()))
        .integer(Some(row.recorded_at.get()))
        .finish()
}

/// An event, the same before and after its body is archived.
pub(super) fn event(row: &EventRow) -> Digest {
    let whole = FieldDigest::default()
        .bytes(Some(row.stream.as_str().as_bytes()))
        .integer(Some(row.seq))
        .bytes(Some(row.kind.as_str().as_bytes()))
        .bytes(row.body_digest().as_ref().map(bytes))
        .bytes(text(row.cause.as_ref()))
        .integer(Some(row.commands))
        .integer(Some(row.recorded_at.get()));
    // Streams of services have none.
    match &row.decided {
        Some(decided) => whole.bytes(Some(decided.as_bytes())).finish(),
        None => whole.finish(),
    }
}

/// What a tombstone says of its command. Digest, ordering key and file are left to its own
/// `row_digest`: a burial changes the sums before it knows the name of its file, and a seal that
/// stands has no others.
pub(super) fn tombstone(row: &Tombstone) -> Digest {
    buried(&row.command_id, &row.destination, &row.kind, &row.outcome, row.rounds)
}

/// What the tombstone of an entry will say; `None` where the entry has not ended.
pub(super) fn tombstone_in(entry: &Entry) -> Option<Digest> {
    let (row, newest) = (&entry.outbox, &entry.newest()?.receipt);
    let (id, destination) = (row.command_id.as_str(), row.destination.as_str());
    Some(buried(id, destination, row.kind.as_str(), newest.outcome.name(), newest.round))
}

fn buried(id: &str, destination: &str, kind: &str, outcome: &str, rounds: u32) -> Digest {
    let parts = [id, destination, kind, outcome].into_iter();
    let digest = parts.fold(FieldDigest::default(), |it, part| it.bytes(Some(part.as_bytes())));
    digest.integer(Some(i64::from(rounds))).finish()
}

/// What an erasure clears is nothing, or an empty text, by the habit of the store.
fn text(field: Option<&String>) -> Option<&[u8]> {
    field.map(String::as_bytes).filter(|bytes| !bytes.is_empty())
}

fn bytes(digest: &Digest) -> &[u8] {
    digest.as_bytes()
}
