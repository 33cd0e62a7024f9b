//! How much one relay gives one destination: its breaker, its rate, its concurrency.
//!
//! Guarantees: claims stop while a destination fails, and go on by one probe at a time; no more
//! are begun than rate and concurrency allow. Does not: know of other relays: every limit is this
//! relay's own.

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::breaker::{Breaker, Health};
use counterfoil_core::domain::rate::{Bucket, Rate};

/// The limits of one relay towards one destination. Default: none but the breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How many attempts may be under way at once, questions included; 0 counts as 1. `None`: as
    /// many as the relay has workers.
    pub concurrency: Option<usize>,
    /// How many may begin in a time. `None`: as many as there are.
    pub rate: Option<Rate>,
}

impl Limits {
    /// Sets how many attempts may be under way at once.
    #[must_use]
    pub const fn concurrency(mut self, attempts: usize) -> Self {
        self.concurrency = Some(attempts);
        self
    }

    /// Sets how many may begin in a time.
    #[must_use]
    pub const fn rate(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }
}

/// What the end of an attempt changed for its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// Claims stop.
    Opened,
    /// Claims go on.
    Closed,
    /// Nothing.
    Not,
}

/// Keeps the limits of one destination.
pub(crate) struct Gauge {
    concurrency: usize,
    rate: Option<Rate>,
    /// Made at the first look, when there is a time.
    bucket: Option<Bucket>,
    breaker: Breaker,
}

impl Gauge {
    pub(crate) fn new(limits: Limits) -> Self {
        let concurrency = limits.concurrency.map_or(usize::MAX, |most| most.max(1));
        Self { concurrency, rate: limits.rate, bucket: None, breaker: Breaker::default() }
    }

    /// How many of the `wanted` may be claimed now, while so many are under way.
    pub(crate) fn allows(&mut self, wanted: usize, running: usize, boot: Micros) -> usize {
        let wanted = wanted.min(self.concurrency.saturating_sub(running));
        let wanted = self.breaker.allows(wanted, boot);
        match self.rate {
            Some(rate) if wanted > 0 => {
                self.bucket.get_or_insert_with(|| Bucket::new(rate, boot)).allows(wanted, boot)
            }
            Some(_) | None => wanted,
        }
    }

    /// Command `n` was claimed.
    pub(crate) fn claimed(&mut self, n: i64) {
        self.breaker.claimed(n);
        if let Some(bucket) = &mut self.bucket {
            bucket.take(1);
        }
    }

    /// Command `n` was handed back.
    pub(crate) fn withdrawn(&mut self, n: i64, boot: impl FnOnce() -> Micros) {
        if self.breaker.is_open() {
            self.breaker.withdrawn(n, boot());
        }
    }

    /// An attempt at command `n` ended: whether it burns an attempt, and what that changed.
    pub(crate) fn ended(
        &mut self,
        n: i64,
        health: Health,
        boot: impl FnOnce() -> Micros,
    ) -> (bool, Turned) {
        if health == Health::Works && self.breaker.is_quiet() {
            return (true, Turned::Not);
        }
        let was_open = self.breaker.is_open();
        let burns = self.breaker.ended(n, health, boot());
        let turned = match (was_open, self.breaker.is_open()) {
            (false, true) => Turned::Opened,
            (true, false) => Turned::Closed,
            (true, true) | (false, false) => Turned::Not,
        };
        (burns, turned)
    }

    /// A question about command `n` had no usable answer: as the probe it says that the receiver
    /// does not answer, else nothing about sends.
    pub(crate) fn unclear(&mut self, n: i64, boot: impl FnOnce() -> Micros) {
        if self.breaker.is_probe(n) {
            self.breaker.ended(n, Health::Fails, boot());
        }
    }
}
