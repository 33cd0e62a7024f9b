//! How a relay ends: when it may still wait, and when it must leave.
//!
//! Guarantees: a stop takes at most `drain` for attempts that have begun, and a bounded while
//! more to settle them. Does not: settle what the store refuses until then.

use std::time::Duration;

use counterfoil_core::port::store::Ended;
use counterfoil_core::port::{Observer, Store};
use tokio::time::Instant;

use crate::driver::Driver;
use crate::error::RelayError;

/// How long after the drain what ended may still be settled.
const SETTLE_MAX: Duration = Duration::from_secs(5);

/// The longest drain.
const DRAIN_MAX: Duration = Duration::from_secs(86_400);

/// A stop under way.
pub(crate) struct Stop {
    pub(crate) drain_until: Instant,
    pub(crate) settle_until: Instant,
    /// Why the relay stops by itself.
    pub(crate) error: Option<RelayError>,
    /// Attempts that did not end in time.
    pub(crate) abandoned: usize,
}

impl Stop {
    pub(crate) fn new(drain: Duration, error: Option<RelayError>, now: Instant) -> Self {
        let drain_until = now + drain.min(DRAIN_MAX);
        Self { drain_until, settle_until: drain_until + SETTLE_MAX, error, abandoned: 0 }
    }

    /// When to look at the clock again.
    pub(crate) fn wake_at(&self, now: Instant) -> Instant {
        if now < self.drain_until { self.drain_until } else { self.settle_until }
    }
}

/// How a driver stopped.
pub(crate) struct Stopped {
    pub(crate) error: Option<RelayError>,
    pub(crate) abandoned: usize,
}

impl<S: Store, O: Observer> Driver<S, O> {
    /// Claims no more, and takes back what has not begun.
    pub(crate) fn begin_stop(&mut self, error: Option<RelayError>) {
        let now = Instant::now();
        if let Some(stop) = &mut self.stop {
            stop.error = stop.error.take().or(error);
            return;
        }
        self.stop = Some(Stop::new(self.options.drain, error, now));
        self.look = None;
        for (place, running) in self.attempts.withdraw() {
            self.sender.abort(place);
            if let Some(serving) = self.destinations.change(running.destination) {
                serving.ended(false);
            }
            self.push(running, Ended::HandedBack, "the relay stops", now);
        }
    }

    /// Past the drain, what still runs is left to its lease.
    pub(crate) fn abandon_late(&mut self, now: Instant) {
        let Some(stop) = &mut self.stop else { return };
        if now >= stop.drain_until {
            for (place, _) in self.attempts.abandon() {
                self.sender.abort(place);
                stop.abandoned += 1;
            }
        }
        if now >= stop.settle_until {
            stop.abandoned += self.settler.give_up();
            self.under_way = None;
            self.pausing.give_up();
        }
    }

    /// How it stopped, once nothing is left to wait for.
    pub(crate) fn ended(&mut self) -> Option<Stopped> {
        if !self.is_still() {
            return None;
        }
        let stop = self.stop.take()?;
        Some(Stopped { error: stop.error, abandoned: stop.abandoned })
    }
}
