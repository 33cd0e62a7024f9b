//! The workflows of one run: who sends them inputs, what their commands are to receivers, and when
//! all of them are at rest.
//!
//! Guarantees: what a receiver will say of a command is settled when the command is first seen.
//! Does not: judge histories; see `history`.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::OutboxRow;
use counterfoil_core::domain::workflow::{Decided, Status};
use counterfoil_core::port::store::Recorded;
use counterfoil_core::port::workflow::Aside;
use counterfoil_core::port::{Store, Workflows};

use super::dice::Dice;
use super::flow::{SimAnswer, SimAsked, SimEffect, SimFlows, SimTold, SimWorkflow, StartRunner};
use super::history::Histories;
use super::lane::Lane;
use super::request::{Write, Written};
use super::watch::Meant;
use super::world::{Event, World};
use super::write::at_once;
use super::{Broken, plan};
use crate::memory_store::rows::{InputId, Rows};

/// The most times that a world sleeps until something is due.
const NIGHTS_MAX: u32 = 200;
/// A pause that is worth sleeping through, in milliseconds.
const NIGHT_MS: u64 = 30_000;

/// The workflows of a world, as they are under way.
pub(super) struct Flows<'a> {
    pub(super) given: SimFlows,
    pub(super) starter: &'a dyn StartRunner,
    histories: Histories,
    /// Inputs that were sent.
    sent: BTreeSet<InputId>,
    /// How many are still to be sent.
    to_send: usize,
    /// The newest row of the outbox that is known.
    newest: i64,
    /// How many of a kind a workflow has asked of a destination.
    asked: BTreeMap<(String, String, String), usize>,
    lanes: BTreeMap<(usize, String), usize>,
    nights: u32,
    pub(super) effects: Vec<SimEffect>,
}

impl<'a> Flows<'a> {
    pub(super) fn new(given: SimFlows, starter: &'a dyn StartRunner) -> Self {
        Self {
            to_send: given.inputs.len(),
            given,
            starter,
            histories: Histories::default(),
            sent: BTreeSet::new(),
            newest: 0,
            asked: BTreeMap::new(),
            lanes: BTreeMap::new(),
            nights: 0,
            effects: Vec::new(),
        }
    }

    /// What a command of a workflow is to its receiver.
    fn meant(&mut self, row: &OutboxRow, sites: &[std::sync::Arc<plan::Site>]) -> Option<Meant> {
        let site = sites.iter().position(|site| site.name == row.destination)?;
        let stream = row.stream.as_ref()?.to_string();
        let of = (stream.clone(), row.destination.to_string(), row.kind.to_string());
        let nth = self.asked.entry(of).or_default();
        let answer = (self.given.answers)(SimAsked {
            command_id: row.command_id.as_str(),
            stream: &stream,
            destination: row.destination.as_str(),
            kind: row.kind.as_str(),
            body: &row.body,
            nth: *nth,
        });
        *nth += 1;
        let (is_refused, says) = match answer {
            SimAnswer::Done(result) => (false, result),
            SimAnswer::Refused(reason) => (true, reason.into_bytes()),
        };
        let lane = row.ordering_key.as_ref().map(|key| self.lane(site, key.as_str()));
        let (body, says) = (row.body.clone(), Some(says));
        Some(Meant { is_refused, is_poison: false, site, lane, body, says })
    }

    fn lane(&mut self, site: usize, key: &str) -> Lane {
        let next = self.lanes.len();
        (site, *self.lanes.entry((site, key.to_owned())).or_insert(next))
    }

    /// Whether nobody has anything to decide now, and nothing is to be sent any more.
    fn is_quiet(&self, rows: &Rows) -> bool {
        self.to_send == 0 && rows.inputs.values().all(|input| input.workflow.is_none())
    }
}

