//! What the engine knows of a workflow beside its program's state.
//!
//! Guarantees: it follows from the events alone; one open command has a label, and one timer a
//! name. Does not: know what became of a command; its receipt says so.

use std::collections::BTreeMap;

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::workflow::{Decided, InputKind, Status, pointed_to, timer_input};
use counterfoil_core::domain::{CommandId, Stream};
use counterfoil_core::port::workflow::DueInput;
use serde::{Deserialize, Serialize};

/// What the engine knows of a workflow beside its program's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Running {
    /// Open commands: label, and `(seq, idx)` of the decision that issued it.
    pub open: BTreeMap<String, (i64, usize)>,
    /// Waiting timers: name, and `(seq, due)` of the decision that set it.
    pub timers: BTreeMap<String, (i64, Micros)>,
    /// Whether its start was decided.
    pub is_started: bool,
    /// How it ended.
    pub ended: Option<Status>,
}

impl Running {
    /// The label of the open command at this place.
    #[must_use]
    pub fn label_of(&self, seq: i64, idx: usize) -> Option<&str> {
        let found = self.open.iter().find(|(_, place)| **place == (seq, idx));
        found.map(|(label, _)| label.as_str())
    }

    /// The id of the open command of this label.
    #[must_use]
    pub fn command(&self, stream: &Stream, label: &str) -> Option<CommandId> {
        let (seq, idx) = self.open.get(label)?;
        CommandId::of_decision(stream, *seq, *idx).ok()
    }

    /// The id of the input of the waiting timer of this name.
    #[must_use]
    pub fn timer(&self, name: &str) -> Option<String> {
        self.timers.get(name).map(|(seq, _)| timer_input(*seq, name))
    }

    /// An input has come: what it ends is no longer open.
    pub(crate) fn hear(&mut self, given: &DueInput) {
        let DueInput { stream, id, name, .. } = given;
        match given.kind {
            InputKind::Start => self.is_started = true,
            InputKind::Timer if self.timer(name).as_ref() == Some(id) => {
                self.timers.remove(name);
            }
            // A forged pointer ends nothing.
            InputKind::Receipt if given.receipt.is_some() => {
                let place = pointed_to(stream, id);
                let label = place.and_then(|(_, seq, idx)| self.label_of(seq, idx));
                if let Some(label) = label.map(str::to_owned) {
                    self.open.remove(&label);
                }
            }
            _ => {}
        }
    }

    /// A decision whose last event is `seq` said this.
    pub(crate) fn follow(&mut self, seq: i64, decided: &Decided) {
        for name in &decided.unset {
            self.timers.remove(name);
        }
        for timer in &decided.set {
            self.timers.insert(timer.name.clone(), (seq, timer.due_at));
        }
        for (idx, label) in decided.labels.iter().enumerate() {
            self.open.insert(label.clone(), (seq, idx));
        }
        if let Some(end) = &decided.end {
            self.ended = Some(end.status());
            self.timers.clear();
        }
    }
}
