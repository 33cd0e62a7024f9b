//! The archive's port, whichever database the store is in.
//!
//! Guarantees: each method goes to the open store as it is. Does not: decide anything.

use counterfoil_core::domain::Micros;
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::{
    Archive, Buried, EndedPage, Entry, Erased, SealChange, Tombstone,
};
use counterfoil_core::port::store::StoreError;

use super::{OpenStore, each};

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

    async fn erased(&self, command_ids: &[String]) -> Result<Vec<bool>, StoreError> {
        each!(self, open => open.erased(command_ids).await)
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
