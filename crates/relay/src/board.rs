//! What one relay shows of itself while it works: a small board that it writes and others read.
//!
//! Guarantees: reading never waits for the store or for a send; what is shown was so a moment ago.
//! Does not: know other relays; each has a board of its own, and nothing of it is stored.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use counterfoil_core::domain::rate::Rate;
use counterfoil_core::domain::{Destination, Span};
use tokio::time::Instant;

/// Where the breaker of a destination stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerStatus {
    /// Claims are let through.
    Closed,
    /// No claims; the next probe may begin after this time, zero for at once.
    Open {
        /// From now.
        probes_in: Span,
    },
    /// No claims; the probe is under way.
    Probing,
}

impl BreakerStatus {
    /// `closed`, `open` or `probing`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open { .. } => "open",
            Self::Probing => "probing",
        }
    }
}

/// How one destination stands in one relay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Standing {
    /// Attempts and questions under way.
    pub running: usize,
    /// Attempts and questions begun since the relay started.
    pub begun: u64,
    /// Its limit of attempts under way; `None`: the relay's workers.
    pub concurrency: Option<usize>,
    /// Its limit of begun attempts; `None`: none.
    pub rate: Option<Rate>,
    /// Its breaker.
    pub breaker: BreakerStatus,
    /// How often the breaker opened since the relay started.
    pub opened: u64,
    /// The relay claims no more there: the stored contract was replaced.
    pub contract_differs: bool,
}

/// The board of one relay; give it to [`crate::Options::board`] and keep a clone of the `Arc`.
///
/// It is empty until the relay has declared its contracts, and stands as it was when the relay
/// has ended.
#[derive(Debug, Default)]
pub struct Board(Mutex<BTreeMap<Destination, Posted>>);

/// A standing as the relay writes it.
#[derive(Debug)]
struct Posted {
    standing: Standing,
    /// When an open breaker probes; `None` while it is closed or probing.
    probes_at: Option<Instant>,
}

impl Board {
    fn posted(&self) -> MutexGuard<'_, BTreeMap<Destination, Posted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How each destination of the relay stands, in the order of names.
    #[must_use]
    pub fn standings(&self) -> Vec<(Destination, Standing)> {
        let now = Instant::now();
        let shown = |(destination, posted): (&Destination, &Posted)| {
            let mut standing = posted.standing.clone();
            if let Some(at) = posted.probes_at {
                let probes_in = Span::from_std(at.saturating_duration_since(now));
                standing.breaker = BreakerStatus::Open { probes_in };
            }
            (destination.clone(), standing)
        };
        self.posted().iter().map(shown).collect()
    }

    /// Posts a destination anew; `probes_at` where its breaker is open and waits.
    pub(crate) fn post(
        &self,
        destination: &Destination,
        standing: Standing,
        probes_at: Option<Instant>,
    ) {
        let posted = Posted { standing, probes_at };
        let mut all = self.posted();
        match all.get_mut(destination) {
            Some(old) => *old = posted,
            None => drop(all.insert(destination.clone(), posted)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn the_time_to_the_next_probe_runs_down_while_nobody_writes() {
        let board = Board::default();
        assert!(board.standings().is_empty());
        let destination = Destination::new("shipping").unwrap();
        let standing = Standing {
            running: 0,
            begun: 5,
            concurrency: None,
            rate: None,
            breaker: BreakerStatus::Closed,
            opened: 1,
            contract_differs: false,
        };
        board.post(&destination, standing, Some(Instant::now() + Duration::from_secs(4)));
        tokio::time::sleep(Duration::from_secs(3)).await;
        let probes_in = Span::from_secs(1);
        assert_eq!(board.standings()[0].1.breaker, BreakerStatus::Open { probes_in });
        tokio::time::sleep(Duration::from_secs(3)).await;
        let probes_in = Span::ZERO;
        assert_eq!(board.standings()[0].1.breaker, BreakerStatus::Open { probes_in });
    }
}
