//! What happens in a saga, as it stands in its stream.
//!
//! Guarantees: stored names do not change between versions of this library. Does not: hold
//! commands; they stand in the outbox.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One event of a saga.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SagaEvent {
    /// It began with this.
    Began {
        /// The start's body.
        start: Value,
    },
    /// A stage began: steps that are asked, or a signal that is waited for.
    Entered {
        /// Which, from 0.
        stage: usize,
    },
    /// A step was asked.
    Asked {
        /// Its label.
        step: String,
    },
    /// A step is done.
    Done {
        /// Its label.
        step: String,
        /// The receiver's result; `null` where it is more than an event can hold.
        result: Value,
    },
    /// A step was refused, cancelled or expired: there is nothing to undo of it.
    Refused {
        /// Its label.
        step: String,
        /// Why.
        reason: String,
    },
    /// A signal came.
    Heard {
        /// Its name.
        signal: String,
        /// Its body.
        body: Value,
    },
    /// A signal came that is waited for, and that no event can hold: it is waited for still.
    Unheard {
        /// Its name.
        signal: String,
        /// Why.
        reason: String,
    },
    /// It will be undone.
    TurnedBack {
        /// Why.
        reason: String,
    },
    /// The undo of a step was asked.
    UndoAsked {
        /// The step's label.
        step: String,
    },
    /// A step is undone.
    Undone {
        /// Its label.
        step: String,
    },
    /// The undo of a step was refused: a person must say how it goes on.
    UndoRefused {
        /// The step's label.
        step: String,
        /// Why.
        reason: String,
    },
}
