//! A workflow from its start to its end, in virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use counterfoil_core::domain::workflow::{Decided, InputKind, Program, receipt_input};
use counterfoil_core::domain::{CommandId, Micros, ReceiptOutcome, Span, Stream};
use counterfoil_core::port::workflow::{Decision, DueInput, ReceiptRead};
use serde::Serialize;

use super::told::{Asked, Told};
use super::{Answer, bytes, fail, must};
use crate::broken::Broken;
use crate::instance::Instance;
use crate::live;
use crate::programs::Programs;
use crate::record;
use crate::verify::Replay;
use crate::workflow::Workflow;

/// When a story begins: 2026-01-01 00:00 UTC.
pub const STARTED_AT: Micros = Micros::new(1_767_225_600_000_000);

/// After so many inputs a story is held to be endless.
pub const INPUTS_MAX: usize = 100_000;

/// A workflow and what will come to it.
///
/// Inputs are decided in the order of their times; of one time, in the order in which they were
/// given or caused. A command whose label has a script is answered by the next answer of it; one
/// without stays open, unless [`every`](Self::every) says otherwise, and only such a one can be
/// cancelled by the workflow.
#[must_use = "a story tells nothing until `run_to_end`"]
pub struct Story<W: Workflow> {
    workflow: W,
    stream: Stream,
    coming: BTreeMap<(Micros, usize), DueInput>,
    count: usize,
    scripts: BTreeMap<String, VecDeque<Answer>>,
    every: Option<Answer>,
}

impl<W: Workflow> Story<W> {
    /// A workflow that is started at [`STARTED_AT`] with an empty body.
    pub fn of(workflow: W) -> Self {
        let stream = match Stream::new("story") {
            Ok(stream) => stream,
            Err(why) => fail(&why.to_string()),
        };
        let name = workflow.name().to_owned();
        let (coming, scripts) = (BTreeMap::new(), BTreeMap::new());
        let mut story = Self { workflow, stream, coming, count: 0, scripts, every: None };
        story.comes(STARTED_AT, (InputKind::Start, "start".into(), name, Vec::new()));
        story
    }

    /// The body of the start.
    ///
    /// # Panics
    /// It is no JSON.
    #[track_caller]
    pub fn started_with(mut self, body: &impl Serialize) -> Self {
        let body = bytes(body);
        if let Some(start) = self.coming.values_mut().find(|one| one.kind == InputKind::Start) {
            start.body = body;
        }
        self
    }

    /// A signal, so long after the start.
    ///
    /// # Panics
    /// The body is no JSON.
    #[track_caller]
    pub fn signal_after(
        mut self,
        after: Span,
        name: impl Into<String>,
        body: &impl Serialize,
    ) -> Self {
        let (id, body) = (format!("signal-{}", self.count), bytes(body));
        self.comes(STARTED_AT.plus(after), (InputKind::Signal, id, name.into(), body));
        self
    }

    /// Somebody asks the workflow to end, so long after the start.
    pub fn cancel_after(mut self, after: Span, reason: impl Into<String>) -> Self {
        let (id, reason) = (format!("cancel-{}", self.count), reason.into().into_bytes());
        self.comes(STARTED_AT.plus(after), (InputKind::Cancel, id, "cancel".into(), reason));
        self
    }

    /// What becomes of the commands of this label, one after the other.
    pub fn receiver(
        mut self,
        label: impl Into<String>,
        answers: impl IntoIterator<Item = Answer>,
    ) -> Self {
        self.scripts.entry(label.into()).or_default().extend(answers);
        self
    }

    /// What becomes of every command without a script of its own.
    pub fn every(mut self, answer: Answer) -> Self {
        self.every = Some(answer);
        self
    }

    /// Runs until the workflow has ended or nothing more will come, then decides all of it again as
    /// [`verify`](crate::verify) does.
    ///
    /// # Panics
    /// A runner would quarantine the workflow, it decides otherwise the second time, or it has had
    /// [`INPUTS_MAX`] inputs.
    #[track_caller]
    pub fn run_to_end(mut self) -> Told<W::Event> {
        let program = match Program::new(self.workflow.name(), self.workflow.version()) {
            Ok(program) => program,
            Err(why) => fail(&why.to_string()),
        };
        let workflow = Arc::new(self.workflow);
        let begun =
            Instance::begin(self.stream.clone(), program.clone(), Arc::clone(&workflow) as _);
        let mut run = Run {
            instance: must(begun),
            coming: std::mem::take(&mut self.coming),
            count: self.count,
            scripts: self.scripts,
            every: self.every,
            told: told(self.stream.clone(), program.clone()),
        };
        while run.told.end.is_none() {
            let Some(((at, _), given)) = run.coming.pop_first() else { break };
            must(run.decide(at, &given));
            if run.count > INPUTS_MAX {
                fail(&format!("the story does not end: {INPUTS_MAX} inputs came to the workflow"));
            }
        }
        let mut told = run.told;
        told.open = run.instance.running.open.into_keys().collect();
        let mut programs = Programs::new();
        programs.add_shared(program.clone(), workflow);
        if let Some(mut replay) = Replay::begin(&programs, &program, &self.stream) {
            replay.take(told.history.clone(), told.issued.clone());
            if let Some(mismatch) = replay.end().mismatch {
                fail(&format!("decided again, it is another story: {mismatch}"));
            }
        }
        told
    }

