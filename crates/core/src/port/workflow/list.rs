//! What people see of workflows, of what waits for them, and of what they issued.
//!
//! Guarantees: plain data, shown as nearly as it can be where a row cannot be read. Does not: carry
//! bodies.

use crate::domain::workflow::Status;
use crate::domain::{Command, Digest, Micros, OrderingKey};

/// Which workflows to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowFilter {
    /// Of this name.
    pub name: Option<String>,
    /// Of this status.
    pub status: Option<Status>,
    /// Those whose start waits to be decided, in place of those that have begun: of a program that
    /// no runner has they wait for ever.
    pub is_waiting: bool,
    /// After this stream, in the order of streams.
    pub after: Option<String>,
    /// At most so many; the caller bounds it.
    pub limit: usize,
}

/// A workflow in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedWorkflow {
    /// Its stream, lossy where it is no UTF-8.
    pub stream: String,
    /// Its program, `name/version`; the name alone where it waits for its start to be decided;
    /// empty where it was never started.
    pub program: String,
    /// How far it is; `None` where its start waits, or none ever came.
    pub status: Option<Status>,
    /// The seq of its newest event.
    pub head: i64,
    /// Why it is quarantined.
    pub reason: Option<String>,
    /// The input on which it was quarantined.
    pub input: Option<String>,
    /// When it changed last; of one that waits, when the start came.
    pub changed_at: Option<Micros>,
}

impl ListedWorkflow {
    /// Whether a start waits to be decided.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.status.is_none() && !self.program.is_empty()
    }

    /// How far it is, in one word.
    #[must_use]
    pub fn standing(&self) -> &'static str {
        match self.status {
            Some(status) => status.name(),
            None if self.is_waiting() => "waiting",
            None => "not_started",
        }
    }
}

/// An input that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingInput {
    /// The stream.
    pub stream: String,
    /// Its id.
    pub id: String,
    /// Its kind, as it stands.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// When it is due; `None`: at once.
    pub due_at: Option<Micros>,
    /// When it was written.
    pub recorded_at: Micros,
    /// `false`: it waits for a workflow that has not begun, or is quarantined.
    pub is_served: bool,
}

/// A command that a workflow issued, as the outbox or its tombstone says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The seq of the decision.
    pub seq: i64,
    /// Its place in it.
    pub idx: i64,
    /// Its destination.
    pub destination: String,
    /// Its kind.
    pub kind: String,
    /// Its lane.
    pub ordering_key: Option<OrderingKey>,
    /// SHA-256 of its body; `None` if it was erased before its first claim.
    pub digest: Option<Digest>,
    /// The rest of what was decided; `None` once it is archived or erased.
    pub carried: Option<Carried>,
}

/// What a command carries beside its body, and when it may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Its media type.
    pub content_type: String,
    /// Extra headers, as the stored JSON.
    pub headers: Option<String>,
    /// Digest of the core fields, as stored: 64 hexadecimal digits.
    pub core_digest: Option<String>,
    /// Not to be sent before.
    pub not_before: Option<Micros>,
    /// Not to be sent after.
    pub expires_at: Option<Micros>,
}

impl From<&Command> for Carried {
    fn from(command: &Command) -> Self {
        Self {
            content_type: command.content_type.clone(),
            headers: command.headers_json(),
            core_digest: command.core_digest.map(|digest| digest.to_hex()),
            not_before: command.not_before,
            expires_at: command.expires_at,
        }
    }
}
