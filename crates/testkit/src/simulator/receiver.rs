//! A receiver, and the truth about it: what it did for each key, and when.
//!
//! Guarantees: it acts as its contract says, folding keys while it remembers them. Does not: lose
//! anything; the network in front of it does.

use std::collections::BTreeMap;

use super::site::Folds;

/// What stands about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    since_ms: u64,
    is_refused: bool,
}

/// What a receiver says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Done,
    Refused,
    /// A job is taken on; `begins` it, or it is known already.
    TakenOn {
        begins: bool,
    },
}

/// What a receiver says of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Done,
    Refused,
    InProgress,
    NotThere,
}

/// One receiver.
#[derive(Debug)]
pub(super) struct Receiver {
    folds: Folds,
    reports: bool,
    memory: BTreeMap<String, Known>,
    /// When it acted, by key.
    pub(super) effects: BTreeMap<String, Vec<u64>>,
    /// Jobs that are taken on and not done.
    jobs: BTreeMap<String, u64>,
    refused: BTreeMap<String, u64>,
}

impl Receiver {
    pub(super) fn new(folds: Folds, reports: bool) -> Self {
        Self {
            folds,
            reports,
            memory: BTreeMap::new(),
            effects: BTreeMap::new(),
            jobs: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// How often it acted on a key.
    pub(super) fn count(&self, key: &str) -> usize {
        self.effects.get(key).map_or(0, Vec::len)
    }

    /// Until when it remembers a key that it acted on; `None` if it never acted, or never forgets.
    pub(super) fn remembers_until(&self, key: &str) -> Option<u64> {
        let last = self.effects.get(key).and_then(|times| times.last())?;
        match self.folds {
            Folds::No => Some(*last),
            Folds::Ever => None,
            Folds::For(ttl) => Some(last + ttl),
        }
    }

    fn remembered(&self, key: &str, now_ms: u64) -> Option<Known> {
        let known = *self.memory.get(key)?;
        let is_kept = match self.folds {
            Folds::No => false,
            Folds::Ever => true,
            Folds::For(ttl) => now_ms <= known.since_ms + ttl,
        };
        is_kept.then_some(known)
    }

    /// A request arrives.
    pub(super) fn arrive(&mut self, key: &str, is_refused: bool, now_ms: u64) -> Word {
        let known = self.remembered(key, now_ms);
        let is_refused = known.map_or(is_refused, |known| known.is_refused);
        if known.is_none() {
            self.memory.insert(key.to_owned(), Known { since_ms: now_ms, is_refused });
        }
        if is_refused {
            self.refused.insert(key.to_owned(), now_ms);
            return Word::Refused;
        }
        if self.reports {
            if known.is_none() {
                *self.jobs.entry(key.to_owned()).or_default() += 1;
            }
            return Word::TakenOn { begins: known.is_none() };
        }
        if known.is_none() {
            self.act(key, now_ms);
        }
        Word::Done
    }

    fn act(&mut self, key: &str, now_ms: u64) {
        self.effects.entry(key.to_owned()).or_default().push(now_ms);
    }

    /// A job that was taken on is done.
    pub(super) fn work(&mut self, key: &str, now_ms: u64) {
        if let Some(left) = self.jobs.get_mut(key) {
            *left = left.saturating_sub(1);
        }
        self.act(key, now_ms);
    }

    /// Whether it judged and refused it.
    pub(super) fn has_refused(&self, key: &str) -> bool {
        self.refused.contains_key(key)
    }

    /// A question arrives.
    pub(super) fn tell(&self, key: &str) -> Told {
        if self.count(key) > 0 {
            Told::Done
        } else if self.jobs.get(key).is_some_and(|left| *left > 0) {
            Told::InProgress
        } else if self.refused.contains_key(key) {
            Told::Refused
        } else {
            Told::NotThere
        }
    }
}
