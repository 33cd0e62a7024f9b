//! What a runner hears of the steps that it gave to a store.
//!
//! Guarantees: of a step that is refused nothing was written. Does not: decide it anew.

use super::DueInput;

/// Why a step was not written; nothing of it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepRefused {
    /// Somebody else was faster: load again.
    #[error("workflow {stream} is at {actual}, not at {expected}: load it again")]
    Moved {
        /// The stream.
        stream: String,
        /// What the runner expected.
        expected: i64,
        /// Where it is.
        actual: i64,
    },
    /// An input no longer waits, or was decided: load again.
    #[error("input {id} of workflow {stream} waits no longer: load it again")]
    Gone {
        /// The stream.
        stream: String,
        /// The input.
        id: String,
    },
    /// The stream holds events of another kind, or another program's.
    #[error(
        "stream {stream} has events that are not of workflow {program}: start it under another id"
    )]
    Taken {
        /// The stream.
        stream: String,
        /// The program.
        program: String,
    },
    /// A generated command id stands already.
    #[error("id_taken: command {id} stands already, and is not of this decision")]
    IdTaken {
        /// The command.
        id: String,
    },
    /// A value of an event or a command breaks a rule.
    #[error(transparent)]
    Value(#[from] crate::domain::CommandRefused),
}

/// What a turn of a runner came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turned {
    /// One answer a step.
    pub written: Vec<Result<(), StepRefused>>,
    /// What is due after the steps; `None`: it was not looked at.
    pub due: Option<Vec<DueInput>>,
}
