//! What the runs reached: faults by kind, and what the relays did about them.
//!
//! Guarantees: counts add up over seeds. Does not: judge.

use std::collections::BTreeMap;
use std::fmt;

/// What a thousand runs must have drawn or reached: people, lanes, breakers, limits and workflows.
pub(super) const NEEDED: [&str; 52] = [
    "acts by hand of which it is not known",
    "acts by hand that are refused",
    "acts by hand that fail",
    "acts that a person had closed",
    "answers in a spell: slow",
    "arrivals behind a later one of the lane",
    "attempts that reach a limit",
    "audits",
    "breakers closed",
    "breakers opened",
    "cancel",
    "cancel by filter",
    "effects",
    "expired",
    "false words: completed",
    "false words: not done",
    "false words: rejected",
    "inputs sent twice",
    "lanes that a parked head blocks",
    "lanes that pass a parked head",
    "lanes where a retried or redelivered one goes next",
    "lanes where one waits for another",
    "late settles",
    "nights",
    "pauses by hand",
    "permissions to act twice",
    "probes",
    "probes that found it down",
    "redeliver",
    "redeliver by filter",
    "redeliver, may act twice",
    "requests delivered twice",
    "resolve: completed",
    "resolve: not done",
    "resolve: rejected",
    "resumes by hand",
    "retry",
    "retry by filter",
    "retry, may act twice",
    "runners started",
    "second acts that a person allowed",
    "sends in a spell: busy",
    "sends in a spell: down",
    "sends in a spell: failing",
    "sends in a spell: misconfigured",
    "sends of poison",
    "sends that a person allowed to act twice",
    "steps refused",
    "takeovers",
    "workflows completed",
    "workflows failed",
    "workflows that wait for a person",
];

/// Counts by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    pub(super) fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// What of all that a thousand runs must reach never happened.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        NEEDED.into_iter().filter(|what| self.of(what) == 0).collect()
    }

    /// How often it happened.
    #[must_use]
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(what, count)| writeln!(f, "{count:>12}  {what}"))
    }
}
