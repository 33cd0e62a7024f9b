//! One open write transaction and those who share it.
//!
//! Guarantees: what the members of a group count together is written once. Does not: begin or
//! commit; see `writer`.

use std::time::{Duration, Instant};

use counterfoil_core::domain::{Micros, ReceiptOutcome};
use rusqlite::{CachedStatement, Connection, params};

use crate::sql::{Held, Sql};

/// How long a relay's work may hold the lock that other processes wait for.
const RELAY_HOLD: Duration = Duration::from_millis(5);

/// One open write transaction.
pub(crate) struct Group<'c> {
    pub(crate) connection: &'c Connection,
    /// The store's time of everything in it.
    pub(crate) now: Micros,
    begun: Instant,
    held: Held<'c>,
    tally: Vec<(String, ReceiptOutcome, i64)>,
    clock_moves: bool,
    inputs: usize,
}

/// What a member has counted so far, to take it back.
pub(crate) struct Mark {
    tally: Vec<(String, ReceiptOutcome, i64)>,
    clock_moves: bool,
}

impl<'c> Group<'c> {
    pub(crate) fn new(connection: &'c Connection, now: Micros) -> Self {
        let held = Held::new(connection);
        let (begun, tally) = (Instant::now(), Vec::new());
        Self { connection, now, begun, held, tally, clock_moves: false, inputs: 0 }
    }

    /// The statement, prepared and held.
    pub(crate) fn sql(&mut self, sql: Sql) -> rusqlite::Result<&mut CachedStatement<'c>> {
        #[cfg(test)]
        crate::crash::point();
        self.held.get(sql)
    }

    /// Whether a relay has held the lock long enough.
    pub(crate) fn is_long(&self) -> bool {
        self.begun.elapsed() >= RELAY_HOLD
    }

    /// One command more has ended so.
    pub(crate) fn count(&mut self, destination: &str, outcome: ReceiptOutcome) {
        self.add(destination, outcome, 1);
    }

    /// Counts one ended command less: it is open again.
    pub(crate) fn uncount(&mut self, destination: &str, outcome: ReceiptOutcome) {
        self.add(destination, outcome, -1);
    }

    fn add(&mut self, destination: &str, outcome: ReceiptOutcome, more: i64) {
        let same = |entry: &&mut (String, ReceiptOutcome, i64)| {
            entry.1 == outcome && entry.0 == destination
        };
        match self.tally.iter_mut().find(same) {
            Some(entry) => entry.2 += more,
            None => self.tally.push((destination.to_owned(), outcome, more)),
        }
    }

    /// A workflow got an input.
    pub(crate) const fn gave_input(&mut self) {
        self.inputs += 1;
    }

    /// How many inputs workflows got.
    pub(crate) const fn inputs(&self) -> usize {
        self.inputs
    }

    /// A claim was made: the time is saved with it.
    pub(crate) const fn save_clock(&mut self) {
        self.clock_moves = true;
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { tally: self.tally.clone(), clock_moves: self.clock_moves }
    }

    pub(crate) fn back_to(&mut self, mark: Mark) {
        (self.tally, self.clock_moves) = (mark.tally, mark.clock_moves);
    }

    /// Writes what was counted so far.
    pub(crate) fn flush(&mut self) -> rusqlite::Result<()> {
        for (destination, outcome, count) in std::mem::take(&mut self.tally) {
            self.sql(Sql::TallyAdd)?.execute(params![destination, outcome.name(), count])?;
        }
        Ok(())
    }

    /// Writes what was counted.
    pub(crate) fn finish(mut self) -> rusqlite::Result<()> {
        self.flush()?;
        if self.clock_moves {
            let now = self.now.get();
            self.sql(Sql::ClockSave)?.execute([now])?;
        }
        Ok(())
    }
}
