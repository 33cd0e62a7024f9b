//! Tests of a workflow without a runtime, a store or a clock.
//!
//! Guarantees: the same engine decides as in production, and what a runner would quarantine ends
//! the test with the same words. Does not: send anything; receivers are scripted.
//!
//! [`given`] asks for one decision; a [`Story`] runs a workflow to its end in virtual time.
//!
//! # Example
//! ```
//! use counterfoil_workflow::testing::{Story, completed, given, signal};
//! use counterfoil_workflow::{Decision, Input, Unnamed, What, Workflow};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Debug, PartialEq)]
//! enum Event {
//!     Approved { by: String },
//! }
//! struct Approval;
//! impl Workflow for Approval {
//!     type State = bool;
//!     type Event = Event;
//!     fn name(&self) -> &str {
//!         "approval"
//!     }
//!     fn evolve(&self, _: bool, event: &Event) -> bool {
//!         matches!(event, Event::Approved { .. })
//!     }
//!     fn decide(&self, approved: &bool, input: &Input) -> Decision<Event> {
//!         match &input.what {
//!             What::Signal { name, .. } if name == "approve" && !approved => {
//!                 let pay = Unnamed::json("bank", "pay", &7).expect("a command");
//!                 Decision::none().event(Event::Approved { by: "ann".into() }).command(pay)
//!             }
//!             What::Receipt(receipt) if receipt.is_done() => Decision::none().complete("paid"),
//!             _ => Decision::none(),
//!         }
//!     }
//! }
//!
//! given(Approval, [])
//!     .when(signal("approve", &()))
//!     .then_events([Event::Approved { by: "ann".into() }])
//!     .then_commands([Unnamed::json("bank", "pay", &7)?])
//!     .when(signal("approve", &()))
//!     .then_nothing();
//!
//! let told = Story::of(Approval)
//!     .signal_after(counterfoil_core::domain::Span::from_secs(60), "approve", &())
//!     .receiver("pay", [completed(&())])
//!     .run_to_end();
//! assert_eq!(told.completed(), Some(&serde_json::json!("paid")));
//! # Ok::<(), counterfoil_core::domain::CommandRefused>(())
//! ```

mod given;
mod story;
mod told;

use counterfoil_core::domain::{ReceiptOutcome, Span, json};
use serde::Serialize;

use crate::broken::Broken;
use crate::input::{Receipt, What};

pub use given::{Given, Then, given};
pub use story::{INPUTS_MAX, STARTED_AT, Story};
pub use told::{Asked, Told};

/// The workflow begins, with this body.
///
/// # Panics
/// The body is no JSON.
#[must_use]
#[track_caller]
pub fn start(body: &impl Serialize) -> What {
    What::Start { body: bytes(body) }
}

/// A signal, with this body.
///
/// # Panics
/// The body is no JSON.
#[must_use]
#[track_caller]
pub fn signal(name: impl Into<String>, body: &impl Serialize) -> What {
    What::Signal { name: name.into(), body: bytes(body) }
}

/// A timer of this name is due.
#[must_use]
pub fn timer(name: impl Into<String>) -> What {
    What::Timer { name: name.into() }
}

/// Somebody asks the workflow to end.
#[must_use]
pub fn cancel(reason: impl Into<String>) -> What {
    What::Cancel { reason: reason.into() }
}

/// The command of this label has ended; see [`Receipt::of`] for one with a result.
#[must_use]
pub fn receipt(label: impl Into<String>, outcome: ReceiptOutcome) -> What {
    What::Receipt(Receipt::of(label, outcome))
}

impl From<Receipt> for What {
    fn from(receipt: Receipt) -> Self {
        Self::Receipt(receipt)
    }
}

/// What a scripted receiver answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// What becomes of the command.
    pub outcome: ReceiptOutcome,
    /// The result, or the reason of a rejection.
    pub result: Option<Vec<u8>>,
    /// How long after it was issued. Default: at once.
    pub after: Span,
}

impl Answer {
    /// This outcome, at once, without a result.
    #[must_use]
    pub const fn of(outcome: ReceiptOutcome) -> Self {
        Self { outcome, result: None, after: Span::ZERO }
    }

    /// The same, so long after the command was issued.
    #[must_use]
    pub const fn after(mut self, after: Span) -> Self {
        self.after = after;
        self
    }
}

/// The receiver does it, with this result.
///
/// # Panics
/// The result is no JSON.
#[must_use]
#[track_caller]
pub fn completed(result: &impl Serialize) -> Answer {
    Answer { result: Some(bytes(result)), ..Answer::of(ReceiptOutcome::Completed) }
}

/// The receiver refuses, with this reason.
#[must_use]
pub fn rejected(reason: impl Into<String>) -> Answer {
    let result = Some(reason.into().into_bytes());
    Answer { result, ..Answer::of(ReceiptOutcome::Rejected) }
}

#[track_caller]
fn bytes(body: &impl Serialize) -> Vec<u8> {
    match json::to_sorted_vec(body) {
        Ok(bytes) => bytes,
        Err(why) => fail(&format!("a body is no JSON: {why}")),
    }
}

#[track_caller]
fn must<T>(done: Result<T, Broken>) -> T {
    match done {
        Ok(value) => value,
        Err(why) => fail(&format!("a runner would quarantine the workflow: {why}")),
    }
}

/// Ends the test.
#[expect(clippy::panic, reason = "that is how a helper of tests says no")]
#[track_caller]
fn fail(words: &str) -> ! {
    panic!("{words}")
}
