//! The world of one run: what is to happen, in virtual time, and who it happens to.
//!
//! Guarantees: everything happens in one order, given by time and then by number. Does not: know
//! what a relay does inside; it sees requests, notices and rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use counterfoil_core::domain::{Answer, Outcome};
use tokio::sync::oneshot;

use super::breaker::Breakers;
use super::dice::Dice;
use super::flows::Flows;
use super::lane::Arrivals;
use super::network::{Flight, Job};
use super::operator::Acting;
use super::plan::{ClockStep, Plan};
use super::process::{Pause, Process};
use super::question::Inquiry;
use super::receiver::Receiver;
use super::report::Posting;
use super::request::Request;
use super::sim_clock::{Machine, ProcessClock, SimClock};
use super::trace::Trace;
use super::watch::Watch;
use super::write::{Answering, Committing};
use super::{Broken, Coverage, Run, StartRelay};
use crate::MemoryStore;

/// Something that happens at its time.
#[derive(Debug)]
pub(super) enum Event {
    Start { slot: usize },
    Crash { slot: usize, pid: u64 },
    Pause { slot: usize, pid: u64, how: Pause, ms: u64 },
    Resume { slot: usize, pid: u64 },
    Stop { slot: usize, pid: u64 },
    Commit(Committing),
    Answer(Answering),
    Arrive(Flight),
    Reply(oneshot::Sender<Outcome>, Outcome),
    Inquire(Inquiry),
    Tell(oneshot::Sender<Answer>, Answer),
    Work(Job),
    Post(Posting),
    Record { order: usize },
    Input { place: usize, again: bool },
    Step(ClockStep),
    Operate { person: usize },
    Act(Acting),
    Audit,
    Outage { ms: u64 },
    Heal,
    Look,
}

/// How long after the world is healthy all must be at rest: six hours.
const REST_WITHIN_MS: u64 = 6 * 3_600_000;
/// How long a world at rest is watched on.
const WATCHED_MS: u64 = 5_000;

/// The world of one run.
pub(super) struct World<'a> {
    pub(super) seed: u64,
    pub(super) plan: Plan,
    pub(super) dice: Dice,
    pub(super) now_ms: u64,
    pub(super) machine: Arc<Machine>,
    pub(super) healthy: Arc<AtomicBool>,
    pub(super) slots: Vec<Option<Process>>,
    /// The user's own process, which records commands and takes reports.
    pub(super) app: MemoryStore,
    pub(super) receivers: Vec<Receiver>,
    pub(super) watch: Watch,
    pub(super) breakers: Breakers,
    pub(super) arrivals: Arrivals,
    pub(super) trace: Trace,
    pub(super) coverage: Coverage,
    pub(super) steps: u64,
    pub(super) broken: Option<Broken>,
    /// Answers that never come: whoever waits is not told that they are lost.
    pub(super) limbo: Vec<oneshot::Sender<Outcome>>,
    pub(super) limbo_told: Vec<oneshot::Sender<Answer>>,
    /// Of each command, the tokens that were sent.
    pub(super) sent: BTreeMap<String, BTreeSet<i64>>,
    events: BTreeMap<(u64, u64), Event>,
    number: u64,
    /// No relay runs before.
    pub(super) dark_until_ms: u64,
    pub(super) pids: u64,
    at_rest_since: Option<u64>,
    /// From when on a healthy world must come to rest.
    pub(super) rest_from_ms: u64,
    pub(super) starter: &'a dyn StartRelay,
    pub(super) flows: Option<Flows<'a>>,
}

