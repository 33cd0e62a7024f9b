//! A process as a list of steps, each with its undo: the short form of a workflow.
//!
//! Guarantees: steps are asked in order, those of a group together; when one is refused, a deadline
//! passes or somebody cancels, what was done is undone in reverse, one by one, as commands with
//! receipts of their own; no undo is asked before the fate of every command that was asked is
//! known; a refused undo waits for a person. A step that cannot be undone is the last one: once it
//! is asked its receipt alone says whether the saga is through or goes back. Does not: decide for
//! a command that is parked: `resolve` does, and then the saga goes on.

mod bound;
mod decide;
mod event;
mod progress;
mod step;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::marker::PhantomData;

use counterfoil_core::domain::Span;
use counterfoil_core::domain::workflow::INPUT_NAME_BYTES_MAX;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use event::SagaEvent;
pub use progress::{Phase, Progress};
pub use step::{SoFar, Step};

use crate::decision::Decision;
use crate::input::Input;
use crate::limits::{LABEL_BYTES_MAX, TIMER_NAME_BYTES_MAX};
use crate::workflow::Workflow;

/// What a person signals when an undo that was refused has been done by hand; body `{"step": …}`.
pub const UNDONE: &str = "undone";
/// What a person signals to ask for a refused undo once more; body `{"step": …}`.
pub const UNDO_AGAIN: &str = "undo_again";

/// The longest deadline: 100 years. One that is past what a column holds sets each workflow aside
/// as it comes to it.
const WITHIN_MAX: Span = Span::from_secs(100 * 366 * 86_400);

/// Why a step that cannot be undone is refused elsewhere than at the end.
const FINAL: &str = "cannot be undone, so it must be the last step, alone: give it an `undo`, or \
    `nothing_to_undo`";

/// What the label of an undo begins with.
const UNDO: &str = "undo:";
/// What the timer of a step's deadline begins with.
const STEP_TIMER: &str = "step:";
/// What the timer of a wait begins with.
const WAIT_TIMER: &str = "wait:";

/// One stage of a saga; the next begins when it is through.
enum Stage<T> {
    /// Steps that are asked together.
    Group(Vec<Step<T>>),
    /// A signal, or a deadline.
    Wait { signal: String, within: Option<Span> },
}

/// A process of steps with undo; a [`Workflow`] that is started with a `T` as JSON.
///
/// # Example
/// ```
/// use counterfoil_core::domain::Span;
/// use counterfoil_workflow::{Saga, Step, Unnamed};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Trip { id: String, price: u64 }
///
/// let trip = Saga::<Trip>::new("trip")
///     .step(Step::new("budget", |trip, _| Unnamed::json("bank", "budget.lock", trip))
///         .undo(|trip, _| Unnamed::json("bank", "budget.release", trip)))
///     .step(Step::new("flight", |trip, _| Unnamed::json("airline", "flight.book", trip))
///         .undo(|trip, _| Unnamed::json("airline", "flight.cancel", trip))
///         .within(Span::from_secs(3600)))
///     .wait("approve", Span::from_secs(3 * 86_400))
///     .step(Step::new("charge", |trip, _| Unnamed::json("bank", "charge", trip)));
/// ```
pub struct Saga<T> {
    name: String,
    version: u32,
    stages: Vec<Stage<T>>,
    within: Option<Span>,
    start: PhantomData<fn(T)>,
}

