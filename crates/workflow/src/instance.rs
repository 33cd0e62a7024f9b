//! One workflow in memory: folded from its events, and decided input by input.
//!
//! Guarantees: pure; the same events and the same input give the same decision, or the program is
//! to blame. Does not: write anything; whoever decides commits the decision or drops the instance.

use std::sync::Arc;

use counterfoil_core::domain::workflow::{Decided, InputKind, Program, Status, pointed_to};
use counterfoil_core::domain::{EventRow, Micros, Stream};
use counterfoil_core::port::workflow::{Decision, DueInput, Snapshot};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::broken::Broken;
use crate::limits::SNAPSHOT_BYTES_MAX;
use crate::live::{AnyProgram, Live, Over};
use crate::running::Running;
use crate::{legal, record};

/// A decision whose program's events are not all read yet.
struct Pending {
    decided: Decided,
    left: u32,
}

/// One workflow in memory.
pub(crate) struct Instance {
    pub(crate) stream: Stream,
    pub(crate) program: Program,
    /// The seq of its newest event.
    pub(crate) head: i64,
    /// The seq of the newest event in its saved state; 0 if none is known.
    pub(crate) saved: i64,
    pub(crate) running: Running,
    live: Box<dyn Live>,
    pending: Option<Pending>,
}

#[derive(Serialize)]
struct Save<'a> {
    state: &'a RawValue,
    running: &'a Running,
}

#[derive(Deserialize)]
struct Saved {
    state: Box<RawValue>,
    running: Running,
}

impl Instance {
    /// A workflow without events.
    pub(crate) fn begin(
        stream: Stream,
        program: Program,
        code: Arc<dyn AnyProgram>,
    ) -> Result<Self, Broken> {
        let (live, running) = (code.begin()?, Running::default());
        Ok(Self { stream, program, head: 0, saved: 0, running, live, pending: None })
    }

    /// A workflow that has ended, without what it was: its inputs are ignored, all alike.
    pub(crate) fn ended((stream, program): (Stream, Program), head: i64, status: Status) -> Self {
        let running = Running { is_started: true, ended: Some(status), ..Running::default() };
        Self { stream, program, head, saved: head, running, live: Box::new(Over), pending: None }
    }

    /// A workflow as it was saved by this very program.
    pub(crate) fn restore(
        stream: Stream,
        code: Arc<dyn AnyProgram>,
        snapshot: &Snapshot,
    ) -> Result<Self, Broken> {
        let saved: Saved = serde_json::from_slice(&snapshot.state)
            .map_err(|why| Broken::History(format!("the snapshot is none: {why}")))?;
        Ok(Self {
            stream,
            program: snapshot.program.clone(),
            head: snapshot.seq,
            saved: snapshot.seq,
            running: saved.running,
            live: code.restore(&saved.state)?,
            pending: None,
        })
    }

    /// Folds the next event.
    pub(crate) fn fold(&mut self, row: &EventRow) -> Result<(), Broken> {
        if row.seq != self.head + 1 {
            let (next, found) = (self.head + 1, row.seq);
            return Err(Broken::History(format!("event {next} is missing, {found} follows")));
        }
        if let Some(archived) = &row.archived {
            let (workflow, file) = (self.stream.to_string(), archived.file.clone());
            return Err(Broken::Archived { workflow, seq: row.seq, file });
        }
        self.head = row.seq;
        let pending = match self.pending.take() {
            Some(mut pending) => {
                if row.cause.is_some() {
                    return Err(Broken::History(format!(
                        "event {} is an input's, but {} of the decision before are missing",
                        row.seq, pending.left
                    )));
                }
                self.live.evolve(row.kind.as_str(), &row.body)?;
                pending.left -= 1;
                pending
            }
            None => self.hear(row)?,
        };
        if pending.left > 0 {
            self.pending = Some(pending);
            return Ok(());
        }
        if usize::try_from(row.commands).ok() != Some(pending.decided.labels.len()) {
            return Err(Broken::History(format!(
                "event {} issued {} commands, but its decision names {}",
                row.seq,
                row.commands,
                pending.decided.labels.len()
            )));
        }
        self.running.follow(row.seq, &pending.decided);
        Ok(())
    }

