//! When a relay looks for work.
//!
//! Guarantees: what is known to be due is claimed as soon as a worker is free; a hint is believed
//! while hints bear fruit, and checked by reading when they do not, so an idle relay writes
//! nothing; polling finds what no hint told. Does not: claim; the relay's exchange does.

use std::time::Duration;

use counterfoil_core::domain::Seed;
use tokio::time::Instant;

use crate::attempts::earlier;
use crate::backoff::Backoff;

/// How many fruitless hints are believed before the next is checked by reading.
const TRUST: u32 = 4;
/// So many fruitless claims in a row go unpunished.
const BARREN: u32 = 3;

/// When to look for work.
pub(crate) struct Claimer {
    /// Something is due, as far as is known.
    due: bool,
    /// Something will be due then.
    due_at: Option<Instant>,
    /// Only a hint says so.
    hinted: bool,
    trust: u32,
    /// The due time must be read.
    must_look: bool,
    /// Claims in a row that found nothing where something was said to be due.
    barren: u32,
    rest_until: Option<Instant>,
    /// Enough others claim: when to come back.
    crowd: Backoff,
    poll: Duration,
}

impl Claimer {
    /// Begins with a claim.
    pub(crate) fn new(poll: Duration) -> Self {
        Self {
            due: true,
            due_at: None,
            hinted: false,
            trust: TRUST,
            must_look: false,
            barren: 0,
            rest_until: None,
            crowd: Backoff::crowded(),
            poll,
        }
    }

    /// Something may have been committed.
    pub(crate) fn hint(&mut self) {
        if self.trust > 0 {
            self.hinted |= !self.due;
            self.due = true;
        } else {
            self.must_look = true;
        }
    }

    /// The time to poll has come, or there is another reason to read.
    pub(crate) fn look(&mut self) {
        self.must_look = true;
    }

    /// A claim is wanted: for what it says about the store, or where claims were held back.
    pub(crate) fn probe(&mut self) {
        self.due = true;
    }

    pub(crate) fn must_look(&self) -> bool {
        self.must_look && !self.due
    }

    /// The reading began.
    pub(crate) fn looking(&mut self) {
        self.must_look = false;
    }

    /// The earliest due time is that long from now, or there is none.
    pub(crate) fn looked(&mut self, due_in: Option<Duration>, now: Instant) {
        self.due_at = due_in.and_then(|due_in| now.checked_add(due_in));
        self.tick(now);
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.due_at.is_some_and(|at| at <= now) {
            self.due_at = None;
            self.due = true;
        }
    }

    /// Whether to claim now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.due && self.rest(now).is_none()
    }

    /// Until when nothing is claimed, if that is not over.
    fn rest(&self, now: Instant) -> Option<Instant> {
        let rest = self.rest_until.filter(|until| *until > now);
        rest.max(self.crowd.until(now))
    }

    /// Nothing is known to be due.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.due && !self.must_look
    }

    /// When to look at the clock again.
    pub(crate) fn wake_at(&self, now: Instant) -> Option<Instant> {
        let rest = self.rest(now).filter(|_| self.due);
        earlier(self.due_at, rest)
    }

    /// A claim is issued; it will see all that was hinted at so far.
    pub(crate) fn claiming(&mut self) -> Claiming {
        let claiming = Claiming { was_due: self.due, hinted: self.hinted };
        self.due = false;
        self.hinted = false;
        claiming
    }

    /// A claim that waits is issued: it sees all that there is, and what comes.
    pub(crate) fn waiting(&mut self) -> Claiming {
        Claiming { was_due: true, ..self.claiming() }
    }

    /// Whether claims found nothing again and again, though something was said to be due.
    pub(crate) fn rests(&self, now: Instant) -> bool {
        self.rest(now).is_some()
    }

    /// Nothing may be claimed anywhere: what is due is remembered with its destination.
    pub(crate) fn set_aside(&mut self) {
        self.due = false;
        self.hinted = false;
    }

    /// The claim failed: what was due still is.
    pub(crate) fn failed(&mut self, claiming: &Claiming) {
        self.due |= claiming.was_due;
    }

    /// The claim was let in, wherever it looked, or some of it was not, since enough others claim.
    pub(crate) fn crowded(&mut self, crowded: bool, seed: Seed, now: Instant) {
        if crowded {
            self.due = true;
            self.crowd.failed(seed, now);
        } else {
            self.crowd.worked();
        }
    }

    /// The claim found so many; `more` is due beyond the limit.
    pub(crate) fn found(&mut self, claiming: &Claiming, count: usize, more: bool, now: Instant) {
        if claiming.hinted {
            self.trust = if count > 0 { TRUST } else { self.trust.saturating_sub(1) };
        }
        self.due |= more;
        if count > 0 {
            (self.barren, self.rest_until) = (0, None);
            self.trust = self.trust.max(1);
        } else if claiming.was_due {
            self.barren = self.barren.saturating_add(1);
            if self.barren > BARREN {
                let longer = Duration::from_millis(1 << (self.barren - BARREN).min(10));
                self.rest_until = Some(now + longer.min(self.poll));
            }
        }
    }
}

/// A claim under way.
pub(crate) struct Claiming {
    was_due: bool,
    hinted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_let_in_comes_back_a_little_later() {
        let mut claimer = Claimer::new(Duration::from_millis(50));
        let mut now = Instant::now();
        for round in 0..8 {
            assert!(claimer.is_due(now), "{round}");
            claimer.claiming();
            claimer.crowded(true, Seed(round), now);
            assert!(!claimer.is_due(now) && !claimer.is_quiet() && !claimer.must_look());
            let at = claimer.wake_at(now).unwrap();
            let pause = at - now;
            let (least, most) = (Duration::from_millis(2), Duration::from_millis(25));
            assert!(pause >= least && pause <= most, "{round}: {pause:?}");
            now = at;
        }
        // Let in, and there is more: at once.
        let claiming = claimer.claiming();
        claimer.crowded(false, Seed(9), now);
        claimer.found(&claiming, 10, true, now);
        assert!(claimer.is_due(now));
    }
}
