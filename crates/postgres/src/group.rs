//! One transaction of writes: its time, and what it counts.
//!
//! Guarantees: the time is the server's, told within this transaction; what is counted is written
//! once, before COMMIT. Does not: commit.

use std::collections::BTreeMap;

use counterfoil_core::domain::{Micros, ReceiptOutcome};

use crate::failure::Failure;
use crate::row;
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;

const CLOCK: Statement = statement!("clock");
const TALLY_ADD: Statement = statement!("tally_add");

/// What the writes of one transaction share.
pub(crate) struct Group<'a> {
    pub(crate) tx: &'a Tx<'a>,
    pub(crate) store: &'a Inner,
    /// The server's time.
    pub(crate) now: Micros,
    counts: BTreeMap<(String, &'static str), i64>,
}

impl<'a> Group<'a> {
    /// Begins with asking the server for its time.
    pub(crate) async fn begin(tx: &'a Tx<'a>, store: &'a Inner) -> Result<Self, Failure> {
        let row = tx.query_opt(CLOCK, &[]).await?;
        let now = row.and_then(|row| row::time(&row, 0)).unwrap_or_default();
        store.told(now);
        Ok(Self::at(tx, store, now))
    }

    /// With a time that a statement of this transaction told.
    pub(crate) fn at(tx: &'a Tx<'a>, store: &'a Inner, now: Micros) -> Self {
        Self { tx, store, now, counts: BTreeMap::new() }
    }

    /// One more command of the destination ended so.
    pub(crate) fn count(&mut self, destination: &str, outcome: ReceiptOutcome) {
        self.add(destination, outcome, 1);
    }

    /// So many more.
    pub(crate) fn add(&mut self, destination: &str, outcome: ReceiptOutcome, count: i64) {
        *self.counts.entry((destination.to_owned(), outcome.name())).or_default() += count;
    }

    /// One that had ended so is open again.
    pub(crate) fn uncount(&mut self, destination: &str, outcome: ReceiptOutcome) {
        self.add(destination, outcome, -1);
    }

    /// Writes what was counted.
    pub(crate) async fn flush(&mut self) -> Result<(), Failure> {
        let counts = std::mem::take(&mut self.counts);
        let counts: Vec<_> = counts.into_iter().filter(|(_, count)| *count != 0).collect();
        if counts.is_empty() {
            return Ok(());
        }
        let destinations: Vec<String> = counts.iter().map(|((name, _), _)| name.clone()).collect();
        let outcomes: Vec<&str> = counts.iter().map(|((_, outcome), _)| *outcome).collect();
        let numbers: Vec<i64> = counts.iter().map(|(_, count)| *count).collect();
        self.tx.execute(TALLY_ADD, &[&destinations, &outcomes, &numbers]).await
    }
}
