//! The `Archive` and `Audited` ports on a SQLite file.
//!
//! Guarantees: a page is one short snapshot of a connection that cannot write, beside running
//! relays of any process; every write is one member of the commit queue. Does not: write archives'
//! files, nor judge what a seal says.

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::laws::{ContradictionFacts, FlowFacts};
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::{
    ActionRow, Archive, Buried, EndedPage, Entry, Erased, SealChange, Tombstone,
};
use counterfoil_core::port::read::Facts;
use counterfoil_core::port::seal::{
    Arrived, Audited, EventRead, FlowsFrom, Horizon, InputPage, Sealed,
};
use counterfoil_core::port::store::StoreError;
use rusqlite::OptionalExtension as _;

use super::SqliteStore;
use crate::act::check_actor;
use crate::erasure::Erasure;
use crate::mend::Mend;
use crate::seal::Sealing;
use crate::sql::Sql;
use crate::{burial, entry, erasure, read, seal, tombstone};

impl Archive for SqliteStore {
    async fn ended(
        &self,
        before: Micros,
        after: i64,
        limit: usize,
    ) -> Result<EndedPage, StoreError> {
        self.read(move |store, _| read::ended::ended(store, before, after, limit)).await
    }

    async fn bury(
        &self,
        file: &str,
        entries: Vec<Entry>,
        seal: Option<SealChange>,
    ) -> Result<Buried, StoreError> {
        burial::bury(&self.inner.queue, file, entries, seal).await
    }

    async fn entry(&self, command_id: &str) -> Result<Option<Entry>, StoreError> {
        let id = command_id.to_owned();
        let found = self.read(move |store, _| {
            let mut number = store.prepare_cached(Sql::OutboxNumber.text())?;
            let number = number.query_row([&id], |row| row.get(0)).optional()?;
            number.map_or(Ok(None), |n| entry::read(store, n))
        });
        match found.await? {
            None => Ok(None),
            Some(Ok(stands)) => Ok(Some(stands.entry)),
            Some(Err(why)) => {
                let why = format!("command {command_id} cannot be read whole: {why}");
                Err(StoreError::Broken(why))
            }
        }
    }

    async fn tombstones_of(
        &self,
        command_ids: &[String],
    ) -> Result<Vec<Option<Tombstone>>, StoreError> {
        let ids = command_ids.to_vec();
        self.read(move |store, _| ids.iter().map(|id| tombstone::find(store, id)).collect()).await
    }

    async fn tombstones(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let after = after.map(str::to_owned);
        self.read(move |store, _| tombstone::after(store, after.as_deref(), limit)).await
    }

    async fn erased(&self, command_ids: &[String]) -> Result<Vec<bool>, StoreError> {
        let ids = command_ids.to_vec();
        self.read(move |store, _| erasure::erased(store, &ids)).await
    }

    async fn erase(
        &self,
        command_id: &str,
        actor: Actor,
        reason: &str,
        seal: Option<SealChange>,
    ) -> Result<Erased, StoreError> {
        check_actor(&actor)?;
        let (command_id, reason) = (command_id.to_owned(), reason.to_owned());
        self.inner.queue.commit(Erasure { command_id, actor, reason, seal }).await
    }
}

impl Audited for SqliteStore {
    async fn horizon(&self) -> Result<Option<Horizon>, StoreError> {
        self.read(read::arrived::horizon).await.map(Some)
    }

    async fn ended_since(
        &self,
        after: Arrived,
        limit: usize,
    ) -> Result<(Facts, Arrived), StoreError> {
        self.read(move |store, now| read::arrived::ended_since(store, after, limit, now)).await
    }

    async fn events(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventRead>, StoreError> {
        self.read(move |store, _| read::event::events(store, after, limit)).await
    }

    async fn flow_facts(
        &self,
        from: FlowsFrom,
        limit: usize,
    ) -> Result<Vec<FlowFacts>, StoreError> {
        self.read(move |store, _| read::flow::flows(store, &from, limit)).await
    }

    async fn input_facts(
        &self,
        from: Option<String>,
        limit: usize,
    ) -> Result<InputPage, StoreError> {
        self.read(move |store, _| read::flow::inputs(store, from.as_deref(), limit)).await
    }

    async fn actions(&self, after: i64, limit: usize) -> Result<Vec<ActionRow>, StoreError> {
        self.read(move |store, _| read::arrived::actions(store, after, limit)).await
    }

    async fn contradictions(
        &self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(String, ContradictionFacts)>, StoreError> {
        self.read(move |store, _| read::arrived::contradictions(store, after, limit)).await
    }

    async fn numbers(&self, command_ids: &[String]) -> Result<Vec<Option<i64>>, StoreError> {
        let ids = command_ids.to_vec();
        self.read(move |store, _| read::arrived::numbers(store, &ids)).await
    }

    async fn archived(&self) -> Result<i64, StoreError> {
        self.read(|store, _| tombstone::count_all(store)).await
    }

    async fn sealed(&self) -> Result<Option<Sealed>, StoreError> {
        self.read(|store, _| seal::read(store)).await
    }

    async fn save_seal(&self, version: i64, seal: &str) -> Result<bool, StoreError> {
        let change = SealChange { version, seal: seal.to_owned() };
        self.inner.queue.commit(Sealing { change, reseal: None, recount: false }).await
    }

    async fn reseal(
        &self,
        version: i64,
        seal: &str,
        actor: Actor,
        recount: bool,
    ) -> Result<bool, StoreError> {
        check_actor(&actor)?;
        let change = SealChange { version, seal: seal.to_owned() };
        self.inner.queue.commit(Sealing { change, reseal: Some(actor), recount }).await
    }

    async fn mend(&self, command_ids: &[String], actor: Actor) -> Result<u64, StoreError> {
        check_actor(&actor)?;
        self.inner.queue.commit(Mend { command_ids: command_ids.to_vec(), actor }).await
    }
}
