//! The `Bodies` port on PostgreSQL: events whose bodies may be archived, their leaving and coming
//! back.
//!
//! Guarantees: a page is one snapshot; each write is one transaction that compares in its own
//! statement. Does not: write files.

mod page;
mod take;

use counterfoil_core::domain::{EventRow, Micros, Stream};
use counterfoil_core::port::Actor;
use counterfoil_core::port::bodies::{Bodies, BodyPage, Place};
use counterfoil_core::port::store::StoreError;

use self::take::{PutBack, Take};
use crate::act;
use crate::store::{PostgresStore, snapshot};

impl Bodies for PostgresStore {
    async fn old_bodies(
        &self,
        before: Micros,
        after: Option<Place>,
        limit: usize,
    ) -> Result<BodyPage, StoreError> {
        snapshot!(self, |tx| page::old(tx, before, after, limit))
    }

    async fn take_bodies(
        &self,
        file: &str,
        events: Vec<EventRow>,
    ) -> Result<Vec<bool>, StoreError> {
        self.write(Take::new(file, events)).await
    }

    async fn events_at(&self, places: &[Place]) -> Result<Vec<Option<EventRow>>, StoreError> {
        snapshot!(self, |tx| page::at(tx, places))
    }

    async fn archived_bodies(
        &self,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        snapshot!(self, |tx| page::archived(tx, after, limit))
    }

    async fn archived_before(
        &self,
        stream: &Stream,
        before: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        snapshot!(self, |tx| page::archived_before(tx, stream, before, limit))
    }

    async fn put_back(
        &self,
        stream: &Stream,
        events: Vec<EventRow>,
        actor: Actor,
    ) -> Result<Vec<bool>, StoreError> {
        act::check(&actor)?;
        let stream = stream.clone();
        self.write(PutBack { store: &self.inner, stream, events, actor }).await
    }
}
