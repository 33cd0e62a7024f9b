//! The evidence that ended a command.
//!
//! Guarantees: a receipt carries what the delivery knew when it ended, so that a redelivery goes
//! on from it. Does not: change; another outcome later is a contradiction.

use super::lease::Token;
use super::time::Micros;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReceiptOutcome {
    /// Done.
    Completed,
    /// Taken by a broker, which is all that was asked.
    Accepted,
    /// Judged and refused.
    Rejected,
    /// Withdrawn by a person before it could act.
    Cancelled,
    /// Not sent in time.
    Expired,
}

impl ReceiptOutcome {
    /// Every outcome.
    pub const ALL: [Self; 5] =
        [Self::Completed, Self::Accepted, Self::Rejected, Self::Cancelled, Self::Expired];

    /// The name, as stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// The outcome of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}

/// The evidence that ended one round of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The internal key of its outbox row.
    pub n: i64,
    /// The round that it ended.
    pub round: u32,
    /// How it ended.
    pub outcome: ReceiptOutcome,
    /// The receiver's result.
    pub result: Option<Vec<u8>>,
    /// By what it is known.
    pub evidence: Option<String>,
    /// Who says so: `relay`, `report`, `late attempt`, `question`, `operator`, `sweep`.
    pub source: String,
    /// Attempts of the round.
    pub attempts: u32,
    /// The newest token.
    pub token: Token,
    /// The first send that may have acted.
    pub first_sent_at: Option<Micros>,
    /// When it was written.
    pub recorded_at: Micros,
    /// Its place in its lane, so that a redelivery takes it again.
    pub key_seq: Option<i64>,
}