impl<'a> World<'a> {
    pub(super) fn new(
        seed: u64,
        start: &'a dyn StartRelay,
        flows: Option<Flows<'a>>,
    ) -> Result<Self, String> {
        let given = flows.as_ref().map(|flows| &flows.given);
        let plan = Plan::draw(seed, given).map_err(|why| why.to_string())?;
        let machine = Arc::new(Machine::default());
        let clock = Arc::new(ProcessClock::new(Arc::clone(&machine), 0));
        let receivers = plan.sites.iter().map(|site| Receiver::new(site.folds, site.reports));
        let mut world = Self {
            seed,
            dice: Dice::new(seed, 2),
            now_ms: 0,
            machine,
            healthy: Arc::default(),
            slots: (0..plan.relays + plan.runners).map(|_| None).collect(),
            app: MemoryStore::new(SimClock(clock)),
            receivers: receivers.collect(),
            watch: Watch::default(),
            breakers: Breakers::default(),
            arrivals: Arrivals::default(),
            trace: Trace::default(),
            coverage: Coverage::default(),
            steps: 0,
            broken: None,
            limbo: Vec::new(),
            limbo_told: Vec::new(),
            sent: BTreeMap::new(),
            events: BTreeMap::new(),
            number: 0,
            dark_until_ms: 0,
            pids: 0,
            at_rest_since: None,
            rest_from_ms: plan.heal_ms,
            plan,
            starter: start,
            flows,
        };
        world.begin();
        Ok(world)
    }

    fn begin(&mut self) {
        for order in 0..self.plan.orders.len() {
            let at = self.plan.orders[order].at_ms;
            self.at(at, Event::Record { order });
        }
        for step in self.plan.clock_steps.clone() {
            self.at(step.at_ms, Event::Step(step));
        }
        for slot in 0..self.slots.len() {
            let at = self.dice.delay(5_000);
            self.at(at, Event::Start { slot });
        }
        for at in self.plan.audits.clone() {
            self.at(at, Event::Audit);
        }
        for person in 0..self.plan.people.len() {
            let at = self.dice.between(0, self.plan.heal_ms / 2);
            self.at(at, Event::Operate { person });
        }
        self.at(self.plan.heal_ms, Event::Heal);
        self.begin_flows();
    }

    pub(super) fn at(&mut self, at_ms: u64, event: Event) {
        self.number += 1;
        self.events.insert((at_ms.max(self.now_ms), self.number), event);
    }

    pub(super) fn later(&mut self, ms: u64, event: Event) {
        self.at(self.now_ms + ms, event);
    }

    /// Whether something goes wrong now, in so many of a thousand.
    pub(super) fn fails(&mut self, permille: u64) -> bool {
        permille > 0 && !self.is_healthy() && self.dice.chance(permille)
    }

    pub(super) fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    pub(super) fn breaks(&mut self, broken: Broken) {
        self.broken.get_or_insert(broken);
    }

    /// The process at `slot`, if it is still that one.
    pub(super) fn process(&mut self, slot: usize, pid: u64) -> Option<&mut Process> {
        self.slots.get_mut(slot)?.as_mut().filter(|process| process.pid == pid)
    }

    /// Runs to its end: until a rule breaks, or all is at rest.
    pub(super) fn run(&mut self) {
        while self.broken.is_none() {
            let Some(until) = self.events.first_key_value().map(|((at, _), _)| *at) else { break };
            self.run_processes(until);
            if let Some((slot, at)) = self.earliest_request().filter(|(_, at)| *at <= until) {
                self.move_to(at);
                self.request(slot);
            } else if let Some(((at, _), event)) = self.events.pop_first() {
                self.move_to(at);
                self.happens(event);
            }
            if self.is_over() {
                break;
            }
        }
        if self.broken.is_none() {
            self.judge_end();
        }
    }

    fn move_to(&mut self, at_ms: u64) {
        self.now_ms = self.now_ms.max(at_ms);
        self.machine.now_ms.store(self.now_ms, Ordering::Relaxed);
        self.steps += 1;
    }

    fn run_processes(&mut self, until: u64) {
        for slot in 0..self.slots.len() {
            let Some(process) = &mut self.slots[slot] else { continue };
            let waits = process.paused.is_some() || process.mailbox.has_requests();
            if !waits && process.local_ms < until {
                process.run(until);
                self.hear(slot);
                self.bury(slot);
            }
        }
    }

