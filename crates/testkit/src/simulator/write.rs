//! Writes on their way to the store, and their answers on the way back.
//!
//! Guarantees: a write of a process that died before its commit never happens; one that stands
//! still commits when it goes on. Does not: judge; the watch does.

use std::collections::BTreeSet;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use counterfoil_core::domain::{Delivery, Outcome, State};
use counterfoil_core::port::store::{Ended, Exchange, Settled, StoreError};
use counterfoil_core::port::workflow::Step;
use counterfoil_core::port::{Store, Workflows};

use super::Broken;
use super::judge::Scene;
use super::request::{Issued, Write, WriteReply, Written};
use super::world::{Event, World};
use crate::MemoryStore;

/// The longest that a slow disk takes.
const SLOW_MS: u64 = 12_000;

/// A write before its commit.
#[derive(Debug)]
pub(super) struct Committing {
    slot: usize,
    pid: u64,
    write: Write,
    reply: WriteReply,
    issued: Issued,
    /// It is committed, and the answer says that this is not known.
    is_not_known: bool,
    answer_ms: u64,
}

/// An answer on its way back.
#[derive(Debug)]
pub(super) struct Answering {
    slot: usize,
    pid: u64,
    result: Result<Written, StoreError>,
    reply: WriteReply,
    parked: Vec<String>,
}

/// What a future that never waits comes to.
pub(super) fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

impl Write {
    /// Does it.
    async fn apply(&self, store: &MemoryStore) -> Result<Written, StoreError> {
        match self {
            Self::Exchange(exchange) => {
                store.exchange(exchange.clone()).await.map(Written::Exchange)
            }
            Self::Sweep(limit, announce) => {
                store.sweep(*limit, announce.clone()).await.map(Written::Swept)
            }
            Self::Declare(destination, contract, replace) => {
                store.declare(destination, contract, *replace).await.map(Written::Declared)
            }
            Self::Pause(destination, actor, reason) => {
                store.pause(destination, actor, reason).await.map(Written::Paused)
            }
            Self::Steps(steps) => store.steps(steps.clone()).await.map(Written::Steps),
            Self::Quarantine(aside) => {
                store.quarantine(aside.clone()).await.map(Written::Quarantined)
            }
            Self::Keep(limit, after) => store.keep_inputs(*limit, *after).await.map(Written::Kept),
            Self::LetGo(owner, streams) => {
                store.let_go(owner, streams).await.map(|()| Written::LetGo)
            }
        }
    }
}

