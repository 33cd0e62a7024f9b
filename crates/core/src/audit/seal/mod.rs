//! The seal: what an audit that held leaves behind, so that a later one sees what was removed,
//! changed or added by hand since.
//!
//! Guarantees: it costs writers nothing, for only audits, archives and erasures write it; a row at
//! or below its horizon that is not as it was changes a sum. Does not: keep rows, so it tells the
//! table and a range, not the row; withstand somebody who writes rows *and* the seal.

mod row;
mod sums;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kinds::Kinds;
use crate::domain::laws::{CommandFacts, ContradictionFacts, ReceiptFacts};
use crate::domain::{Digest, EventRow, Micros};
use crate::port::archive::{ActionRow, Entry, Tombstone};
use crate::port::seal::Horizon;

pub use sums::{Differing, RANGES_MAX, Sum, Sums};

/// The form of a written seal that this version reads and writes.
pub const FORMAT: u32 = 2;

/// The form before, in which the body of an event counted itself and not by its digest; where no
/// event was sealed, it says the same.
const FORMAT_OF_BODIES: u32 = 1;

/// Tables that are only appended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// By `n`.
    Outbox,
    /// By `n`.
    Receipt,
    /// By `n`.
    Attempt,
    /// By time.
    Contradiction,
    /// By time.
    OperatorAction,
    /// By time.
    Event,
    /// In one range.
    Archived,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 7] = [
        Self::Outbox,
        Self::Receipt,
        Self::Attempt,
        Self::Contradiction,
        Self::OperatorAction,
        Self::Event,
        Self::Archived,
    ];

    /// Its name, without prefix or schema.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outbox => "outbox",
            Self::Receipt => "receipt",
            Self::Attempt => "attempt",
            Self::Contradiction => "contradiction",
            Self::OperatorAction => "operator_action",
            Self::Event => "event",
            Self::Archived => "archived",
        }
    }
}

/// The most ranges that a text names.
const TOLD_MAX: usize = 3;

/// In which way the rows of a table are not those that were sealed.
pub(super) fn tell(table: Table, (were, are): (i64, i64), differing: &[Differing]) -> String {
    let name = table.name();
    let rows = if were == are {
        format!("table {name}: {were} rows were sealed and as many stand, but not the same")
    } else {
        format!("table {name}: {were} rows were sealed, and {are} of their time stand")
    };
    let by = match table {
        Table::Outbox | Table::Receipt | Table::Attempt => "n",
        Table::Contradiction | Table::OperatorAction | Table::Event => "time in µs",
        Table::Archived => return rows,
    };
    let range = |it: &Differing| {
        let Differing { first, last, were, are } = it;
        format!("{by} {first} to {last} ({were} then, {are} now)")
    };
    let ranges: Vec<String> = differing.iter().take(TOLD_MAX).map(range).collect();
    let more = match differing.len().saturating_sub(TOLD_MAX) {
        0 => String::new(),
        more => format!(" and in {more} more ranges"),
    };
    format!("{rows}; they differ in {}{more}", ranges.join(", in "))
}

/// The sums of all tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tables(BTreeMap<Table, Sums>);

impl Tables {
    /// The sums of one table.
    #[must_use]
    pub fn of(&self, table: Table) -> Sums {
        self.0.get(&table).cloned().unwrap_or_default()
    }

    fn add(&mut self, table: Table, at: i64, row: &Digest) {
        self.0.entry(table).or_default().add(at, row);
    }

    fn remove(&mut self, table: Table, at: i64, row: &Digest) {
        self.0.entry(table).or_default().remove(at, row);
    }

    /// Both in one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (table, sums) in other.0 {
            let mine = self.0.remove(&table).unwrap_or_default();
            self.0.insert(table, mine.and(sums));
        }
        self
    }
}

/// How far rows count: those above `after` and at or below `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) after: Horizon,
    pub(super) to: Horizon,
}

impl Window {
    const fn has(at: i64, after: i64, to: i64) -> bool {
        after < at && at <= to
    }
}

/// Rows in the order of reading, into the sums of a window.
#[derive(Clone, Debug)]
pub(super) struct Summing {
    pub(super) window: Window,
    pub(super) sums: Tables,
}

impl Summing {
    pub(super) fn of(window: Window) -> Self {
        Self { window, sums: Tables::default() }
    }

    /// The outbox row of a command, if it has one; `row` is the digest of its columns.
    pub(super) fn outbox(&mut self, facts: &CommandFacts, row: Option<Digest>) {
        let Window { after, to } = self.window;
        if Window::has(facts.n, after.n, to.n)
            && let Some(row) = row::outbox_of(facts, row)
        {
            self.sums.add(Table::Outbox, facts.n, &row);
        }
    }

