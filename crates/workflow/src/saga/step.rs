//! One step of a saga: what it asks, and what undoes it.
//!
//! Guarantees: a step sees what the saga was started with and what the steps before it came to.
//! Does not: send; it makes a command.

use std::collections::BTreeMap;

use counterfoil_core::domain::{CommandRefused, Span};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::decision::Unnamed;

type Ask<T> = Box<dyn Fn(&T, &SoFar<'_>) -> Result<Unnamed, CommandRefused> + Send + Sync>;

/// What becomes of a step that is done when the saga goes back.
pub(super) enum Undo<T> {
    /// It is undone so.
    By(Ask<T>),
    /// It left nothing behind.
    Nothing,
    /// It cannot be undone: with it the saga is through.
    Impossible,
}

/// One step: a command, what undoes it, perhaps a deadline.
pub struct Step<T> {
    pub(super) label: String,
    pub(super) ask: Ask<T>,
    pub(super) undo: Undo<T>,
    pub(super) within: Option<Span>,
}

impl<T> Step<T> {
    /// A step of this label that asks what `ask` makes, without a deadline. It cannot be undone, so
    /// it must be the last of its saga, unless [`undo`](Self::undo) or
    /// [`nothing_to_undo`](Self::nothing_to_undo) follows.
    ///
    /// A command that breaks a rule counts as refused.
    pub fn new(
        label: impl Into<String>,
        ask: impl Fn(&T, &SoFar<'_>) -> Result<Unnamed, CommandRefused> + Send + Sync + 'static,
    ) -> Self {
        Self { label: label.into(), ask: Box::new(ask), undo: Undo::Impossible, within: None }
    }

    /// What undoes it, once it is done.
    #[must_use]
    pub fn undo(
        mut self,
        undo: impl Fn(&T, &SoFar<'_>) -> Result<Unnamed, CommandRefused> + Send + Sync + 'static,
    ) -> Self {
        self.undo = Undo::By(Box::new(undo));
        self
    }

    /// It leaves nothing behind that would have to be undone: a question, for one.
    #[must_use]
    pub fn nothing_to_undo(mut self) -> Self {
        self.undo = Undo::Nothing;
        self
    }

    /// So long after it is asked its receipt must be there, else the saga is undone: then the
    /// command is cancelled where it is certain that nobody has seen it, and waited for where not.
    #[must_use]
    pub const fn within(mut self, within: Span) -> Self {
        self.within = Some(within);
        self
    }

    pub(super) const fn is_final(&self) -> bool {
        matches!(self.undo, Undo::Impossible)
    }
}

/// What the steps and signals so far came to.
#[derive(Clone, Copy, Debug)]
pub struct SoFar<'a> {
    pub(super) results: &'a BTreeMap<String, Value>,
    pub(super) heard: &'a BTreeMap<String, Value>,
}

impl SoFar<'_> {
    /// The result of the step of this label, if it is done and its result is such JSON. A result
    /// that is no JSON is a string.
    #[must_use]
    pub fn result<V: DeserializeOwned>(&self, label: &str) -> Option<V> {
        self.results.get(label).and_then(|value| V::deserialize(value).ok())
    }

    /// The body of the signal of this name, if it came and is such JSON.
    #[must_use]
    pub fn signal<V: DeserializeOwned>(&self, name: &str) -> Option<V> {
        self.heard.get(name).and_then(|value| V::deserialize(value).ok())
    }
}
