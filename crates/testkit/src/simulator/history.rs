//! The judge of workflows: what their tables say, held against what came, after each write.
//!
//! Guarantees: the rules are those of `docs/workflows.md`, written anew here, so that an error of
//! the runner or of the store shows. Does not: know what a program would decide; its replay does.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::workflow::{InputKind, receipt_input};
use counterfoil_core::domain::{Digest, EventRow};

use super::{Broken, Coverage};
use crate::memory_store::rows::{InputId, Rows};

/// What a command was when it was first seen: destination, kind, key, digest of its body.
type Content = (String, String, Option<String>, Digest);

/// The histories of one run, as they were seen so far.
#[derive(Debug, Default)]
pub(super) struct Histories {
    /// What came, and as what.
    came: BTreeMap<InputId, InputKind>,
    /// What was decided, and at which seq.
    decided: BTreeMap<InputId, i64>,
    events: BTreeMap<(String, i64), EventRow>,
    heads: BTreeMap<String, i64>,
    commands: BTreeMap<String, Content>,
}

impl Histories {
    /// Judges what a write made of the workflows.
    pub(super) fn judge(&mut self, rows: &Rows, coverage: &mut Coverage) -> Result<(), Broken> {
        self.judge_kept(rows)?;
        self.judge_new(rows, coverage)?;
        self.judge_gone(rows)?;
        self.judge_commands(rows)?;
        for (at, input) in &rows.inputs {
            self.came.entry(at.clone()).or_insert(input.kind);
        }
        Ok(())
    }

    /// What was written stands as it was.
    fn judge_kept(&self, rows: &Rows) -> Result<(), Broken> {
        let differs =
            |(at, event): &(&(String, i64), &EventRow)| rows.events.get(*at) != Some(*event);
        match self.events.iter().find(differs) {
            None => Ok(()),
            Some(((stream, seq), _)) => {
                let what = format!("event {seq} of {stream}");
                Err(Broken::new("what happened in a workflow never changes", what))
            }
        }
    }

    fn judge_new(&mut self, rows: &Rows, coverage: &mut Coverage) -> Result<(), Broken> {
        for (stream, row) in &rows.streams {
            let head = self.heads.get(stream).copied().unwrap_or(0);
            let new = (stream.clone(), head + 1)..=(stream.clone(), i64::MAX);
            let mut last = head;
            for ((_, seq), event) in rows.events.range(new) {
                if *seq != last + 1 {
                    let what = format!("event {seq} of {stream} follows {last}");
                    return Err(Broken::new("events of a workflow leave no gap", what));
                }
                if let Some(cause) = &event.cause {
                    self.judge_cause((stream, *seq), cause)?;
                    coverage.count("inputs that were decided");
                } else if last == head {
                    let what = format!("event {seq} of {stream}, {}", event.kind);
                    return Err(Broken::new("each step begins with its input", what));
                }
                self.events.insert((stream.clone(), *seq), event.clone());
                last = *seq;
            }
            if row.head != last {
                let what = format!("{stream} says {}, and its newest event is {last}", row.head);
                return Err(Broken::new("a workflow is where its newest event is", what));
            }
            self.heads.insert(stream.clone(), last);
        }
        Ok(())
    }

    fn judge_cause(&mut self, (stream, seq): (&str, i64), cause: &str) -> Result<(), Broken> {
        let at = (stream.to_owned(), cause.to_owned());
        let what = format!("{cause} of {stream}, at event {seq}");
        if !self.came.contains_key(&at) {
            return Err(Broken::new("nothing is decided that did not come", what));
        }
        match self.decided.insert(at, seq) {
            None => Ok(()),
            Some(before) => {
                let what = format!("{what}, and at event {before} before");
                Err(Broken::new("an input is decided once", what))
            }
        }
    }

    /// What waits no longer was decided; a timer may have been taken back.
    fn judge_gone(&self, rows: &Rows) -> Result<(), Broken> {
        for (at, kind) in &self.came {
            let (waits, decided) = (rows.inputs.contains_key(at), self.decided.contains_key(at));
            let what = || format!("{} of {}", at.1, at.0);
            if waits && decided {
                return Err(Broken::new("what was decided waits no longer", what()));
            }
            if !waits && !decided && *kind != InputKind::Timer {
                return Err(Broken::new("what waits no longer was decided", what()));
            }
        }
        Ok(())
    }

    fn judge_commands(&mut self, rows: &Rows) -> Result<(), Broken> {
        let rows = rows.outbox.values().filter(|entry| !entry.is_erased());
        for row in rows.filter_map(|entry| entry.row.as_ref().ok()) {
            let content: Content = (
                row.destination.to_string(),
                row.kind.to_string(),
                row.ordering_key.as_ref().map(ToString::to_string),
                Digest::of(&row.body),
            );
            let id = row.command_id.to_string();
            let first = self.commands.entry(id.clone()).or_insert_with(|| content.clone());
            if *first != content {
                return Err(Broken::new("a command's id stands for one content", id));
            }
        }
        Ok(())
    }

    /// What must hold at rest: everything that came was decided, receipts too.
    pub(super) fn judge_end(&self, rows: &Rows, sent: &BTreeSet<InputId>) -> Result<(), Broken> {
        for at in sent {
            if !self.decided.contains_key(at) {
                let what = format!("{} of {}", at.1, at.0);
                return Err(Broken::new("each input is decided in the end", what));
            }
        }
        for (n, entry) in &rows.outbox {
            let Ok(row) = &entry.row else { continue };
            let (Some(stream), Some(seq), Some(idx)) = (&row.stream, row.seq, row.idx) else {
                continue;
            };
            let at = (stream.to_string(), receipt_input(seq, idx));
            let has_receipt = rows.receipts_of(*n).next().is_some();
            let is_heard = !has_receipt || self.decided.contains_key(&at);
            if rows.streams.contains_key(stream.as_str()) && !is_heard {
                let what = row.command_id.to_string();
                return Err(Broken::new("a workflow hears of each of its receipts", what));
            }
        }
        Ok(())
    }
}
