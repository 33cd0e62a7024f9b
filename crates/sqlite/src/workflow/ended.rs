//! Finds what came to workflows that have ended, by a program that no runner may have any more.
//!
//! Guarantees: reads only; all that wait for a program are looked at in turn, a few at a time; what
//! was met is given to the next runner that looks, whatever its programs. Does not: write that it
//! is ignored; who takes one does, and what is lost on the way is met again.

use counterfoil_core::port::workflow::{DUE_BYTES, DueInput};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::due::read;
use super::keep::InputCursor;
use crate::row::{Stored, bytes, int, stored};
use crate::sql::Sql;

/// Looks at the next `limit` that wait for a program; how many of them came to a workflow that has
/// ended.
pub(super) fn meet(
    store: &Connection,
    cursor: &InputCursor,
    limit: usize,
) -> rusqlite::Result<usize> {
    let (mut program, mut arrival) = cursor.served_to();
    let (mut left, mut met) = (limit, Vec::new());
    let mut served = store.prepare_cached(Sql::InputServed.text())?;
    let mut next = store.prepare_cached(Sql::InputProgram.text())?;
    while left > 0 {
        let most = i64::try_from(left).unwrap_or(i64::MAX);
        let mut rows = served.query(params![Stored(&program), arrival, most])?;
        let mut found = 0;
        while let Some(row) = rows.next()? {
            (arrival, found) = (int(row, 0)?.unwrap_or(0), found + 1);
            if row.get(1)? {
                met.push(arrival);
            }
        }
        if found >= left {
            break;
        }
        // One more for the look at the next program.
        left = left.saturating_sub(found + 1);
        let after = next.query_row([Stored(&program)], |row| stored(row, 0))?;
        (program, arrival) = (after.unwrap_or_default(), 0);
        if program.is_empty() {
            break;
        }
    }
    let count = met.len();
    cursor.met((program, arrival), met);
    Ok(count)
}

/// What was met and is for none of these programs, `limit` at most.
pub(super) fn due(
    store: &Connection,
    keys: &[String],
    cursor: &InputCursor,
    limit: usize,
) -> rusqlite::Result<Vec<DueInput>> {
    let (mut due, mut held) = (Vec::new(), 0);
    while due.len() < limit
        && held <= DUE_BYTES
        && let Some(rowid) = cursor.next_ended()
    {
        let mut one = store.prepare_cached(Sql::InputOfEnded.text())?;
        let found = one.query_row([rowid], |row| {
            let program = bytes(row, 11)?.unwrap_or_default();
            let is_others = keys.iter().all(|key| key.as_bytes() != program);
            Ok(if is_others { Some(read(store, row)?) } else { None })
        });
        match found.optional()?.flatten() {
            Some(Some(placed)) => {
                held += placed.input.body.len();
                due.push(placed.input);
            }
            Some(None) => cursor.note(rowid),
            None => {}
        }
    }
    Ok(due)
}
