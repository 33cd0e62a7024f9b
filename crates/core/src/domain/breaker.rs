//! When a relay stops claiming for a destination that does not work, and when it tries again.
//!
//! Guarantees: pure; it opens on failures of several commands only, so that one poison command
//! never opens it; any success closes it; its pause is bounded. Does not: know of other relays, or
//! of what ended before this one began: each relay has its own.

use super::time::{Micros, Span};

/// So many failures in a row open it, if they are of [`DISTINCT`] commands at least.
pub const FAILURES: usize = 5;
/// Of so many commands at least.
pub const DISTINCT: usize = 3;
/// Misconfigured answers to so many commands open it, with no success between.
pub const MISCONFIGURED: usize = 2;
/// The first pause: 1 s.
pub const FIRST: Span = Span::from_secs(1);
/// The longest pause: 30 s.
pub const LONGEST: Span = Span::from_secs(30);

/// What the end of an attempt says about its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It works: it answered for itself.
    Works,
    /// It does not work, or nobody knows.
    Fails,
    /// It is set up wrongly: a 404, a 401, a redirect.
    Misconfigured,
    /// Nothing: it is only busy (429), or something in front of it judged.
    Nothing,
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
    /// The probe, command `n`, is under way.
    Probing {
        n: i64,
        pause: Span,
    },
}

/// The breaker of one destination in one relay. Its times are of any clock that never steps back.
#[derive(Clone, Debug)]
pub struct Breaker {
    state: State,
    /// The commands of the newest failures, with no success between.
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
            State::Open { until, .. } if until <= now => wanted.min(1),
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

    /// When it lets a probe through; `None` while it is closed, or the probe is under way.
    #[must_use]
    pub const fn probes_at(&self) -> Option<Micros> {
        match self.state {
            State::Open { until, .. } => Some(until),
            State::Closed | State::Probing { .. } => None,
        }
    }

    /// Command `n` was claimed: while this is open, it is the probe.
    pub const fn claimed(&mut self, n: i64) {
        if let State::Open { pause, .. } = self.state {
            self.state = State::Probing { n, pause };
        }
    }

    /// The attempt at command `n` was handed back unsent.
    pub fn withdrawn(&mut self, n: i64, now: Micros) {
        if let Some(pause) = self.pause_of_probe(n) {
            self.state = State::Open { until: now, pause };
        }
    }

    /// The attempt at command `n` ended. Whether it burns an attempt of its command: a probe that
    /// fails does not, nor does a misconfigured answer while this is open.
    pub fn ended(&mut self, n: i64, health: Health, now: Micros) -> bool {
        let probe = self.pause_of_probe(n);
        let was_open = self.is_open();
        match health {
            Health::Works => {
                *self = Self::default();
                return true;
            }
            Health::Nothing => {
                self.withdrawn(n, now);
                return true;
            }
            Health::Fails => {
                self.failed.push(n);
                let excess = self.failed.len().saturating_sub(FAILURES);
                self.failed.drain(..excess);
            }
            Health::Misconfigured if self.misconfigured.len() < MISCONFIGURED => {
                if !self.misconfigured.contains(&n) {
                    self.misconfigured.push(n);
                }
            }
            Health::Misconfigured => {}
        }
        if let Some(pause) = probe {
            let pause = pause.times(2, 1).min(LONGEST);
            self.state = State::Open { until: now.plus(pause), pause };
        } else if !was_open && self.must_open() {
            self.state = State::Open { until: now.plus(FIRST), pause: FIRST };
        }
        let spared = probe.is_some() || (was_open && health == Health::Misconfigured);
        !spared
    }

    const fn pause_of_probe(&self, n: i64) -> Option<Span> {
        match self.state {
            State::Probing { n: probe, pause } if probe == n => Some(pause),
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
mod tests {
    use super::*;

    const T: Micros = Micros::EARLIEST;

    fn at(secs: i64) -> Micros {
        T.plus(Span::from_secs(secs))
    }

    fn failing(commands: &[i64]) -> Breaker {
        let mut breaker = Breaker::default();
        for n in commands {
            breaker.ended(*n, Health::Fails, T);
        }
        breaker
    }

    #[test]
    fn it_opens_on_five_failures_of_three_commands() {
        assert!(!failing(&[1, 2, 3, 4]).is_open());
        assert!(!failing(&[1, 1, 1, 1, 1, 1, 1]).is_open(), "one poison command");
        assert!(!failing(&[1, 2, 1, 2, 1, 2]).is_open(), "two commands");
        assert!(failing(&[1, 2, 1, 2, 3]).is_open());
        let mut breaker = failing(&[1, 2, 3, 4]);
        breaker.ended(5, Health::Works, T);
        breaker.ended(6, Health::Fails, T);
        assert!(!breaker.is_open(), "a success between");
        let mut breaker = failing(&[1, 2, 3, 4]);
        breaker.ended(5, Health::Nothing, T);
        breaker.ended(6, Health::Fails, T);
        assert!(breaker.is_open(), "a 429 is neither");
    }

    #[test]
    fn it_opens_on_misconfigured_answers_to_two_commands() {
        let mut breaker = Breaker::default();
        assert!(breaker.ended(1, Health::Misconfigured, T), "the first burns an attempt");
        assert!(breaker.ended(1, Health::Misconfigured, T));
        assert!(!breaker.is_open());
        assert!(breaker.ended(2, Health::Misconfigured, T));
        assert!(breaker.is_open());
        assert!(!breaker.ended(3, Health::Misconfigured, T), "while open it burns none");
        assert!(breaker.ended(4, Health::Fails, T), "what was under way burns its attempt");
    }

    #[test]
    fn it_probes_with_one_command_and_doubles_its_pause() {
        let mut breaker = failing(&[1, 2, 3, 4, 5]);
        assert_eq!(breaker.allows(64, T), 0);
        let mut now = T;
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            assert_eq!(breaker.probes_at(), Some(now.plus(Span::from_secs(pause))));
            now = now.plus(Span::from_secs(pause));
            assert_eq!(breaker.allows(64, now), 1);
            breaker.claimed(9);
            assert_eq!(breaker.allows(64, now), 0, "one probe at a time");
            assert!(breaker.ended(7, Health::Fails, now), "an older attempt is no probe");
            assert!(!breaker.ended(9, Health::Fails, now), "a probe burns no attempt");
        }
        now = now.plus(Span::from_secs(30));
        breaker.claimed(9);
        assert!(breaker.ended(9, Health::Works, now));
        assert_eq!(breaker.allows(64, now), 64);
    }

    #[test]
    fn a_probe_that_says_nothing_is_followed_by_another_at_once() {
        let mut breaker = failing(&[1, 2, 3, 4, 5]);
        breaker.claimed(1);
        breaker.withdrawn(1, at(1));
        assert_eq!(breaker.allows(64, at(1)), 1);
        breaker.claimed(2);
        breaker.ended(2, Health::Nothing, at(1));
        assert_eq!(breaker.allows(64, at(1)), 1);
    }

    #[test]
    fn a_success_of_an_older_attempt_closes_it() {
        let mut breaker = failing(&[1, 2, 3, 4, 5]);
        breaker.ended(6, Health::Works, at(0));
        assert!(!breaker.is_open());
    }
}
