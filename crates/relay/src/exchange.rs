//! One exchange with the store: settles, renewals and claims in one short durable write.
//!
//! Guarantees: the clock of deadlines is read before the claim is issued; what is claimed begins
//! before anything is announced; what could not be settled is kept. Does not: wait.

use std::sync::Arc;

use counterfoil_core::domain::backoff::Pace;
use counterfoil_core::domain::breaker::Verdict;
use counterfoil_core::domain::{Micros, Span, State, Terms};
use counterfoil_core::port::store::{
    ClaimFrom, Claimed, Ended, Exchange, Exchanged, Settle, Settled, StoreError,
};
use counterfoil_core::port::{Attempt, Gate, Notice, Observer, Patience, Store};
use tokio::time::Instant;

use crate::attempts::{Renewing, Running};
use crate::claimer::Claiming;
use crate::driver::Driver;
use crate::error::RelayError;
use crate::notice;
use crate::reason::made_fit;
use crate::sender::{Asking, Job};
use crate::settler::{Blame, Trial, Unsettled};
use crate::trace;

/// What an exchange under way is about.
pub(crate) struct Sent {
    settling: Vec<Unsettled>,
    /// The one settle goes alone.
    alone: Option<Trial>,
    renewing: Vec<Renewing>,
    /// What the claimer knew, where something is claimed.
    claiming: Option<Claiming>,
    /// The boot clock before it was issued.
    boot: Micros,
    issued: Instant,
    /// Of a claim that waits for something to be due.
    patience: Option<Patience>,
}

impl Sent {
    /// It waits in the store, for all that is known, and may be ended.
    pub(crate) fn is_waiting(&self) -> bool {
        self.patience.as_ref().is_some_and(|patience| !patience.has_ended())
    }

    /// Whether nothing was due before its patience ended; else deadlines count from the moment
    /// right before the claim.
    fn has_waited_in_vain(&mut self, done: &Exchanged) -> bool {
        let Some(patience) = &self.patience else { return false };
        if let Some(claimed_at) = patience.claimed_at() {
            let waited = claimed_at.since(self.boot).to_std();
            self.issued = self.issued.checked_add(waited).unwrap_or(self.issued);
            self.boot = claimed_at;
        }
        patience.has_ended() && *done == Exchanged::default()
    }
}

impl<S: Store, O: Observer> Driver<S, O> {
    /// Keeps an attempt that ended until it is settled.
    pub(crate) fn push(&mut self, running: Running, ended: Ended, back: &'static str, at: Instant) {
        let mut ended = made_fit(ended);
        let n = running.claimed.delivery.n;
        let Verdict { burns, wait } = self.gauge(running.destination, n, &mut ended);
        let Some(serving) = self.destinations.get(running.destination) else { return };
        let terms = waiting_at_least(&serving.served.terms, wait);
        let seed = self.seed();
        let Running { claimed, started_at, began, lost, trace, .. } = running;
        let took = Span::from_std(at.saturating_duration_since(began));
        let settle = Settle { claimed, ended, started_at, burns, seed, terms };
        self.settler.push(Unsettled { settle, at, took, lost, back, trace, held: 0 });
    }

    /// Hands back what did not begin in time: a machine that slept must not take its own attempts
    /// over, as if it did not know that they never left.
    fn withdraw_late(&mut self, boot: Micros, now: Instant) {
        for (place, running) in self.attempts.withdraw_late(boot) {
            self.sender.abort(place);
            self.back(running, now);
        }
    }

    /// An attempt that never began, as too little of its lease was left.
    pub(crate) fn back(&mut self, running: Running, at: Instant) {
        if let Some(serving) = self.destinations.change(running.destination) {
            serving.ended(false);
            serving.rest(at);
        }
        self.push(running, Ended::HandedBack, "too little of its lease was left", at);
    }

    /// Whether a claim may wait in the store for something to be due.
    pub(crate) fn may_wait(&self, now: Instant) -> bool {
        self.store.is_patient()
            && self.stop.is_none()
            && self.has_long_free()
            && !self.claimer.rests(now)
    }

    /// Issues a claim that waits for something to be due.
    pub(crate) fn begin_waiting(&mut self, now: Instant) {
        let boot = self.options.clock.boot();
        let free = self.attempts.free().saturating_sub(self.settler.queued());
        let free = free.min(self.store.rows_max());
        let claim_from = self.destinations.claim_from(free, now, boot);
        if claim_from.is_empty() {
            return;
        }
        let claiming = Some(self.claimer.waiting());
        let exchange = self.claims(claim_from, free);
        let patience = Patience::new(Arc::clone(&self.options.clock));
        let (store, own) = (Arc::clone(&self.store), patience.clone());
        let done = Box::pin(async move { store.claim_when_due(exchange, own).await });
        let (settling, renewing, patience) = (Vec::new(), Vec::new(), Some(patience));
        let sent = Sent { settling, alone: None, renewing, claiming, boot, issued: now, patience };
        self.under_way = Some((done, sent));
    }

