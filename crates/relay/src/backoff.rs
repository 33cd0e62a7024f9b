//! How long a relay leaves a failing store alone.
//!
//! Guarantees: from 100 ms, doubled to 5 s, never less than half of that by jitter. Does not:
//! give up.

use std::time::Duration;

use counterfoil_core::domain::Seed;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// The pauses after failures of the store.
#[derive(Default)]
pub(crate) struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// The store failed; how long it is left alone.
    pub(crate) fn failed(&mut self, seed: Seed, now: Instant) -> Duration {
        let ceiling = (FIRST * 2_u32.pow(self.failures.min(16))).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let permille = u32::try_from(seed.mixed() % 501).unwrap_or(0);
        let pause = ceiling * (500 + permille) / 1_000;
        self.until = Some(now + pause);
        pause
    }

    /// The store answered.
    pub(crate) fn worked(&mut self) {
        *self = Self::default();
    }

    /// Until when it is left alone, if that is not over.
    pub(crate) fn until(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_their_cap_and_begin_anew() {
        let mut backoff = Backoff::default();
        let now = Instant::now();
        for (round, ceiling) in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000].iter().enumerate()
        {
            let pause = backoff.failed(Seed(round as u64), now);
            let ceiling = Duration::from_millis(*ceiling);
            assert!(pause <= ceiling && pause >= ceiling / 2, "{round}: {pause:?}");
            assert_eq!(backoff.until(now), Some(now + pause));
        }
        backoff.worked();
        assert_eq!(backoff.until(now), None);
        assert!(backoff.failed(Seed(1), now) <= FIRST);
    }
}
