//! A clock that a test moves by hand, or that follows tokio's time.
//!
//! Guarantees: `boot` never goes back; `machine` steps only when told to. Does not: read the
//! machine's clocks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use counterfoil_core::domain::{Micros, Span};
use counterfoil_core::port::Clock;
use tokio::time::Instant;

/// Where a new clock stands: 2026-01-01 00:00 UTC.
pub const START: Micros = Micros::new(1_767_225_600_000_000);

#[derive(Debug)]
struct Hands {
    machine: Micros,
    boot: Micros,
    /// Tokio's time at which the hands stood so; `None` for a clock that stands still by itself.
    since: Option<Instant>,
}

impl Hands {
    fn run_on(&mut self) {
        if let Some(since) = self.since {
            let now = Instant::now();
            let run = Span::from_std(now.saturating_duration_since(since));
            self.machine = self.machine.plus(run);
            self.boot = self.boot.plus(run);
            // What is below a microsecond stays for the next reading.
            self.since = Some(since + run.to_std());
        }
    }
}

/// A clock in a test's hand; clones share the same hands.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Mutex<Hands>>);

impl Default for ManualClock {
    fn default() -> Self {
        Self::at(START)
    }
}

impl ManualClock {
    /// A clock that stands at `time` until it is moved.
    #[must_use]
    pub fn at(time: Micros) -> Self {
        Self::with(time, None)
    }

    /// A clock that stands at [`START`] and runs with tokio's time, paused time included.
    #[must_use]
    pub fn running() -> Self {
        Self::with(START, Some(Instant::now()))
    }

    fn with(machine: Micros, since: Option<Instant>) -> Self {
        let boot = Micros::new(1_000_000);
        Self(Arc::new(Mutex::new(Hands { machine, boot, since })))
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        let mut hands = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hands.run_on();
        hands
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, span: Span) {
        let mut hands = self.hands();
        hands.machine = hands.machine.plus(span);
        hands.boot = hands.boot.plus(span);
    }

    /// Steps the wall clock only, forward or back, as ntp or a person does.
    pub fn step_machine(&self, micros: i64) {
        let mut hands = self.hands();
        hands.machine = Micros::new(hands.machine.get().saturating_add(micros));
    }
}

impl Clock for ManualClock {
    fn machine(&self) -> Micros {
        self.hands().machine
    }

    fn boot(&self) -> Micros {
        self.hands().boot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_when_told_and_steps_on_one_side_only() {
        let clock = ManualClock::default();
        let boot = clock.boot();
        clock.advance(Span::from_secs(5));
        assert_eq!(clock.machine(), START.plus(Span::from_secs(5)));
        clock.step_machine(-60_000_000);
        assert_eq!(clock.machine().get(), START.get() - 55_000_000);
        assert_eq!(clock.boot(), boot.plus(Span::from_secs(5)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_clock_follows_paused_time() {
        let clock = ManualClock::running();
        tokio::time::sleep(std::time::Duration::from_secs(7)).await;
        assert_eq!(clock.machine(), START.plus(Span::from_secs(7)));
    }
}
