//! What runners of workflows, their senders and their upkeep do in the random histories.

use counterfoil_core::audit::{AuditOptions, How, audit_sealed};
use counterfoil_core::domain::laws::{InputFacts, Violation};
use counterfoil_core::domain::workflow::{
    Decided, End, InputKind, Program, SetTimer, Status, timer_input, timer_name,
};
use counterfoil_core::domain::{Command, CommandId, Event, Kind, Micros, Span, Stream};
use counterfoil_core::port::seal::FlowsFrom;
use counterfoil_core::port::workflow::{
    Decision, DueFrom, NewInput, Quarantine, Snapshot, Standing, Step, WorkflowFilter,
};
use counterfoil_core::port::{Actor, Archive, Audited, Store as _, Workflows as _};

use super::{Both, DESTINATIONS};
use crate::exercise_store::WorkflowHands;

const STREAMS: [&str; 3] = ["s0", "s1", "s2"];
const PROGRAMS: [&str; 4] = ["trip/1", "trip/2", "trip/1", "tour/1"];
const OWNERS: [&str; 2] = ["ann", "bob"];

fn stream(name: &str) -> Stream {
    Stream::new(name).unwrap()
}

/// The id of its input, its name, and when it is due.
type Timer = (String, String, Micros);

/// The decision ends its workflow; as what.
fn end(decision: &mut Decision, end: End) -> Status {
    let status = end.status();
    let said = Decided::from_text(decision.decided.as_deref()).unwrap();
    decision.decided = Decided { end: Some(end), ..said }.to_text();
    status
}

fn program(text: &str) -> Program {
    Program::parse(text).unwrap()
}

impl<H: WorkflowHands<Store: Audited>> Both<H> {
    fn input(&mut self) -> NewInput {
        let kind = self.dice.pick(&[InputKind::Start, InputKind::Signal, InputKind::Cancel]);
        let ids = ["start", "a", "b", "c", "d", "e", "receipt:1:0"];
        let id = if kind == InputKind::Start { "start" } else { self.dice.pick(&ids) };
        NewInput {
            stream: stream(self.dice.pick(&STREAMS)),
            id: id.to_owned(),
            kind,
            name: self.dice.pick(&["trip", "trip", "tour", "a/b"]).to_owned(),
            body: self.dice.pick(&[None, Some(Vec::new()), Some(b"x".to_vec())]),
        }
    }

    async fn send(&mut self) {
        let inputs: Vec<_> = (0..=self.dice.below(3)).map(|_| self.input()).collect();
        let memory = self.memory.send_inputs(inputs.clone()).await;
        assert_eq!(self.store.send_inputs(inputs.clone()).await, memory, "{inputs:?}");
    }

    /// A decision about an input that waits, or about none, which ends at `head`, and what it
    /// leaves of the timers; of one that has ended nothing follows.
    fn decision(
        &mut self,
        (of, program): (&str, &Program),
        waiting: &[String],
        timers: &mut Vec<String>,
        head: &mut i64,
        ended: bool,
    ) -> Decision {
        let begins = *head == 0;
        let stray = ["start".to_owned(), "a".to_owned()];
        let input = match waiting {
            [] => self.dice.pick(&stray),
            waiting if !self.dice.one_in(8) => self.dice.pick(waiting),
            _ => self.dice.pick(&stray),
        };
        let events = if ended { 0 } else { self.dice.below(3) };
        *head += 1 + i64::try_from(events).unwrap();
        let seq = *head;
        let count = if ended { 0 } else { self.dice.below(3) };
        let commands: Vec<_> = (0..count).map(|_| self.unnamed()).collect();
        timers.retain(|id| *id != input);
        let (set, unset) = if ended { Default::default() } else { self.timers(seq, timers) };
        let command = format!("{of}:{}:0", 1 + self.dice.below(6));
        let cancel = self.dice.one_in(3).then(|| CommandId::new(command).unwrap());
        let event = |kind: &str| Event {
            kind: Kind::new(kind).unwrap(),
            body: b"{}".to_vec(),
            cause: None,
        };
        let kind = if begins { InputKind::Start } else { InputKind::Signal };
        let own = Event { cause: Some(input.clone()), ..event(&kind.event_kind(program.name())) };
        let name = |id: &String| timer_name(id).unwrap().to_owned();
        let said = Decided {
            ignored: ended.then(|| "it has ended".to_owned()),
            events: u32::try_from(events).unwrap(),
            labels: commands.iter().map(|command| command.kind.to_string()).collect(),
            unset: unset.iter().map(name).collect(),
            set: set
                .iter()
                .map(|(_, name, due_at)| SetTimer { name: name.clone(), due_at: *due_at })
                .collect(),
            ..Decided::default()
        };
        Decision {
            input,
            event: own,
            decided: said.to_text(),
            events: (0..events).map(|_| event("noted")).collect(),
            commands,
            timers: set,
            unset,
            cancel: cancel.into_iter().collect(),
        }
    }

