//! What befalls processes and clocks, and how the world becomes healthy.
//!
//! Guarantees: dangers strike around what a process asks of the world, which is where they can
//! hurt. Does not: harm what a relay cannot be blamed for: the user's own process lives on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::laws::law;
use counterfoil_core::domain::{
    Command, Event as Happened, Kind as CommandKind, OrderingKey, Span, Stream,
};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Append, Recorded};

use super::Broken;
use super::plan::{ClockStep, Order};
use super::process::Pause;
use super::sim_clock::{ProcessClock, SimClock};
use super::watch::Meant;
use super::world::{Event, World};
use super::write::at_once;

impl World<'_> {
    /// Draws what befalls a process within the next `ms`, in which it waits for the world.
    pub(super) fn endanger(&mut self, slot: usize, pid: u64, ms: u64) {
        let rates = self.plan.rates.clone();
        if let Some((_, ms)) = self.plan.outage.take_if(|(from, _)| *from <= self.now_ms) {
            let at = self.dice.between(0, 800);
            self.later(at, Event::Outage { ms });
        }
        if self.fails(rates.crash) {
            let at = self.dice.between(0, ms + 5);
            self.later(at, Event::Crash { slot, pid });
        }
        if self.fails(rates.stop) {
            let at = self.dice.between(0, ms + 5);
            self.later(at, Event::Stop { slot, pid });
        }
        if self.fails(rates.pause) {
            let at = self.dice.between(0, ms + 5);
            let how = if self.dice.chance(500) { Pause::Stopped } else { Pause::Suspended };
            let ms = match self.dice.place(3) {
                0 => self.dice.between(10, 2_000),
                1 => self.dice.between(2_000, 20_000),
                _ => self.dice.between(20_000, 120_000),
            };
            self.later(at, Event::Pause { slot, pid, how, ms });
        }
    }

    pub(super) fn crash(&mut self, slot: usize, pid: u64) {
        if self.is_healthy() {
            return;
        }
        self.hear(slot);
        let Some(process) = self.process(slot, pid) else { return };
        let local_ms = process.local_ms;
        self.slots[slot] = None;
        self.watch.announced.died(pid, local_ms);
        self.coverage.count("crashes");
        let name = self.name(slot, pid);
        self.trace.line(self.now_ms, format_args!("{name} crashes"));
        let ms = self.dice.delay(40_000);
        self.later(ms, Event::Start { slot });
    }

    /// All relays and runners die at once and stay away for `ms`.
    pub(super) fn black_out(&mut self, ms: u64) {
        self.coverage.count("outages");
        self.trace.line(self.now_ms, format_args!("no process runs for {ms} ms"));
        self.dark_until_ms = self.now_ms + ms;
        for slot in 0..self.slots.len() {
            if let Some(pid) = self.slots[slot].as_ref().map(|process| process.pid) {
                self.crash(slot, pid);
            }
        }
    }

    /// Every process ends, and is started again at `until_ms`.
    pub(super) fn all_die(&mut self, until_ms: u64) {
        self.dark_until_ms = until_ms;
        for slot in 0..self.slots.len() {
            self.hear(slot);
            if let Some(process) = self.slots[slot].take() {
                self.watch.announced.died(process.pid, process.local_ms);
                self.at(until_ms, Event::Start { slot });
            }
        }
    }

    pub(super) fn pause(&mut self, slot: usize, pid: u64, how: Pause, ms: u64) {
        if self.is_healthy() {
            return;
        }
        let Some(process) = self.process(slot, pid).filter(|it| it.paused.is_none()) else {
            return;
        };
        process.paused = Some(how);
        self.coverage.count(match how {
            Pause::Stopped => "processes stopped",
            Pause::Suspended => "processes suspended",
        });
        let name = self.name(slot, pid);
        self.trace.line(self.now_ms, format_args!("{name} stands still: {how:?}, {ms} ms"));
        self.later(ms, Event::Resume { slot, pid });
    }

    pub(super) fn resume(&mut self, slot: usize, pid: u64) {
        let now_ms = self.now_ms;
        let Some(process) = self.process(slot, pid).filter(|it| it.paused.is_some()) else {
            return;
        };
        process.resume(now_ms);
        let deferred = std::mem::take(&mut process.deferred);
        let name = self.name(slot, pid);
        self.trace.line(now_ms, format_args!("{name} goes on"));
        for event in deferred {
            let ms = self.dice.delay(20);
            self.later(ms, event);
        }
        self.hear(slot);
    }

    pub(super) fn stop(&mut self, slot: usize, pid: u64) {
        if self.is_healthy() {
            return;
        }
        let Some(process) = self.process(slot, pid) else { return };
        process.stop();
        self.coverage.count("stops");
        let name = self.name(slot, pid);
        self.trace.line(self.now_ms, format_args!("{name} is told to stop"));
    }

    pub(super) fn step_clock(&mut self, step: ClockStep) {
        self.machine.stepped.fetch_add(step.micros, Ordering::Relaxed);
        self.coverage.count(if step.micros > 0 { "clock steps ahead" } else { "clock steps back" });
        let secs = step.micros / 1_000_000;
        self.trace.line(self.now_ms, format_args!("the machine's clock steps {secs} s"));
        self.reopen_app();
    }

    /// The user's own process ends and is started again: it keeps no clock of its own.
    fn reopen_app(&mut self) {
        self.app = self.app.reopen(self.machine_clock());
    }

    /// The machine's clock, as a process without skew reads it.
    pub(super) fn machine_clock(&self) -> SimClock {
        SimClock(Arc::new(ProcessClock::new(Arc::clone(&self.machine), 0)))
    }

    /// A person looks at what is paused, and resumes it.
    pub(super) fn look_after(&mut self) {
        for site in self.plan.sites.clone() {
            let _resumed = at_once(self.app.resume(&site.name, "ann", ""));
        }
        self.at(self.dark_until_ms.max(self.now_ms + 1_000), Event::Look);
    }

    /// From now on nothing goes wrong.
    pub(super) fn heal(&mut self) {
        self.healthy.store(true, Ordering::Relaxed);
        self.trace.line(self.now_ms, format_args!("the world is healthy"));
        for slot in 0..self.slots.len() {
            if let Some(pid) = self.slots[slot].as_ref().map(|process| process.pid) {
                self.resume(slot, pid);
            }
        }
        self.look_after();
    }

    /// The user's own process records a command.
    pub(super) fn record(&mut self, place: usize) {
        let order = self.plan.orders[place].clone();
        let site = &self.plan.sites[order.site];
        let Ok(now) = self.app.now() else { return };
        let in_ms = |at: Option<u64>| {
            let ms = i64::try_from(at?.saturating_sub(order.at_ms)).ok()?;
            Some(now.plus(Span::from_millis(ms)))
        };
        let made = Command::bytes(
            format!("c-{place}"),
            site.name.as_str(),
            "order.paid",
            order.body.clone(),
        );
        let Ok(mut command) = made else { return };
        (command.not_before, command.expires_at) =
            (in_ms(order.not_before_ms), in_ms(order.expires_ms));
        let id = if order.is_decided { format!("s-{place}:1:0") } else { format!("c-{place}") };
        if let Some(key) = order.key {
            command.ordering_key = OrderingKey::new(format!("key-{key}")).ok();
        }
        let lane = order.key.map(|key| (order.site, key));
        let Order { is_refused, is_poison, body, .. } = order.clone();
        let meant = Meant { is_refused, is_poison, site: order.site, lane, body, says: None };
        self.watch.expect(&id, meant);
        let times = if order.is_repeated && !order.is_decided { 2 } else { 1 };
        for time in 0..times {
            let recorded = if order.is_decided {
                self.decide(place, command.clone())
            } else {
                let recorded = at_once(self.app.enqueue(vec![command.clone()]));
                recorded.and_then(Result::ok).and_then(|all| all.into_iter().next()?.ok())
            };
            let meant = if time == 0 { Recorded::Recorded } else { Recorded::Repeated };
            if recorded != Some(meant) {
                let what = format!("{id}: {recorded:?}");
                self.breaks(Broken::new("an intent is recorded once", what));
            }
        }
        self.trace.line(self.now_ms, format_args!("the app records {id}"));
        self.judge_app(&|_, _| false);
        self.hint();
    }

    fn decide(&self, place: usize, command: Command) -> Option<Recorded> {
        let stream = Stream::new(format!("s-{place}")).ok()?;
        let event =
            Happened { kind: CommandKind::new("paid").ok()?, body: b"{}".to_vec(), cause: None };
        let commands = vec![Command { id: None, ..command }];
        let append = Append { stream, expected_seq: 0, events: vec![event], commands };
        at_once(self.app.append(append))?.ok()?.ok()?;
        Some(Recorded::Recorded)
    }

    /// What must hold at any time: the whole store is audited.
    pub(super) fn judge_store(&mut self) {
        self.coverage.count("audits");
        let audited = at_once(audit(&self.app, AuditOptions::default())).and_then(Result::ok);
        let Some(audited) = audited else {
            return self.breaks(Broken::new("the store can be audited", "it could not"));
        };
        let is_meant = |violation: &counterfoil_core::domain::laws::Violation| {
            violation.code == law::CONTRADICTED.code
                && violation.ids.iter().all(|id| self.watch.contradicted.contains(id))
        };
        let violation = audited.violations.into_iter().find(|one| !is_meant(one));
        if let Some(violation) = violation {
            self.breaks(Broken::new("the laws of conservation hold", violation.text));
        }
    }

    /// What must hold when all is at rest.
    pub(super) fn judge_end(&mut self) {
        self.judge_store();
        self.judge_flows();
        for slot in 0..self.slots.len() {
            self.hear(slot);
        }
        if let Err(broken) = self.watch.announced.judge() {
            self.breaks(broken);
        }
        let totals = self.app.look(|rows| rows.tally.clone());
        let by_outcome: BTreeMap<(String, String), i64> = totals;
        for ((destination, outcome), count) in by_outcome {
            let line = format_args!("{destination}: {count} {outcome}");
            self.trace.line(self.now_ms, line);
        }
    }
}
