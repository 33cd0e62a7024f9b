//! What a workflow answers to an input.
//!
//! Guarantees: plain data; nothing is done until the runner commits it whole. Does not: name
//! commands; their ids follow from the stream, the decision's last seq and their place.

use counterfoil_core::domain::workflow::End;
use counterfoil_core::domain::{Command, CommandRefused, Micros, Span};
use serde::Serialize;

/// The events, commands and timers that follow from one input.
///
/// # Example
/// ```
/// use counterfoil_workflow::{Decision, Unnamed};
/// let book = Unnamed::json("airline", "flight.book", &serde_json::json!({"seat": "12A"}))?;
/// let decision: Decision<()> = Decision::none().command(book).timer_after(
///     "late",
///     counterfoil_core::domain::Span::from_secs(60),
/// );
/// assert_eq!(decision.commands.len(), 1);
/// # Ok::<(), counterfoil_core::domain::CommandRefused>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use = "a decision does nothing until it is returned"]
pub struct Decision<E> {
    /// What happened, in order.
    pub events: Vec<E>,
    /// What is asked of others, in order.
    pub commands: Vec<Unnamed>,
    /// Timers to set; one of the same name that waits is replaced.
    pub timers: Vec<Timer>,
    /// Names of timers to take back.
    pub unset: Vec<String>,
    /// Labels of open commands to cancel where that is still certain; their receipts say whether it
    /// was.
    pub cancel: Vec<String>,
    /// The end of the workflow. What is still open goes on; its receipts are ignored.
    pub end: Option<End>,
}

/// A timer to be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Its name.
    pub name: String,
    /// When it is due.
    pub due: Due,
}

/// When a timer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// So long after the input was decided.
    After(Span),
    /// At a time.
    At(Micros),
}

/// A command of a decision, before it has an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unnamed {
    /// The command without its id.
    pub command: Command,
    /// What its receipt is told by; default: its kind. Two open commands of one label are refused.
    pub label: Option<String>,
}

impl Unnamed {
    /// A command with a JSON body, keys sorted.
    ///
    /// # Errors
    /// A name that breaks its rule, or a value that is no JSON.
    pub fn json(
        destination: impl Into<String>,
        kind: impl Into<String>,
        body: &impl Serialize,
    ) -> Result<Self, CommandRefused> {
        Ok(Self { command: Command::unnamed(destination, kind, body)?, label: None })
    }

    /// The same with a label.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// What its receipt is told by.
    #[must_use]
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or_else(|| self.command.kind.as_str())
    }
}

impl<E> Default for Decision<E> {
    fn default() -> Self {
        Self::none()
    }
}

impl<E> Decision<E> {
    /// Nothing follows; the input is consumed all the same.
    pub const fn none() -> Self {
        Self {
            events: Vec::new(),
            commands: Vec::new(),
            timers: Vec::new(),
            unset: Vec::new(),
            cancel: Vec::new(),
            end: None,
        }
    }

    /// And this happened.
    pub fn event(mut self, event: E) -> Self {
        self.events.push(event);
        self
    }

    /// And this is asked.
    pub fn command(mut self, command: Unnamed) -> Self {
        self.commands.push(command);
        self
    }

    /// And a timer is set, so long from now.
    pub fn timer_after(mut self, name: impl Into<String>, after: Span) -> Self {
        self.timers.push(Timer { name: name.into(), due: Due::After(after) });
        self
    }

    /// And a timer is set, at a time.
    pub fn timer_at(mut self, name: impl Into<String>, at: Micros) -> Self {
        self.timers.push(Timer { name: name.into(), due: Due::At(at) });
        self
    }

    /// And a timer is taken back; one that is not set is no error.
    pub fn unset(mut self, name: impl Into<String>) -> Self {
        self.unset.push(name.into());
        self
    }

    /// And the open command of this label is cancelled, where that is still certain.
    pub fn cancel(mut self, label: impl Into<String>) -> Self {
        self.cancel.push(label.into());
        self
    }

    /// And the workflow has ended as it should.
    pub fn complete(mut self, result: impl Into<serde_json::Value>) -> Self {
        self.end = Some(End::Completed(result.into()));
        self
    }

    /// And the workflow has ended otherwise.
    pub fn fail(mut self, reason: impl Into<String>) -> Self {
        self.end = Some(End::Failed(reason.into()));
        self
    }
}