    /// Timers that the decision which ends at `seq` sets, and those that it takes back: one of a
    /// name waits at a time.
    fn timers(&mut self, seq: i64, timers: &mut Vec<String>) -> (Vec<Timer>, Vec<String>) {
        let name = self.dice.pick(&[None, None, Some("late"), Some("later")]);
        let mut unset = timers.clone();
        unset.retain(|id| timer_name(id) == name || self.dice.one_in(2));
        timers.retain(|id| !unset.contains(id));
        let soon = Span::from_millis(i64::try_from(self.dice.below(20_000)).unwrap());
        let due_at = self.memory.now().unwrap().plus(soon);
        let set = name.map(|name| (timer_input(seq, name), name.to_owned(), due_at));
        timers.extend(set.iter().map(|(id, ..)| id.clone()));
        (set.into_iter().collect(), unset)
    }

    fn unnamed(&mut self) -> Command {
        let to = self.dice.pick(&DESTINATIONS);
        let body = self.dice.below(2);
        let soon = self.memory.now().unwrap().plus(Span::from_secs(9));
        let expires_at = self.dice.one_in(4).then_some(soon);
        let command = Command::unnamed(to, "k", &body).unwrap();
        Command { ordering_key: self.key(), expires_at, ..command }
    }

    async fn one_step(&mut self) -> Step {
        let of = self.dice.pick(&STREAMS);
        let row = self.memory.workflow(of).await.unwrap();
        let row = row.filter(|row| row.status.is_some());
        let ended = row.as_ref().and_then(|row| row.status).filter(|status| status.has_ended());
        let (mut head, stands) = row.map_or((0, None), |row| (row.head, Some(row.program)));
        if self.dice.one_in(10) {
            head = i64::try_from(self.dice.below(4)).unwrap();
        }
        let stands = stands.filter(|_| !self.dice.one_in(12));
        let program = program(&stands.unwrap_or_else(|| self.dice.pick(&PROGRAMS).to_owned()));
        let waiting = self.memory.waiting_inputs(Some(of), None, 99).await.unwrap();
        let waiting: Vec<_> = waiting.into_iter().map(|input| input.id).collect();
        let mut timers = waiting.clone();
        timers.retain(|id| timer_name(id).is_some());
        let (expected_seq, at) = (head, self.memory.now().unwrap());
        let count = 1 + self.dice.below(2);
        let of = (of, &program);
        let decision = |_| self.decision(of, &waiting, &mut timers, &mut head, ended.is_some());
        let mut decisions: Vec<_> = (0..count).map(decision).collect();
        let mut status = ended.unwrap_or(Status::Running);
        if ended.is_none() && self.dice.one_in(9) {
            let ends = [End::Completed(1.into()), End::Failed("no seat".into())];
            status = end(decisions.last_mut().unwrap(), self.dice.pick(&ends));
        }
        let snapshot = self.dice.one_in(3).then(|| Snapshot {
            program: program.clone(),
            seq: head,
            state: head.to_string().into_bytes(),
        });
        let owner = self.dice.pick(&OWNERS).to_owned();
        let lease = Span::from_secs(self.dice.pick(&[0, 0, 5, 30]));
        let stream = stream(of.0);
        Step { stream, program, expected_seq, at, decisions, status, snapshot, owner, lease }
    }