    /// Ends the claim that waits; its answer comes at once.
    pub(crate) fn end_waiting(&self) {
        if let Some((_, Sent { patience: Some(patience), .. })) = &self.under_way {
            patience.end();
        }
    }

    /// An exchange that claims only.
    fn claims(&mut self, claim_from: Vec<ClaimFrom>, free: usize) -> Exchange {
        Exchange {
            claim_limit: if claim_from.is_empty() { 0 } else { free },
            claim_from,
            owner: self.options.owner.clone(),
            seed: self.seed().0,
            announce: self.options.announce.clone(),
            ..Exchange::default()
        }
    }

    /// Issues all that can be written now.
    pub(crate) fn begin_exchange(&mut self, now: Instant) {
        let boot = self.options.clock.boot();
        self.withdraw_late(boot, now);
        let (settling, alone) = self.settler.take(now);
        let (mut renewing, mut renewals) = (Vec::new(), Vec::new());
        let mut claim_from = Vec::new();
        let free = self.attempts.free().saturating_sub(self.settler.queued());
        let free = free.min(self.store.rows_max());
        if alone.is_none() {
            let due = self.attempts.renewals(&self.destinations, now);
            (renewing, renewals) = due.into_iter().unzip();
            if self.stop.is_none() && free > 0 {
                claim_from = self.destinations.claim_from(free, now, boot);
                if claim_from.is_empty() && !self.destinations.is_short() {
                    self.claimer.set_aside();
                }
            }
        }
        if settling.is_empty() && renewals.is_empty() && claim_from.is_empty() {
            return;
        }
        let claiming = (!claim_from.is_empty()).then(|| self.claimer.claiming());
        let settles = settling.iter().map(|one| one.settle.clone()).collect();
        let exchange = Exchange { settles, renewals, ..self.claims(claim_from, free) };
        let store = Arc::clone(&self.store);
        let done = Box::pin(async move { store.exchange(exchange).await });
        let sent = Sent { settling, alone, renewing, claiming, boot, issued: now, patience: None };
        self.under_way = Some((done, sent));
    }

    /// Takes what an exchange came to.
    pub(crate) fn exchanged(&mut self, mut sent: Sent, done: Result<Exchanged, StoreError>) {
        let done = match done {
            Ok(done) => done,
            Err(error) => return self.exchange_failed(sent, error),
        };
        if sent.has_waited_in_vain(&done) {
            return;
        }
        let now = Instant::now();
        self.backoff.worked();
        self.settler.worked(sent.alone);
        let tracer = self.options.tracer.as_deref();
        trace::settled(tracer, &sent.settling, sent.issued, None);
        let Exchanged { settled, lost, claimed, parked, expired, differing, more, crowded } = done;
        self.tell_claimed(&claimed);
        if let Some(claiming) = &sent.claiming {
            let found = claimed.len() + parked.len() + expired.len();
            let seed = self.seed();
            self.claimer.crowded(crowded, seed, now);
            // Who was not let in has not seen that nothing is there.
            if found > 0 || !crowded {
                self.claimer.found(claiming, found, more, now);
            }
            self.destinations.found(&claimed);
        }
        self.begin_attempts(claimed, &sent);
        for renewing in sent.renewing {
            if lost.contains(&renewing.n) {
                self.lose(renewing);
            }
        }
        let mut retries = false;
        for (unsettled, settled) in sent.settling.into_iter().zip(&settled) {
            retries |= matches!(settled, Settled::Open(State::Pending | State::Asking));
            if *settled == Settled::Held {
                self.settler.hold(unsettled, now);
                continue;
            }
            notice::settled(&*self.observer, unsettled, settled);
        }
        for (command, destination) in expired {
            self.observer.notice(&Notice::Expired { command, destination });
        }
        for parked in parked {
            self.observer.notice(&notice::parked(parked));
        }
        for destination in differing {
            if self.destinations.close(&destination) {
                self.observer.notice(&Notice::ContractDiffers { destination });
            }
        }
        if self.destinations.open().is_empty() {
            self.begin_stop(Some(RelayError::NothingLeftToServe));
        }
        if retries || self.options.until_idle {
            self.claimer.look();
        }
    }

    fn exchange_failed(&mut self, sent: Sent, error: StoreError) {
        let tracer = self.options.tracer.as_deref();
        trace::settled(tracer, &sent.settling, sent.issued, Some(&error));
        let now = Instant::now();
        self.attempts.renew_again(&sent.renewing, now);
        if let Some(claiming) = &sent.claiming {
            self.claimer.failed(claiming);
        }
        let (blame, given_up) = self.settler.failed(sent.settling, sent.alone, now);
        if let Some(unsettled) = given_up {
            let command = &unsettled.settle.claimed.command.command_id;
            let reason = format!("command {command} cannot be settled and is left to its lease");
            let reason = format!("{reason}: {error}");
            self.observer.notice(&Notice::StoreFailed { reason, retry_in: Span::ZERO });
        }
        match blame {
            Blame::Store => self.store_failed(error, "settling and claiming"),
            Blame::Batch => {}
            Blame::Settle => self.claimer.probe(),
        }
    }