impl World<'_> {
    /// Draws when each workflow begins; what comes to it comes so long after.
    pub(super) fn begin_flows(&mut self) {
        let Some(flows) = &self.flows else { return };
        let inputs = flows.given.inputs.clone();
        let dice = &mut Dice::new(self.seed, 4);
        let mut begins = BTreeMap::new();
        for (place, (after, input)) in inputs.iter().enumerate() {
            let latest = self.plan.heal_ms / 2;
            let stream = input.stream.to_string();
            let begin = *begins.entry(stream).or_insert_with(|| dice.between(0, latest));
            let after = u64::try_from(after.as_micros() / 1000).unwrap_or(0);
            self.at(begin + after, Event::Input { place, again: false });
            if dice.chance(300) {
                let later = begin + after + dice.between(0, 30_000);
                self.at(later, Event::Input { place, again: true });
            }
        }
    }

    /// The user's own process sends an input; `again`: once more.
    pub(super) fn send_input(&mut self, place: usize, again: bool) {
        let Some(flows) = &mut self.flows else { return };
        let Some((_, input)) = flows.given.inputs.get(place).cloned() else { return };
        let at = (input.stream.to_string(), input.id.clone());
        let sent = at_once(self.app.send_inputs(vec![input]));
        let sent = sent.and_then(Result::ok).and_then(|all| all.into_iter().next());
        self.trace.line(self.now_ms, format_args!("the app sends {} to {}: {sent:?}", at.1, at.0));
        let meant = if again { Recorded::Repeated } else { Recorded::Recorded };
        if again {
            self.coverage.count("inputs sent twice");
        } else {
            flows.to_send = flows.to_send.saturating_sub(1);
            flows.sent.insert(at.clone());
        }
        if sent != Some(Ok(meant)) {
            let what = format!("{} of {}: {sent:?}", at.1, at.0);
            return self.breaks(Broken::new("an input is recorded once", what));
        }
        self.judge_histories();
        self.hint();
    }

    /// A step was asked for: what it did, for the trace.
    pub(super) fn tell_steps(
        &mut self,
        name: &str,
        write: &Write,
        result: &Result<Written, counterfoil_core::port::store::StoreError>,
    ) {
        match (write, result) {
            (Write::Steps(steps), Ok(Written::Steps(done))) => {
                for (step, done) in steps.iter().zip(done) {
                    let inputs: Vec<_> =
                        step.decisions.iter().map(|one| one.input.as_str()).collect();
                    let (inputs, stream) = (inputs.join(", "), &step.stream);
                    let at = step.expected_seq;
                    self.coverage.count(if done.is_ok() { "steps" } else { "steps refused" });
                    let line = format_args!("{name} decides {stream} at {at}: {inputs}; {done:?}");
                    self.trace.line(self.now_ms, line);
                }
            }
            (Write::Quarantine(aside), Ok(Written::Quarantined(Aside::Workflow))) => {
                let (stream, why) = (&aside.stream, &aside.reason);
                let line = format_args!("{name} sets {stream} aside: {why}");
                self.trace.line(self.now_ms, line);
                let what = format!("{stream}, on {:?}: {why}", aside.input);
                self.breaks(Broken::new("no workflow is set aside", what));
            }
            _ => {}
        }
    }

    /// Commands of workflows that are new: what they are to receivers.
    pub(super) fn meet_commands(&mut self) {
        let Some(flows) = &mut self.flows else { return };
        let new: Vec<(i64, std::sync::Arc<OutboxRow>)> = self.app.look(|rows| {
            let new = rows.outbox.range(flows.newest + 1..);
            new.filter_map(|(n, entry)| Some((*n, entry.row.as_ref().ok()?.clone()))).collect()
        });
        for (n, row) in new {
            flows.newest = n;
            if row.stream.is_none() || self.watch.meant(row.command_id.as_str()).is_some() {
                continue;
            }
            let Some(meant) = flows.meant(&row, &self.plan.sites) else {
                let what = format!("{} goes to {}", row.command_id, row.destination);
                return self.breaks(Broken::new("each destination has a receiver", what));
            };
            self.watch.expect(row.command_id.as_str(), meant);
        }
    }

    /// Judges what was written about workflows.
    pub(super) fn judge_histories(&mut self) {
        let Some(flows) = &mut self.flows else { return };
        let coverage = &mut self.coverage;
        if let Err(broken) = self.app.look(|rows| flows.histories.judge(rows, coverage)) {
            self.breaks(broken);
        }
    }

    /// A receiver acted.
    pub(super) fn note_effect(&mut self, place: usize, id: &str) {
        let Some(flows) = &mut self.flows else { return };
        let (Some(meant), at) = (self.watch.meant(id), self.now_ms.saturating_mul(1000)) else {
            return;
        };
        let of = self.watch.n_of(id).and_then(|n| {
            self.app.look(|rows| {
                let row = rows.outbox.get(&n)?.row.as_ref().ok()?;
                row.stream.is_some().then(|| row.kind.to_string())
            })
        });
        let Some(kind) = of else { return };
        flows.effects.push(SimEffect {
            command_id: id.to_owned(),
            destination: self.plan.sites[place].name.to_string(),
            kind,
            body: meant.body.clone(),
            at: counterfoil_core::domain::Micros::new(i64::try_from(at).unwrap_or(i64::MAX)),
        });
    }

    /// Inputs that wait to be decided, for people.
    pub(super) fn flows_restless(&self) -> String {
        if self.flows.is_none() {
            return String::new();
        }
        let waits = self.app.look(|rows| {
            let served = rows.inputs.iter().filter(|(_, input)| input.workflow.is_some());
            let told =
                served.map(|((stream, id), it)| format!("{id} of {stream} due {:?}", it.due_at));
            told.collect::<Vec<_>>()
        });
        format!("; {}", waits.join("; "))
    }

    /// Whether no workflow has anything to do; where one waits for a time, the world sleeps until
    /// then.
    pub(super) fn flows_rest(&mut self) -> bool {
        let Some(flows) = &self.flows else { return true };
        if self.app.look(|rows| flows.is_quiet(rows)) {
            return true;
        }
        self.sleep();
        false
    }

    /// Where nothing is due for long, nobody runs until then: days cost nothing.
    fn sleep(&mut self) {
        let due = self.next_due_ms();
        let Some(due) = due.filter(|due| *due > self.now_ms + NIGHT_MS) else { return };
        if self.is_in_flight() || self.now_ms < self.dark_until_ms {
            return;
        }
        let Some(flows) = &mut self.flows else { return };
        flows.nights += 1;
        if flows.nights > NIGHTS_MAX {
            let what = format!("it slept {NIGHTS_MAX} times until a timer was due");
            return self.breaks(Broken::new("workflows come to an end", what));
        }
        self.coverage.count("nights");
        let until = due - self.dice.between(0, 2_000);
        self.trace.line(self.now_ms, format_args!("nothing is due: nobody runs for a while"));
        self.rest_from_ms = until;
        self.all_die(until);
    }

    /// When the next input is due or is sent; `None`: one is due now, or none will be.
    fn next_due_ms(&self) -> Option<u64> {
        // As a process sees it that starts now.
        let now = self.app.reopen(self.machine_clock()).now().ok()?;
        let in_ms = |due: counterfoil_core::domain::Micros| {
            u64::try_from(due.since(now).as_micros() / 1000).unwrap_or(0)
        };
        let due = self.app.look(|rows| {
            let served = rows.inputs.values().filter(|input| input.workflow.is_some());
            served.map(|input| input.due_at.map_or(0, in_ms)).min()
        });
        let due = due.map(|ms| self.now_ms + ms);
        [due, self.next_sent_ms()].into_iter().flatten().min()
    }

    /// What must hold of workflows when all is at rest.
    pub(super) fn judge_flows(&mut self) {
        let Some(flows) = &self.flows else { return };
        let end = self.app.look(|rows| flows.histories.judge_end(rows, &flows.sent));
        let told = self.flows_told();
        let waits = told.workflows.iter().find(|flow| {
            flow.status == Status::Running && flow.open.is_empty() && !flows.given.may_wait
        });
        let waits = waits.map(|flow| {
            let rule = "a workflow that has not ended waits for a command that waits for a person";
            Broken::new(rule, format!("{} waits for an input that nobody sends", flow.stream))
        });
        let verified = at_once(flows.starter.verify(self.app.clone()));
        let verified = verified.unwrap_or_else(|| Err("it waits".into()));
        let differs = verified.map_err(|why| Broken::new("decided again it is the same", why));
        for flow in &told.workflows {
            self.coverage.count(match flow.status {
                Status::Completed => "workflows completed",
                Status::Failed => "workflows failed",
                _ if flow.open.is_empty() => "workflows left waiting for an input",
                _ => "workflows that wait for a person",
            });
            let (stream, status) = (&flow.stream, flow.status.name());
            self.trace.line(self.now_ms, format_args!("{stream} is {status}: {:?}", flow.end));
        }
        let broken = end.err().or(differs.err()).or(waits);
        broken.into_iter().for_each(|broken| self.breaks(broken));
    }

    /// What became of the workflows, and what the receivers did.
    pub(super) fn flows_told(&self) -> SimTold {
        let Some(flows) = &self.flows else { return SimTold::default() };
        let workflows = self.app.look(|rows| {
            let streams = rows.streams.iter();
            let told = streams.map(|(stream, row)| SimWorkflow {
                stream: stream.clone(),
                program: row.program.clone(),
                status: row.status,
                end: end_of(rows, stream),
                open: open_of(rows, stream),
            });
            told.collect()
        });
        SimTold { workflows, effects: flows.effects.clone() }
    }
}

fn end_of(rows: &Rows, stream: &str) -> Option<counterfoil_core::domain::workflow::End> {
    let all = (stream.to_owned(), i64::MIN)..=(stream.to_owned(), i64::MAX);
    let mut texts = rows.events.range(all).filter_map(|(_, event)| event.decided.as_deref());
    texts.find_map(|text| Decided::from_text(Some(text)).ok()?.end)
}

fn open_of(rows: &Rows, stream: &str) -> Vec<String> {
    let is_of = |n: &&i64| {
        let row = rows.outbox.get(n).and_then(|entry| entry.row.as_ref().ok());
        row.is_some_and(|row| row.stream.as_ref().is_some_and(|of| of.as_str() == stream))
    };
    let open = rows.deliveries.keys().filter(is_of);
    open.filter_map(|n| Some(rows.outbox.get(n)?.id_text())).collect()
}
