//! What a saga does with an input.
//!
//! Guarantees: pure; what cannot concern the saga any more changes nothing. Does not: end while a
//! command's fate is unknown and something was done that has an undo.

use counterfoil_core::domain::{CommandRefused, ReceiptOutcome};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::step::{SoFar, Undo};
use super::{
    Phase, Progress, STEP_TIMER, Saga, SagaEvent, Stage, Step, UNDO, UNDO_AGAIN, UNDONE,
    WAIT_TIMER, bound,
};
use crate::decision::{Decision, Unnamed};
use crate::input::{Input, Receipt, What};
use crate::limits::clipped;

/// The timer of the whole saga.
const WHOLE: &str = "saga";

/// The decision of `saga` in `state` on `input`.
pub(super) fn decide<T: Serialize + DeserializeOwned>(
    saga: &Saga<T>,
    state: &Progress,
    input: &Input,
) -> Decision<SagaEvent> {
    let mut turn = Turn { saga, state: state.clone(), decision: Decision::none() };
    turn.take(input);
    turn.decision
}

/// One decision in the making: the state runs ahead with each event.
struct Turn<'a, T> {
    saga: &'a Saga<T>,
    state: Progress,
    decision: Decision<SagaEvent>,
}

impl<T: Serialize + DeserializeOwned> Turn<'_, T> {
    fn take(&mut self, input: &Input) {
        match &input.what {
            What::Start { body } => self.begin(body),
            What::Receipt(receipt) => self.hear_of(receipt),
            What::Timer { name } => self.be_late(name),
            What::Signal { name, body } => self.listen(name, body),
            What::Cancel { reason } if self.state.phase == Phase::Forward => {
                let why = if reason.is_empty() { "no reason was given" } else { reason };
                self.turn_back(format!("cancelled: {why}"));
            }
            What::Cancel { .. } => self.cancel_open(),
        }
    }

    fn happen(&mut self, event: SagaEvent) {
        self.state.apply(&event);
        self.decision.events.push(event);
    }

    fn change(&mut self, change: impl FnOnce(Decision<SagaEvent>) -> Decision<SagaEvent>) {
        self.decision = change(std::mem::take(&mut self.decision));
    }

    fn begin(&mut self, body: &[u8]) {
        let start = match serde_json::from_slice::<T>(body).and_then(serde_json::to_value) {
            Ok(start) => start,
            Err(why) => {
                let why =
                    format!("the body of the start is not what {} takes: {why}", self.saga.name);
                return self.change(|decision| decision.fail(why));
            }
        };
        if let Some(bytes) = bound::too_long(&start) {
            let (name, max) = (&self.saga.name, bound::VALUE_BYTES_MAX);
            let why = format!(
                "the start of {name} has {bytes} bytes as JSON; at most {max}: keep it elsewhere \
                 and start with where it is"
            );
            return self.change(|decision| decision.fail(why));
        }
        self.happen(SagaEvent::Began { start });
        if let Some(within) = self.saga.within {
            self.change(|decision| decision.timer_after(WHOLE, within));
        }
        self.go_on();
    }

    /// Begins stages until something must be waited for.
    fn go_on(&mut self) {
        while self.state.phase == Phase::Forward && self.state.open.is_empty() {
            if let Some(Stage::Wait { signal, .. }) = self.stage()
                && !self.state.heard.contains_key(signal)
            {
                return;
            }
            let next = self.state.stage.map_or(0, |stage| stage + 1);
            if next >= self.saga.stages.len() {
                return self.complete();
            }
            self.happen(SagaEvent::Entered { stage: next });
            self.enter(next);
        }
        if let Phase::Back(reason) = self.state.phase.clone() {
            self.go_back(&reason);
        }
    }

    fn stage(&self) -> Option<&Stage<T>> {
        self.saga.stages.get(self.state.stage?)
    }

    fn enter(&mut self, stage: usize) {
        let saga = self.saga;
        match &saga.stages[stage] {
            Stage::Group(steps) => {
                // Whether all can be made is known before one is issued.
                let made: Vec<_> = steps.iter().map(|step| (step, self.make(&step.ask))).collect();
                if let Some((step, Err(why))) = made.iter().find(|(_, made)| made.is_err()) {
                    return self.refuse(&step.label, why.to_string());
                }
                for (step, command) in made {
                    if let Ok(command) = command {
                        self.issue(step, command);
                    }
                }
            }
            Stage::Wait { signal, within: Some(within) }
                if !self.state.heard.contains_key(signal) =>
            {
                self.change(|decision| decision.timer_after(wait_timer(signal), *within));
            }
            Stage::Wait { .. } => {}
        }
    }

    fn issue(&mut self, step: &Step<T>, command: Unnamed) {
        let label = &step.label;
        self.happen(SagaEvent::Asked { step: label.clone() });
        self.change(|decision| decision.command(command.labelled(label)));
        if let Some(within) = step.within {
            self.change(|decision| decision.timer_after(step_timer(label), within));
        }
    }

    fn refuse(&mut self, label: &str, reason: String) {
        let reason = clipped(reason);
        let told = format!("{label} was refused: {reason}");
        self.happen(SagaEvent::Refused { step: label.into(), reason });
        self.set_back(told);
    }

    fn make(
        &self,
        ask: &impl Fn(&T, &SoFar<'_>) -> Result<Unnamed, CommandRefused>,
    ) -> Result<Unnamed, CommandRefused> {
        let start = T::deserialize(&self.state.start).map_err(|why| CommandRefused::Value {
            id: "(not yet named)".into(),
            what: "start",
            why: format!("{why}: give the saga a new version when its start changes"),
        })?;
        ask(&start, &SoFar { results: &self.state.results, heard: &self.state.heard })
    }

    fn complete(&mut self) {
        let results = std::mem::take(&mut self.state.results);
        let results: serde_json::Map<_, _> = results.into_iter().collect();
        let results = bound::results(results);
        self.change(|decision| decision.unset(WHOLE).complete(results));
    }

    fn hear_of(&mut self, receipt: &Receipt) {
        let label = receipt.label.as_str();
        if let Some(step) = label.strip_prefix(UNDO) {
            return self.hear_of_undo(step, receipt);
        }
        if !self.state.open.contains(label) {
            return;
        }
        self.change(|decision| decision.unset(step_timer(label)));
        if receipt.is_done() {
            let result = value(receipt.result.as_deref());
            // The event of the receipt holds it, whatever its length.
            let result = if bound::too_long(&result).is_some() { Value::Null } else { result };
            self.happen(SagaEvent::Done { step: label.into(), result });
        } else {
            let reason = reason(receipt);
            self.happen(SagaEvent::Refused { step: label.into(), reason: reason.clone() });
            if self.state.phase == Phase::Forward {
                return self.turn_back(format!("{label} was {reason}"));
            }
        }
        self.go_on();
    }

    fn hear_of_undo(&mut self, step: &str, receipt: &Receipt) {
        if self.state.undoing.as_deref() != Some(step) {
            return;
        }
        let step = step.to_owned();
        if receipt.is_done() {
            self.happen(SagaEvent::Undone { step });
        } else {
            self.happen(SagaEvent::UndoRefused { step, reason: reason(receipt) });
        }
        self.go_on();
    }

    fn be_late(&mut self, timer: &str) {
        let is_waiting = |signal: &str| {
            matches!(self.stage(), Some(Stage::Wait { signal: awaited, .. }) if awaited == signal)
                && !self.state.heard.contains_key(signal)
        };
        let late = if timer == WHOLE {
            "the deadline of the saga has passed".into()
        } else if let Some(step) = timer.strip_prefix(STEP_TIMER).filter(|step| self.is_open(step))
        {
            format!("{step} was not done in time")
        } else if let Some(signal) =
            timer.strip_prefix(WAIT_TIMER).filter(|signal| is_waiting(signal))
        {
            format!("the signal {signal} did not come in time")
        } else {
            return;
        };
        if self.state.phase == Phase::Forward {
            self.turn_back(late);
        }
    }

    fn is_open(&self, step: &str) -> bool {
        self.state.open.contains(step)
    }

    fn listen(&mut self, name: &str, body: &[u8]) {
        let Some((stuck, _)) = self.state.stuck.clone() else {
            if self.awaits(name) {
                self.hear(name, value(Some(body)));
            }
            return;
        };
        let meant = value(Some(body));
        let is_meant = meant.get("step").and_then(Value::as_str) == Some(stuck.as_str());
        match name {
            UNDONE if is_meant => {
                self.happen(SagaEvent::Undone { step: stuck });
                self.go_on();
            }
            UNDO_AGAIN if is_meant => self.ask_undo(&stuck),
            _ => {}
        }
    }

    fn hear(&mut self, name: &str, body: Value) {
        if let Some(bytes) = bound::too_long(&body) {
            let max = bound::VALUE_BYTES_MAX;
            let reason = format!("it has {bytes} bytes as JSON; at most {max}: send where it is");
            return self.happen(SagaEvent::Unheard { signal: name.into(), reason });
        }
        self.happen(SagaEvent::Heard { signal: name.into(), body });
        self.change(|decision| decision.unset(wait_timer(name)));
        self.go_on();
    }

    /// Whether the saga will ever wait for this signal, and has not heard it.
    fn awaits(&self, name: &str) -> bool {
        let is_it =
            |stage: &Stage<T>| matches!(stage, Stage::Wait { signal, .. } if signal == name);
        self.state.phase == Phase::Forward
            && !self.state.heard.contains_key(name)
            && self.saga.stages.iter().any(is_it)
    }

    /// From here on the saga goes back; nothing is asked any more.
    fn set_back(&mut self, reason: String) {
        if self.state.phase == Phase::Forward {
            let reason = clipped(reason);
            self.happen(SagaEvent::TurnedBack { reason });
            self.change(|decision| decision.unset(WHOLE));
        }
    }

    fn turn_back(&mut self, reason: String) {
        self.cancel_open();
        let is_final = |label: &String| self.saga.step_of(label).is_some_and(Step::is_final);
        if self.state.open.iter().any(is_final) {
            return;
        }
        self.set_back(reason);
        if let Some(Stage::Wait { signal, .. }) = self.stage() {
            let timer = wait_timer(signal);
            self.change(|decision| decision.unset(timer));
        }
        self.go_on();
    }

    /// What nobody has seen yet need not be waited for; its receipt says whether that was so. Of
    /// what was being sent as the saga turned back, a later cancel may find that nobody saw it.
    fn cancel_open(&mut self) {
        for label in self.state.open.clone() {
            self.change(|decision| decision.cancel(label));
        }
    }

    fn go_back(&mut self, reason: &str) {
        let Progress { open, undoing, stuck, .. } = &self.state;
        if !open.is_empty() || undoing.is_some() || stuck.is_some() {
            return;
        }
        let has_undo = |label: &&String| {
            self.saga.step_of(label).is_some_and(|step| matches!(step.undo, Undo::By(_)))
        };
        match self.state.done.iter().rev().find(has_undo).cloned() {
            Some(step) => self.ask_undo(&step),
            None => self.change(|decision| decision.fail(reason)),
        }
    }

    fn ask_undo(&mut self, label: &str) {
        let Some(Step { undo: Undo::By(undo), .. }) = self.saga.step_of(label) else { return };
        match self.make(undo) {
            Ok(command) => {
                self.happen(SagaEvent::UndoAsked { step: label.into() });
                let command = command.labelled(format!("{UNDO}{label}"));
                self.change(|decision| decision.command(command));
            }
            Err(why) => {
                let reason = clipped(why.to_string());
                self.happen(SagaEvent::UndoRefused { step: label.into(), reason });
            }
        }
    }
}

fn step_timer(label: &str) -> String {
    format!("{STEP_TIMER}{label}")
}

fn wait_timer(signal: &str) -> String {
    format!("{WAIT_TIMER}{signal}")
}

/// What bytes say: JSON, else text, else nothing.
fn value(bytes: Option<&[u8]>) -> Value {
    let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else { return Value::Null };
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

/// Why a command did not come to its effect.
fn reason(receipt: &Receipt) -> String {
    let outcome = match receipt.outcome {
        ReceiptOutcome::Rejected => "refused",
        other => other.name(),
    };
    let said = match value(receipt.result.as_deref()) {
        Value::Null => receipt.evidence.clone().unwrap_or_default(),
        Value::String(text) => text,
        other => other.to_string(),
    };
    if said.is_empty() { outcome.into() } else { clipped(format!("{outcome}: {said}")) }
}
