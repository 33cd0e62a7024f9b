//! A step as it is to be written: numbered, named and checked, before a store is looked at.
//!
//! Guarantees: pure; every store gives the same numbers and refuses the same values. Does not:
//! know whether an input waits.

use std::collections::BTreeSet;

use super::{Decision, Step, StepRefused};
use crate::domain::command::{BODY_BYTES_LIMIT, CommandRefused};
use crate::domain::{Event, Stream};
use crate::port::intent;
use crate::port::store::Appended;

/// The most bytes that the id of an input may have as a cause.
const CAUSE_BYTES_MAX: usize = 255;

/// A step with the seq and the command ids of each of its decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStep {
    /// The step; the event of each input has it as its cause, and no other event has one.
    pub step: Step,
    /// Of each decision its last seq and the ids of its commands.
    pub decided: Vec<Appended>,
}

impl PlannedStep {
    /// The head after it.
    #[must_use]
    pub fn head(&self) -> i64 {
        self.decided.last().map_or(self.step.expected_seq, |last| last.seq)
    }

    /// The decisions, each with its first seq and what was planned.
    pub fn decisions(&self) -> impl Iterator<Item = (i64, &Decision, &Appended)> {
        let mut head = self.step.expected_seq;
        self.step.decisions.iter().zip(&self.decided).map(move |(decision, planned)| {
            let first = head.saturating_add(1);
            head = planned.seq;
            (first, decision, planned)
        })
    }
}

impl Decision {
    /// The events with their seq and how many commands each says it issued: the input's own, which
    /// stands at `first`, then the program's.
    pub fn numbered(&self, first: i64) -> impl Iterator<Item = (i64, i64, &Event)> {
        let last = self.events.len();
        let commands = i64::try_from(self.commands.len()).unwrap_or(i64::MAX);
        let events = std::iter::once(&self.event).chain(&self.events).enumerate();
        (first..)
            .zip(events)
            .map(move |(seq, (at, event))| (seq, if at == last { commands } else { 0 }, event))
    }
}

impl Step {
    /// Numbers the events, names the commands and checks the values. `body_bytes_max` is about
    /// commands: an event is sent to nobody, may hold what a stranger's input held, and has the
    /// bound of its table, as inputs have.
    ///
    /// # Errors
    /// [`StepRefused::Value`] for the first rule that is broken, [`StepRefused::Gone`] for an input
    /// that the step itself consumes or takes back before.
    pub fn plan(mut self, body_bytes_max: usize) -> Result<PlannedStep, StepRefused> {
        let stream = self.stream.clone();
        let mut gone = BTreeSet::new();
        let mut decided = Vec::with_capacity(self.decisions.len());
        let mut head = self.expected_seq;
        for decision in &mut self.decisions {
            if !gone.insert(decision.input.clone()) {
                let (stream, id) = (stream.to_string(), decision.input.clone());
                return Err(StepRefused::Gone { stream, id });
            }
            gone.extend(decision.unset.iter().cloned());
            check_input(&stream, &decision.input)?;
            decision.event.cause = Some(decision.input.clone());
            for event in &mut decision.events {
                event.cause = None;
                intent::check_event(event, &stream, BODY_BYTES_LIMIT)?;
            }
            let events = i64::try_from(decision.events.len()).unwrap_or(i64::MAX);
            let seq = head.saturating_add(1).saturating_add(events);
            decided.push(intent::name(&stream, seq, &decision.commands, body_bytes_max)?);
            head = seq;
        }
        if decided.is_empty() {
            let (id, what) = (format!("(step of {stream})"), "decisions");
            let why = "a step consumes at least one input".into();
            return Err(CommandRefused::Value { id, what, why }.into());
        }
        Ok(PlannedStep { step: self, decided })
    }
}

/// The body of an input has the bound of its table, and is not checked again.
fn check_input(stream: &Stream, input: &str) -> Result<(), CommandRefused> {
    let is_control = |byte: u8| byte < 0x20 || byte == 0x7f;
    if (1..=CAUSE_BYTES_MAX).contains(&input.len()) && !input.bytes().any(is_control) {
        return Ok(());
    }
    let (id, what) = (format!("(step of {stream})"), "input");
    let why = "must be 1 to 255 bytes without control characters".into();
    Err(CommandRefused::Value { id, what, why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::workflow::Program;
    use crate::domain::{Command, CommandId, Kind, Micros, Span};
    use crate::port::workflow::Status;

    fn decision(input: &str, events: usize, commands: usize) -> Decision {
        let event = |kind: &str| Event {
            kind: Kind::new(kind).unwrap(),
            body: Vec::new(),
            cause: Some("of somebody else".into()),
        };
        let command = Command::unnamed("d", "k", &1).unwrap();
        Decision {
            input: input.into(),
            event: event("signal:x"),
            decided: None,
            events: vec![event("happened"); events],
            commands: vec![command; commands],
            timers: Vec::new(),
            unset: Vec::new(),
            cancel: Vec::new(),
        }
    }

    fn step(decisions: Vec<Decision>) -> Step {
        Step {
            stream: Stream::new("t").unwrap(),
            program: Program::new("trip", 1).unwrap(),
            expected_seq: 4,
            at: Micros::default(),
            decisions,
            status: Status::Running,
            snapshot: None,
            owner: "me".into(),
            lease: Span::ZERO,
        }
    }

    #[test]
    fn each_decision_begins_with_its_input_and_names_its_commands_by_its_last_event() {
        let planned = step(vec![decision("a", 1, 2), decision("b", 0, 1)]).plan(100).unwrap();
        assert_eq!(planned.head(), 7);
        let ids: Vec<_> = planned.decided.iter().flat_map(|one| &one.command_ids).collect();
        let ids: Vec<_> = ids.into_iter().map(CommandId::as_str).collect();
        assert_eq!(ids, ["t:6:0", "t:6:1", "t:7:0"]);
        let mut numbered = Vec::new();
        for (first, decision, _) in planned.decisions() {
            numbered.extend(
                decision
                    .numbered(first)
                    .map(|(seq, commands, event)| (seq, commands, event.cause.as_deref())),
            );
        }
        assert_eq!(numbered, [(5, 0, Some("a")), (6, 2, None), (7, 1, Some("b"))]);
    }

    /// A signal of 1 to 16 MiB was taken in, and set the workflow aside whose event held it.
    #[test]
    fn an_event_may_have_what_an_input_may_have() {
        let with = |bytes: usize| {
            let mut heard = decision("a", 1, 0);
            heard.events[0].body = vec![b'x'; bytes];
            step(vec![heard]).plan(100)
        };
        assert!(with(BODY_BYTES_LIMIT).is_ok());
        assert!(matches!(with(BODY_BYTES_LIMIT + 1), Err(StepRefused::Value(_))));
    }

    #[test]
    fn an_input_is_consumed_once_and_not_after_it_was_taken_back() {
        let twice = step(vec![decision("a", 0, 0), decision("a", 0, 0)]);
        assert!(matches!(twice.plan(100), Err(StepRefused::Gone { .. })));
        let mut first = decision("a", 0, 0);
        first.unset.push("timer:1:b".into());
        let unset = step(vec![first, decision("timer:1:b", 0, 0)]);
        assert!(matches!(unset.plan(100), Err(StepRefused::Gone { .. })));
        assert!(matches!(step(Vec::new()).plan(100), Err(StepRefused::Value(_))));
        let control = step(vec![decision("a\n", 0, 0)]);
        assert!(matches!(control.plan(100), Err(StepRefused::Value(_))));
    }
}