    fn comes(&mut self, at: Micros, (kind, id, name, body): (InputKind, String, String, Vec<u8>)) {
        let stream = self.stream.clone();
        let given = DueInput { stream, id, kind, name, body, standing: None, receipt: None };
        self.coming.insert((at, self.count), given);
        self.count += 1;
    }
}

/// A story on its way.
struct Run<E> {
    instance: Instance,
    coming: BTreeMap<(Micros, usize), DueInput>,
    count: usize,
    scripts: BTreeMap<String, VecDeque<Answer>>,
    every: Option<Answer>,
    told: Told<E>,
}

impl<E: serde::de::DeserializeOwned> Run<E> {
    fn decide(&mut self, at: Micros, given: &DueInput) -> Result<(), Broken> {
        let head = self.instance.head;
        let decision = self.instance.decide(given, at)?;
        let (rows, issued) = record::rows(&self.instance.stream, head, &decision, at);
        let decided = record::decided(&rows[0])?;
        self.told.at = at;
        self.told.history.extend(rows);
        self.told.issued.extend(issued);
        if let Some(why) = &decided.ignored {
            self.told.ignored.push((given.id.clone(), why.clone()));
        }
        for event in &decision.events {
            let read = live::read(event.kind.as_str(), &event.body);
            self.told.events.push(read.map_err(|why| Broken::History(why.to_string()))?);
        }
        self.coming.retain(|_, given| !decision.unset.contains(&given.id));
        for (id, name, due) in &decision.timers {
            let timer = (InputKind::Timer, id.clone(), name.clone(), None);
            self.comes((*due).max(at), timer);
        }
        self.cancel(at, &decision);
        self.ask(at, decision, &decided);
        self.told.end = decided.end;
        Ok(())
    }

    /// Answers what was asked, as scripted.
    fn ask(&mut self, at: Micros, decision: Decision, decided: &Decided) {
        let seq = self.instance.head;
        for (idx, command) in decision.commands.into_iter().enumerate() {
            let Ok(id) = CommandId::of_decision(&self.instance.stream, seq, idx) else { continue };
            let label = decided.labels.get(idx).cloned().unwrap_or_default();
            let asked = Asked { id: id.to_string(), label, command, at };
            let script = self.scripts.get_mut(&asked.label).map(VecDeque::pop_front);
            if let Some(answer) = script.unwrap_or_else(|| self.every.clone()) {
                self.answer(at, &asked, id, answer);
            }
            self.told.commands.push(asked);
        }
    }

    fn answer(&mut self, at: Micros, asked: &Asked, command_id: CommandId, answer: Answer) {
        let place = asked.id.strip_prefix(self.instance.stream.as_str()).unwrap_or_default();
        let place = place.trim_start_matches(':').split_once(':');
        let number = |text: &str| text.parse().unwrap_or(0);
        let id = place.map(|(seq, idx)| receipt_input(number(seq), number(idx)));
        let read = ReceiptRead {
            command_id,
            destination: asked.command.destination.clone(),
            kind: asked.command.kind.clone(),
            outcome: answer.outcome,
            result: answer.result,
            evidence: None,
        };
        let name = answer.outcome.name().to_owned();
        let receipt = (InputKind::Receipt, id.unwrap_or_default(), name, Some(read));
        self.comes(at.plus(answer.after), receipt);
    }

    /// What no script answers was not sent yet, and can be cancelled.
    fn cancel(&mut self, at: Micros, decision: &Decision) {
        for id in &decision.cancel {
            let asked = self.told.commands.iter().find(|asked| asked.id == id.as_str());
            let Some(asked) = asked.cloned() else { continue };
            let answered = |given: &DueInput| {
                given.receipt.as_ref().is_some_and(|read| read.command_id == *id)
            };
            if !self.coming.values().any(answered) {
                self.answer(at, &asked, id.clone(), Answer::of(ReceiptOutcome::Cancelled));
            }
        }
    }

    fn comes(
        &mut self,
        at: Micros,
        (kind, id, name, receipt): (InputKind, String, String, Option<ReceiptRead>),
    ) {
        let stream = self.instance.stream.clone();
        let given = DueInput { stream, id, kind, name, body: Vec::new(), standing: None, receipt };
        self.coming.insert((at, self.count), given);
        self.count += 1;
    }
}

fn told<E>(stream: Stream, program: Program) -> Told<E> {
    Told {
        end: None,
        at: STARTED_AT,
        events: Vec::new(),
        commands: Vec::new(),
        open: Vec::new(),
        ignored: Vec::new(),
        history: Vec::new(),
        stream,
        program,
        issued: Vec::new(),
    }
}
