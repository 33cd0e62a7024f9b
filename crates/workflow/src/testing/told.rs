//! What a story told.

use std::io;

use counterfoil_core::domain::workflow::{End, Program};
use counterfoil_core::domain::{Command, EventRow, Micros, Stream};
use counterfoil_core::port::workflow::Issued;

/// A command that a workflow issued.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asked {
    /// Its id.
    pub id: String,
    /// Its label.
    pub label: String,
    /// What was asked, of whom.
    pub command: Command,
    /// When.
    pub at: Micros,
}

/// What a story told: everything in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Told<E> {
    /// How the workflow ended; `None`: it waits for something that the story does not give.
    pub end: Option<End>,
    /// When its last input was decided.
    pub at: Micros,
    /// The program's events.
    pub events: Vec<E>,
    /// The commands.
    pub commands: Vec<Asked>,
    /// Labels of commands that nobody answered.
    pub open: Vec<String>,
    /// Why inputs were not given to the program, with their ids.
    pub ignored: Vec<(String, String)>,
    /// The whole history, as it would stand in a store.
    pub history: Vec<EventRow>,
    pub(crate) stream: Stream,
    pub(crate) program: Program,
    pub(crate) issued: Vec<Issued>,
}

impl<E> Told<E> {
    /// The result, if it completed.
    #[must_use]
    pub fn completed(&self) -> Option<&serde_json::Value> {
        match &self.end {
            Some(End::Completed(result)) => Some(result),
            _ => None,
        }
    }

    /// The reason, if it failed.
    #[must_use]
    pub fn failed(&self) -> Option<&str> {
        match &self.end {
            Some(End::Failed(reason)) => Some(reason),
            _ => None,
        }
    }

    /// The labels of all commands, in order.
    #[must_use]
    pub fn labels(&self) -> Vec<&str> {
        self.commands.iter().map(|asked| asked.label.as_str()).collect()
    }

    /// Writes the history as a golden file for
    /// [`verify_file`](crate::verify::history::verify_file).
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_history(&self, to: &mut impl io::Write) -> io::Result<()> {
        let of = (&self.stream, &self.program);
        crate::verify::history::write(to, of, &self.history, &self.issued)
    }
}