    /// The store failed: it is left alone for a while, or the relay ends.
    pub(crate) fn store_failed(&mut self, error: StoreError, doing: &'static str) {
        match error {
            StoreError::Clock(_) | StoreError::Broken(_) => {
                if let Some(stop) = &mut self.stop {
                    stop.abandoned += self.settler.give_up();
                }
                self.begin_stop(Some(RelayError::store(doing, error)));
            }
            error => {
                let seed = self.seed();
                let pause = self.backoff.failed(seed, Instant::now());
                let (reason, retry_in) = (error.to_string(), Span::from_std(pause));
                self.observer.notice(&Notice::StoreFailed { reason, retry_in });
                self.claimer.look();
            }
        }
    }

    fn tell_claimed(&mut self, claimed: &[Claimed]) {
        if claimed.is_empty() {
            return;
        }
        self.is_idle = false;
        let taken_over = claimed.iter().filter(|claimed| claimed.taken_over).count();
        self.observer.notice(&Notice::Claimed { count: claimed.len(), taken_over });
    }

    /// Begins what was claimed; after a stop it is handed back at once.
    fn begin_attempts(&mut self, claimed: Vec<Claimed>, sent: &Sent) {
        if claimed.is_empty() {
            return;
        }
        let started_at = match self.store.now() {
            Ok(now) => now,
            Err(error) => {
                self.store_failed(error, "reading the store's clock");
                // A token is the time of its claim, or a little later.
                Micros::new(claimed[0].delivery.token.get())
            }
        };
        let mut jobs = Vec::with_capacity(claimed.len());
        for claimed in claimed {
            if claimed.taken_over {
                self.attempts.lose(claimed.command.n);
            }
            let Some(place) = self.destinations.place(&claimed.command.destination) else {
                continue;
            };
            if let Some(job) = self.admit(claimed, place, started_at, sent) {
                jobs.push(job);
            }
        }
        self.sender.begin(jobs);
    }

    /// Gives a claimed command a worker.
    fn admit(
        &mut self,
        claimed: Claimed,
        destination: usize,
        started_at: Micros,
        sent: &Sent,
    ) -> Option<Job> {
        let serving = self.destinations.get(destination)?;
        let clock = Arc::clone(&self.options.clock);
        let begin_before = sent.boot.plus(serving.begin_within);
        let gate = Arc::new(Gate::new(clock, begin_before));
        let attempt = Attempt {
            command: Arc::clone(&claimed.command),
            number: claimed.delivery.attempts,
            token: claimed.delivery.token,
            source: Arc::clone(&self.source),
            now: started_at,
            gate: Arc::clone(&gate),
            trace: None,
        };
        let (round, asks) = (claimed.delivery.round, claimed.delivery.asks);
        let is_question = claimed.delivery.state == State::Asking;
        let (transport, timeout) = (Arc::clone(&serving.served.transport), serving.request_timeout);
        let caution = Arc::clone(&serving.caution);
        // A transport without a request timeout asks within what is left of the lease.
        let left = || begin_before.since(self.options.clock.boot()).to_std();
        let asking = is_question.then(|| {
            let within = timeout.unwrap_or_else(left);
            Asking { number: asks, within, newest: Arc::clone(&self.newest) }
        });
        let every = serving.renew_every();
        let gate = (gate, begin_before);
        let n = claimed.delivery.n;
        let running = Running::new(claimed, destination, gate, started_at, every, sent.issued);
        let refused =
            if self.stop.is_some() { Err(Box::new(running)) } else { self.attempts.begin(running) };
        match refused {
            Ok(place) => {
                let boot = self.options.clock.boot();
                if let Some(serving) = self.destinations.change(destination) {
                    serving.began(n, boot);
                }
                Some(Job { place, attempt, round, asking, transport, timeout, caution })
            }
            Err(running) => {
                running.gate.withdraw();
                self.push(*running, Ended::HandedBack, "the relay stops", Instant::now());
                None
            }
        }
    }

    fn lose(&mut self, renewing: Renewing) {
        let Some(running) = self.attempts.at(renewing).filter(|running| !running.lost) else {
            return;
        };
        running.lost = true;
        let command = running.claimed.command.command_id.clone();
        let destination = running.claimed.command.destination.clone();
        self.observer.notice(&Notice::LeaseLost { command, destination });
    }
}

/// The terms by which a settle waits: the cap of a destination may be shorter than its breaker's
/// pause, and a probed command must not be due again before the next probe.
fn waiting_at_least(terms: &Arc<Terms>, wait: Span) -> Arc<Terms> {
    if wait <= terms.pace.max {
        return Arc::clone(terms);
    }
    let pace = Pace { max: wait, ..terms.pace.clone() };
    Arc::new(Terms { pace, ..Terms::clone(terms) })
}
