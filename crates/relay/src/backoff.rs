//! How long a relay leaves a failing store alone, or a crowded one to others.
//!
//! Guarantees: doubled from the first pause to the longest, never less than half of that by jitter.
//! Does not: give up.

use std::time::Duration;

use counterfoil_core::domain::Seed;
use tokio::time::Instant;

/// The pauses while the store fails.
const FAILING: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// The pauses while others claim: from about as long as one of their claims takes to few of them.
const CROWDED: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(25)];

/// The pauses after failures.
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// Of a store that fails: from 100 ms to 5 s.
    pub(crate) fn failing() -> Self {
        Self::new(FAILING)
    }

    /// Of a store where others claim: from 4 to 25 ms.
    pub(crate) fn crowded() -> Self {
        Self::new(CROWDED)
    }

    fn new([first, longest]: [Duration; 2]) -> Self {
        Self { first, longest, failures: 0, until: None }
    }

    /// It failed; how long it is left alone.
    pub(crate) fn failed(&mut self, seed: Seed, now: Instant) -> Duration {
        let ceiling = (self.first * 2_u32.pow(self.failures.min(16))).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        let permille = u32::try_from(seed.mixed() % 501).unwrap_or(0);
        let pause = ceiling * (500 + permille) / 1_000;
        self.until = Some(now + pause);
        pause
    }

    /// It worked.
    pub(crate) fn worked(&mut self) {
        (self.failures, self.until) = (0, None);
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
        let mut backoff = Backoff::failing();
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
        assert!(backoff.failed(Seed(1), now) <= FAILING[0]);
    }
}
