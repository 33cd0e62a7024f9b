//! What a transport learned from one attempt, or from one question.
//!
//! Guarantees: what is not known is `Unknown`, never a failure. Does not: decide what follows; see
//! `policy`.

use super::breaker::Health;
use super::digest::Digest;
use super::time::Span;

/// A receiver's result, cut to what is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultBody {
    /// The bytes that are kept.
    pub bytes: Vec<u8>,
    /// How many bytes the whole had.
    pub full_len: u64,
    /// SHA-256 of the whole, where it was cut.
    pub full_digest: Option<Digest>,
}

impl ResultBody {
    /// A result that is kept whole.
    #[must_use]
    pub fn whole(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self { full_len: bytes.len() as u64, bytes, full_digest: None }
    }
}

/// Who judged a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// The receiver itself, in so many words for this key: it ends a command in doubt or not.
    Receiver,
    /// A status code, which a gateway may have made: not believed while in doubt.
    Status,
}

/// What one attempt came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Done; `evidence` says by what it is known.
    Completed {
        /// The receiver's result.
        result: ResultBody,
        /// By what it is known, such as `HTTP 200`.
        evidence: String,
    },
    /// Taken on, to be done later.
    Accepted {
        /// By what it is known.
        evidence: String,
    },
    /// Judged and refused.
    Rejected {
        /// Why, for people.
        reason: String,
        /// Who judged.
        by: Judge,
    },
    /// Provably not processed.
    NotSent {
        /// Why, for people.
        reason: String,
        /// How long the receiver asks to wait.
        retry_after: Option<Span>,
        /// The answer says that the destination is set up wrongly (404, 401, a redirect).
        misconfigured: bool,
    },
    /// Provably not processed, because the receiver has too much to do (429): it works, so this is
    /// no failure of it.
    Busy {
        /// Why, for people.
        reason: String,
        /// How long the receiver asks to wait.
        retry_after: Option<Span>,
    },
    /// Not processed, and the receiver wants nothing any more (410 under `profile = "webhook"`):
    /// as `NotSent`, and the destination is paused.
    Gone {
        /// Why, for people.
        reason: String,
    },
    /// It may have been processed, and a repeat would only hear the same answer again: the
    /// receiver is asked instead.
    Ask {
        /// Why, for people.
        reason: String,
    },
    /// It may have been processed, or not.
    Unknown {
        /// Why, for people.
        reason: String,
        /// How long the receiver asks to wait.
        retry_after: Option<Span>,
    },
    /// The receiver knows the key with other content.
    Conflict {
        /// Why, for people.
        reason: String,
    },
}

impl Outcome {
    /// `NotSent` for a plain reason.
    #[must_use]
    pub fn not_sent(reason: impl Into<String>) -> Self {
        Self::NotSent { reason: reason.into(), retry_after: None, misconfigured: false }
    }

    /// `Unknown` for a plain reason.
    #[must_use]
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown { reason: reason.into(), retry_after: None }
    }

    /// The outcome's name, as stored and shown.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Accepted { .. } => "accepted",
            Self::Rejected { .. } => "rejected",
            Self::NotSent { .. } | Self::Busy { .. } | Self::Gone { .. } => "not_sent",
            Self::Unknown { .. } | Self::Ask { .. } => "unknown",
            Self::Conflict { .. } => "conflict",
        }
    }

    /// The reason or evidence, for people.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Completed { evidence, .. } | Self::Accepted { evidence } => evidence,
            Self::Rejected { reason, .. }
            | Self::NotSent { reason, .. }
            | Self::Busy { reason, .. }
            | Self::Gone { reason }
            | Self::Ask { reason }
            | Self::Unknown { reason, .. }
            | Self::Conflict { reason } => reason,
        }
    }

    /// What it says about the destination.
    #[must_use]
    pub const fn health(&self) -> Health {
        match self {
            Self::Completed { .. }
            | Self::Accepted { .. }
            | Self::Conflict { .. }
            | Self::Rejected { by: Judge::Receiver, .. } => Health::Works,
            Self::NotSent { misconfigured: true, .. } => Health::Misconfigured,
            Self::NotSent { .. } | Self::Unknown { .. } | Self::Ask { .. } => Health::Fails,
            Self::Busy { .. } => Health::Busy,
            Self::Gone { .. } | Self::Rejected { by: Judge::Status, .. } => Health::Nothing,
        }
    }

    /// How long the receiver asks to wait, if it says so.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Span> {
        match self {
            Self::NotSent { retry_after, .. }
            | Self::Busy { retry_after, .. }
            | Self::Unknown { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The result, where there is one, and the reason or evidence.
    pub(super) fn into_evidence(self) -> (Option<Vec<u8>>, String) {
        match self {
            Self::Completed { result, evidence } => (Some(result.bytes), evidence),
            Self::Accepted { evidence } => (None, evidence),
            Self::Rejected { reason, .. }
            | Self::NotSent { reason, .. }
            | Self::Busy { reason, .. }
            | Self::Gone { reason }
            | Self::Ask { reason }
            | Self::Unknown { reason, .. }
            | Self::Conflict { reason } => (None, reason),
        }
    }
}

/// What one question about a key came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Done.
    Done {
        /// The receiver's result.
        result: ResultBody,
        /// By what it is known.
        evidence: String,
    },
    /// Judged and refused.
    Refused {
        /// Why.
        reason: String,
    },
    /// The receiver says that it has never acted on this key.
    NotThere {
        /// Whether the contract lets it be believed (a predicate, or a control question).
        believed: bool,
        /// What was said.
        reason: String,
    },
    /// Still being worked on.
    InProgress {
        /// How long the receiver asks to wait.
        retry_after: Option<Span>,
    },
    /// Nothing that can be used.
    Unclear {
        /// What was said, or what failed.
        reason: String,
    },
}

impl Answer {
    /// The answer's name, as stored and shown.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done { .. } => "done",
            Self::Refused { .. } => "refused",
            Self::NotThere { .. } => "not_there",
            Self::InProgress { .. } => "in_progress",
            Self::Unclear { .. } => "unclear",
        }
    }

    /// The reason, for people.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Done { evidence, .. } => evidence,
            Self::Refused { reason } | Self::NotThere { reason, .. } | Self::Unclear { reason } => {
                reason
            }
            Self::InProgress { .. } => "still being worked on",
        }
    }
}
