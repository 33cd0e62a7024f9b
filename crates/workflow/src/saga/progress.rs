//! How far a saga is.
//!
//! Guarantees: it follows from the events alone. Does not: know the steps; the saga does.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::SagaEvent;

/// Which way a saga goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It has not begun.
    #[default]
    Unstarted,
    /// On.
    Forward,
    /// Back, for this reason.
    Back(String),
}

/// The state of a saga.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// Which way it goes.
    pub phase: Phase,
    /// What it was started with.
    pub start: Value,
    /// The stage it is in; `None` before the first.
    pub stage: Option<usize>,
    /// Steps that were asked and whose fate is not known.
    pub open: BTreeSet<String>,
    /// Steps that are done and not undone, in the order in which they were done.
    pub done: Vec<String>,
    /// What they came to.
    pub results: BTreeMap<String, Value>,
    /// Signals that came, with the first body of each.
    pub heard: BTreeMap<String, Value>,
    /// The step whose undo was asked.
    pub undoing: Option<String>,
    /// The step whose undo was refused, and why: a person must say how it goes on.
    pub stuck: Option<(String, String)>,
}

impl Progress {
    pub(super) fn apply(&mut self, event: &SagaEvent) {
        match event {
            SagaEvent::Began { start } => {
                self.phase = Phase::Forward;
                self.start = start.clone();
            }
            SagaEvent::Entered { stage } => self.stage = Some(*stage),
            SagaEvent::Asked { step } => {
                self.open.insert(step.clone());
            }
            SagaEvent::Done { step, result } => {
                self.open.remove(step);
                self.done.push(step.clone());
                self.results.insert(step.clone(), result.clone());
            }
            SagaEvent::Refused { step, .. } => {
                self.open.remove(step);
            }
            SagaEvent::Heard { signal, body } => {
                self.heard.entry(signal.clone()).or_insert_with(|| body.clone());
            }
            SagaEvent::Unheard { .. } => {}
            SagaEvent::TurnedBack { reason } => self.phase = Phase::Back(reason.clone()),
            SagaEvent::UndoAsked { step } => {
                self.stuck = None;
                self.undoing = Some(step.clone());
            }
            SagaEvent::Undone { step } => {
                (self.undoing, self.stuck) = (None, None);
                self.done.retain(|done| done != step);
            }
            SagaEvent::UndoRefused { step, reason } => {
                self.undoing = None;
                self.stuck = Some((step.clone(), reason.clone()));
            }
        }
    }
}
