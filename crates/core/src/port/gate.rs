//! The gate before the first byte of an attempt.
//!
//! Guarantees: an attempt is either begun by its transport or withdrawn by its relay, never both;
//! nothing begins after its deadline, which counts suspended time. So what is withdrawn can be
//! handed back unsent, and is not in doubt. Does not: stop what has begun.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::clock::Clock;
use crate::domain::Micros;

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// The attempt was withdrawn, or its deadline has passed: send nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("withdrawn before the first byte")]
pub struct Withdrawn;

/// The gate of one attempt.
pub struct Gate {
    state: AtomicU8,
    begin_before: Micros,
    clock: Arc<dyn Clock>,
}

impl Gate {
    /// A gate that lets a transport begin until `begin_before`, by the boot clock.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, begin_before: Micros) -> Self {
        Self { state: AtomicU8::new(WAITING), begin_before, clock }
    }

    /// A transport calls it right before the first byte may leave; twice is as once.
    ///
    /// # Errors
    /// [`Withdrawn`]: nothing may leave any more. Return any outcome; the relay hands it back.
    pub fn begin(&self) -> Result<(), Withdrawn> {
        if self.has_begun() {
            return Ok(());
        }
        if self.clock.boot() > self.begin_before {
            self.withdraw();
        }
        let passed = Ordering::AcqRel;
        match self.state.compare_exchange(WAITING, BEGUN, passed, Ordering::Acquire) {
            Ok(_) | Err(BEGUN) => Ok(()),
            Err(_) => Err(Withdrawn),
        }
    }

    /// Withdraws the attempt unless it has begun; whether it is withdrawn now.
    pub fn withdraw(&self) -> bool {
        let passed = Ordering::AcqRel;
        !matches!(
            self.state.compare_exchange(WAITING, WITHDRAWN, passed, Ordering::Acquire),
            Err(BEGUN)
        )
    }

    /// Whether the first byte may have left.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.state.load(Ordering::Acquire) == BEGUN
    }

    /// Whether nothing left and nothing will.
    #[must_use]
    pub fn is_withdrawn(&self) -> bool {
        self.state.load(Ordering::Acquire) == WITHDRAWN
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate")
            .field("begun", &self.has_begun())
            .field("withdrawn", &self.is_withdrawn())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct At(i64);

    impl Clock for At {
        fn machine(&self) -> Micros {
            Micros::new(self.0)
        }

        fn boot(&self) -> Micros {
            Micros::new(self.0)
        }
    }

    #[test]
    fn begun_or_withdrawn_never_both() {
        let gate = Gate::new(Arc::new(At(1)), Micros::new(1));
        assert_eq!(gate.begin(), Ok(()));
        assert!(!gate.withdraw());
        assert_eq!(gate.begin(), Ok(()));
        let gate = Gate::new(Arc::new(At(1)), Micros::new(1));
        assert!(gate.withdraw());
        assert_eq!(gate.begin(), Err(Withdrawn));
        assert!(gate.withdraw() && !gate.has_begun());
    }

    #[test]
    fn nothing_begins_after_the_deadline() {
        let gate = Gate::new(Arc::new(At(2)), Micros::new(1));
        assert_eq!(gate.begin(), Err(Withdrawn));
        assert!(gate.is_withdrawn());
    }
}