    fn hear(&mut self, row: &EventRow) -> Result<Pending, Broken> {
        let (given, decided) = (record::read(row)?, record::decided(row)?);
        self.running.hear(&given);
        Ok(Pending { left: decided.events, decided })
    }

    /// Refuses a history that ends within a decision.
    pub(crate) fn must_be_whole(&self) -> Result<(), Broken> {
        match &self.pending {
            None => Ok(()),
            Some(pending) => Err(Broken::History(format!(
                "it ends at event {}, but {} of the decision are missing",
                self.head, pending.left
            ))),
        }
    }

    /// Why the program is not given this input; `None` if it is.
    fn ignored(&self, given: &DueInput) -> Option<&'static str> {
        if self.running.ended.is_some() {
            return Some("the workflow has ended");
        }
        match given.kind {
            InputKind::Start if self.running.is_started => Some("the workflow was started before"),
            InputKind::Receipt if given.receipt.is_none() => Some("it points to no receipt"),
            InputKind::Receipt if self.label(given).is_none() => {
                Some("it points to no open command of this workflow")
            }
            InputKind::Timer if self.running.timer(&given.name).as_ref() != Some(&given.id) => {
                Some("no such timer waits")
            }
            _ => None,
        }
    }

    /// What a receipt is told by; of a workflow that has ended nothing is open.
    fn label(&self, given: &DueInput) -> Option<&str> {
        if given.kind != InputKind::Receipt || self.running.ended.is_some() {
            return None;
        }
        let (_, seq, idx) = pointed_to(&self.stream, &given.id)?;
        self.running.label_of(seq, idx)
    }

    /// Decides an input, and is then where the decision leads. After an error it is of no use.
    pub(crate) fn decide(&mut self, given: &DueInput, at: Micros) -> Result<Decision, Broken> {
        let (decision, decided) = self.foresee(given, at)?;
        for event in &decision.events {
            self.live.evolve(event.kind.as_str(), &event.body)?;
        }
        self.head += 1 + i64::from(decided.events);
        self.running.follow(self.head, &decided);
        Ok(decision)
    }

    /// Decides an input; the program's state stays as it is.
    pub(crate) fn foresee(
        &mut self,
        given: &DueInput,
        at: Micros,
    ) -> Result<(Decision, Decided), Broken> {
        let ignored = self.ignored(given);
        let label = self.label(given).map(str::to_owned);
        let event = record::event(given, label.as_deref())?;
        self.running.hear(given);
        let mut decision = Decision {
            input: given.id.clone(),
            event,
            decided: None,
            events: Vec::new(),
            commands: Vec::new(),
            timers: Vec::new(),
            unset: Vec::new(),
            cancel: Vec::new(),
        };
        let decided = if let Some(why) = ignored {
            Decided { ignored: Some(why.to_owned()), ..Decided::default() }
        } else {
            let said = self.live.decide(&record::input(given, label.as_deref(), at))?;
            legal::take(&mut decision, said, (&self.stream, &self.running, self.head), at)?
        };
        decision.decided = decided.to_text();
        Ok((decision, decided))
    }

    /// How far it is.
    pub(crate) fn status(&self) -> Status {
        self.running.ended.unwrap_or(Status::Running)
    }

    /// The program's state as JSON.
    pub(crate) fn state(&self) -> Result<Box<RawValue>, Broken> {
        let text = String::from_utf8(self.live.save()?).unwrap_or_default();
        RawValue::from_string(text)
            .map_err(|why| Broken::Rule(format!("the state cannot be written as JSON: {why}")))
    }

    /// A snapshot of the whole; `None` where it is too large to be saved.
    pub(crate) fn save(&self) -> Result<Option<Snapshot>, Broken> {
        let state = self.state()?;
        let state = serde_json::to_vec(&Save { state: &state, running: &self.running })
            .map_err(|why| Broken::Rule(format!("the snapshot cannot be written: {why}")))?;
        let (program, seq) = (self.program.clone(), self.head);
        Ok((state.len() <= SNAPSHOT_BYTES_MAX).then_some(Snapshot { program, seq, state }))
    }
}

#[cfg(test)]
mod tests;
