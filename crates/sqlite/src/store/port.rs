//! The `Store` port on a SQLite file: each method is one member of the commit queue, or one read.
//!
//! Guarantees: every answer is given after COMMIT. Does not: open files; see the parent.

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
use counterfoil_core::port::{Acted, Actor, Announce, Deed, Patience, Store};

use super::SqliteStore;
use crate::act::Acting;
use crate::destination::{self, Declare};
use crate::exchange::Exchanging;
use crate::pause::{Pause, Resume};
use crate::read;
use crate::report::Reporting;
use crate::restored::Restored;
use crate::sweep::Sweep;

impl Store for SqliteStore {
    fn source(&self) -> Arc<str> {
        Arc::clone(&self.inner.source)
    }

    fn now(&self) -> Result<Micros, StoreError> {
        Ok(self.inner.time.now()?)
    }

    async fn enqueue(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Result<Recorded, WriteRefused>>, StoreError> {
        self.inner.queue.commit(self.enqueueing(commands)).await
    }

    async fn append(&self, append: Append) -> Result<Result<Appended, WriteRefused>, StoreError> {
        match self.deciding(append) {
            Ok(decision) => self.inner.queue.commit(decision).await,
            Err(refused) => Ok(Err(refused)),
        }
    }

    async fn load(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let stream = stream.clone();
        self.read(move |store, _| read::event::load(store, &stream, after, limit)).await
    }

    async fn declare(
        &self,
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> Result<Declared, StoreError> {
        self.inner.queue.commit(Declare::new(destination, contract, replace)?).await
    }

    async fn exchange(&self, exchange: Exchange) -> Result<Exchanged, StoreError> {
        let mut done = Exchanged::default();
        for part in Exchanging::parts(exchange, self.inner.options.body_bytes_max) {
            let written = match self.inner.queue.commit(part).await {
                Ok(written) => written.finish(),
                Err(error) if done.settled.is_empty() => return Err(error),
                // Parts before this one stand.
                Err(error) => return Err(StoreError::NotKnown(error.to_string())),
            };
            let settled = std::mem::take(&mut done.settled);
            done = written;
            done.settled.splice(0..0, settled);
        }
        Ok(done)
    }

    fn is_patient(&self) -> bool {
        true
    }

    async fn claim_when_due(
        &self,
        exchange: Exchange,
        patience: Patience,
    ) -> Result<Exchanged, StoreError> {
        self.listen();
        let body_bytes_max = self.inner.options.body_bytes_max;
        let claim = Exchanging { exchange, body_bytes_max, patience: Some(patience.clone()) };
        match self.inner.queue.commit_when_due(claim, &patience).await {
            Some(written) => Ok(written?.finish()),
            None => Ok(Exchanged::default()),
        }
    }

    async fn next_due(&self, destinations: &[Destination]) -> Result<Option<Micros>, StoreError> {
        let destinations = destinations.to_vec();
        self.read(move |store, _| read::due::next_due(store, &destinations)).await
    }

    async fn awaiting(&self) -> Result<Vec<String>, StoreError> {
        self.read(|store, _| read::due::awaiting(store)).await
    }

    async fn changed(&self, at_most: Duration) {
        self.listen();
        let wake = &self.inner.wake;
        wake.changed(self.seen.load(Ordering::Acquire), at_most).await;
        // What is committed from here on ends the next wait.
        self.seen.store(wake.generation(), Ordering::Release);
    }

    async fn remaining(&self, destinations: &[Destination]) -> Result<Remaining, StoreError> {
        let destinations = destinations.to_vec();
        self.read(move |store, now| read::due::remaining(store, &destinations, now)).await
    }

    async fn report(&self, command_id: &CommandId, report: Report) -> Result<Reported, StoreError> {
        self.inner.queue.commit(Reporting { command_id: command_id.clone(), report }).await
    }

    async fn sweep(&self, limit: usize, announce: Option<Announce>) -> Result<Swept, StoreError> {
        let lanes = Arc::clone(&self.inner.lanes);
        self.inner.queue.commit(Sweep { limit, announce, lanes }).await
    }

    async fn newest_completed(
        &self,
        destination: &Destination,
        except: &CommandId,
    ) -> Result<Option<CommandId>, StoreError> {
        let (destination, except) = (destination.clone(), except.clone());
        self.read(move |store, _| read::control::newest_completed(store, &destination, &except))
            .await
    }

    async fn act(&self, deeds: Vec<Deed>, actor: Actor) -> Result<Vec<Acted>, StoreError> {
        self.inner.queue.commit(Acting::new(deeds, actor)?).await
    }

    async fn resume(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let (destination, actor) = (destination.clone(), actor.to_owned());
        self.inner.queue.commit(Resume { destination, actor, reason: reason.to_owned() }).await
    }

    async fn lane_facts(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<LaneFacts>, StoreError> {
        self.read(move |store, _| read::lane::lane_facts(store, after, limit)).await
    }

    async fn pause(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let (actor, reason) = (actor.to_owned(), reason.to_owned());
        self.inner.queue.commit(Pause { destination: destination.clone(), actor, reason }).await
    }

    async fn contracts(&self) -> Result<BTreeMap<String, Option<Contract>>, StoreError> {
        self.read(|store, _| destination::contracts(store)).await
    }

    async fn restored(&self, at: Micros, actor: &str) -> Result<u64, StoreError> {
        self.inner.queue.commit(Restored { at, actor: actor.to_owned() }).await
    }

    async fn status(&self) -> Result<Status, StoreError> {
        self.read(read::status::status).await
    }

    async fn list(&self, filter: Filter) -> Result<Vec<Listed>, StoreError> {
        self.read(move |store, _| read::list::list(store, &filter)).await?
    }

    async fn show(&self, command_id: &str) -> Result<Option<Story>, StoreError> {
        let id = command_id.to_owned();
        self.read(move |store, _| read::show::show(store, &id)).await
    }

    async fn facts(&self, from: FactsFrom, limit: usize) -> Result<Facts, StoreError> {
        self.read(move |store, now| crate::facts::facts(store, from, limit, now)).await
    }

    async fn event_facts(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventFacts>, StoreError> {
        self.read(move |store, _| read::event::event_facts(store, after, limit)).await
    }

    async fn totals(&self) -> Result<Vec<Totals>, StoreError> {
        self.read(|store, _| read::status::totals(store)).await
    }

    async fn expected(
        &self,
        sql: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let (sql, readers) = (sql.to_owned(), self.inner.readers.clone());
        let reading = tokio::task::spawn_blocking(move || {
            read::expected::expected(&readers.open()?, &sql, offset, limit)
        });
        reading.await.unwrap_or_else(|error| Err(StoreError::Broken(format!("a read: {error}"))))
    }

    async fn expected_has(&self, sql: &str, ids: &[String]) -> Result<Vec<bool>, StoreError> {
        let (sql, ids, readers) = (sql.to_owned(), ids.to_vec(), self.inner.readers.clone());
        let reading = tokio::task::spawn_blocking(move || {
            read::expected::expected_has(&readers.open()?, &sql, &ids)
        });
        reading.await.unwrap_or_else(|error| Err(StoreError::Broken(format!("a read: {error}"))))
    }

    async fn known(&self, ids: &[String]) -> Result<Vec<bool>, StoreError> {
        let ids = ids.to_vec();
        self.read(move |store, _| read::expected::known(store, &ids)).await
    }
}