    /// The receipts of a command that `counts`.
    pub(super) fn receipts(
        &mut self,
        facts: &CommandFacts,
        counts: impl Fn(&ReceiptFacts) -> bool,
    ) {
        let Window { after, to } = self.window;
        for entry in facts.receipts.iter().filter(|entry| counts(entry)) {
            if Window::has(entry.arrival, after.receipt, to.receipt) {
                self.sums.add(Table::Receipt, facts.n, &row::receipt(entry));
            }
        }
    }

    pub(super) fn attempts(&mut self, facts: &CommandFacts) {
        let Window { after, to } = self.window;
        for entry in &facts.attempts {
            if Window::has(entry.arrival, after.attempt, to.attempt) {
                self.sums.add(Table::Attempt, facts.n, &row::attempt(facts.n, entry));
            }
        }
    }

    pub(super) fn contradiction(&mut self, command_id: &str, said: &ContradictionFacts) {
        let Window { after, to } = self.window;
        if Window::has(said.arrival, after.contradiction, to.contradiction) {
            let digest = row::contradiction(command_id, said);
            self.sums.add(Table::Contradiction, said.recorded_at.get(), &digest);
        }
    }

    pub(super) fn action(&mut self, act: &ActionRow) {
        let Window { after, to } = self.window;
        if Window::has(act.arrival, after.action, to.action) {
            self.sums.add(Table::OperatorAction, act.recorded_at.get(), &row::action(act));
        }
    }

    pub(super) fn event(&mut self, event: &EventRow) {
        let Window { after, to } = self.window;
        let at = event.recorded_at.get();
        if Window::has(at, after.event.get(), to.event.get()) {
            self.sums.add(Table::Event, at, &row::event(event));
        }
    }

    pub(super) fn tombstone(&mut self, tombstone: &Tombstone) {
        self.sums.add(Table::Archived, 0, &row::tombstone(tombstone));
    }
}

/// What an audit that held leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seal {
    /// The rows at or below it were summed.
    pub horizon: Horizon,
    /// A full audit held. Else the next one must be full: none has held yet, or the last one found
    /// a violation.
    pub is_whole: bool,
    /// When the newest full audit held.
    pub full_at: Option<Micros>,
    /// When the newest audit held, full or not. Unlike the time at which the seal was written, no
    /// archive moves it. `None`: an older version wrote the seal.
    pub held_at: Option<Micros>,
    /// The sums.
    pub sums: Tables,
    /// By destination: how many commands were recorded, archived ones included.
    pub recorded: BTreeMap<String, i64>,
    /// The ids of all of them, by kind.
    pub kinds: Kinds,
}

/// Why a seal cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealUnreadable {
    /// It is no seal.
    #[error("it is no seal: {0}")]
    NoSeal(String),
    /// Another version wrote it.
    #[error("it is of format {0}, and this version reads format {FORMAT}")]
    Format(u32),
}

#[derive(Serialize, Deserialize)]
struct Format {
    format: u32,
}

/// The written form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u32,
    n: i64,
    receipt: i64,
    attempt: i64,
    contradiction: i64,
    action: i64,
    event: i64,
    is_whole: bool,
    full_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held_at: Option<i64>,
    recorded: BTreeMap<String, i64>,
    kinds: Kinds,
    sums: Tables,
}

impl Seal {
    /// A seal as it was written.
    ///
    /// # Errors
    /// [`SealUnreadable`].
    pub fn read(text: &str) -> Result<Self, SealUnreadable> {
        let no_seal = |error: serde_json::Error| SealUnreadable::NoSeal(error.to_string());
        let Format { format } = serde_json::from_str(text).map_err(no_seal)?;
        if format != FORMAT && format != FORMAT_OF_BODIES {
            return Err(SealUnreadable::Format(format));
        }
        let written: Written = serde_json::from_str(text).map_err(no_seal)?;
        if format != FORMAT && written.sums.0.contains_key(&Table::Event) {
            return Err(SealUnreadable::Format(format));
        }
        if !written.sums.0.values().all(Sums::is_sound) {
            return Err(SealUnreadable::NoSeal("a range is wider than all numbers".into()));
        }
        let horizon = Horizon {
            n: written.n,
            receipt: written.receipt,
            attempt: written.attempt,
            contradiction: written.contradiction,
            action: written.action,
            event: Micros::new(written.event),
        };
        let Written { is_whole, full_at, held_at, recorded, kinds, sums, .. } = written;
        let (full_at, held_at) = (full_at.map(Micros::new), held_at.map(Micros::new));
        Ok(Self { horizon, is_whole, full_at, held_at, sums, recorded, kinds })
    }

