//! What people do to commands and destinations, and what came of it.
//!
//! Guarantees: plain data; each deed that changes something leaves an `operator_action` with its
//! actor, in the same transaction. Does not: decide what is allowed; `domain::transition` does.

use crate::domain::transition::Verdict;
use crate::domain::{Input, Micros, Position, Reason, ReceiptOutcome, State};

/// Who acts, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// A name, such as `ann` or `api ops`; 1 to 255 bytes.
    pub name: String,
    /// Why, for people; may be empty where the verb asks for none.
    pub reason: String,
}

/// What is done to one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A parked one is sent again, in a new round.
    Retry {
        /// Also where a repeat could act twice.
        may_act_twice: bool,
    },
    /// A person says what became of it.
    Resolve(Verdict),
    /// It is withdrawn.
    Cancel,
    /// An ended one is sent again: same id, same bytes, a new round.
    Redeliver {
        /// Also where a repeat could act twice.
        may_act_twice: bool,
    },
}

impl Act {
    /// The verb's name, as recorded and shown.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Retry { .. } => "retry",
            Self::Resolve(_) => "resolve",
            Self::Cancel => "cancel",
            Self::Redeliver { .. } => "redeliver",
        }
    }

    /// What the state machine is asked; `expires_at` is the command's.
    #[must_use]
    pub fn input(&self, actor: &Actor, expires_at: Option<Micros>) -> Input {
        let (name, reason) = (actor.name.clone(), actor.reason.clone());
        match self.clone() {
            Self::Retry { may_act_twice } => Input::Retry { may_act_twice, expires_at },
            Self::Resolve(verdict) => Input::Resolve { verdict, evidence: reason, actor: name },
            Self::Cancel => Input::Cancel { actor: name, reason },
            Self::Redeliver { may_act_twice } => Input::Redeliver { may_act_twice, expires_at },
        }
    }

    const fn sends(&self) -> bool {
        matches!(self, Self::Retry { .. } | Self::Redeliver { .. })
    }
}

/// One command and what is done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// The command's id.
    pub command_id: String,
    /// What is done.
    pub act: Act,
    /// Found by a filter, not named: refused where the command is uncertain or in doubt.
    pub by_filter: bool,
}

impl Deed {
    /// What refuses the deed before the state machine is asked: for stores, and for whoever
    /// foresees what a store would say.
    #[must_use]
    pub fn refused_before(&self, position: &Position, is_erased: bool) -> Option<Reason> {
        if is_erased && self.act.sends() {
            return Some(Reason::Erased);
        }
        let is_doubtful = match position {
            Position::Open(open) => open.in_doubt || open.state == State::Uncertain,
            Position::Ended(_) => false,
        };
        (self.by_filter && is_doubtful).then_some(Reason::InDoubt)
    }

    /// Whether the deed, of a command that has ended, says which of two contradicting words is
    /// true: then it is recorded where a contradiction stands that nobody has looked into, and
    /// the receipt stays. By a filter nobody looks.
    #[must_use]
    pub const fn acknowledges(&self) -> bool {
        let says = matches!(&self.act, Act::Resolve(Verdict::Completed { .. } | Verdict::Rejected));
        says && !self.by_filter
    }

    /// What comes of it where the command is archived as `outcome`: it says which word is true
    /// where a report that nobody has looked into `is_contradicting`, and is to be recorded; else
    /// [`Acted::Archived`].
    #[must_use]
    pub fn to_archived(&self, outcome: &str, is_contradicting: bool) -> Acted {
        match ReceiptOutcome::from_name(outcome) {
            Some(outcome) if is_contradicting && self.acknowledges() => {
                Acted::Done { before: outcome.name(), after: outcome.name() }
            }
            _ => Acted::Archived,
        }
    }
}

/// What the record of a restore says, for people and for [`restored_from`].
#[must_use]
pub fn restored_reason(at: Micros) -> String {
    format!("restored from a backup taken at {} µs UTC", at.get())
}

/// When the backup was taken, as the record of a restore says; `None` where it is none.
#[must_use]
pub fn restored_from(reason: &str) -> Option<Micros> {
    let number =
        reason.strip_prefix("restored from a backup taken at ")?.strip_suffix(" µs UTC")?;
    number.parse().ok().map(Micros::new)
}

/// What came of a deed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acted {
    /// It is done and recorded.
    Done {
        /// The state or outcome before.
        before: &'static str,
        /// The state or outcome now.
        after: &'static str,
    },
    /// A rule refuses it; nothing changed.
    Refused(Reason),
    /// The command is archived: nothing but `show` and `erase` reaches it, and `resolve` where a
    /// report contradicts it.
    Archived,
    /// Never heard of.
    Unknown,
}

/// A lane, as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneStatus {
    /// The destination.
    pub destination: String,
    /// The ordering key.
    pub ordering_key: String,
    /// How many wait behind the head.
    pub waiting: u64,
    /// The parked command at its head, and its state; `None`: it moves.
    pub parked_head: Option<(String, State)>,
}
