//! The store that a URL names, whichever database it is in.
//!
//! Guarantees: every verb works on each of them alike. Does not: know anything of either but how it
//! is opened; what only one database has, `doctor` looks at by itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::laws::{EventFacts, LaneFacts, Totals};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Command, CommandId, Contract, Destination, EventRow, Micros, Stream,
};
use counterfoil_core::port::read::{Facts, FactsFrom, Filter, Listed, Status, Story};
use counterfoil_core::port::store::{
    Append, Appended, Declared, Exchange, Exchanged, Recorded, Remaining, Reported, StoreError,
    Swept, WriteRefused,
};
use counterfoil_core::port::{Acted, Actor, Announce, Deed, Store};
use counterfoil_postgres::PostgresStore;
use counterfoil_sqlite::SqliteStore;

/// An open store.
#[derive(Clone, Debug)]
pub(crate) enum OpenStore {
    /// In a SQLite file.
    Sqlite(SqliteStore),
    /// In a PostgreSQL database.
    Postgres(PostgresStore),
}

/// The same for each.
macro_rules! each {
    ($store:expr, $open:ident => $work:expr) => {
        match $store {
            OpenStore::Sqlite($open) => $work,
            OpenStore::Postgres($open) => $work,
        }
    };
}

impl Store for OpenStore {
    fn source(&self) -> Arc<str> {
        each!(self, open => open.source())
    }

    fn now(&self) -> Result<Micros, StoreError> {
        each!(self, open => open.now())
    }

    async fn enqueue(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Result<Recorded, WriteRefused>>, StoreError> {
        each!(self, open => open.enqueue(commands).await)
    }

    async fn append(&self, append: Append) -> Result<Result<Appended, WriteRefused>, StoreError> {
        each!(self, open => open.append(append).await)
    }

    async fn load(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        each!(self, open => open.load(stream, after, limit).await)
    }

    async fn declare(
        &self,
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> Result<Declared, StoreError> {
        each!(self, open => open.declare(destination, contract, replace).await)
    }

    async fn exchange(&self, exchange: Exchange) -> Result<Exchanged, StoreError> {
        each!(self, open => open.exchange(exchange).await)
    }

    async fn next_due(&self, destinations: &[Destination]) -> Result<Option<Micros>, StoreError> {
        each!(self, open => open.next_due(destinations).await)
    }

    async fn changed(&self, at_most: Duration) {
        each!(self, open => open.changed(at_most).await);
    }

    async fn remaining(&self, destinations: &[Destination]) -> Result<Remaining, StoreError> {
        each!(self, open => open.remaining(destinations).await)
    }

    async fn report(&self, command_id: &CommandId, report: Report) -> Result<Reported, StoreError> {
        each!(self, open => open.report(command_id, report).await)
    }

    async fn sweep(&self, limit: usize, announce: Option<Announce>) -> Result<Swept, StoreError> {
        each!(self, open => open.sweep(limit, announce).await)
    }

    async fn newest_completed(
        &self,
        destination: &Destination,
        except: &CommandId,
    ) -> Result<Option<CommandId>, StoreError> {
        each!(self, open => open.newest_completed(destination, except).await)
    }

    async fn act(&self, deeds: Vec<Deed>, actor: Actor) -> Result<Vec<Acted>, StoreError> {
        each!(self, open => open.act(deeds, actor).await)
    }

    async fn resume(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        each!(self, open => open.resume(destination, actor, reason).await)
    }

    async fn lane_facts(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<LaneFacts>, StoreError> {
        each!(self, open => open.lane_facts(after, limit).await)
    }

    async fn pause(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        each!(self, open => open.pause(destination, actor, reason).await)
    }

    async fn contracts(&self) -> Result<BTreeMap<String, Option<Contract>>, StoreError> {
        each!(self, open => open.contracts().await)
    }

    async fn restored(&self, at: Micros, actor: &str) -> Result<u64, StoreError> {
        each!(self, open => open.restored(at, actor).await)
    }

    async fn status(&self) -> Result<Status, StoreError> {
        each!(self, open => open.status().await)
    }

    async fn list(&self, filter: Filter) -> Result<Vec<Listed>, StoreError> {
        each!(self, open => open.list(filter).await)
    }

    async fn show(&self, command_id: &str) -> Result<Option<Story>, StoreError> {
        each!(self, open => open.show(command_id).await)
    }

    async fn facts(&self, from: FactsFrom, limit: usize) -> Result<Facts, StoreError> {
        each!(self, open => open.facts(from, limit).await)
    }

    async fn event_facts(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventFacts>, StoreError> {
        each!(self, open => open.event_facts(after, limit).await)
    }

    async fn totals(&self) -> Result<Vec<Totals>, StoreError> {
        each!(self, open => open.totals().await)
    }

    async fn expected(
        &self,
        sql: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        each!(self, open => open.expected(sql, offset, limit).await)
    }

    async fn known(&self, ids: &[String]) -> Result<Vec<bool>, StoreError> {
        each!(self, open => open.known(ids).await)
    }
}
