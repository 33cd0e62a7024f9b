//! The same for what an archive and an audit from a seal need.
//!
//! Guarantees: as above. Does not: more.

use counterfoil_core::domain::laws::ContradictionFacts;
use counterfoil_core::domain::{EventRow, Micros};
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::{
    ActionRow, Archive, Buried, EndedPage, Entry, Erased, SealChange, Tombstone,
};
use counterfoil_core::port::read::Facts;
use counterfoil_core::port::seal::{Arrived, Audited, Horizon, Sealed};
use counterfoil_core::port::store::StoreError;

use super::OpenStore;

impl Archive for OpenStore {
    async fn ended(
        &self,
        before: Micros,
        after: i64,
        limit: usize,
    ) -> Result<EndedPage, StoreError> {
        each!(self, open => open.ended(before, after, limit).await)
    }

    async fn bury(
        &self,
        file: &str,
        entries: Vec<Entry>,
        seal: Option<SealChange>,
    ) -> Result<Buried, StoreError> {
        each!(self, open => open.bury(file, entries, seal).await)
    }

    async fn entry(&self, command_id: &str) -> Result<Option<Entry>, StoreError> {
        each!(self, open => open.entry(command_id).await)
    }

    async fn tombstones_of(
        &self,
        command_ids: &[String],
    ) -> Result<Vec<Option<Tombstone>>, StoreError> {
        each!(self, open => open.tombstones_of(command_ids).await)
    }

    async fn tombstones(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        each!(self, open => open.tombstones(after, limit).await)
    }

    async fn erase(
        &self,
        command_id: &str,
        actor: Actor,
        reason: &str,
        seal: Option<SealChange>,
    ) -> Result<Erased, StoreError> {
        each!(self, open => open.erase(command_id, actor, reason, seal).await)
    }
}

impl Audited for OpenStore {
    async fn horizon(&self) -> Result<Option<Horizon>, StoreError> {
        each!(self, open => open.horizon().await)
    }

    async fn ended_since(
        &self,
        after: Arrived,
        limit: usize,
    ) -> Result<(Facts, Arrived), StoreError> {
        each!(self, open => open.ended_since(after, limit).await)
    }

    async fn events(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        each!(self, open => open.events(after, limit).await)
    }

    async fn actions(&self, after: i64, limit: usize) -> Result<Vec<ActionRow>, StoreError> {
        each!(self, open => open.actions(after, limit).await)
    }

    async fn contradictions(
        &self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(String, ContradictionFacts)>, StoreError> {
        each!(self, open => open.contradictions(after, limit).await)
    }

    async fn sealed(&self) -> Result<Option<Sealed>, StoreError> {
        each!(self, open => open.sealed().await)
    }

    async fn save_seal(&self, version: i64, seal: &str) -> Result<bool, StoreError> {
        each!(self, open => open.save_seal(version, seal).await)
    }

    async fn mend(&self, command_ids: &[String], actor: Actor) -> Result<u64, StoreError> {
        each!(self, open => open.mend(command_ids, actor).await)
    }
}
