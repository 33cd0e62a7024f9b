//! The machine's two clocks.
//!
//! Guarantees: `boot` counts suspended time too and never steps. Does not: promise that `machine`
//! is right; see `domain::store_clock`.

use crate::domain::{Micros, Span};

/// Reads the machine's clocks.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock, UTC. May step.
    fn machine(&self) -> Micros;
    /// Time since some fixed point, suspended time included. Never steps.
    fn boot(&self) -> Micros;
}

/// The clocks of this machine: `CLOCK_REALTIME` and `CLOCK_BOOTTIME`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn machine(&self) -> Micros {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Micros::new(0).plus(since.map_or(Span::ZERO, Span::from_std))
    }

    #[cfg(target_os = "linux")]
    fn boot(&self) -> Micros {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Micros::new(time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_nsec / 1_000))
    }

    /// Elsewhere the monotonic clock, which on macOS counts suspended time.
    #[cfg(not(target_os = "linux"))]
    fn boot(&self) -> Micros {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Micros::new(time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_nsec / 1_000))
    }
}
