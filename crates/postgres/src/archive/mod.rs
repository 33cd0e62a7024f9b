//! The `Archive` port on PostgreSQL: ended commands whole, their burial, their tombstones.
//!
//! Guarantees: a burial is one transaction that waits for no row; an id stands in the outbox or in
//! the archive for whoever looks, however old its snapshot. Does not: write files, nor judge what
//! may go.

mod bury;
mod ended;
mod entry;
mod erase;
mod tombstone;
mod young;

use counterfoil_core::domain::Micros;
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::{
    Archive, Buried, EndedPage, Entry, Erased, SealChange, Tombstone,
};
use counterfoil_core::port::store::StoreError;

pub(crate) use self::entry::action;

use self::bury::Bury;
use self::erase::Erase;
use crate::store::{PostgresStore, snapshot};

impl Archive for PostgresStore {
    async fn ended(
        &self,
        before: Micros,
        after: i64,
        limit: usize,
    ) -> Result<EndedPage, StoreError> {
        snapshot!(self, |tx| ended::page(tx, before, after, limit))
    }

    async fn bury(
        &self,
        file: &str,
        entries: Vec<Entry>,
        seal: Option<SealChange>,
    ) -> Result<Buried, StoreError> {
        let mut bury = Bury::new(file, entries, seal);
        bury.leave(&young::among(&self.inner.pool, bury.numbers()).await?);
        self.write(bury).await
    }

    async fn entry(&self, command_id: &str) -> Result<Option<Entry>, StoreError> {
        snapshot!(self, |tx| entry::of_command(tx, command_id))
    }

    async fn tombstones_of(
        &self,
        command_ids: &[String],
    ) -> Result<Vec<Option<Tombstone>>, StoreError> {
        snapshot!(self, |tx| tombstone::of(tx, command_ids))
    }

    async fn tombstones(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        snapshot!(self, |tx| tombstone::page(tx, after, limit))
    }

    async fn erased(&self, command_ids: &[String]) -> Result<Vec<bool>, StoreError> {
        snapshot!(self, |tx| erase::erased(tx, command_ids))
    }

    async fn erase(
        &self,
        command_id: &str,
        actor: Actor,
        reason: &str,
        seal: Option<SealChange>,
    ) -> Result<Erased, StoreError> {
        self.write(Erase::new(&self.inner, command_id, actor, reason, seal)?).await
    }
}
