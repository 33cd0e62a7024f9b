//! What came since an audit: how far the store is complete, and the receipts and acts after a mark.
//!
//! Guarantees: SQLite has one writer at a time, and numbers rise with commits and are never given
//! twice; so whatever is at or below the newest of a snapshot stands in it. Does not: wait.

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::laws::ContradictionFacts;
use counterfoil_core::port::archive::ActionRow;
use counterfoil_core::port::read::Facts;
use counterfoil_core::port::seal::{Arrived, Horizon};
use rusqlite::{Connection, params};

use crate::entry;
use crate::facts;
use crate::row::{count, int, lossy};
use crate::sql::Sql;

/// How far the clocks of those who write events may lie apart, in microseconds: an hour.
const CLOCKS_APART: i64 = 3_600_000_000;

/// How far the store is complete.
pub(crate) fn horizon(store: &Connection, now: Micros) -> rusqlite::Result<Horizon> {
    let mut newest = store.prepare_cached(Sql::ArrivalNewest.text())?;
    newest.query_row([], |row| {
        Ok(Horizon {
            n: row.get(0)?,
            receipt: row.get(1)?,
            attempt: row.get(2)?,
            contradiction: row.get(3)?,
            action: row.get(4)?,
            event: Micros::new(now.get().saturating_sub(CLOCKS_APART)),
        })
    })
}

/// The facts of the commands whose receipts came after `after`, at most `limit`, in that order.
pub(crate) fn ended_since(
    store: &Connection,
    after: Arrived,
    limit: usize,
    now: Micros,
) -> rusqlite::Result<(Facts, Arrived)> {
    let limit = i64::try_from(limit.max(1)).unwrap_or(i64::MAX);
    let mut statement = store.prepare_cached(Sql::ReceiptSince.text())?;
    // One more than a page tells whether another follows.
    let rows = statement.query_map(params![after.arrival, limit.saturating_add(1)], |row| {
        let number = |at| Ok::<_, rusqlite::Error>(int(row, at)?.unwrap_or_default());
        Ok(Arrived { arrival: number(0)?, n: number(1)?, round: count(row, 2)? })
    })?;
    let mut arrived = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let last = i64::try_from(arrived.len()).is_ok_and(|len| len <= limit);
    arrived.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let numbers: Vec<i64> = arrived.iter().map(|arrived| arrived.n).collect();
    let commands = facts::of_numbers(store, &numbers)?;
    Ok((Facts { now, commands, last }, arrived.pop().unwrap_or(after)))
}

/// What people did after `after`, at most `limit`, in order.
pub(crate) fn actions(
    store: &Connection,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<ActionRow>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = store.prepare_cached(Sql::ActionAfter.text())?;
    statement.query_map([after, limit], entry::action)?.collect()
}

/// The number of each of these commands, 0 of an archived one.
pub(crate) fn numbers(store: &Connection, ids: &[String]) -> rusqlite::Result<Vec<Option<i64>>> {
    let mut statement = store.prepare_cached(Sql::Numbers.text())?;
    ids.iter().map(|id| statement.query_row([id], |row| row.get(0))).collect()
}

/// The reports that said otherwise after `after`, at most `limit`, each with its command's id.
pub(crate) fn contradictions(
    store: &Connection,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<(String, ContradictionFacts)>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = store.prepare_cached(Sql::ContradictionAfter.text())?;
    let rows = statement.query_map([after, limit], |row| {
        Ok((lossy(row, 7)?.unwrap_or_default(), facts::contradiction(row)?))
    })?;
    rows.collect()
}
