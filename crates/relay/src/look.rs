//! A look at what is due, which reads only.
//!
//! Guarantees: an idle relay reads and writes nothing; "nothing left" is said by the store, not
//! guessed from silence. Does not: find more than the earliest due time.

use std::sync::Arc;

use counterfoil_core::domain::Micros;
use counterfoil_core::port::store::{Remaining, StoreError};
use counterfoil_core::port::{Notice, Observer, Store};
use tokio::time::Instant;

use crate::driver::Driver;

/// What a reading of the due times found.
pub(crate) struct Looked {
    next_due: Option<Micros>,
    now: Micros,
    remaining: Option<Remaining>,
}

impl<S: Store, O: Observer> Driver<S, O> {
    /// Begins to read.
    pub(crate) fn begin_look(&mut self) {
        self.claimer.looking();
        let (store, open) = (Arc::clone(&self.store), self.destinations.open());
        let boot = self.options.clock.boot();
        let lookable = self.destinations.lookable(Instant::now(), boot);
        let count = self.options.until_idle && self.is_still();
        self.look = Some(Box::pin(async move {
            let any = !lookable.is_empty();
            let next_due = if any { store.next_due(&lookable).await? } else { None };
            let remaining = if count { Some(store.remaining(&open).await?) } else { None };
            Ok(Looked { next_due, now: store.now()?, remaining })
        }));
    }

    /// Takes what was read.
    pub(crate) fn looked(&mut self, looked: Result<Looked, StoreError>) {
        let now = Instant::now();
        let Looked { next_due, now: store_now, remaining } = match looked {
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
        if remaining.is_some_and(|remaining| remaining.busy == 0) {
            self.begin_stop(None);
        }
    }
}