impl World<'_> {
    /// A write was issued.
    pub(super) fn written(
        &mut self,
        (slot, pid): (usize, u64),
        write: Write,
        reply: WriteReply,
        issued: Issued,
    ) {
        self.judge_asked(pid, &write, &issued);
        let rates = self.plan.rates.clone();
        let mut commit_ms = self.dice.delay(20);
        let mut answer_ms = self.dice.delay(20);
        if self.fails(rates.store_slow) {
            self.coverage.count("slow writes");
            commit_ms = self.dice.between(20, SLOW_MS);
        }
        if self.fails(rates.store_slow) {
            self.coverage.count("slow answers of the store");
            answer_ms = self.dice.between(20, SLOW_MS);
        }
        self.endanger(slot, pid, commit_ms + answer_ms);
        let never = |why: StoreError, result: Result<(), ()>| (why, result);
        let failed = if self.fails(rates.store_down) {
            self.coverage.count("writes that fail");
            Some(never(StoreError::Unavailable("simulated".into()), Err(())))
        } else if self.fails(rates.not_known) {
            self.coverage.count("writes of which it is not known");
            let is_applied = self.dice.chance(500);
            let why = StoreError::NotKnown("simulated".into());
            Some(never(why, if is_applied { Ok(()) } else { Err(()) }))
        } else {
            None
        };
        match failed {
            Some((why, Err(()))) => {
                let result = Err(why);
                let answering = Answering { slot, pid, result, reply, parked: Vec::new() };
                self.later(commit_ms + answer_ms, Event::Answer(answering));
            }
            failed => {
                let is_not_known = failed.is_some();
                let committing =
                    Committing { slot, pid, write, reply, issued, is_not_known, answer_ms };
                self.later(commit_ms, Event::Commit(committing));
            }
        }
    }

    pub(super) fn commit(&mut self, committing: Committing) {
        let (slot, pid) = (committing.slot, committing.pid);
        let Some(process) = self.process(slot, pid) else { return };
        if process.paused.is_some() {
            process.deferred.push(Event::Commit(committing));
            return;
        }
        let store = process.store.clone();
        let Committing { write, reply, issued, is_not_known, answer_ms, .. } = committing;
        let result = at_once(write.apply(&store));
        let result = result.unwrap_or_else(|| Err(StoreError::Broken("it waits".into())));
        if matches!(&write, Write::Exchange(_)) {
            self.trace.line(self.now_ms, format_args!("relay {pid} exchanges"));
        }
        self.tell_steps(&self.name(slot, pid), &write, &result);
        self.meet_commands();
        self.judge_histories();
        if self.broken.is_some() {
            return;
        }
        self.judge_settles(&write, &result);
        self.judge_granted((slot, pid), &write, &issued, &result, is_not_known);
        let parked = self.judge_write(slot, &write);
        self.watch.announced.owes(pid, &parked);
        self.hint();
        let result = if is_not_known && result.is_ok() {
            Err(StoreError::NotKnown("simulated".into()))
        } else {
            result
        };
        self.later(answer_ms, Event::Answer(Answering { slot, pid, result, reply, parked }));
    }

    pub(super) fn answer(&mut self, answering: Answering) {
        let Answering { slot, pid, result, reply, parked } = answering;
        let Some(process) = self.process(slot, pid) else { return };
        let local_ms = process.local_ms;
        if result.is_ok() {
            self.watch.announced.answered(pid, &parked, local_ms.max(self.now_ms));
        }
        let _ = reply.send(result);
    }

    /// Tells every process that something was committed, or loses it on the way.
    pub(super) fn hint(&mut self) {
        let lost = self.plan.rates.hint_lost;
        for slot in 0..self.slots.len() {
            if !self.fails(lost)
                && let Some(process) = &self.slots[slot]
            {
                process.mailbox.hint.notify_one();
            }
        }
    }

    /// Judges what the write of a process changed; what it parked.
    fn judge_write(&mut self, slot: usize, write: &Write) -> Vec<String> {
        let Some(store) = self.slots[slot].as_ref().map(|process| process.store.clone()) else {
            return Vec::new();
        };
        let Ok(now) = store.now() else { return Vec::new() };
        let own = match write {
            Write::Exchange(exchange) => self.own(exchange),
            Write::Steps(steps) => self.taken_back(steps),
            Write::Sweep(..)
            | Write::Declare(..)
            | Write::Pause(..)
            | Write::Quarantine(_)
            | Write::Keep(..)
            | Write::LetGo(..) => BTreeSet::new(),
        };
        let is_sweep = matches!(write, Write::Sweep(..));
        let allowed = |n: i64, before: Option<&Delivery>| {
            let is_due = |open: &Delivery| open.available_at.is_some_and(|at| at <= now);
            let is_swept = |open: &Delivery| is_sweep && open.state == State::Pending;
            own.contains(&n) || before.is_some_and(|open| is_due(open) || is_swept(open))
        };
        let scene = Scene {
            store: &store,
            sites: &self.plan.sites,
            receivers: &self.receivers,
            now_ms: self.now_ms,
            now,
            allowed: &allowed,
        };
        let judged = self.watch.written(&scene, &mut self.trace, &mut self.coverage);
        judged.unwrap_or_else(|broken| {
            self.breaks(broken);
            Vec::new()
        })
    }

    /// What an exchange may change because it holds the newest token, or because it is evidence.
    fn own(&self, exchange: &Exchange) -> BTreeSet<i64> {
        let is_newest = |n: i64, token| self.watch.open(n).is_some_and(|open| open.token == token);
        let settles = exchange.settles.iter().filter(|settle| {
            let delivery = &settle.claimed.delivery;
            let completes = matches!(&settle.ended, Ended::Outcome(Outcome::Completed { .. }));
            completes || is_newest(delivery.n, delivery.token)
        });
        let renewals = exchange.renewals.iter().filter(|it| is_newest(it.n, it.token));
        settles.map(|it| it.claimed.delivery.n).chain(renewals.map(|it| it.n)).collect()
    }

    /// What steps cancel.
    fn taken_back(&self, steps: &[Step]) -> BTreeSet<i64> {
        let decisions = steps.iter().flat_map(|step| &step.decisions);
        let ids = decisions.flat_map(|decision| &decision.cancel);
        ids.filter_map(|id| self.watch.n_of(id.as_str())).collect()
    }

    /// A settle of an older token is ignored, unless it says completed.
    fn judge_settles(&mut self, write: &Write, result: &Result<Written, StoreError>) {
        let (Write::Exchange(exchange), Ok(Written::Exchange(done))) = (write, result) else {
            return;
        };
        for (settle, settled) in exchange.settles.iter().zip(&done.settled) {
            let delivery = &settle.claimed.delivery;
            let open = self.watch.open(delivery.n);
            let is_newest = open.is_some_and(|open| open.token == delivery.token);
            let completes = matches!(&settle.ended, Ended::Outcome(Outcome::Completed { .. }));
            let changes = match settled {
                Settled::Open(_) => true,
                Settled::Ended(_) => !completes,
                Settled::Contradicted | Settled::Ignored(_) | Settled::Held => false,
            };
            if !is_newest {
                self.coverage.count("settles of an older token");
            }
            if changes && !is_newest {
                let id = &settle.claimed.command.command_id;
                let what = format!("{id}, token {}: {settled:?}", delivery.token.get());
                return self.breaks(Broken::new("an older token changes nothing", what));
            }
        }
        for claimed in &done.claimed {
            if claimed.taken_over {
                self.coverage.count("takeovers");
            }
        }
    }
}
