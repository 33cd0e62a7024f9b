//! The `Store` port on PostgreSQL: each method is one transaction.
//!
//! Guarantees: every answer is given after COMMIT. Does not: connect; see the parent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
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

use super::{Inner, PostgresStore};
use crate::act::Acting;
use crate::append::Decision;
use crate::destination::Declare;
use crate::enqueue::Enqueue;
use crate::failure::Failure;
use crate::listen::Ear;
use crate::pause::{Pause, Resume};
use crate::report::Reporting;
use crate::restored::Restored;
use crate::sweep::Sweep;
use crate::tx::Tx;
use crate::work::Work;
use crate::{destination, exchange, facts, read};

impl PostgresStore {
    /// Writes in a transaction of its own, and wakes who waits for such a write.
    pub(crate) async fn write<W: Work>(&self, work: W) -> Result<W::Answer, StoreError> {
        let answer = self.inner.pool.transact(&work).await?;
        if work.wakes(&answer) {
            self.inner.wake.wake();
        }
        Ok(answer)
    }

    /// Ends a transaction of reads.
    pub(crate) async fn done<T>(
        &self,
        tx: Tx<'_>,
        read: Result<T, Failure>,
    ) -> Result<T, StoreError> {
        tx.rollback().await;
        Ok(read?)
    }
}

/// One read in a snapshot of its own.
macro_rules! snapshot {
    ($store:expr, |$tx:ident| $read:expr) => {{
        let snapshot = $store.snapshot().await?;
        let $tx = &snapshot;
        let read = $read.await;
        $store.done(snapshot, read).await
    }};
}
pub(crate) use snapshot;

impl Store for PostgresStore {
    fn source(&self) -> Arc<str> {
        Arc::clone(&self.inner.source)
    }

    /// Nobody waits for the rows that an exchange holds.
    fn rows_max(&self) -> usize {
        1024
    }

    fn now(&self) -> Result<Micros, StoreError> {
        Ok(self.inner.now())
    }

