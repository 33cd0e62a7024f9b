//! How relays and runners begin, speak and end.
//!
//! Guarantees: a process that ends is started again, as a supervisor would. Does not: harm them;
//! see `fault`.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::Span;
use counterfoil_core::port::{BoxFuture, Notice, Transport};
use tokio::sync::oneshot;

use super::dice::Dice;
use super::plan::Site;
use super::process::Process;
use super::request::Mailbox;
use super::sim_clock::{ProcessClock, SimClock};
use super::sim_transport::SimTransport;
use super::world::{Event, World};
use super::{Broken, ProcessEnded, RelayBegin, RunnerBegin, SimDestination, SimObserver, SimStore};

impl World<'_> {
    /// What the process said since it was last heard.
    pub(super) fn hear(&mut self, slot: usize) {
        let Some(process) = &self.slots[slot] else { return };
        let (at, pid) = (process.local_ms, process.pid);
        if let Some(broken) = process.mailbox.gauge(|gauges| gauges.broken.take()) {
            return self.breaks(broken);
        }
        let full = process.mailbox.gauge(|gauges| std::mem::take(&mut gauges.full));
        (0..full).for_each(|_| self.coverage.count("attempts that reach a limit"));
        for notice in process.mailbox.said() {
            let heard = self.watch.hear(&notice, &mut self.coverage);
            if let Some(what) = heard {
                self.trace.line(at, format_args!("relay {pid} says {what}"));
            }
            if let Notice::ContractDiffers { destination } = notice {
                let what = format!("relay {pid} says so of {destination}");
                self.breaks(Broken::new("the contracts of all relays agree", what));
            }
        }
    }

    /// Takes away a process whose relay ended.
    pub(super) fn bury(&mut self, slot: usize) {
        let Some(process) = &mut self.slots[slot] else { return };
        let (pid, at, Some(ended)) = (process.pid, process.local_ms, process.ended()) else {
            return;
        };
        self.watch.announced.died(pid, at);
        self.slots[slot] = None;
        let name = self.name(slot, pid);
        match ended {
            Ok(Ok(())) => self.trace.line(at, format_args!("{name} has stopped")),
            Ok(Err(why)) => {
                self.coverage.count("processes that ended with an error");
                self.trace.line(at, format_args!("{name} ends: {why}"));
            }
            Err(panic) => {
                self.breaks(Broken::new("no process panics", format!("{name}: {panic}")));
            }
        }
        let again = if self.is_healthy() { 100 } else { self.dice.delay(20_000) };
        self.later(again, Event::Start { slot });
    }

    pub(super) fn start(&mut self, slot: usize) {
        if self.now_ms < self.dark_until_ms {
            return self.at(self.dark_until_ms, Event::Start { slot });
        }
        self.pids += 1;
        let pid = self.pids;
        let skew = self.plan.skews[slot];
        let clock = Arc::new(ProcessClock::new(Arc::clone(&self.machine), skew));
        let dice = Dice::new(self.seed, 1_000 + pid);
        let fails = self.plan.rates.read_fails;
        let healthy = Arc::clone(&self.healthy);
        let mailbox = Arc::new(Mailbox::new(Arc::clone(&clock), dice, fails, healthy));
        let inner = self.app.reopen(SimClock(Arc::clone(&clock)));
        let is_patient = pid.is_multiple_of(2);
        let mailbox_of = Arc::clone(&mailbox);
        let store = SimStore { inner: inner.clone(), mailbox: mailbox_of, is_patient };
        let now_ms = self.now_ms;
        let spawned = if slot < self.plan.relays {
            self.coverage.count("relays started");
            let begin = |stopped| self.relay(pid, store, &mailbox, clock, stopped);
            Process::spawn(pid, Arc::clone(&mailbox), inner, now_ms, begin)
        } else {
            self.coverage.count("runners started");
            let begin = |stopped| self.runner(pid, store, stopped);
            Process::spawn(pid, Arc::clone(&mailbox), inner, now_ms, begin)
        };
        match spawned {
            Ok(process) => self.slots[slot] = Some(process),
            Err(why) => self.breaks(Broken::new("a process can be started", why.to_string())),
        }
        let name = self.name(slot, pid);
        self.trace.line(self.now_ms, format_args!("{name} starts"));
    }

    /// What the process of a slot is called.
    pub(super) fn name(&self, slot: usize, pid: u64) -> String {
        if slot < self.plan.relays { format!("relay {pid}") } else { format!("runner {pid}") }
    }

    fn relay(
        &self,
        pid: u64,
        store: SimStore,
        mailbox: &Arc<Mailbox>,
        clock: Arc<ProcessClock>,
        stopped: oneshot::Receiver<()>,
    ) -> BoxFuture<'static, ProcessEnded> {
        self.starter.start(RelayBegin {
            store,
            served: self.served(mailbox),
            observer: SimObserver(Arc::clone(mailbox)),
            clock: Arc::new(SimClock(clock)),
            owner: format!("relay-{pid}"),
            seed: self.seed.wrapping_add(pid),
            workers: self.plan.workers,
            poll: Duration::from_millis(self.plan.poll_ms),
            stop: Box::pin(async { drop(stopped.await) }),
        })
    }

    fn runner(
        &self,
        pid: u64,
        store: SimStore,
        stopped: oneshot::Receiver<()>,
    ) -> BoxFuture<'static, ProcessEnded> {
        let Some(flows) = &self.flows else { return Box::pin(async { Ok(()) }) };
        let dice = &mut Dice::new(self.seed, 100_000 + pid);
        let lease = if dice.chance(500) { dice.between(0, 20_000) } else { 0 };
        flows.starter.start(RunnerBegin {
            store,
            owner: format!("runner-{pid}"),
            poll: Duration::from_millis(self.plan.poll_ms),
            lease: Span::from_millis(i64::try_from(lease).unwrap_or(0)),
            batch: [1, 3, 256][dice.place(3)],
            snapshot_every: [1, 3, 100][dice.place(3)],
            cache: [0, 1, 1_000][dice.place(3)],
            stop: Box::pin(async { drop(stopped.await) }),
        })
    }

    fn served(&self, mailbox: &Arc<Mailbox>) -> Vec<SimDestination> {
        let of = |(place, site): (usize, &Arc<Site>)| {
            let (site, mailbox) = (Arc::clone(site), Arc::clone(mailbox));
            let (destination, terms) = (site.name.clone(), Arc::clone(&site.terms));
            let (concurrency, rate) = (site.concurrency, site.rate);
            let transport: Arc<dyn Transport> = Arc::new(SimTransport { place, site, mailbox });
            SimDestination { destination, terms, concurrency, rate, transport }
        };
        self.plan.sites.iter().enumerate().map(of).collect()
    }
}
