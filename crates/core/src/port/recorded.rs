//! What recording a command or a decision came to.
//!
//! Guarantees: of what is refused nothing was written, and each refusal says the way out. Does not:
//! tell what a store could not do; see `store`.

/// What recording a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It is new.
    Recorded,
    /// The same intent stands already, open, ended or archived.
    Repeated,
}

/// Why a command or decision was not recorded; nothing of it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteRefused {
    /// The id stands with other content.
    #[error(
        "command {id} stands with other content (destination, kind, ordering key or body); \
         a new intent needs a new id"
    )]
    Conflict {
        /// The command.
        id: String,
    },
    /// A value breaks a rule.
    #[error(transparent)]
    Command(#[from] crate::domain::CommandRefused),
    /// The stream has moved on.
    #[error(
        "stream {stream} is at {actual}, not at {expected}: another decision came first; \
         load it again and decide anew"
    )]
    VersionConflict {
        /// The stream.
        stream: String,
        /// What the caller expected.
        expected: i64,
        /// Where it is.
        actual: i64,
    },
    /// A decision without an event.
    #[error("the decision of stream {stream} has no event; a decision records at least one")]
    NoEvent {
        /// The stream.
        stream: String,
    },
    /// The stream is a workflow's: its events are decided from inputs.
    #[error(
        "stream {stream} is a workflow's, which decides its own events: send it a signal, or \
         append to another stream"
    )]
    WorkflowStream {
        /// The stream.
        stream: String,
    },
    /// The input was decided before.
    #[error("stream {stream} has an event caused by {cause} already; load it again")]
    CauseTaken {
        /// The stream.
        stream: String,
        /// The input's id.
        cause: String,
    },
}