    async fn steps(&mut self) {
        let mut steps = Vec::new();
        for _ in 0..=self.dice.below(2) {
            steps.push(self.one_step().await);
        }
        let memory = self.memory.steps(steps.clone()).await;
        assert_eq!(self.store.steps(steps.clone()).await, memory, "{steps:#?}");
    }

    async fn set_aside(&mut self) {
        let of = self.dice.pick(&STREAMS);
        let row = self.memory.workflow(of).await.unwrap();
        let actor = || Actor { name: "ann".into(), reason: "mended".into() };
        if self.dice.one_in(4) {
            let id = self.dice.pick(&["start", "a", "b", "receipt:1:0", "timer:1:late"]);
            let memory = self.memory.drop_input(&stream(of), id, actor()).await;
            assert_eq!(self.store.drop_input(&stream(of), id, actor()).await, memory, "{of} {id}");
            return;
        }
        if self.dice.one_in(6) {
            let memory = self.memory.end_workflow(&stream(of), actor()).await;
            assert_eq!(self.store.end_workflow(&stream(of), actor()).await, memory, "{of}");
            return;
        }
        if self.dice.one_in(2) {
            let actor = actor();
            let memory = self.memory.retry_workflow(&stream(of), actor.clone()).await;
            assert_eq!(self.store.retry_workflow(&stream(of), actor).await, memory, "{of}");
            return;
        }
        let quarantine = Quarantine {
            stream: stream(of),
            program: program("trip/1"),
            expected_seq: row.map_or(0, |row| row.head),
            reason: "it panicked".into(),
            input: self.dice.pick(&["", "a"]).to_owned(),
        };
        let memory = self.memory.quarantine(quarantine.clone()).await;
        assert_eq!(self.store.quarantine(quarantine.clone()).await, memory, "{quarantine:?}");
    }

    async fn keep(&mut self) {
        let after = Span::from_secs(self.dice.pick(&[0, 10, 1000]));
        let memory = self.memory.keep_inputs(999, after).await;
        assert_eq!(self.store.keep_inputs(999, after).await, memory);
    }

    async fn archive(&mut self) {
        let before = self.memory.now().unwrap();
        let memory = self.memory.ended(before, 0, 99).await.unwrap();
        let told = self.store.ended(before, 0, 99).await.unwrap();
        let ids = |page: &counterfoil_core::port::archive::EndedPage| {
            let ids = page.entries.iter().map(|entry| entry.outbox.command_id.to_string());
            (ids.collect::<Vec<_>>(), page.kept.of_workflow)
        };
        assert_eq!(ids(&told), ids(&memory));
        let buried = self.memory.bury("f", memory.entries, None).await;
        assert_eq!(self.store.bury("f", told.entries, None).await, buried);
    }

