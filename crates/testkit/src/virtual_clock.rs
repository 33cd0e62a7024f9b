//! A clock that runs with the machine's and jumps ahead when a test says so.
//!
//! Guarantees: it never goes back; both of its readings jump together, so no store takes a jump
//! for a machine whose clock is wrong. Does not: stand still unless it is held.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use counterfoil_core::domain::{Micros, Span};
use counterfoil_core::port::{Clock, SystemClock};

use crate::manual_clock::ManualClock;

/// How far a new clock runs ahead of the machine's: 1 s.
pub const AHEAD: Span = Span::from_secs(1);

/// A clock that a test can let run ahead.
pub trait TestClock: Clock + Clone {
    /// Lets `span` pass at once.
    fn advance(&self, span: Span);

    /// Lets time pass until `time`; one that is past changes nothing.
    fn advance_to(&self, time: Micros) {
        self.advance(time.since(self.machine()));
    }

    /// Stands still until [`TestClock::release`], but for what it is advanced. Default: nothing
    /// changes, which is right for a clock that stands by itself.
    fn hold(&self) {}

    /// Runs on, and makes good what it missed.
    fn release(&self) {}
}

#[derive(Clone, Copy, Debug)]
struct Hands {
    ahead: Span,
    /// The machine's readings when it was held.
    held: Option<(Micros, Micros)>,
}

/// The machine's time and a second more, and what a test has added to it; clones share the hands.
///
/// It is not in another year, because SQL that writes the outbox by itself takes its times from the
/// database, and that is the machine's: such a command would be due at once, or never. It is a
/// second ahead, so that it is due at once and not only when the clock comes by, held or not.
///
/// # Example
/// ```
/// use counterfoil_core::domain::Span;
/// use counterfoil_core::port::Clock as _;
/// use counterfoil_testkit::{TestClock as _, VirtualClock};
///
/// let clock = VirtualClock::new();
/// let before = clock.machine();
/// clock.advance(Span::from_secs(3600));
/// assert!(clock.machine().since(before) >= Span::from_secs(3600));
/// ```
#[derive(Clone, Debug)]
pub struct VirtualClock(Arc<Mutex<Hands>>);

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl VirtualClock {
    /// A clock that is [`AHEAD`] of the machine's until it is advanced.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Hands { ahead: AHEAD, held: None })))
    }

    /// How far it runs ahead of the machine's, or will when it is released.
    #[must_use]
    pub fn ahead(&self) -> Span {
        self.hands().ahead
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualClock {
    fn machine(&self) -> Micros {
        let hands = self.hands();
        hands.held.map_or_else(|| SystemClock.machine(), |held| held.0).plus(hands.ahead)
    }

    fn boot(&self) -> Micros {
        let hands = self.hands();
        hands.held.map_or_else(|| SystemClock.boot(), |held| held.1).plus(hands.ahead)
    }
}

impl TestClock for VirtualClock {
    fn advance(&self, span: Span) {
        let mut hands = self.hands();
        hands.ahead = hands.ahead.plus(span);
    }

    fn hold(&self) {
        let mut hands = self.hands();
        hands.held.get_or_insert_with(|| (SystemClock.machine(), SystemClock.boot()));
    }

    fn release(&self) {
        self.hands().held = None;
    }
}

impl TestClock for ManualClock {
    fn advance(&self, span: Span) {
        Self::advance(self, span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_readings_jump_together_and_never_back() {
        let clock = VirtualClock::new();
        let (machine, boot) = (clock.machine(), clock.boot());
        let twin = clock.clone();
        twin.advance(Span::from_secs(7200));
        assert!(clock.machine().since(machine) >= Span::from_secs(7200));
        assert!(clock.boot().since(boot) >= Span::from_secs(7200));
        clock.advance_to(machine);
        assert_eq!(clock.ahead(), Span::from_secs(7201));
        clock.advance_to(clock.machine().plus(Span::from_secs(60)));
        assert!(clock.ahead() >= Span::from_secs(7260), "{:?}", clock.ahead());
    }

    #[test]
    fn what_is_held_moves_only_when_it_is_advanced() {
        let clock = VirtualClock::new();
        clock.hold();
        let (machine, boot) = (clock.machine(), clock.boot());
        std::thread::sleep(std::time::Duration::from_millis(5));
        clock.hold();
        assert_eq!((clock.machine(), clock.boot()), (machine, boot));
        clock.advance(Span::from_secs(5));
        assert_eq!(clock.machine(), machine.plus(Span::from_secs(5)));
        clock.release();
        assert!(clock.machine() >= machine.plus(Span::from_millis(5_005)));
    }

    #[test]
    fn what_the_database_dates_is_past() {
        let dated = SystemClock.machine();
        let clock = VirtualClock::new();
        clock.hold();
        assert!(clock.machine().since(dated) >= Span::from_secs(1));
    }

    #[test]
    fn a_clock_in_hand_can_be_advanced_the_same_way() {
        fn an_hour_later(clock: &impl TestClock) -> Span {
            let before = clock.machine();
            clock.advance(Span::from_secs(3600));
            clock.machine().since(before)
        }
        assert_eq!(an_hour_later(&ManualClock::default()), Span::from_secs(3600));
        assert!(an_hour_later(&VirtualClock::new()) >= Span::from_secs(3600));
    }
}
