//! A look at what is due, which reads only.
//!
//! Guarantees: an idle relay reads and writes nothing; "nothing left" is said by the store, not
//! guessed from silence. Does not: find more than the earliest due time.

use std::sync::Arc;

use counterfoil_core::domain::Micros;
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Notice, Observer, Store};
use tokio::time::Instant;

use crate::driver::Driver;

/// What a reading of the due times found.
pub(crate) struct Looked {
    next_due: Option<Micros>,
    now: Micros,
    /// Whether anything is left to do; asked where the relay may end.
    busy: Option<bool>,
}

impl<S: Store, O: Observer> Driver<S, O> {
    /// Begins to read.
    pub(crate) fn begin_look(&mut self) {
        self.claimer.looking();
        let (store, open) = (Arc::clone(&self.store), self.destinations.open());
        let boot = self.options.clock.boot();
        let lookable = self.destinations.lookable(Instant::now(), boot);
        let asks = self.options.until_idle && self.is_still();
        self.look = Some(Box::pin(async move {
            let any = !lookable.is_empty();
            let next_due = if any { store.next_due(&lookable).await? } else { None };
            // Where something is due now, nobody ends.
            let is_due = next_due.is_some_and(|due| store.now().is_ok_and(|now| due <= now));
            let asks = asks && !is_due;
            let busy = if asks { Some(store.is_busy(&open).await?) } else { None };
            Ok(Looked { next_due, now: store.now()?, busy })
        }));
    }

    /// Takes what was read.
    pub(crate) fn looked(&mut self, looked: Result<Looked, StoreError>) {
        let now = Instant::now();
        let Looked { next_due, now: store_now, busy } = match looked {
            Ok(looked) => looked,
            Err(error) => return self.store_failed(error, "reading what is due"),
        };
        let due_in = next_due.map(|due| due.since(store_now).to_std());
        self.claimer.looked(due_in, now);
        if !self.is_still() || !self.claimer.is_quiet() {
            return;
        }
        if !self.is_idle && !self.destinations.holds_back() {
            self.is_idle = true;
            self.observer.notice(&Notice::Idle { next_due });
        }
        if busy == Some(false) {
            self.begin_stop(None);
        }
    }
}
