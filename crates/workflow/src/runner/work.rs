//! Decides the inputs of one workflow: the part of a batch that needs no store.

use std::collections::HashSet;
use std::sync::Arc;

use counterfoil_core::domain::workflow::{InputKind, Program, Status};
use counterfoil_core::domain::{EventRow, Micros, Span, Stream};
use counterfoil_core::port::workflow::{Decision, DueInput, Step};

use super::decider::Marker;
use crate::broken::Broken;
use crate::instance::Instance;
use crate::live::AnyProgram;

/// A step ends after so many bytes of events and commands: 4 MiB.
const STEP_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Where a workflow is decided from.
pub(super) enum From {
    /// It begins.
    Start(Arc<dyn AnyProgram>),
    /// It is in memory, but for these events.
    Memory(Box<Instance>, Vec<EventRow>),
    /// It has ended so: nothing is decided any more, and its events need not be folded for that.
    Ended(Status),
    /// It could not be brought into memory.
    Broken(Broken),
}

/// A workflow with inputs that are due.
pub(super) struct Due {
    pub(super) stream: Stream,
    pub(super) program: Program,
    pub(super) head: i64,
    pub(super) inputs: Vec<DueInput>,
    pub(super) from: From,
}

/// What is the same for all workflows of a batch.
#[derive(Clone)]
pub(super) struct Terms {
    pub(super) owner: String,
    pub(super) lease: Span,
    pub(super) snapshot_every: i64,
    pub(super) at: Micros,
}

/// What was decided of one workflow.
pub(super) struct Decided {
    pub(super) stream: Stream,
    pub(super) program: Program,
    /// The workflow after the step; `None` if it is of no use any more.
    pub(super) instance: Option<Instance>,
    pub(super) step: Option<Step>,
    /// The input on which the workflow cannot go on, after the step.
    pub(super) broken: Option<(String, Broken)>,
    /// The head before the step.
    pub(super) expected_seq: i64,
    /// The head after it.
    pub(super) head: i64,
}

impl Due {
    /// Decides its inputs one after the other.
    pub(super) fn decide(self, terms: &Terms, marker: &Marker) -> Decided {
        let Self { stream, program, head, inputs, from } = self;
        marker.begin((&stream, &program), head, "");
        let mut decided = Decided {
            stream,
            program,
            instance: None,
            step: None,
            broken: None,
            expected_seq: head,
            head,
        };
        let begun = match from {
            From::Start(code) => {
                Instance::begin(decided.stream.clone(), decided.program.clone(), code)
            }
            From::Memory(instance, tail) => folded(*instance, &tail),
            From::Ended(status) => {
                let of = (decided.stream.clone(), decided.program.clone());
                Ok(Instance::ended(of, head, status))
            }
            From::Broken(why) => Err(why),
        };
        match begun {
            // It moved on since its inputs were read, and they may be decided: they are read anew.
            Ok(instance) if instance.head != head => decided.instance = Some(instance),
            Ok(instance) => decided.go_on(instance, &inputs, terms, marker),
            Err(why) => {
                let input = inputs.first().map(|input| input.id.clone());
                decided.broken = Some((input.unwrap_or_default(), why));
            }
        }
        decided
    }
}

fn folded(mut instance: Instance, tail: &[EventRow]) -> Result<Instance, Broken> {
    tail.iter().try_for_each(|row| instance.fold(row))?;
    instance.must_be_whole()?;
    Ok(instance)
}

impl Decided {
    fn go_on(
        &mut self,
        mut instance: Instance,
        inputs: &[DueInput],
        terms: &Terms,
        marker: &Marker,
    ) {
        let mut decisions: Vec<Decision> = Vec::with_capacity(inputs.len());
        let mut gone: HashSet<String> = HashSet::new();
        let mut bytes = 0;
        let had_ended = instance.running.ended.is_some();
        for input in inputs {
            // An earlier decision of this step takes it back, or the end does.
            let ends = !had_ended && instance.running.ended.is_some();
            if gone.contains(&input.id) || (ends && input.kind == InputKind::Timer) {
                continue;
            }
            if bytes > STEP_BYTES_MAX {
                break;
            }
            marker.begin((&self.stream, &self.program), self.expected_seq, &input.id);
            match instance.decide(input, terms.at) {
                Ok(decision) => {
                    self.head = instance.head;
                    gone.extend(decision.unset.iter().cloned());
                    bytes += size(&decision);
                    decisions.push(decision);
                }
                Err(why) => {
                    self.broken = Some((input.id.clone(), why));
                    break;
                }
            }
        }
        let is_whole = self.broken.is_none();
        if !decisions.is_empty() {
            let mut step = self.step(terms, decisions, instance.status());
            if is_whole {
                self.save(&mut step, &mut instance, terms);
            }
            self.step = Some(step);
        }
        self.instance = (is_whole && self.broken.is_none()).then_some(instance);
    }

    fn step(&self, terms: &Terms, decisions: Vec<Decision>, status: Status) -> Step {
        Step {
            stream: self.stream.clone(),
            program: self.program.clone(),
            expected_seq: self.expected_seq,
            at: terms.at,
            decisions,
            status,
            snapshot: None,
            owner: terms.owner.clone(),
            lease: terms.lease,
        }
    }

    fn save(&mut self, step: &mut Step, instance: &mut Instance, terms: &Terms) {
        if step.status.has_ended() || instance.head - instance.saved < terms.snapshot_every {
            return;
        }
        match instance.save() {
            Ok(snapshot) => {
                // One that is too large is tried again after as many events.
                instance.saved = instance.head;
                step.snapshot = snapshot;
            }
            Err(why) => self.broken = Some((String::new(), why)),
        }
    }
}

/// The bytes of a decision that count.
fn size(decision: &Decision) -> usize {
    let events = decision.events.iter().map(|event| event.body.len()).sum::<usize>();
    let commands = decision.commands.iter().map(|command| command.body.len()).sum::<usize>();
    decision.event.body.len() + events + commands
}
