//! Steps of workflows in memory: written whole or not at all.
//!
//! Guarantees: everything that refuses a step is looked at before its first row is written. Does
//! not: decide.

use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{EventRow, Micros, Stream};
use counterfoil_core::port::store::Appended;
use counterfoil_core::port::workflow::{
    Aside, Decision, EXPIRE_ACTOR, ListedWorkflow, PlannedStep, Quarantine, RETRY_VERB,
    SET_ASIDE_VERB, Step, StepRefused, WorkflowFilter, aside_reason, canceller,
};
use counterfoil_core::port::{Act, Actor, Deed};

use super::input::event_row;
use super::rows::{Rows, StreamEntry};

impl Rows {
    pub(super) fn step(&mut self, step: Step, max: usize, now: Micros) -> Result<(), StepRefused> {
        let PlannedStep { step, decided } = step.plan(max)?;
        self.check_head(&step)?;
        self.check_inputs(&step)?;
        self.check_commands(&decided)?;
        let Step { stream, program, at, decisions, status, snapshot, owner, lease, .. } = step;
        let begins = !self.streams.contains_key(stream.as_str());
        let mut head = step.expected_seq;
        let mut cancel = Vec::new();
        for (mut decision, appended) in decisions.into_iter().zip(decided) {
            cancel.append(&mut decision.cancel);
            let first = head + 1;
            head = appended.seq;
            self.write_decision(&stream, first, decision, appended, (at, now));
        }
        let is_held = lease.as_micros() > 0 && !status.has_ended();
        let lease = is_held.then(|| (owner, now.plus(lease)));
        let row = StreamEntry {
            program,
            status,
            head,
            lease,
            reason: None,
            input: None,
            changed_at: now,
        };
        self.streams.insert(stream.to_string(), row);
        if begins {
            self.serve(stream.as_str());
        }
        if let Some(snapshot) = snapshot {
            let at = (stream.to_string(), snapshot.program.to_string());
            self.snapshots.insert(at, snapshot);
        }
        for command in cancel {
            let command_id = command.to_string();
            let deed = Deed { command_id, act: Act::Cancel, by_filter: true };
            let _left_alone = self.act_all(&[deed], &canceller(&stream), now);
        }
        if status.has_ended() {
            let of_stream = |of: &str| of == stream.as_str();
            self.inputs.retain(|at, it| !(of_stream(&at.0) && it.kind == InputKind::Timer));
        }
        Ok(())
    }

    fn check_head(&self, step: &Step) -> Result<(), StepRefused> {
        let (stream, expected) = (step.stream.to_string(), step.expected_seq);
        let moved = |actual| StepRefused::Moved { stream: stream.clone(), expected, actual };
        let taken =
            || StepRefused::Taken { stream: stream.clone(), program: step.program.to_string() };
        match self.streams.get(&stream) {
            Some(row) if row.head != expected || row.status == Status::Quarantined => {
                Err(moved(row.head))
            }
            Some(row) if row.program != step.program => Err(taken()),
            Some(_) if expected == 0 => Err(moved(0)),
            Some(_) => Ok(()),
            None if expected != 0 => Err(moved(self.head(&stream))),
            None if self.head(&stream) > 0 => Err(taken()),
            None => Ok(()),
        }
    }

    /// Each input waits, and was never decided.
    fn check_inputs(&self, step: &Step) -> Result<(), StepRefused> {
        let stream = step.stream.to_string();
        for Decision { input, .. } in &step.decisions {
            let waits = self.inputs.contains_key(&(stream.clone(), input.clone()));
            if !waits || self.caused_by(&stream, input).is_some() {
                return Err(StepRefused::Gone { stream, id: input.clone() });
            }
        }
        Ok(())
    }

    /// No command stands under a generated id.
    fn check_commands(&self, decided: &[Appended]) -> Result<(), StepRefused> {
        let is_taken = |id: &str| self.n_of(id).is_some() || self.archived.contains_key(id);
        let mut ids = decided.iter().flat_map(|appended| &appended.command_ids);
        match ids.find(|id| is_taken(id.as_str())) {
            Some(id) => Err(StepRefused::IdTaken { id: id.to_string() }),
            None => Ok(()),
        }
    }

    /// Writes a decision whose own event is the `first`.
    fn write_decision(
        &mut self,
        stream: &Stream,
        first: i64,
        decision: Decision,
        appended: Appended,
        (at, now): (Micros, Micros),
    ) {
        let mut decided = decision.decided.clone();
        for (seq, commands, event) in decision.numbered(first) {
            let row = event_row(stream, seq, event.clone(), decided.take(), at);
            self.events.insert((stream.to_string(), seq), EventRow { commands, ..row });
        }
        let Decision { input, commands, timers, unset, .. } = decision;
        self.inputs.remove(&(stream.to_string(), input));
        for ((command, id), idx) in commands.into_iter().zip(appended.command_ids).zip(0..) {
            self.insert(id, command, Some((stream.clone(), appended.seq, idx)), now);
        }
        for id in unset {
            let at = (stream.to_string(), id);
            if self.inputs.get(&at).is_some_and(|it| it.kind == InputKind::Timer) {
                self.inputs.remove(&at);
            }
        }
        for (id, name, due_at) in timers {
            self.put_input(stream.as_str(), id, InputKind::Timer, name, (None, Some(due_at)), now);
        }
    }

