//! The port of events' bodies, whichever database the store is in.
//!
//! Guarantees: each method goes to the open store as it is. Does not: decide anything.

use counterfoil_core::domain::{EventRow, Micros, Stream};
use counterfoil_core::port::Actor;
use counterfoil_core::port::bodies::{Bodies, BodyPage, Place};
use counterfoil_core::port::store::StoreError;

use super::{OpenStore, each};

impl Bodies for OpenStore {
    async fn old_bodies(
        &self,
        before: Micros,
        after: Option<Place>,
        limit: usize,
    ) -> Result<BodyPage, StoreError> {
        each!(self, open => open.old_bodies(before, after, limit).await)
    }

    async fn take_bodies(
        &self,
        file: &str,
        events: Vec<EventRow>,
    ) -> Result<Vec<bool>, StoreError> {
        each!(self, open => open.take_bodies(file, events).await)
    }

    async fn events_at(&self, places: &[Place]) -> Result<Vec<Option<EventRow>>, StoreError> {
        each!(self, open => open.events_at(places).await)
    }

    async fn archived_bodies(
        &self,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        each!(self, open => open.archived_bodies(after, limit).await)
    }

    async fn archived_before(
        &self,
        stream: &Stream,
        before: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        each!(self, open => open.archived_before(stream, before, limit).await)
    }

    async fn put_back(
        &self,
        stream: &Stream,
        events: Vec<EventRow>,
        actor: Actor,
    ) -> Result<Vec<bool>, StoreError> {
        each!(self, open => open.put_back(stream, events, actor).await)
    }
}
