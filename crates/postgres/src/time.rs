//! What this process knows of the server's time.
//!
//! Guarantees: never decreases; between two answers of the server it runs on the boot clock. Does
//! not: read the machine's clock, which may be an hour off.

use std::sync::{Mutex, PoisonError};

use counterfoil_core::domain::Micros;
use counterfoil_core::port::Clock;

/// The server's time, as last told.
#[derive(Debug, Default)]
pub(crate) struct ServerTime(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    time: Micros,
    boot: Micros,
    last: Micros,
}

impl ServerTime {
    /// The server said so just now.
    pub(crate) fn told(&self, time: Micros, clock: &dyn Clock) {
        let boot = clock.boot();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (told.time, told.boot) = (time, boot);
        told.last = told.last.max(time);
    }

    /// The server's time now, as far as is known: it lags by what an answer travelled.
    pub(crate) fn now(&self, clock: &dyn Clock) -> Micros {
        let boot = clock.boot();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = told.time.plus(boot.since(told.boot)).max(told.last);
        told.last = now;
        now
    }
}
