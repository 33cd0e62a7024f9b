//! What a workflow is told, and when.
//!
//! Guarantees: an input holds all that replay needs; a receipt is as it was read when it was
//! decided. Does not: check a body; the program does, and may ignore it.

use counterfoil_core::domain::{Micros, ReceiptOutcome};
use serde::de::DeserializeOwned;

/// One input of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// Its id, unique within the workflow.
    pub id: String,
    /// When it is decided, microseconds UTC: the only time a program may know.
    pub at: Micros,
    /// What it is.
    pub what: What,
}

/// What an input is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The workflow begins.
    Start {
        /// What it was started with.
        body: Vec<u8>,
    },
    /// One of its commands has ended.
    Receipt(Receipt),
    /// A timer of this name is due.
    Timer {
        /// Its name.
        name: String,
    },
    /// A message from outside.
    Signal {
        /// Which.
        name: String,
        /// Its bytes.
        body: Vec<u8>,
    },
    /// Somebody asks it to end.
    Cancel {
        /// Why, as given.
        reason: String,
    },
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The command's id.
    pub command_id: String,
    /// The label that the decision gave it; else its kind.
    pub label: String,
    /// Its kind.
    pub kind: String,
    /// To whom it went.
    pub destination: String,
    /// What became of it. `Accepted` too ends a command: the receiver took it over.
    pub outcome: ReceiptOutcome,
    /// The receiver's result; the reason of a rejection.
    pub result: Option<Vec<u8>>,
    /// By what it is known.
    pub evidence: Option<String>,
}

impl Receipt {
    /// A receipt of the command labelled `label` (of that kind too), for tests.
    #[must_use]
    pub fn of(label: impl Into<String>, outcome: ReceiptOutcome) -> Self {
        let label = label.into();
        Self {
            command_id: String::new(),
            kind: label.clone(),
            label,
            destination: String::new(),
            outcome,
            result: None,
            evidence: None,
        }
    }

    /// The same with this result.
    #[must_use]
    pub fn with_result(mut self, result: impl Into<Vec<u8>>) -> Self {
        self.result = Some(result.into());
        self
    }

    /// Whether the receiver did it: completed, or accepted as good as done.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.outcome, ReceiptOutcome::Completed | ReceiptOutcome::Accepted)
    }

    /// The result as JSON; `null` where there is none.
    ///
    /// # Errors
    /// What serde reports.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(self.result.as_deref().unwrap_or(b"null"))
    }
}

impl Input {
    /// An input, for tests and for runners.
    #[must_use]
    pub fn new(id: impl Into<String>, at: Micros, what: What) -> Self {
        Self { id: id.into(), at, what }
    }

    /// The body of a start or signal as JSON.
    ///
    /// # Errors
    /// What serde reports; also for an input without a body.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(match &self.what {
            What::Start { body } | What::Signal { body, .. } => body,
            What::Receipt(_) | What::Timer { .. } | What::Cancel { .. } => b"null",
        })
    }
}
