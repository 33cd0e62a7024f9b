//! What an inline delivery did, and what it left.
//!
//! Guarantees: each attempt in the order in which it was settled; for each command that is left,
//! why. Does not: tell of commands that were done before.

use std::collections::BTreeMap;
use std::fmt;

use counterfoil_core::domain::{Destination, Micros, Span, State};
use counterfoil_core::port::read::{Filter, Listed, Status};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Notice, Store};

use super::fail;

/// The states of a command that has not ended.
const OPEN: [State; 7] = [
    State::Pending,
    State::Sending,
    State::Asking,
    State::Published,
    State::Dead,
    State::Uncertain,
    State::Conflict,
];

/// The most commands of one state that are told as left.
const LEFT_MAX: usize = 1000;

/// One attempt, or one question, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tried {
    /// The command.
    pub command_id: String,
    /// Its destination.
    pub destination: String,
    /// Which attempt of its round.
    pub attempt: u32,
    /// The outcome's name, such as `completed` or `unknown`.
    pub outcome: &'static str,
    /// Its reason or evidence.
    pub reason: String,
    /// The state or receipt that it led to, such as `pending` or `completed`.
    pub now: &'static str,
}

/// A command that is still open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Left {
    /// The command.
    pub command_id: String,
    /// Its destination.
    pub destination: String,
    /// Its state.
    pub state: String,
    /// Attempts of its round.
    pub attempts: u32,
    /// Whether an attempt may have acted.
    pub in_doubt: bool,
    /// When a machine looks at it next.
    pub due_at: Option<Micros>,
    /// Why it is left, for people.
    pub why: String,
}

/// What an inline delivery came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivered {
    /// All attempts and questions, in order.
    pub tries: Vec<Tried>,
    /// The ids of the commands that ended unsent, as they were past their expiry.
    pub expired: Vec<String>,
    /// What is still open, of all destinations, in the order of recording inside a state.
    pub left: Vec<Left>,
    /// How much time was let pass.
    pub advanced: Span,
}

impl Delivered {
    /// How many attempts had this outcome; `"expired"` counts the commands that ended so.
    #[must_use]
    pub fn count(&self, outcome: &str) -> usize {
        self.counts().get(outcome).copied().unwrap_or(0)
    }

    /// Attempts by outcome, and under `expired` the commands that ended so.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for tried in &self.tries {
            *counts.entry(tried.outcome).or_default() += 1;
        }
        if !self.expired.is_empty() {
            counts.insert("expired", self.expired.len());
        }
        counts
    }

    /// Asserts that every command has ended.
    ///
    /// # Panics
    /// Some has not; the message names each, and why.
    #[track_caller]
    pub fn assert_nothing_left(&self) -> &Self {
        if !self.left.is_empty() {
            fail(format_args!("some commands have not ended\n{self}"));
        }
        self
    }

    pub(super) fn hear(&mut self, notice: &Notice) {
        match notice {
            Notice::Settled { command, destination, outcome, reason, now, attempt, .. } => {
                self.tries.push(Tried {
                    command_id: command.to_string(),
                    destination: destination.to_string(),
                    attempt: *attempt,
                    outcome,
                    reason: reason.clone(),
                    now,
                });
            }
            Notice::Expired { command, .. } => self.expired.push(command.clone()),
            _ => {}
        }
    }
}

impl fmt::Display for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> =
            self.counts().iter().map(|(name, count)| format!("{count} {name}")).collect();
        let counts = if counts.is_empty() { "no attempt".into() } else { counts.join(", ") };
        write!(f, "{counts}; {} left", self.left.len())?;
        for left in &self.left {
            let Left { command_id, destination, state, attempts, why, .. } = left;
            write!(f, "\n  - {command_id} to {destination} is {state}")?;
            write!(f, " after {attempts} attempts: {why}")?;
        }
        Ok(())
    }
}

/// Whether something is due by `now` that was never tried.
pub(super) async fn is_new_due(
    store: &impl Store,
    names: &[Destination],
    now: Micros,
) -> Result<bool, StoreError> {
    let state = Some(State::Pending.name().to_owned());
    let filter = Filter { state, limit: LEFT_MAX, ..Filter::default() };
    let pending = store.list(filter).await?;
    Ok(pending.iter().any(|one| {
        let is_served = names.iter().any(|name| name.as_str() == one.destination);
        is_served && one.attempts == 0 && one.available_at.is_some_and(|due| due <= now)
    }))
}

/// What is still open, and why.
pub(super) async fn left(store: &impl Store, served: &[&str]) -> Result<Vec<Left>, StoreError> {
    let status = store.status().await?;
    let mut left = Vec::new();
    for state in OPEN {
        let state = Some(state.name().to_owned());
        let filter = Filter { state, limit: LEFT_MAX, ..Filter::default() };
        let listed = store.list(filter).await?;
        left.extend(listed.into_iter().map(|one| Left {
            why: why(&one, &status, served),
            command_id: one.command_id,
            destination: one.destination,
            state: one.state,
            attempts: one.attempts,
            in_doubt: one.in_doubt,
            due_at: one.available_at,
        }));
    }
    Ok(left)
}

fn why(one: &Listed, status: &Status, served: &[&str]) -> String {
    let last = one.last_outcome.as_deref().unwrap_or("no attempt ended yet");
    match State::from_name(&one.state) {
        Some(State::Dead | State::Uncertain | State::Conflict) => {
            return format!("it waits for a person: {last}");
        }
        Some(State::Sending | State::Asking) => {
            return "it is under the lease of a relay that did not settle it; it is taken over when \
                    the lease runs out"
                .into();
        }
        _ => {}
    }
    if let Some(reason) = status.paused.get(&one.destination) {
        return format!("its destination is paused: {reason}");
    }
    if !served.contains(&one.destination.as_str()) {
        return format!("nothing serves {} here: name it in the list", one.destination);
    }
    let Some(due_at) = one.available_at else {
        return "it waits behind another command of its lane".into();
    };
    let wait = due_at.since(status.now);
    let wait = wait.to_std();
    match (State::from_name(&one.state), one.attempts) {
        (Some(State::Published), _) => format!("its receipt is overdue in {wait:.1?}: {last}"),
        (_, 0) => format!("it is not due before {wait:.1?} from now"),
        _ => format!("it is tried again in {wait:.1?}: {last}"),
    }
}
