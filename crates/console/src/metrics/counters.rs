//! An observer that counts: what the relay of this process did.
//!
//! Guarantees: every notice is counted once, in bounded memory: beyond [`DESTINATIONS_MAX`]
//! destinations the rest are one. Does not: know of other relays; each process counts its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use counterfoil_core::domain::Span;
use counterfoil_core::port::{Notice, Observer};
use tokio::time::Instant;

use super::histogram::Histogram;
use super::window::Window;

/// So many destinations are told apart.
pub(crate) const DESTINATIONS_MAX: usize = 500;
/// What the others are called; no configuration names a destination so.
pub(crate) const OTHERS: &str = "(others)";
/// The names of answers to questions; all other outcomes are of sends.
const ANSWERS: [&str; 5] = ["done", "refused", "not_there", "in_progress", "unclear"];

/// Counts what a relay tells; give it to the relay as an observer, and to the API by its options.
pub struct Counters {
    counts: Mutex<Counts>,
    started: Instant,
}

/// All counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) claims: u64,
    pub(crate) takeovers: u64,
    pub(crate) handed_back: u64,
    pub(crate) late: u64,
    pub(crate) leases_lost: u64,
    pub(crate) store_failures: u64,
    pub(crate) destinations: BTreeMap<String, Towards>,
}

/// The counts of one destination.
#[derive(Clone, Debug, Default)]
pub(crate) struct Towards {
    pub(crate) attempts: BTreeMap<&'static str, u64>,
    pub(crate) duration: Histogram,
    pub(crate) questions: BTreeMap<&'static str, u64>,
    pub(crate) parked: BTreeMap<&'static str, u64>,
    pub(crate) expired: u64,
    pub(crate) breaker_opened: u64,
    pub(crate) misconfigured: u64,
    pub(crate) pauses: u64,
    recent: Recent,
}

#[derive(Clone, Debug, Default)]
struct Recent {
    attempts: Window,
    completed: Window,
}

/// How often a second in the last minute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    pub(crate) attempts: f64,
    pub(crate) completed: f64,
}

impl Default for Counters {
    fn default() -> Self {
        Self { counts: Mutex::default(), started: Instant::now() }
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").finish_non_exhaustive()
    }
}

impl Counters {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn second(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// A copy, so that nobody who reads keeps the relay waiting.
    pub(crate) fn all(&self) -> Counts {
        self.counts().clone()
    }

    /// The rates of the last minute, by destination.
    pub(crate) fn rates(&self) -> Vec<(String, Rates)> {
        let second = self.second();
        let mut counts = self.counts();
        let rates = counts.destinations.iter_mut().map(|(name, towards)| {
            let recent = &mut towards.recent;
            let attempts = recent.attempts.per_second(second);
            let completed = recent.completed.per_second(second);
            (name.clone(), Rates { attempts, completed })
        });
        rates.collect()
    }
}

impl Counts {
    fn towards(&mut self, name: &str) -> &mut Towards {
        // Rows of a stranger may name any number of destinations.
        let is_full = self.destinations.len() >= DESTINATIONS_MAX;
        let name = if is_full && !self.destinations.contains_key(name) { OTHERS } else { name };
        self.destinations.entry(name.to_owned()).or_default()
    }

    fn settled(&mut self, name: &str, outcome: &'static str, took: Span, second: u64) {
        let towards = self.towards(name);
        if ANSWERS.contains(&outcome) {
            *towards.questions.entry(outcome).or_default() += 1;
        } else {
            *towards.attempts.entry(outcome).or_default() += 1;
            towards.duration.add(took);
            towards.recent.attempts.add(second);
        }
        if matches!(outcome, "completed" | "accepted" | "done") {
            towards.recent.completed.add(second);
        }
    }
}

impl Observer for Counters {
    fn notice(&self, notice: &Notice) {
        let second = self.second();
        let mut counts = self.counts();
        match notice {
            // What is served has its series from the start, so that a first failure is a rise.
            Notice::Started { destinations, .. } => {
                for destination in destinations {
                    counts.towards(destination.as_str());
                }
            }
            Notice::Claimed { count, taken_over } => {
                counts.claims += *count as u64;
                counts.takeovers += *taken_over as u64;
            }
            Notice::Settled { destination, outcome, took, .. } => {
                counts.settled(destination.as_str(), outcome, *took, second);
            }
            Notice::Parked { destination, state, .. } => {
                *counts.towards(destination).parked.entry(state.name()).or_default() += 1;
            }
            Notice::Expired { destination, .. } => counts.towards(destination).expired += 1,
            Notice::BreakerOpened { destination, .. } => {
                counts.towards(destination.as_str()).breaker_opened += 1;
            }
            Notice::Misconfigured { destination, .. } => {
                counts.towards(destination.as_str()).misconfigured += 1;
            }
            Notice::Paused { destination, .. } => {
                counts.towards(destination.as_str()).pauses += 1;
            }
            Notice::Late { .. } => counts.late += 1,
            Notice::LeaseLost { .. } => counts.leases_lost += 1,
            Notice::HandedBack { .. } => counts.handed_back += 1,
            Notice::StoreFailed { .. } => counts.store_failures += 1,
            // What stands is read when it is asked for.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::{CommandId, Destination, State};

    use super::*;

    fn settled(to: &str, outcome: &'static str) -> Notice {
        Notice::Settled {
            command: CommandId::new("a").unwrap(),
            destination: Destination::new(to).unwrap(),
            outcome,
            reason: String::new(),
            now: "pending",
            attempt: 1,
            took: Span::from_secs(1),
            trace: None,
        }
    }

    #[test]
    fn sends_and_questions_are_counted_apart() {
        let counters = Counters::default();
        for outcome in ["completed", "unknown", "unknown", "done", "unclear"] {
            counters.notice(&settled("shop", outcome));
        }
        let counts = counters.all();
        let shop = &counts.destinations["shop"];
        assert_eq!(shop.attempts, [("completed", 1), ("unknown", 2)].into());
        assert_eq!(shop.questions, [("done", 1), ("unclear", 1)].into());
        assert_eq!(shop.duration.count(), 3);
        let rates = counters.rates();
        assert_eq!(rates[0].0, "shop");
        assert!((rates[0].1.attempts - 3.0).abs() < 2.9 && rates[0].1.attempts > 0.0);
        assert!(rates[0].1.completed > 0.0);
    }

    #[test]
    fn rows_of_a_stranger_cannot_fill_the_memory() {
        let counters = Counters::default();
        for n in 0..DESTINATIONS_MAX + 100 {
            let (command, destination) = ("a".to_owned(), format!("d{n}"));
            let (state, reason, trace) = (State::Dead, String::new(), None);
            counters.notice(&Notice::Parked { command, destination, state, reason, trace });
        }
        let counts = counters.all();
        assert_eq!(counts.destinations.len(), DESTINATIONS_MAX + 1);
        assert_eq!(counts.destinations[OTHERS].parked["dead"], 100);
    }
}
