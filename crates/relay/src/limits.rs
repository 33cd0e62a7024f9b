//! How much one relay gives one destination: its breaker, its rate, its concurrency.
//!
//! Guarantees: claims stop while a destination fails, and go on by one probe at a time; no more
//! are begun than rate and concurrency allow. Does not: know of other relays: every limit is this
//! relay's own.

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::breaker::{Breaker, Health, Verdict};
use counterfoil_core::domain::rate::{Quota, Rate};

/// The limits of one relay towards one destination. Default: none but the breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How many attempts may be under way at once, questions included; 0 counts as 1. `None`: as
    /// many as the relay has workers.
    pub concurrency: Option<usize>,
    /// How many may begin in any span of a length, questions included; a control question rides
    /// with its question. `None`: as many as there are.
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
    quota: Option<Quota>,
    breaker: Breaker,
}

impl Gauge {
    pub(crate) fn new(limits: Limits) -> Self {
        let concurrency = limits.concurrency.map_or(usize::MAX, |most| most.max(1));
        Self { concurrency, quota: limits.rate.map(Quota::new), breaker: Breaker::default() }
    }

    /// The most that may be under way at once.
    pub(crate) fn concurrency(&self) -> usize {
        self.concurrency
    }

    pub(crate) fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// How many of the `wanted` may be claimed now, while so many are under way.
    pub(crate) fn allows(&mut self, wanted: usize, running: usize, boot: Micros) -> usize {
        let wanted = wanted.min(self.concurrency.saturating_sub(running));
        let wanted = self.breaker.allows(wanted, boot);
        self.quota.as_mut().map_or(wanted, |quota| quota.allows(wanted, boot))
    }

    /// When the clock alone may let more be claimed; in the past where it already does. `None`:
    /// only the end of an attempt can.
    pub(crate) fn allows_at(&self, running: usize) -> Option<Micros> {
        if running >= self.concurrency {
            return None;
        }
        let rate_at = self.quota.as_ref().and_then(Quota::next_at);
        Some(self.breaker.probes_at().max(rate_at).unwrap_or(Micros::new(0)))
    }

    /// Command `n` begins.
    pub(crate) fn claimed(&mut self, n: i64, boot: Micros) {
        self.breaker.claimed(n, boot);
        if let Some(quota) = &mut self.quota {
            quota.take(1, boot);
        }
    }

    /// The attempt at command `n` was handed back, or says nothing about sends.
    pub(crate) fn withdrawn(&mut self, n: i64, boot: Micros) {
        self.breaker.withdrawn(n, boot);
    }

    /// Whether nothing but good is known, so that a success changes nothing.
    pub(crate) fn is_quiet(&self) -> bool {
        self.breaker.is_quiet()
    }

    /// An attempt at command `n` ended: what follows for it, and what that changed.
    pub(crate) fn ended(&mut self, n: i64, health: Health, boot: Micros) -> (Verdict, Turned) {
        let was_open = self.breaker.is_open();
        let verdict = self.breaker.ended(n, health, boot);
        let turned = match (was_open, self.breaker.is_open()) {
            (false, true) => Turned::Opened,
            (true, false) => Turned::Closed,
            (true, true) | (false, false) => Turned::Not,
        };
        (verdict, turned)
    }

    /// A question about command `n` had no usable answer: as the probe it says that the receiver
    /// does not answer, else nothing about sends.
    pub(crate) fn unclear(&mut self, n: i64, boot: Micros) {
        if self.breaker.is_probe(n) {
            self.breaker.ended(n, Health::Fails, boot);
        }
    }
}