    async fn enqueue(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Result<Recorded, WriteRefused>>, StoreError> {
        self.write(Enqueue::new(&self.inner, commands)).await
    }

    async fn append(&self, append: Append) -> Result<Result<Appended, WriteRefused>, StoreError> {
        match Decision::new(&self.inner, append) {
            Ok(decision) => self.write(decision).await,
            Err(refused) => Ok(Err(refused)),
        }
    }

    async fn load(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        snapshot!(self, |tx| read::event::load(tx, stream, after, limit))
    }

    async fn declare(
        &self,
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> Result<Declared, StoreError> {
        self.write(Declare::new(destination, contract, replace)?).await
    }

    async fn exchange(&self, exchange: Exchange) -> Result<Exchanged, StoreError> {
        let (exchanged, wakes) = exchange::exchange(&self.inner, exchange).await?;
        if wakes {
            self.inner.wake.wake();
        }
        Ok(exchanged)
    }

    async fn next_due(&self, destinations: &[Destination]) -> Result<Option<Micros>, StoreError> {
        // An idle relay asks at each poll: one statement, and no transaction about it.
        let tx = self.inner.pool.glance().await?;
        let due = read::due::next_due(&tx, destinations).await;
        self.done(tx, due).await
    }

    async fn awaiting(&self) -> Result<Vec<String>, StoreError> {
        let tx = self.inner.pool.glance().await?;
        let awaiting = read::due::awaiting(&tx).await;
        self.done(tx, awaiting).await
    }

    async fn changed(&self, at_most: Duration) {
        let Inner { wake, ear, .. } = &*self.inner;
        ear.iter().for_each(Ear::listen);
        wake.changed(self.seen.load(Ordering::Acquire), at_most).await;
        // What is committed from here on ends the next wait.
        self.seen.store(wake.generation(), Ordering::Release);
    }

    async fn remaining(&self, destinations: &[Destination]) -> Result<Remaining, StoreError> {
        snapshot!(self, |tx| read::due::remaining(tx, destinations))
    }

    async fn is_busy(&self, destinations: &[Destination]) -> Result<bool, StoreError> {
        let tx = self.inner.pool.glance().await?;
        let at_work = read::due::at_work(&tx, destinations).await;
        Ok(self.done(tx, at_work).await? || self.remaining(destinations).await?.busy > 0)
    }

    async fn report(&self, command_id: &CommandId, report: Report) -> Result<Reported, StoreError> {
        let command_id = command_id.clone();
        self.write(Reporting { store: &self.inner, command_id, report }).await
    }

    async fn sweep(&self, limit: usize, announce: Option<Announce>) -> Result<Swept, StoreError> {
        self.write(Sweep { store: &self.inner, limit, announce }).await
    }

    async fn newest_completed(
        &self,
        destination: &Destination,
        except: &CommandId,
    ) -> Result<Option<CommandId>, StoreError> {
        snapshot!(self, |tx| read::control::newest_completed(tx, destination, except))
    }

    async fn act(&self, deeds: Vec<Deed>, actor: Actor) -> Result<Vec<Acted>, StoreError> {
        self.write(Acting::new(&self.inner, deeds, actor)?).await
    }

    async fn resume(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let (actor, reason) = (actor.to_owned(), reason.to_owned());
        let destination = destination.clone();
        self.write(Resume { store: &self.inner, destination, actor, reason }).await
    }

    async fn lane_facts(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<LaneFacts>, StoreError> {
        snapshot!(self, |tx| read::lane::lane_facts(tx, after, limit))
    }

    async fn pause(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let (actor, reason) = (actor.to_owned(), reason.to_owned());
        let destination = destination.clone();
        self.write(Pause { store: &self.inner, destination, actor, reason }).await
    }

    async fn contracts(&self) -> Result<BTreeMap<String, Option<Contract>>, StoreError> {
        snapshot!(self, |tx| destination::contracts(tx))
    }

    async fn restored(&self, at: Micros, actor: &str) -> Result<u64, StoreError> {
        self.write(Restored { store: &self.inner, at, actor: actor.to_owned() }).await
    }

    async fn status(&self) -> Result<Status, StoreError> {
        snapshot!(self, |tx| read::status::status(tx))
    }

    async fn list(&self, filter: Filter) -> Result<Vec<Listed>, StoreError> {
        snapshot!(self, |tx| read::list::list(tx, &filter))?
    }

    async fn show(&self, command_id: &str) -> Result<Option<Story>, StoreError> {
        snapshot!(self, |tx| read::show::show(tx, command_id))
    }

    async fn facts(&self, from: FactsFrom, limit: usize) -> Result<Facts, StoreError> {
        // In a task of its own: where there are two cores, the audit judges a page meanwhile.
        let store = self.clone();
        let reading =
            tokio::spawn(async move { snapshot!(store, |tx| facts::facts(tx, from, limit)) });
        reading.await.unwrap_or_else(|error| Err(StoreError::Broken(format!("a read: {error}"))))
    }

    async fn event_facts(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventFacts>, StoreError> {
        snapshot!(self, |tx| read::event::event_facts(tx, after, limit))
    }

    async fn totals(&self) -> Result<Vec<Totals>, StoreError> {
        snapshot!(self, |tx| read::status::totals(tx))
    }

    async fn expected(
        &self,
        sql: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        snapshot!(self, |tx| read::expected::expected(tx, sql, offset, limit))
    }

    async fn expected_has(&self, sql: &str, ids: &[String]) -> Result<Vec<bool>, StoreError> {
        snapshot!(self, |tx| read::expected::expected_has(tx, sql, ids))
    }

    async fn known(&self, ids: &[String]) -> Result<Vec<bool>, StoreError> {
        snapshot!(self, |tx| read::expected::known(tx, ids))
    }
}