impl<T> Saga<T> {
    /// A saga without steps, version 1, which completes at once.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), version: 1, stages: Vec::new(), within: None, start: PhantomData }
    }

    /// Another version of it, from 1.
    #[must_use]
    pub const fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Then this step.
    ///
    /// # Panics
    /// If a step of this label is in the saga, or the label begins with `undo:`: a receipt could
    /// not say which it is of. If the label is empty, has control characters, or more than 250
    /// bytes, 195 with a deadline. If its deadline is more than 100 years away. If a step before it
    /// cannot be undone.
    #[must_use]
    pub fn step(self, step: Step<T>) -> Self {
        self.group(vec![step])
    }

    /// Then these steps at once; the next stage begins when all are done.
    ///
    /// # Panics
    /// As [`step`](Self::step).
    #[must_use]
    pub fn group(self, steps: Vec<Step<T>>) -> Self {
        let mut labels: BTreeSet<_> = self.steps().map(|step| step.label.clone()).collect();
        for step in &steps {
            let label = step.label.clone();
            assert!(
                labels.insert(label),
                "saga {}: two steps are called {}",
                self.name,
                step.label
            );
            let (max, timer) = (LABEL_BYTES_MAX - UNDO.len(), step.within.map(|_| STEP_TIMER));
            self.must_fit("the label", &step.label, (max, timer));
            self.must_come(&format!("the deadline of {}", step.label), step.within);
            let is_plain = !step.label.starts_with(UNDO);
            assert!(is_plain, "saga {}: a label may not begin with {UNDO}", self.name);
            let is_alone = !step.is_final() || steps.len() == 1;
            assert!(is_alone, "saga {}: {} {FINAL}", self.name, step.label);
        }
        self.then(Stage::Group(steps))
    }

    fn then(mut self, stage: Stage<T>) -> Self {
        let last = self.steps().find(|step| step.is_final()).map(|step| step.label.as_str());
        assert!(last.is_none(), "saga {}: {} {FINAL}", self.name, last.unwrap_or_default());
        self.stages.push(stage);
        self
    }

    /// Then the signal of this name, at most so long after the stage begins; it may come earlier.
    /// Without it in time everything is undone.
    ///
    /// # Panics
    /// If the saga waits for a signal of this name already: the first one would end both waits. If
    /// the name is empty, has control characters, or more than 195 bytes. If the time is more than
    /// 100 years. If a step before it cannot be undone.
    #[must_use]
    pub fn wait(self, signal: impl Into<String>, within: Span) -> Self {
        self.wait_at_most(signal.into(), Some(within))
    }

    /// Then the signal of this name, however long it takes.
    ///
    /// # Panics
    /// As [`wait`](Self::wait), but that the name may have 240 bytes.
    #[must_use]
    pub fn wait_for_ever(self, signal: impl Into<String>) -> Self {
        self.wait_at_most(signal.into(), None)
    }

    fn wait_at_most(self, signal: String, within: Option<Span>) -> Self {
        let name = &self.name;
        let timer = within.map(|_| WAIT_TIMER);
        self.must_fit("the signal", &signal, (INPUT_NAME_BYTES_MAX, timer));
        self.must_come(&format!("the wait for {signal}"), within);
        let mut waits = self.stages.iter().filter_map(|stage| match stage {
            Stage::Wait { signal, .. } => Some(signal),
            Stage::Group(_) => None,
        });
        let is_new = waits.all(|other| *other != signal);
        assert!(is_new, "saga {name}: it waits for {signal} twice, and one signal would end both");
        self.then(Stage::Wait { signal, within })
    }

    /// Refuses what a runner would set aside, once it is there.
    fn must_fit(&self, what: &str, name: &str, (max, timer): (usize, Option<&str>)) {
        let of_timer = timer.map_or(max, |before| TIMER_NAME_BYTES_MAX - before.len());
        let max = max.min(of_timer);
        let is_control = |byte: u8| byte < 0x20 || byte == 0x7f;
        assert!(
            (1..=max).contains(&name.len()) && !name.bytes().any(is_control),
            "saga {}: {what} {name:?} must have 1 to {max} bytes without control characters",
            self.name
        );
    }

    /// The whole of it must be through so long after its start, else it is undone. Default: no
    /// deadline.
    ///
    /// # Panics
    /// If it is more than 100 years away.
    #[must_use]
    pub fn within(mut self, within: Span) -> Self {
        self.must_come("its deadline", Some(within));
        self.within = Some(within);
        self
    }

    /// Refuses a time that no column holds, before a workflow comes to it.
    fn must_come(&self, what: &str, within: Option<Span>) {
        let is_near = within.is_none_or(|within| within <= WITHIN_MAX);
        let name = &self.name;
        assert!(is_near, "saga {name}: {what} is more than 100 years away; leave it out for none");
    }

    fn steps(&self) -> impl Iterator<Item = &Step<T>> {
        self.stages.iter().flat_map(|stage| match stage {
            Stage::Group(steps) => steps.as_slice(),
            Stage::Wait { .. } => &[],
        })
    }

    fn step_of(&self, label: &str) -> Option<&Step<T>> {
        self.steps().find(|step| step.label == label)
    }
}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Workflow for Saga<T> {
    type State = Progress;
    type Event = SagaEvent;

    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn evolve(&self, mut state: Progress, event: &SagaEvent) -> Progress {
        state.apply(event);
        state
    }

    fn decide(&self, state: &Progress, input: &Input) -> Decision<SagaEvent> {
        decide::decide(self, state, input)
    }
}
