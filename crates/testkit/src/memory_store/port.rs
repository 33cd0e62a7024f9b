//! The store port over the rows in memory.
//!
//! Guarantees: each method is one step. Does not: decide or keep rows; the files beside it do.

use std::collections::BTreeMap;
use std::future::Future;
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
use counterfoil_core::port::{Acted, Actor, Announce, Deed, Patience, Store};

use super::MemoryStore;
use super::rows::Rows;

impl Store for MemoryStore {
    fn source(&self) -> Arc<str> {
        Arc::clone(&self.shared.source)
    }

    fn now(&self) -> Result<Micros, StoreError> {
        self.time()
    }

    async fn enqueue(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Result<Recorded, WriteRefused>>, StoreError> {
        let max = self.shared.body_bytes_max;
        self.write(|rows, now| {
            let before = rows.newest;
            let answers =
                commands.into_iter().map(|command| rows.record(command, max, now)).collect();
            (answers, rows.newest != before)
        })
    }

    async fn append(&self, append: Append) -> Result<Result<Appended, WriteRefused>, StoreError> {
        let max = self.shared.body_bytes_max;
        self.write(|rows, now| {
            let appended = rows.append(append, max, now);
            let changed = appended.is_ok();
            (appended, changed)
        })
    }

    async fn load(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.read(|rows, _| rows.load(stream, after, limit))
    }

    async fn declare(
        &self,
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> Result<Declared, StoreError> {
        self.write(|rows, _| rows.declare(destination, contract, replace))
    }

    async fn exchange(&self, exchange: Exchange) -> Result<Exchanged, StoreError> {
        self.exchanged(&exchange)
    }

    fn is_patient(&self) -> bool {
        self.is_patient
    }

    async fn claim_when_due(
        &self,
        exchange: Exchange,
        patience: Patience,
    ) -> Result<Exchanged, StoreError> {
        self.exchanged_when_due(&exchange, &patience).await
    }

    async fn next_due(&self, destinations: &[Destination]) -> Result<Option<Micros>, StoreError> {
        self.read(|rows, _| rows.next_due(destinations))
    }

    async fn awaiting(&self) -> Result<Vec<String>, StoreError> {
        self.read(|rows, _| rows.awaiting())
    }

    fn changed(&self, at_most: Duration) -> impl Future<Output = ()> + Send {
        self.wait_for_commit(at_most)
    }

    async fn remaining(&self, destinations: &[Destination]) -> Result<Remaining, StoreError> {
        self.read(|rows, now| rows.remaining(destinations, now))
    }

    async fn report(&self, command_id: &CommandId, report: Report) -> Result<Reported, StoreError> {
        self.write(|rows, now| rows.report(command_id, report, now))
    }

    async fn sweep(&self, limit: usize, announce: Option<Announce>) -> Result<Swept, StoreError> {
        self.write(|rows, now| rows.sweep(limit, announce.as_ref(), now))
    }

    async fn newest_completed(
        &self,
        destination: &Destination,
        except: &CommandId,
    ) -> Result<Option<CommandId>, StoreError> {
        self.read(|rows, _| rows.newest_completed(destination, except))
    }

    async fn act(&self, deeds: Vec<Deed>, actor: Actor) -> Result<Vec<Acted>, StoreError> {
        self.write(|rows, now| rows.act_all(&deeds, &actor, now))
    }

    async fn resume(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        self.write(|rows, now| {
            let resumed = rows.resume(destination, actor, reason, now);
            (resumed, resumed)
        })
    }

    async fn lane_facts(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<LaneFacts>, StoreError> {
        self.read(|rows, _| rows.lane_facts(after.as_ref(), limit))
    }

    async fn pause(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        self.write(|rows, now| {
            let paused = rows.pause(destination, actor, reason, now);
            (paused, paused)
        })
    }

    async fn contracts(&self) -> Result<BTreeMap<String, Option<Contract>>, StoreError> {
        self.read(|rows, _| rows.contracts())
    }

    async fn restored(&self, at: Micros, actor: &str) -> Result<u64, StoreError> {
        self.write(|rows, now| (rows.restored(at, actor, now), true))
    }

    async fn status(&self) -> Result<Status, StoreError> {
        self.read(Rows::status)
    }

    async fn list(&self, filter: Filter) -> Result<Vec<Listed>, StoreError> {
        self.read(|rows, _| rows.list(&filter))?
    }

    async fn show(&self, command_id: &str) -> Result<Option<Story>, StoreError> {
        self.read(|rows, _| rows.show(command_id))
    }

    async fn facts(&self, from: FactsFrom, limit: usize) -> Result<Facts, StoreError> {
        self.read(|rows, now| rows.facts(from, limit, now))
    }

    async fn event_facts(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventFacts>, StoreError> {
        self.read(|rows, _| rows.event_facts(after.as_ref(), limit))
    }

    async fn totals(&self) -> Result<Vec<Totals>, StoreError> {
        self.read(|rows, _| rows.totals())
    }

    async fn expected(
        &self,
        sql: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = self.read(|rows, _| {
            let ids = rows.expected.get(sql)?;
            Some(ids.iter().skip(skip).take(limit).cloned().collect())
        })?;
        found.ok_or_else(|| {
            StoreError::Broken("a store in memory answers no SQL; say `expect` first".into())
        })
    }

    async fn known(&self, ids: &[String]) -> Result<Vec<bool>, StoreError> {
        self.read(|rows, _| {
            let known =
                |id: &String| rows.n_of(id).is_some() || rows.archived.contains_key(id.as_str());
            ids.iter().map(known).collect()
        })
    }
}
