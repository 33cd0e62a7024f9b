//! How long to wait before the next attempt: exponential, with full jitter from a seed.
//!
//! Guarantees: the same seed gives the same wait; a wait is at least a millisecond and at most the
//! cap, `Retry-After` included. Does not: read a clock or a random source.

use serde::{Deserialize, Serialize};

use super::time::Span;

/// Where the jitter comes from: a number that the caller draws once an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// A well-mixed number from the seed (SplitMix64's finisher, Steele et al. 2014).
    #[must_use]
    pub const fn mixed(self) -> u64 {
        let mut z = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// How attempts are paced by one relay; not part of the stored contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The ceiling of the first wait. Default 500 ms.
    pub initial: Span,
    /// The ceiling of every wait, and of `Retry-After`. Default 10 min.
    pub max: Span,
    /// Attempts of one round before the machine gives up. Default 250.
    pub max_attempts: u32,
    /// The length of a lease. Default 30 s.
    pub lease: Span,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            initial: Span::from_millis(500),
            max: Span::from_secs(600),
            max_attempts: 250,
            lease: Span::from_secs(30),
        }
    }
}

/// The shortest wait: a retry never spins.
pub const SHORTEST: Span = Span::from_millis(1);

impl Pace {
    /// The wait after `failures` failures in a row (1 for the first): a uniform draw from
    /// `(0, initial × 2^(failures−1)]`, capped; never sooner than `retry_after`, which is capped
    /// alike.
    #[must_use]
    pub fn wait(&self, failures: u32, retry_after: Option<Span>, seed: Seed) -> Span {
        let doublings = failures.saturating_sub(1).min(40);
        let ceiling = self.initial.times(1_i64 << doublings, 1).min(self.max).max(SHORTEST);
        let drawn = (u128::from(seed.mixed()) * ceiling.as_micros().unsigned_abs() as u128) >> 64;
        let jittered = Span::from_micros(i64::try_from(drawn).unwrap_or(i64::MAX)).max(SHORTEST);
        match retry_after {
            Some(asked) => jittered.max(asked.min(self.max)),
            None => jittered,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_wait_stays_between_its_bounds(
            failures in 0_u32..1000,
            asked in proptest::option::of(0_i64..10_000_000_000),
            seed: u64,
        ) {
            let pace = Pace::default();
            let asked = asked.map(Span::from_micros);
            let wait = pace.wait(failures, asked, Seed(seed));
            prop_assert!(wait >= SHORTEST);
            prop_assert!(wait <= pace.max);
            prop_assert_eq!(wait, pace.wait(failures, asked, Seed(seed)));
            if let Some(asked) = asked {
                prop_assert!(wait >= asked.min(pace.max));
            }
        }
    }

    #[test]
    fn jitter_spreads_over_the_whole_range() {
        let pace = Pace::default();
        let waits: Vec<_> = (0..200).map(|seed| pace.wait(3, None, Seed(seed))).collect();
        assert!(waits.iter().any(|wait| *wait < Span::from_millis(300)));
        assert!(waits.iter().any(|wait| *wait > Span::from_millis(1700)));
        assert!(waits.iter().all(|wait| *wait <= Span::from_secs(2)));
    }
}
