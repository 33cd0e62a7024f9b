//! The laws of conservation, as functions over rows.
//!
//! Guarantees: each law is local to one command, event, stream or destination, so it can be
//! checked range by range. Does not: read a store; the rows come in as values.

use super::command::OutboxRow;
use super::delivery::Delivery;
use super::digest::Digest;
use super::receipt::Receipt;
use super::time::Micros;

/// A law that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// A stable code, `CF06xx`; see `docs/errors`.
    pub code: &'static str,
    /// The commands, events or streams concerned.
    pub ids: Vec<String>,
    /// What is wrong and what to do, for people.
    pub text: String,
}

/// What stands about one command, as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandFacts {
    /// The internal key.
    pub n: i64,
    /// The command's id for people; lossy where it is no UTF-8, `n=…` where the outbox row lacks.
    pub id: String,
    /// The outbox row; `None` if it is missing or cannot be decoded.
    pub outbox: Option<OutboxRow>,
    /// The outbox row stands, decodable or not.
    pub has_outbox: bool,
    /// Its body was erased on request.
    pub erased: bool,
    /// The open delivery.
    pub delivery: Option<DeliveryFacts>,
    /// Receipts, oldest round first.
    pub receipts: Vec<ReceiptFacts>,
    /// Attempts that did not go plainly well, oldest first.
    pub attempts: Vec<AttemptFacts>,
    /// When a person said "not done", or a restore or retry began a round: each clears or moves
    /// what the attempts before it say.
    pub cleared_at: Vec<Micros>,
    /// A tombstone of the same id stands.
    pub archived: bool,
}

/// An open delivery and its digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryFacts {
    /// The delivery.
    pub delivery: Delivery,
    /// The stored name of its state, should it be none that is known.
    pub state_name: String,
    /// Its destination column.
    pub destination: String,
    /// The body's digest, once an attempt ended.
    pub digest: Option<Digest>,
    /// The row's digest, once an attempt ended.
    pub row_digest: Option<Digest>,
}

/// A receipt and its digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptFacts {
    /// The receipt.
    pub receipt: Receipt,
    /// Its destination column.
    pub destination: String,
    /// The body's digest, where an attempt preceded it.
    pub digest: Option<Digest>,
    /// The row's digest, where an attempt preceded it.
    pub row_digest: Option<Digest>,
}

/// An attempt row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptFacts {
    /// The round.
    pub round: u32,
    /// What it was about.
    pub purpose: String,
    /// The outcome's name.
    pub outcome: String,
    /// When it ended.
    pub ended_at: Micros,
}

/// What stands about one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFacts {
    /// The stream.
    pub stream: String,
    /// The seq.
    pub seq: i64,
    /// The seq before it in its stream, 0 for the first.
    pub seq_before: i64,
    /// How many commands it says it issued.
    pub commands: i64,
    /// How many outbox and archived rows carry its stream and seq.
    pub found: i64,
}

/// The totals of one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// The destination.
    pub destination: String,
    /// Rows of the outbox.
    pub outbox: i64,
    /// Tombstones.
    pub archived: i64,
    /// Open deliveries.
    pub open: i64,
    /// By outcome: what `tally` says, and the commands whose newest receipt says so.
    pub tally: Vec<(String, i64, i64)>,
}
