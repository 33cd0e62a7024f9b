//! The story of a drill: what the sender and the receiver have, told order by order.
//!
//! Guarantees: what is told is read right after it happened. Does not: kill anybody.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use counterfoil_core::port::Store;
use counterfoil_core::port::read::Story as Shown;
use counterfoil_core::port::store::StoreError;
use tokio::runtime::Runtime;

use super::moment::{Moment, receiver_has, sender_says};
use super::order::{command_id, order_id};
use super::process::PATIENCE;
use super::site::Site;
use crate::exit::Failure;
use crate::store::OpenStore;

/// How many of the first orders are told.
pub(super) const TOLD: u32 = 3;

/// How long to wait between two looks at a store that cannot be read now.
const PAUSE: Duration = Duration::from_millis(50);

/// What has been told.
pub(super) struct Story<'s> {
    site: &'s Site,
    store: OpenStore,
    runtime: Runtime,
    moments: Vec<Moment>,
}

impl<'s> Story<'s> {
    /// Nothing yet.
    pub(super) const fn new(site: &'s Site, store: OpenStore, runtime: Runtime) -> Self {
        Self { site, store, runtime, moments: Vec::new() }
    }

    /// Tells where the `n`-th order is, now that `what` has happened.
    ///
    /// # Errors
    /// What SQLite says.
    pub(super) fn tell(&mut self, n: u32, what: &'static str) -> Result<(), Failure> {
        let key = command_id(&order_id(n));
        let story = self.show(&key)?;
        let effects = receiver_has(self.site, &key)?;
        let sender = sender_says(story.as_ref());
        self.moments.push(Moment { order: n, what, sender, effects });
        Ok(())
    }

    /// Tells where each order that was told of is now, at the end.
    ///
    /// # Errors
    /// What SQLite says.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        let told: BTreeSet<_> = self.moments.iter().map(|moment| moment.order).collect();
        told.into_iter().try_for_each(|n| self.tell(n, "the end"))
    }

    /// Whether a relay has noted that nobody knows what became of the `n`-th order.
    ///
    /// # Errors
    /// What SQLite says.
    pub(super) fn is_in_doubt(&self, n: u32) -> Result<bool, Failure> {
        let story = self.show(&command_id(&order_id(n)))?;
        Ok(story.is_some_and(|story| story.listed.in_doubt))
    }

    /// What the store shows; a server that is restarted is waited for.
    fn show(&self, key: &str) -> Result<Option<Shown>, Failure> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.runtime.block_on(self.store.show(key)) {
                Err(StoreError::Unavailable(_)) if Instant::now() < end => {
                    std::thread::sleep(PAUSE);
                }
                shown => return Ok(shown?),
            }
        }
    }

    /// All that was told.
    pub(super) fn into_moments(self) -> Vec<Moment> {
        self.moments
    }
}
