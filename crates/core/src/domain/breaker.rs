//! When a relay stops claiming for a destination that does not work, and when it tries again.
//!
//! Guarantees: pure; it opens on failures of several commands only, so that one poison command
//! never opens it; any success closes it; its pause is bounded, and a probe that does not end
//! holds it for a bounded time only. Does not: know of other relays, or of what ended before this
//! one began: each relay has its own.

use super::time::{Micros, Span};

/// So many failures in a row open it, if they are of [`DISTINCT`] commands at least.
pub const FAILURES: usize = 5;
/// Of so many commands at least.
pub const DISTINCT: usize = 3;
/// Misconfigured answers to so many commands open it, with no success between.
pub const MISCONFIGURED: usize = 2;
/// The first pause: 1 s.
pub const FIRST: Span = Span::from_secs(1);
/// The longest pause: 30 s. A probe that runs longer is joined by another.
pub const LONGEST: Span = Span::from_secs(30);

/// What the end of an attempt says about its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It works: it answered for itself.
    Works,
    /// It does not work, or nobody knows.
    Fails,
    /// It does not work because it is set up wrongly: a 404, a 401, a redirect.
    Misconfigured,
    /// It has too much to do (429): no failure, and no reason to send it more.
    Busy,
    /// Nothing: a status judged the command, and something in front of it may have said so.
    Nothing,
}

/// What follows from the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it counts as an attempt of its round.
    pub burns: bool,
    /// The command is not due again before: after a probe, so that those that were not probed come
    /// first.
    pub wait: Span,
}

impl Verdict {
    const COUNTS: Self = Self { burns: true, wait: Span::ZERO };
}

/// Whether claims are let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// No claim before `until`; then one probe.
    Open {
        until: Micros,
        pause: Span,
    },
    /// The probe, command `n`, is under way; after `until` another may join it.
    Probing {
        n: i64,
        pause: Span,
        until: Micros,
    },
}

/// The breaker of one destination in one relay. Its times are of any clock that never steps back.
#[derive(Clone, Debug)]
pub struct Breaker {
    state: State,
    /// The commands of the last attempts, as long as all of them failed.
    failed: Vec<i64>,
    /// The commands answered as misconfigured, with no success between.
    misconfigured: Vec<i64>,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { state: State::Closed, failed: Vec::new(), misconfigured: Vec::new() }
    }
}

impl Breaker {
    /// How many commands may be claimed now of the `wanted` ones: all, one as a probe, or none.
    #[must_use]
    pub fn allows(&self, wanted: usize, now: Micros) -> usize {
        match self.state {
            State::Closed => wanted,
            State::Open { until, .. } | State::Probing { until, .. } if until <= now => {
                wanted.min(1)
            }
            State::Open { .. } | State::Probing { .. } => 0,
        }
    }

    /// Whether it holds claims back.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed)
    }

    /// Whether it is closed and remembers no failure.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        !self.is_open() && self.failed.is_empty() && self.misconfigured.is_empty()
    }

    /// Whether the attempt at command `n` is its probe.
    #[must_use]
    pub const fn is_probe(&self, n: i64) -> bool {
        self.pause_of_probe(n).is_some()
    }

    /// Whether its probe is under way.
    #[must_use]
    pub const fn is_probing(&self) -> bool {
        matches!(self.state, State::Probing { .. })
    }

    /// When it lets a probe through; while one is under way, when it lets another. `None` while it
    /// is closed.
    #[must_use]
    pub const fn probes_at(&self) -> Option<Micros> {
        match self.state {
            State::Open { until, .. } | State::Probing { until, .. } => Some(until),
            State::Closed => None,
        }
    }

    /// Command `n` was claimed: while this is open and its pause is over, it is the probe. A claim
    /// that was under way when this opened is none.
    pub fn claimed(&mut self, n: i64, now: Micros) {
        if let State::Open { pause, until } | State::Probing { pause, until, .. } = self.state
            && until <= now
        {
            self.state = State::Probing { n, pause, until: now.plus(LONGEST) };
        }
    }

    /// The attempt at command `n` was handed back unsent, or says nothing: another may probe.
    pub fn withdrawn(&mut self, n: i64, now: Micros) {
        if let Some(pause) = self.pause_of_probe(n) {
            self.state = State::Open { until: now, pause };
        }
    }

    /// The attempt at command `n` ended. A probe that finds the destination failing or busy burns
    /// no attempt of its command, nor does a misconfigured answer while this is open.
    pub fn ended(&mut self, n: i64, health: Health, now: Micros) -> Verdict {
        let probe = self.pause_of_probe(n);
        let was_open = self.is_open();
        match health {
            Health::Works => {
                *self = Self::default();
                return Verdict::COUNTS;
            }
            Health::Nothing => {
                self.failed.clear();
                self.withdrawn(n, now);
                return Verdict::COUNTS;
            }
            Health::Busy => {
                self.failed.clear();
                return probe.map_or(Verdict::COUNTS, |pause| self.pause(pause, now));
            }
            Health::Fails => self.note_failure(n),
            Health::Misconfigured => {
                self.note_failure(n);
                let known = self.misconfigured.contains(&n);
                if !known && self.misconfigured.len() < MISCONFIGURED {
                    self.misconfigured.push(n);
                }
            }
        }
        if let Some(pause) = probe {
            return self.pause(pause.times(2, 1).min(LONGEST), now);
        }
        if !was_open && self.must_open() {
            self.state = State::Open { until: now.plus(FIRST), pause: FIRST };
        }
        let burns = !(was_open && health == Health::Misconfigured);
        Verdict { burns, wait: Span::ZERO }
    }

    /// The probe did not find that the destination works.
    fn pause(&mut self, pause: Span, now: Micros) -> Verdict {
        self.state = State::Open { until: now.plus(pause), pause };
        Verdict { burns: false, wait: pause }
    }

    fn note_failure(&mut self, n: i64) {
        self.failed.push(n);
        let excess = self.failed.len().saturating_sub(FAILURES);
        self.failed.drain(..excess);
    }

    const fn pause_of_probe(&self, n: i64) -> Option<Span> {
        match self.state {
            State::Probing { n: probe, pause, .. } if probe == n => Some(pause),
            _ => None,
        }
    }

    fn must_open(&self) -> bool {
        let mut distinct = self.failed.clone();
        distinct.sort_unstable();
        distinct.dedup();
        (self.failed.len() >= FAILURES && distinct.len() >= DISTINCT)
            || self.misconfigured.len() >= MISCONFIGURED
    }
}

#[cfg(test)]
mod tests;
