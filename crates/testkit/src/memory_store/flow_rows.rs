//! The tables of workflows in memory.
//!
//! Guarantees: the same columns as in a database. Does not: guard.

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::workflow::{InputKind, Program, Status};
use counterfoil_core::port::workflow::{ListedWorkflow, Standing};

/// The key of an input: its stream and its id.
pub type InputId = (String, String);

/// An input row.
#[derive(Clone, Debug)]
pub struct InputEntry {
    /// Its kind.
    pub kind: InputKind,
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub body: Option<Vec<u8>>,
    /// When it is due; `None`: at once.
    pub due_at: Option<Micros>,
    /// For whom it is: a name, or `name/version`; `None`: it is set aside.
    pub workflow: Option<String>,
    /// When it was written.
    pub recorded_at: Micros,
    /// Rises with each input.
    pub arrival: i64,
}

/// A stream row: a workflow.
#[derive(Clone, Debug)]
pub struct StreamEntry {
    /// The program that decides it.
    pub program: Program,
    /// How far it is.
    pub status: Status,
    /// The seq of its newest event.
    pub head: i64,
    /// Who holds it, and until when.
    pub lease: Option<(String, Micros)>,
    /// Why it is quarantined.
    pub reason: Option<String>,
    /// On which input.
    pub input: Option<String>,
    /// When it changed last.
    pub changed_at: Micros,
}

impl StreamEntry {
    pub(super) fn standing(&self) -> Standing {
        Standing { program: self.program.clone(), status: self.status, head: self.head }
    }

    pub(super) fn listed(&self, stream: &str) -> ListedWorkflow {
        ListedWorkflow {
            stream: stream.to_owned(),
            program: self.program.to_string(),
            status: Some(self.status),
            head: self.head,
            reason: self.reason.clone(),
            input: self.input.clone(),
            changed_at: Some(self.changed_at),
        }
    }
}
