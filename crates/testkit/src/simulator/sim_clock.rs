//! The clocks of the one machine on which all relays of a run live.
//!
//! Guarantees: the boot clock goes on while a process stands still and never steps; the machine's
//! clock steps when the plan says so. Does not: read a real clock.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use counterfoil_core::domain::Micros;
use counterfoil_core::port::Clock;
use tokio::time::Instant;

use crate::manual_clock::START;

/// What the boot clock shows when a run begins: two hours.
const BOOTED: i64 = 7_200_000_000;

/// What all processes share.
#[derive(Debug, Default)]
pub(super) struct Machine {
    /// Milliseconds since the run began, as the world counts them.
    pub(super) now_ms: AtomicU64,
    /// How far the machine's clock was stepped, in microseconds.
    pub(super) stepped: AtomicI64,
}

/// How one process sees the time.
#[derive(Debug)]
pub(super) struct ProcessClock {
    machine: Arc<Machine>,
    /// How far this process's wall clock is off, in microseconds.
    skew: i64,
    /// The process runs right now, and its own timers say how late it is.
    pub(super) inside: AtomicBool,
    /// When it was born: its own time, and the world's in milliseconds.
    pub(super) born: OnceLock<(Instant, u64)>,
    /// How long it was suspended in all, in milliseconds.
    pub(super) suspended: AtomicU64,
}

impl ProcessClock {
    pub(super) fn new(machine: Arc<Machine>, skew: i64) -> Self {
        Self {
            machine,
            skew,
            inside: AtomicBool::new(false),
            born: OnceLock::new(),
            suspended: AtomicU64::new(0),
        }
    }

    /// Milliseconds since the run began.
    pub(super) fn now_ms(&self) -> u64 {
        let inside = self.inside.load(Ordering::Relaxed);
        match self.born.get().filter(|_| inside) {
            Some((born, born_ms)) => {
                let lived = u64::try_from(born.elapsed().as_millis()).unwrap_or(u64::MAX);
                born_ms + lived + self.suspended.load(Ordering::Relaxed)
            }
            None => self.machine.now_ms.load(Ordering::Relaxed),
        }
    }

    fn micros(&self) -> i64 {
        i64::try_from(self.now_ms()).unwrap_or(i64::MAX).saturating_mul(1000)
    }
}

/// The clock that is handed to a relay and to its store.
#[derive(Clone, Debug)]
pub(super) struct SimClock(pub(super) Arc<ProcessClock>);

impl Clock for SimClock {
    fn machine(&self) -> Micros {
        let stepped = self.0.machine.stepped.load(Ordering::Relaxed);
        Micros::new(START.get() + self.0.micros() + stepped + self.0.skew)
    }

    fn boot(&self) -> Micros {
        Micros::new(BOOTED + self.0.micros())
    }
}
