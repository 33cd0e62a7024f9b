//! Pauses destinations that say they want nothing any more.
//!
//! Guarantees: the pause is tried until the store takes it, and announced once; meanwhile nothing
//! more is claimed there. Does not: end a pause; a person does.

use std::future::pending;
use std::sync::Arc;

use counterfoil_core::domain::{Destination, Seed};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Notice, Observer, Store};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::driver::Driver;

/// One destination that said that it is gone.
struct Gone<S, O> {
    store: Arc<S>,
    observer: Arc<O>,
    destination: Destination,
    /// Who pauses.
    actor: String,
    /// What the destination said.
    reason: String,
    seed: Seed,
}

/// The pauses that are under way; each tells the place of its destination in the end.
#[derive(Default)]
pub(crate) struct Pausing(JoinSet<usize>);

impl Pausing {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives up; what was not written is not paused.
    pub(crate) fn give_up(&mut self) {
        self.0.abort_all();
        self.0.detach_all();
    }

    /// The place of a destination whose pause came to its end.
    pub(crate) async fn ended(&mut self) -> Option<usize> {
        match self.0.join_next().await {
            Some(ended) => ended.ok(),
            None => pending().await,
        }
    }
}

impl<S: Store, O: Observer> Driver<S, O> {
    /// Pauses the destination at `place` for all relays; `reason` is what it said.
    pub(crate) fn pause(&mut self, place: usize, reason: String) {
        let seed = self.seed();
        let Some(serving) = self.destinations.get_mut(place) else { return };
        if std::mem::replace(&mut serving.pausing, true) {
            return;
        }
        let gone = Gone {
            store: Arc::clone(&self.store),
            observer: Arc::clone(&self.observer),
            destination: serving.served.destination.clone(),
            actor: format!("relay {}", self.options.owner),
            reason,
            seed,
        };
        self.pausing.0.spawn(async move {
            gone.pause().await;
            place
        });
    }

    /// The store has it now, or never will: from here on the store says where to claim.
    pub(crate) fn paused(&mut self, place: Option<usize>) {
        if let Some(serving) = place.and_then(|place| self.destinations.get_mut(place)) {
            serving.pausing = false;
        }
        self.claimer.look();
    }
}

impl<S: Store, O: Observer> Gone<S, O> {
    async fn pause(self) {
        let mut backoff = Backoff::failing();
        let mut may_be_ours = false;
        loop {
            match self.store.pause(&self.destination, &self.actor, &self.reason).await {
                // After a try whose end is not known, "already" may be that try's own doing.
                Ok(news) if news || may_be_ours => {
                    let (destination, reason) = (self.destination, self.reason);
                    return self.observer.notice(&Notice::Paused { destination, reason });
                }
                // Another relay paused it first and told so; and what is broken stays broken.
                Ok(_) | Err(StoreError::Broken(_) | StoreError::Clock(_)) => return,
                Err(error) => may_be_ours |= matches!(error, StoreError::NotKnown(_)),
            }
            let pause = backoff.failed(self.seed, Instant::now());
            tokio::time::sleep(pause).await;
        }
    }
}
