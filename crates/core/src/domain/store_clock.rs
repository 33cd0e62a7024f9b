//! The clock of an embedded store: follows the machine's clock forward and never back.
//!
//! Guarantees: what it says never decreases, over restarts too, since it starts from the saved
//! time; a step back of the machine's clock neither freezes nor rejuvenates anything. Does not:
//! read clocks; readings come in as values.

use super::time::{Micros, Span};

/// How far the machine's clock may run ahead of the boot clock before a relay stops.
pub const LARGEST_JUMP: Span = Span::from_secs(3600);

/// The machine's clock jumped ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the machine's clock ran {ahead_secs} s ahead of the time since boot; leases and windows \
     cannot be judged: check the clock (ntp), then start again"
)]
pub struct ClockJumped {
    /// How far it ran ahead since this process started, in seconds.
    pub ahead_secs: i64,
}

/// The clock of one process on one store.
#[derive(Clone, Copy, Debug)]
pub struct StoreClock {
    /// What to add to the boot clock; only ever grows.
    offset: i64,
    /// `machine − boot` when this process started.
    drift_at_start: i64,
}

impl StoreClock {
    /// Starts at the later of the machine's clock and the time that was saved in the store.
    #[must_use]
    pub fn start(machine: Micros, boot: Micros, saved: Micros) -> Self {
        let drift = machine.get().saturating_sub(boot.get());
        Self { offset: machine.max(saved).get().saturating_sub(boot.get()), drift_at_start: drift }
    }

    /// The time now, from one reading of both clocks.
    ///
    /// # Errors
    /// [`ClockJumped`] if the machine's clock runs more than [`LARGEST_JUMP`] ahead of the boot
    /// clock since the start; the store's time is not moved then.
    pub fn observe(&mut self, machine: Micros, boot: Micros) -> Result<Micros, ClockJumped> {
        let drift = machine.get().saturating_sub(boot.get());
        let ahead = drift.saturating_sub(self.drift_at_start);
        if ahead > LARGEST_JUMP.as_micros() {
            return Err(ClockJumped { ahead_secs: ahead / 1_000_000 });
        }
        self.offset = self.offset.max(drift);
        Ok(Micros::new(boot.get().saturating_add(self.offset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: i64 = 1_764_000_000_000_000;

    #[test]
    fn it_follows_forward_and_never_back() {
        let at = |machine, boot| (Micros::new(T + machine), Micros::new(boot));
        let (machine, boot) = at(0, 10);
        let mut clock = StoreClock::start(machine, boot, Micros::new(T + 5));
        let mut say = |machine, boot| {
            let (machine, boot) = at(machine, boot);
            clock.observe(machine, boot).map(|time| time.get() - T)
        };
        assert_eq!(say(0, 10), Ok(5));
        assert_eq!(say(100, 20), Ok(100));
        assert_eq!(say(-86_400_000_000, 50), Ok(130));
        assert_eq!(say(1_000_000, 60), Ok(1_000_000));
        assert_eq!(say(3_700_000_000, 70), Err(ClockJumped { ahead_secs: 3699 }));
        assert_eq!(say(1_000_010, 80), Ok(1_000_020));
    }

    #[test]
    fn an_idle_store_is_no_jump() {
        let week = 7 * 86_400 * 1_000_000;
        let mut clock = StoreClock::start(Micros::new(T + week), Micros::new(5), Micros::new(T));
        assert_eq!(clock.observe(Micros::new(T + week), Micros::new(5)).unwrap().get(), T + week);
    }
}