    /// Lets go of what `owner` holds of these; whether it held any.
    pub(super) fn let_go(&mut self, owner: &str, streams: &[Stream]) -> bool {
        let mut held = false;
        for stream in streams {
            let row = self.streams.get_mut(stream.as_str());
            let lease = row
                .map(|row| &mut row.lease)
                .filter(|lease| lease.as_ref().is_some_and(|(holds, _)| holds == owner));
            held |= lease.and_then(Option::take).is_some();
        }
        held
    }

    /// Whether the stream has events, and is no workflow.
    fn is_a_services(&self, stream: &str) -> bool {
        let mut events = self.events_of(stream);
        let first = events.next();
        !self.streams.contains_key(stream)
            && first.is_some_and(|first| {
                first.cause.is_none() || !first.kind.as_str().starts_with("start:")
            })
    }

    /// Takes one input away, and keeps a record of it.
    fn take_away(&mut self, stream: &str, id: &str, why: &str, now: Micros) -> Aside {
        let Some(input) = self.inputs.remove(&(stream.to_owned(), id.to_owned())) else {
            return Aside::Moved;
        };
        let reason = aside_reason(id, input.kind.name(), &input.name, why);
        let about = (SET_ASIDE_VERB, stream);
        self.record_act(about, ("waiting", "gone"), EXPIRE_ACTOR, &reason, now);
        Aside::Input
    }

    pub(super) fn quarantine(&mut self, quarantine: Quarantine, now: Micros) -> Aside {
        let Quarantine { stream, program, expected_seq, reason, input } = quarantine;
        if self.is_a_services(stream.as_str()) {
            return self.take_away(stream.as_str(), &input, &reason, now);
        }
        let head = self.head(stream.as_str());
        let row = self.streams.get(stream.as_str());
        let (program, head) = match row {
            Some(row) if row.status != Status::Running || row.head != expected_seq => {
                return Aside::Moved;
            }
            Some(row) => (row.program.clone(), row.head),
            None if expected_seq != 0 && expected_seq != head => return Aside::Moved,
            None => (program, head),
        };
        let row = StreamEntry {
            program,
            status: Status::Quarantined,
            head,
            lease: None,
            reason: Some(reason),
            input: (!input.is_empty()).then_some(input),
            changed_at: now,
        };
        self.streams.insert(stream.to_string(), row);
        self.serve(stream.as_str());
        Aside::Workflow
    }

    pub(super) fn retry_workflow(&mut self, stream: &Stream, actor: &Actor, now: Micros) -> bool {
        let name = stream.as_str();
        let Some(row) = self.streams.get_mut(name) else { return false };
        if row.status != Status::Quarantined {
            return false;
        }
        (row.status, row.changed_at) = (Status::Running, now);
        (row.reason, row.input) = (None, None);
        let mut after = Status::Running.name();
        if !self.is_begun(name) {
            self.streams.remove(name);
            self.forget_pointers(name);
            after = "waiting";
        }
        self.serve(name);
        let change = (Status::Quarantined.name(), after);
        self.record_act((RETRY_VERB, name), change, &actor.name, &actor.reason, now);
        true
    }

    pub(super) fn workflows(&self, filter: &WorkflowFilter) -> Vec<ListedWorkflow> {
        if filter.is_waiting {
            return self.waiting_workflows(filter);
        }
        let later = |stream: &String| filter.after.as_ref().is_none_or(|after| stream > after);
        let fits = |row: &StreamEntry| {
            filter.name.as_ref().is_none_or(|name| row.program.name() == name)
                && filter.status.is_none_or(|status| row.status == status)
        };
        let found = self.streams.iter().filter(|(stream, row)| later(stream) && fits(row));
        found.take(filter.limit).map(|(stream, row)| row.listed(stream)).collect()
    }

    /// Those whose start waits, each by the start that came first.
    fn waiting_workflows(&self, filter: &WorkflowFilter) -> Vec<ListedWorkflow> {
        let mut first = std::collections::BTreeMap::new();
        for ((stream, _), input) in &self.inputs {
            let is_later = filter.after.as_ref().is_none_or(|after| stream > after);
            let is_of = filter.name.as_ref().is_none_or(|name| *name == input.name);
            // What waits for a name alone is a start.
            let waits = input.workflow.as_ref().is_some_and(|of| !of.contains('/'));
            if is_later && is_of && waits {
                let first = first.entry(stream).or_insert(input);
                if input.arrival < first.arrival {
                    *first = input;
                }
            }
        }
        let listed = first.into_iter().map(|(stream, input)| ListedWorkflow {
            stream: stream.clone(),
            program: input.name.clone(),
            status: None,
            head: 0,
            reason: None,
            input: None,
            changed_at: Some(input.recorded_at),
        });
        listed.take(filter.limit).collect()
    }

    pub(super) fn workflow(&self, stream: &str) -> Option<ListedWorkflow> {
        if let Some(row) = self.streams.get(stream) {
            return Some(row.listed(stream));
        }
        let has_cause = self.events_of(stream).any(|event| event.cause.is_some());
        if !has_cause && self.inputs_of(stream).next().is_none() {
            return None;
        }
        let starts = self.inputs_of(stream).filter(|(_, it)| it.kind == InputKind::Start);
        let start = starts.min_by_key(|(_, it)| it.arrival);
        Some(ListedWorkflow {
            stream: stream.to_owned(),
            program: start.map(|(_, it)| it.name.clone()).unwrap_or_default(),
            status: None,
            head: self.head(stream),
            reason: None,
            input: None,
            changed_at: start.map(|(_, it)| it.recorded_at),
        })
    }
}
