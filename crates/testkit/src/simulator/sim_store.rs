//! The store as one process sees it: every write goes through the world, which may delay it, lose
//! it, or lose its answer.
//!
//! Guarantees: what is written is written by the store in memory. Does not: fail by itself; reads
//! fail as the plan says.

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
use counterfoil_core::port::{Acted, Actor, Announce, Deed, Patience, Store};
use tokio::sync::oneshot;

use super::request::{Mailbox, Write, Written};
use crate::MemoryStore;

/// The store that a simulated process works with.
#[derive(Clone)]
pub struct SimStore {
    pub(super) inner: MemoryStore,
    pub(super) mailbox: Arc<Mailbox>,
    /// Its claims wait for what is due, as on SQLite; else its relay looks again and again.
    pub(super) is_patient: bool,
}

impl SimStore {
    pub(super) async fn write(&self, write: Write) -> Result<Written, StoreError> {
        let (reply, hear) = oneshot::channel();
        self.mailbox.write(write, reply);
        let gone = |_| StoreError::Broken("the world ended".into());
        hear.await.map_err(gone)?
    }

    pub(super) fn readable(&self) -> Result<(), StoreError> {
        if self.mailbox.fails(self.mailbox.read_fails) {
            return Err(StoreError::Unavailable("simulated".into()));
        }
        Ok(())
    }
}

pub(super) fn strange<T>() -> Result<T, StoreError> {
    Err(StoreError::Broken("the world answered another write".into()))
}

impl Store for SimStore {
    fn source(&self) -> Arc<str> {
        self.inner.source()
    }

    fn now(&self) -> Result<Micros, StoreError> {
        self.inner.now()
    }

    async fn enqueue(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Result<Recorded, WriteRefused>>, StoreError> {
        self.inner.enqueue(commands).await
    }

    async fn append(&self, append: Append) -> Result<Result<Appended, WriteRefused>, StoreError> {
        self.inner.append(append).await
    }

    async fn load(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.readable()?;
        self.inner.load(stream, after, limit).await
    }

    async fn declare(
        &self,
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> Result<Declared, StoreError> {
        let write = Write::Declare(destination.clone(), Box::new(contract.clone()), replace);
        match self.write(write).await? {
            Written::Declared(declared) => Ok(declared),
            _ => strange(),
        }
    }

    async fn exchange(&self, exchange: Exchange) -> Result<Exchanged, StoreError> {
        match self.write(Write::Exchange(exchange)).await? {
            Written::Exchange(done) => Ok(done),
            _ => strange(),
        }
    }

    fn is_patient(&self) -> bool {
        self.is_patient
    }

    async fn claim_when_due(
        &self,
        exchange: Exchange,
        patience: Patience,
    ) -> Result<Exchanged, StoreError> {
        while !patience.has_ended() {
            let hint = self.mailbox.hint.notified();
            patience.claims();
            let done = self.exchange(exchange.clone()).await?;
            if done != Exchanged::default() {
                return Ok(done);
            }
            tokio::select! {
                biased;
                () = hint => {}
                () = patience.ended() => {}
            }
        }
        Ok(Exchanged::default())
    }

    async fn next_due(&self, destinations: &[Destination]) -> Result<Option<Micros>, StoreError> {
        self.readable()?;
        self.inner.next_due(destinations).await
    }

    async fn awaiting(&self) -> Result<Vec<String>, StoreError> {
        self.readable()?;
        self.inner.awaiting().await
    }

    async fn changed(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.mailbox.hint.notified()).await;
    }

    async fn remaining(&self, destinations: &[Destination]) -> Result<Remaining, StoreError> {
        self.readable()?;
        self.inner.remaining(destinations).await
    }

    async fn report(&self, command_id: &CommandId, report: Report) -> Result<Reported, StoreError> {
        self.inner.report(command_id, report).await
    }

    async fn sweep(&self, limit: usize, announce: Option<Announce>) -> Result<Swept, StoreError> {
        self.readable()?;
        let now = self.inner.now()?;
        // With nothing to do a sweep only reads.
        if !self.inner.look(|rows| rows.has_expired(now) || rows.has_stuck_lane()) {
            return Ok(Swept::default());
        }
        match self.write(Write::Sweep(limit, announce)).await? {
            Written::Swept(swept) => Ok(swept),
            _ => strange(),
        }
    }

    async fn newest_completed(
        &self,
        destination: &Destination,
        except: &CommandId,
    ) -> Result<Option<CommandId>, StoreError> {
        self.readable()?;
        self.inner.newest_completed(destination, except).await
    }

    async fn act(&self, deeds: Vec<Deed>, actor: Actor) -> Result<Vec<Acted>, StoreError> {
        self.inner.act(deeds, actor).await
    }

    async fn resume(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        self.inner.resume(destination, actor, reason).await
    }

    async fn lane_facts(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<LaneFacts>, StoreError> {
        self.inner.lane_facts(after, limit).await
    }

    async fn pause(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let write = Write::Pause(destination.clone(), actor.to_owned(), reason.to_owned());
        match self.write(write).await? {
            Written::Paused(paused) => Ok(paused),
            _ => strange(),
        }
    }

    async fn contracts(&self) -> Result<BTreeMap<String, Option<Contract>>, StoreError> {
        self.inner.contracts().await
    }

    async fn restored(&self, at: Micros, actor: &str) -> Result<u64, StoreError> {
        self.inner.restored(at, actor).await
    }

    async fn status(&self) -> Result<Status, StoreError> {
        self.readable()?;
        self.inner.status().await
    }

    async fn list(&self, filter: Filter) -> Result<Vec<Listed>, StoreError> {
        self.inner.list(filter).await
    }

    async fn show(&self, command_id: &str) -> Result<Option<Story>, StoreError> {
        self.inner.show(command_id).await
    }

    async fn facts(&self, from: FactsFrom, limit: usize) -> Result<Facts, StoreError> {
        self.inner.facts(from, limit).await
    }

    async fn event_facts(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventFacts>, StoreError> {
        self.inner.event_facts(after, limit).await
    }

    async fn totals(&self) -> Result<Vec<Totals>, StoreError> {
        self.inner.totals().await
    }

    async fn expected(
        &self,
        sql: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        self.inner.expected(sql, offset, limit).await
    }

    async fn known(&self, ids: &[String]) -> Result<Vec<bool>, StoreError> {
        self.inner.known(ids).await
    }
}
