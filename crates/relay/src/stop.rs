//! How a relay ends: when it may still wait, and when it must leave.
//!
//! Guarantees: a stop takes at most `drain` for attempts that have begun, and a bounded while
//! more to settle them. Does not: settle what the store refuses until then.

use std::time::Duration;

use tokio::time::Instant;

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