    fn earliest_request(&self) -> Option<(usize, u64)> {
        let oldest = |(slot, process): (usize, &Option<Process>)| {
            Some((slot, process.as_ref()?.mailbox.oldest()?))
        };
        self.slots.iter().enumerate().filter_map(oldest).min_by_key(|(_, at)| *at)
    }

    fn request(&mut self, slot: usize) {
        let Some(process) = &mut self.slots[slot] else { return };
        let pid = process.pid;
        let Some((_, request)) = process.mailbox.take() else { return };
        match request {
            Request::Write(write, reply, issued) => {
                self.written((slot, pid), *write, reply, issued);
            }
            Request::Send(sending) => self.leaves(slot, pid, sending),
            Request::Ask(asking) => self.asks(slot, pid, asking),
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Start { slot } => self.start(slot),
            Event::Crash { slot, pid } => self.crash(slot, pid),
            Event::Pause { slot, pid, how, ms } => self.pause(slot, pid, how, ms),
            Event::Resume { slot, pid } => self.resume(slot, pid),
            Event::Stop { slot, pid } => self.stop(slot, pid),
            Event::Commit(committing) => self.commit(committing),
            Event::Answer(answering) => self.answer(answering),
            Event::Arrive(flight) => self.arrives(flight),
            Event::Reply(reply, outcome) => drop(reply.send(outcome)),
            Event::Inquire(inquiry) => self.inquired(inquiry),
            Event::Tell(reply, answer) => drop(reply.send(answer)),
            Event::Work(job) => self.works(&job),
            Event::Post(posting) => self.posted(posting),
            Event::Record { order } => self.record(order),
            Event::Input { place, again } => self.send_input(place, again),
            Event::Step(step) => self.step_clock(step),
            Event::Operate { person } => self.operate(person),
            Event::Act(acting) => self.acts(acting),
            Event::Audit => self.judge_store(),
            Event::Outage { ms } => self.black_out(ms),
            Event::Heal => self.heal(),
            Event::Look => self.look_after(),
        }
    }

    /// Whether the world is healthy, all is at rest, and was watched on for a while.
    fn is_over(&mut self) -> bool {
        if !self.is_healthy() {
            return false;
        }
        let recorded = self.watch.commands() >= self.plan.orders.len();
        if self.watch.is_at_rest() && recorded && self.flows_rest() {
            let since = *self.at_rest_since.get_or_insert(self.now_ms);
            return self.now_ms >= since + WATCHED_MS && !self.is_in_flight();
        }
        self.at_rest_since = None;
        let late = self.now_ms > self.rest_from_ms + REST_WITHIN_MS;
        if late {
            let what = format!("{}{}", self.watch.restless(), self.flows_restless());
            self.breaks(Broken::new("in a healthy world each command ends or is parked", what));
        }
        late
    }

    /// When the user's own process sends the next input.
    pub(super) fn next_sent_ms(&self) -> Option<u64> {
        let sends = |event: &Event| matches!(event, Event::Input { again: false, .. });
        self.events.iter().find(|(_, event)| sends(event)).map(|((at, _), _)| *at)
    }

    pub(super) fn is_in_flight(&self) -> bool {
        let flies =
            |event: &Event| matches!(event, Event::Arrive(_) | Event::Work(_) | Event::Act(_));
        self.events.values().any(flies)
    }

    /// How many requests and jobs for a command are on their way and may still act.
    pub(super) fn under_way(&self, place: usize, id: &str) -> usize {
        let flies = |event: &&Event| match event {
            Event::Arrive(flight) => flight.is_for(place, id),
            Event::Work(job) => job.site == place && job.id == id,
            _ => false,
        };
        self.events.values().filter(flies).count()
    }

    pub(super) fn into_run(self) -> Run {
        let digest = self.trace.digest();
        let told = self.flows_told();
        let again = super::again(self.seed);
        let broken = self.broken.map(|broken| (broken, self.trace.last()));
        let (seed, steps, coverage) = (self.seed, self.steps, self.coverage);
        Run { seed, digest, steps, coverage, broken, trace: self.trace.into_text(), told, again }
    }
}
