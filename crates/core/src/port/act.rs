//! What people do to commands and destinations, and what came of it.
//!
//! Guarantees: plain data; each deed that changes something leaves an `operator_action` with its
//! actor, in the same transaction. Does not: decide what is allowed; `domain::transition` does.

use crate::domain::transition::Verdict;
use crate::domain::{Reason, State};

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
    /// The command is archived: nothing but `show` and `erase` reaches it.
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