    /// As it is written: JSON, with its format.
    #[must_use]
    pub fn write(&self) -> String {
        let Horizon { n, receipt, attempt, contradiction, action, event } = self.horizon;
        let written = Written {
            format: FORMAT,
            n,
            receipt,
            attempt,
            contradiction,
            action,
            event: event.get(),
            is_whole: self.is_whole,
            full_at: self.full_at.map(Micros::get),
            held_at: self.held_at.map(Micros::get),
            recorded: self.recorded.clone(),
            kinds: self.kinds.clone(),
            sums: self.sums.clone(),
        };
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// The seal once these commands are archived: their rows at or below the horizon are gone, and
    /// their tombstones stand. Their contradictions and the acts about them stay in the store.
    #[must_use]
    pub fn without(mut self, entries: &[Entry]) -> Self {
        entries.iter().for_each(|entry| self.bury(entry));
        self
    }

    /// The seal as it was before [`Seal::without`], for commands that were not archived after all.
    #[must_use]
    pub fn with(mut self, entries: &[Entry]) -> Self {
        for entry in entries {
            self.rows(entry, Tables::add);
            if let Some(tombstone) = row::tombstone_in(entry) {
                self.sums.remove(Table::Archived, 0, &tombstone);
            }
            self.uncount(entry);
        }
        self
    }

    /// The seal once an erasure has made `before` into `after`: rows at or below the horizon are
    /// replaced, contradictions and acts too.
    #[must_use]
    pub fn changed(mut self, before: &Entry, after: &Entry) -> Self {
        self.rows(before, Tables::remove);
        self.rows(after, Tables::add);
        let id = before.outbox.command_id.as_str();
        self.said(id, &before.contradictions, &after.contradictions)
            .acted(&before.actions, &after.actions)
    }

    /// The seal once the contradictions of a command, archived or not, are `after`.
    #[must_use]
    pub fn said(
        mut self,
        command_id: &str,
        before: &[ContradictionFacts],
        after: &[ContradictionFacts],
    ) -> Self {
        let to = self.horizon.contradiction;
        let digest = |said: &ContradictionFacts| row::contradiction(command_id, said);
        for said in before.iter().filter(|said| said.arrival <= to) {
            self.sums.remove(Table::Contradiction, said.recorded_at.get(), &digest(said));
        }
        for said in after.iter().filter(|said| said.arrival <= to) {
            self.sums.add(Table::Contradiction, said.recorded_at.get(), &digest(said));
        }
        self
    }

    /// The seal once acts of people are `after`.
    #[must_use]
    pub fn acted(mut self, before: &[ActionRow], after: &[ActionRow]) -> Self {
        let to = self.horizon.action;
        for act in before.iter().filter(|act| act.arrival <= to) {
            self.sums.remove(Table::OperatorAction, act.recorded_at.get(), &row::action(act));
        }
        for act in after.iter().filter(|act| act.arrival <= to) {
            self.sums.add(Table::OperatorAction, act.recorded_at.get(), &row::action(act));
        }
        self
    }

    fn bury(&mut self, entry: &Entry) {
        self.rows(entry, Tables::remove);
        if let Some(tombstone) = row::tombstone_in(entry) {
            self.sums.add(Table::Archived, 0, &tombstone);
        }
        // One above the horizon leaves the outbox before an audit has counted it.
        if entry.outbox.n > self.horizon.n {
            *self.recorded.entry(entry.outbox.destination.to_string()).or_default() += 1;
            self.kinds.add(entry.outbox.kind.as_str(), entry.outbox.command_id.as_str());
        }
    }

    fn uncount(&mut self, entry: &Entry) {
        if entry.outbox.n > self.horizon.n {
            *self.recorded.entry(entry.outbox.destination.to_string()).or_default() -= 1;
            self.kinds.remove(entry.outbox.kind.as_str(), entry.outbox.command_id.as_str());
        }
    }

    /// The rows of an entry that are at or below the horizon and that an archive removes.
    fn rows(&mut self, entry: &Entry, with: fn(&mut Tables, Table, i64, &Digest)) {
        let (n, to) = (entry.outbox.n, self.horizon);
        if n <= to.n {
            let digest = row::outbox_in(&entry.outbox, entry.erased_at.is_some());
            with(&mut self.sums, Table::Outbox, n, &digest);
        }
        for receipt in entry.receipts.iter().filter(|entry| entry.arrival <= to.receipt) {
            with(&mut self.sums, Table::Receipt, n, &row::receipt(receipt));
        }
        for attempt in entry.attempts.iter().filter(|entry| entry.arrival <= to.attempt) {
            with(&mut self.sums, Table::Attempt, n, &row::attempt(n, attempt));
        }
    }
}

#[cfg(test)]
mod tests;
