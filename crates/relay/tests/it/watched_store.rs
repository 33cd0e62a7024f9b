//! A store that notes each exchange, and fails as a test says.
//!
//! Guarantees: what it lets through is done by the memory store. Does not: fail reads, unless the
//! whole store is down.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use counterfoil_core::domain::laws::{EventFacts, LaneFacts, Totals};
use counterfoil_core::domain::store_clock::ClockJumped;
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Command, CommandId, Contract, Destination, EventRow, Micros, Stream,
};
use counterfoil_core::port::read::{Facts, FactsFrom, Filter, Listed, Status, Story};
use counterfoil_core::port::store::{
    Append, Appended, Declared, Exchange, Exchanged, Recorded, Remaining, Reported, Settled,
    StoreError, Swept, WriteRefused,
};
use counterfoil_core::port::{Acted, Actor, Announce, Deed, Store};
use counterfoil_testkit::MemoryStore;

/// An exchange that was made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) settles: usize,
    pub(crate) renewals: usize,
    pub(crate) claim_limit: usize,
    pub(crate) claimed: usize,
    pub(crate) failed: bool,
}

/// What fails.
#[derive(Default)]
pub(crate) struct Trouble {
    /// Every exchange and every reading fails.
    pub(crate) down: bool,
    /// An exchange with a settle of this command fails.
    pub(crate) poison: Option<String>,
    /// Another transaction holds the delivery of this command.
    pub(crate) held: Option<String>,
    /// How often a settle was told so.
    pub(crate) times_held: usize,
    /// Failures say that the store is broken.
    pub(crate) broken: bool,
    /// The machine's clock jumped.
    pub(crate) clock: bool,
    /// How long an exchange takes before it does anything.
    pub(crate) before: Duration,
    /// How long its answer takes.
    pub(crate) after: Duration,
    under_way: usize,
    pub(crate) most_under_way: usize,
    pub(crate) made: Vec<Made>,
    pub(crate) reads: usize,
    pub(crate) sweeps: usize,
    /// The largest limit of a sweep.
    pub(crate) swept_most: usize,
    pub(crate) pauses: usize,
    /// A pause fails.
    pub(crate) no_pauses: bool,
    /// A sweep finds nothing.
    pub(crate) no_sweeps: bool,
    /// The newest completion cannot be named.
    pub(crate) forgets_newest: bool,
}

/// A memory store under watch.
#[derive(Clone)]
pub(crate) struct WatchedStore {
    pub(crate) inner: Arc<MemoryStore>,
    trouble: Arc<Mutex<Trouble>>,
}

impl WatchedStore {
    pub(crate) fn new(inner: &MemoryStore) -> Self {
        Self { inner: Arc::new(inner.clone()), trouble: Arc::default() }
    }

    pub(crate) fn trouble(&self) -> MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap()
    }

    pub(crate) fn made(&self) -> Vec<Made> {
        self.trouble().made.clone()
    }

    fn check(&self) -> Result<(), StoreError> {
        let trouble = self.trouble();
        if trouble.clock {
            return Err(ClockJumped { ahead_secs: 7200 }.into());
        }
        if trouble.down {
            let said = "on purpose".to_owned();
            let broken = trouble.broken;
            let error = if broken { StoreError::Broken } else { StoreError::Unavailable };
            return Err(error(said));
        }
        Ok(())
    }

    /// Settles what nobody else holds.
    async fn without_held(&self, mut exchange: Exchange) -> Result<Exchanged, StoreError> {
        let held = self.trouble().held.clone();
        let is_held: Vec<bool> = exchange
            .settles
            .iter()
            .map(|one| held.as_deref() == Some(one.claimed.command.command_id.as_str()))
            .collect();
        let mut at = is_held.iter();
        exchange.settles.retain(|_| at.next() == Some(&false));
        let mut done = self.inner.exchange(exchange).await?;
        for (at, _) in is_held.iter().enumerate().filter(|(_, is_held)| **is_held) {
            done.settled.insert(at, Settled::Held);
            self.trouble().times_held += 1;
        }
        Ok(done)
    }

    fn poisoned(&self, exchange: &Exchange) -> Result<(), StoreError> {
        let trouble = self.trouble();
        let Some(poison) = &trouble.poison else { return Ok(()) };
        let is_poison = |id: &CommandId| id.as_str() == poison;
        if exchange.settles.iter().any(|settle| is_poison(&settle.claimed.command.command_id)) {
            let said = "a bad row".to_owned();
            let broken = trouble.broken;
            return Err(if broken { StoreError::Broken } else { StoreError::Unavailable }(said));
        }
        Ok(())
    }
}

