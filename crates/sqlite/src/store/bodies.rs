//! The `Bodies` port on a SQLite file.
//!
//! Guarantees: a page is one short snapshot of a connection that cannot write; every write is one
//! member of the commit queue. Does not: write archives' files.

use counterfoil_core::domain::{EventRow, Micros, Stream};
use counterfoil_core::port::Actor;
use counterfoil_core::port::bodies::{Bodies, BodyPage, Place};
use counterfoil_core::port::store::StoreError;

use super::SqliteStore;
use crate::act::check_actor;
use crate::bodies::{PutBack, take};
use crate::read::bodies;

impl Bodies for SqliteStore {
    async fn old_bodies(
        &self,
        before: Micros,
        after: Option<Place>,
        limit: usize,
    ) -> Result<BodyPage, StoreError> {
        self.read(move |store, _| bodies::old(store, before, after, limit)).await
    }

    async fn take_bodies(
        &self,
        file: &str,
        events: Vec<EventRow>,
    ) -> Result<Vec<bool>, StoreError> {
        take(&self.inner.queue, file, events).await
    }

    async fn events_at(&self, places: &[Place]) -> Result<Vec<Option<EventRow>>, StoreError> {
        let places = places.to_vec();
        self.read(move |store, _| {
            places.iter().map(|(stream, seq)| bodies::at(store, stream, *seq)).collect()
        })
        .await
    }

    async fn archived_bodies(
        &self,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.read(move |store, _| bodies::archived(store, after, limit)).await
    }

    async fn archived_before(
        &self,
        stream: &Stream,
        before: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let stream = stream.to_string();
        self.read(move |store, _| bodies::archived_before(store, &stream, before, limit)).await
    }

    async fn put_back(
        &self,
        stream: &Stream,
        events: Vec<EventRow>,
        actor: Actor,
    ) -> Result<Vec<bool>, StoreError> {
        check_actor(&actor)?;
        let stream = stream.clone();
        self.inner.queue.commit(PutBack { stream, events, actor }).await
    }
}
