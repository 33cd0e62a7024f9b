//! The store clock of one process: the machine's clocks, held to what the store has seen.
//!
//! Guarantees: what it says never decreases, over restarts too. [`StoreTime::now`] refuses after a
//! jump, so that no relay judges leases by it; [`StoreTime::steady`] goes on by the boot clock, so
//! that no writer is stopped. Does not: save the time; each claim does.

use std::sync::{Arc, Mutex, PoisonError};

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::store_clock::{ClockJumped, StoreClock};
use counterfoil_core::port::Clock;

/// The time of one store, as one process tells it.
pub(crate) struct StoreTime {
    machine: Arc<dyn Clock>,
    told: Mutex<Told>,
}

struct Told {
    clock: StoreClock,
    boot: Micros,
    time: Micros,
}

impl StoreTime {
    /// Starts at the later of the machine's clock and `saved`.
    pub(crate) fn start(machine: Arc<dyn Clock>, saved: Micros) -> Self {
        let (time, boot) = (machine.machine(), machine.boot());
        let clock = StoreClock::start(time, boot, saved);
        Self { machine, told: Mutex::new(Told { clock, boot, time: time.max(saved) }) }
    }

    /// The time now.
    pub(crate) fn now(&self) -> Result<Micros, ClockJumped> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock: two readings out of order would look like a step back.
        let (machine, boot) = (self.machine.machine(), self.machine.boot());
        let time = told.clock.observe(machine, boot)?.max(told.time);
        (told.boot, told.time) = (boot, time);
        Ok(time)
    }

    /// The time now, by the boot clock alone while the machine's has jumped ahead.
    pub(crate) fn steady(&self) -> Micros {
        self.now().unwrap_or_else(|_| {
            let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.time.plus(self.machine.boot().since(told.boot))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    #[derive(Default)]
    struct Hands(AtomicI64, AtomicI64);

    impl Clock for Hands {
        fn machine(&self) -> Micros {
            Micros::new(self.0.load(Ordering::Relaxed))
        }

        fn boot(&self) -> Micros {
            Micros::new(self.1.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn a_jump_stops_relays_and_no_writer() {
        let hands = Arc::new(Hands::default());
        hands.0.store(1_000, Ordering::Relaxed);
        let time = StoreTime::start(Arc::clone(&hands) as Arc<dyn Clock>, Micros::new(5_000));
        assert_eq!(time.now(), Ok(Micros::new(5_000)));
        hands.0.store(4_000_000_000, Ordering::Relaxed);
        hands.1.store(7, Ordering::Relaxed);
        assert!(time.now().is_err());
        assert_eq!(time.steady(), Micros::new(5_007));
    }
}