    async fn compare_flows(&mut self) {
        let (memory, store) = (&self.memory, &self.store);
        let owner = self.dice.pick(&OWNERS).to_owned();
        let programs = [PROGRAMS[0], self.dice.pick(&PROGRAMS)].map(program).to_vec();
        let next = memory.next_input(&programs).await.unwrap();
        let now = memory.now().unwrap();
        let next = (next.map(|at| at.max(now)), store.next_input(&programs).await.unwrap());
        assert_eq!(next.0, next.1.map(|at| at.max(now)));
        let limit = usize::try_from(self.dice.below(12)).unwrap();
        let from = DueFrom { programs, owner, limit };
        // What came to workflows that have ended by other programs, the upkeep must have met.
        let mut due = memory.due_inputs(from.clone()).await.unwrap();
        let is_others = |row: &Standing| !from.programs.contains(&row.program);
        if due.iter().any(|one| one.standing.as_ref().is_some_and(is_others)) {
            let long = Span::from_secs(i64::MAX);
            assert_eq!(store.keep_inputs(999, long).await, memory.keep_inputs(999, long).await);
            due = memory.due_inputs(from.clone()).await.unwrap();
        }
        assert_eq!(store.due_inputs(from).await.unwrap(), due);
        let status = self.dice.pick(&[None, Some(Status::Running), Some(Status::Quarantined)]);
        let name = self.dice.pick(&[None, Some("trip".to_owned())]);
        let is_waiting = self.dice.one_in(3);
        let filter = WorkflowFilter { name, status, is_waiting, after: None, limit: 2 };
        assert_eq!(store.workflows(filter.clone()).await, memory.workflows(filter).await);
        let orphans = memory.waiting_inputs(None, None, 9).await;
        assert_eq!(store.waiting_inputs(None, None, 9).await, orphans);
        for of in STREAMS {
            assert_eq!(store.workflow(of).await, memory.workflow(of).await);
            let waiting = memory.waiting_inputs(Some(of), None, 99).await;
            assert_eq!(store.waiting_inputs(Some(of), None, 99).await, waiting);
            let of = stream(of);
            let standing = memory.standing(&of, &program("trip/1")).await;
            assert_eq!(store.standing(&of, &program("trip/1")).await, standing);
            assert_eq!(store.load(&of, 0, 999).await, memory.load(&of, 0, 999).await);
            let issued = memory.issued(&of, (1, 0), 99).await;
            assert_eq!(store.issued(&of, (1, 0), 99).await, issued);
        }
        assert_eq!(acts(store).await, acts(memory).await);
        for open_only in [false, true] {
            let from = FlowsFrom { after: None, open_only };
            let told = store.flow_facts(from.clone(), 99).await;
            assert_eq!(told, memory.flow_facts(from, 99).await);
        }
        assert_eq!(inputs(store).await, inputs(memory).await);
    }

    /// One step of a history of workflows.
    pub(super) async fn flow(&mut self) {
        match self.dice.below(16) {
            0..=2 => self.send().await,
            3..=6 => self.steps().await,
            7 => self.set_aside().await,
            8 => self.keep().await,
            9 if self.dice.one_in(3) => self.archive().await,
            9 | 10 => self.compare_flows().await,
            _ => self.step().await,
        }
    }

    pub(super) async fn end_of_flows(&mut self) {
        self.compare_flows().await;
        self.compare().await;
        keeps_the_laws(&self.memory).await;
        keeps_the_laws(&self.store).await;
    }
}

/// What was recorded of people, decisions and the upkeep of inputs.
async fn acts(store: &impl Audited) -> Vec<(String, String, String)> {
    let acts = store.actions(0, 9999).await.unwrap();
    let mut acts: Vec<_> = acts.into_iter().map(|act| (act.verb, act.about, act.actor)).collect();
    acts.sort();
    acts
}

/// What an audit reads of inputs, in the order of their ids.
async fn inputs(store: &impl Audited) -> Vec<InputFacts> {
    let (mut inputs, _) = store.input_facts(None, 999).await.unwrap();
    inputs.sort_by(|one, other| (&one.stream, &one.id).cmp(&(&other.stream, &other.id)));
    inputs
}

/// Everything and what is open keep the laws of workflows; reports may well say two things here.
async fn keeps_the_laws<S: Audited + Archive>(store: &S) {
    for how in [How::default(), How::default().full()] {
        let report = audit_sealed(store, AuditOptions::default().page(3), how).await.unwrap();
        let of_flows = report.violations.iter().filter(|it| it.code.starts_with("CF088"));
        assert_eq!(of_flows.collect::<Vec<_>>(), Vec::<&Violation>::new());
    }
}