impl Store for WatchedStore {
    fn source(&self) -> Arc<str> {
        self.inner.source()
    }

    fn now(&self) -> Result<Micros, StoreError> {
        if self.trouble().clock { self.check().map(|()| Micros::new(0)) } else { self.inner.now() }
    }

    async fn exchange(&self, exchange: Exchange) -> Result<Exchanged, StoreError> {
        let mut made = Made {
            settles: exchange.settles.len(),
            renewals: exchange.renewals.len(),
            claim_limit: exchange.claim_limit,
            claimed: 0,
            failed: true,
        };
        let (before, after) = {
            let mut trouble = self.trouble();
            trouble.under_way += 1;
            trouble.most_under_way = trouble.most_under_way.max(trouble.under_way);
            (trouble.before, trouble.after)
        };
        tokio::time::sleep(before).await;
        let done = match self.check().and_then(|()| self.poisoned(&exchange)) {
            Ok(()) => self.without_held(exchange).await,
            Err(error) => Err(error),
        };
        tokio::time::sleep(after).await;
        if let Ok(done) = &done {
            (made.claimed, made.failed) = (done.claimed.len(), false);
        }
        let mut trouble = self.trouble();
        trouble.under_way -= 1;
        trouble.made.push(made);
        drop(trouble);
        done
    }

    async fn next_due(&self, destinations: &[Destination]) -> Result<Option<Micros>, StoreError> {
        self.trouble().reads += 1;
        self.check()?;
        self.inner.next_due(destinations).await
    }

    async fn awaiting(&self) -> Result<Vec<String>, StoreError> {
        self.check()?;
        self.inner.awaiting().await
    }

    fn changed(&self, at_most: Duration) -> impl Future<Output = ()> + Send {
        self.inner.changed(at_most)
    }

    async fn remaining(&self, destinations: &[Destination]) -> Result<Remaining, StoreError> {
        self.check()?;
        self.inner.remaining(destinations).await
    }

    async fn declare(
        &self,
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> Result<Declared, StoreError> {
        self.check()?;
        self.inner.declare(destination, contract, replace).await
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
        self.inner.load(stream, after, limit).await
    }

    async fn report(&self, command_id: &CommandId, report: Report) -> Result<Reported, StoreError> {
        self.inner.report(command_id, report).await
    }

    async fn sweep(&self, limit: usize, announce: Option<Announce>) -> Result<Swept, StoreError> {
        self.trouble().sweeps += 1;
        self.check()?;
        if self.trouble().no_sweeps {
            return Ok(Swept::default());
        }
        let swept = self.inner.sweep(limit, announce).await;
        let mut trouble = self.trouble();
        trouble.swept_most = trouble.swept_most.max(limit);
        swept
    }

    async fn newest_completed(
        &self,
        destination: &Destination,
        except: &CommandId,
    ) -> Result<Option<CommandId>, StoreError> {
        self.check()?;
        if self.trouble().forgets_newest {
            return Err(StoreError::Unavailable("on purpose".into()));
        }
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
        self.trouble().pauses += 1;
        self.check()?;
        if self.trouble().no_pauses {
            return Err(StoreError::Unavailable("on purpose".into()));
        }
        self.inner.pause(destination, actor, reason).await
    }

    async fn contracts(&self) -> Result<BTreeMap<String, Option<Contract>>, StoreError> {
        self.inner.contracts().await
    }

    async fn restored(&self, at: Micros, actor: &str) -> Result<u64, StoreError> {
        self.inner.restored(at, actor).await
    }

    async fn status(&self) -> Result<Status, StoreError> {
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
