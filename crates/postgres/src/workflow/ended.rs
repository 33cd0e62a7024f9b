//! Finds what came to workflows that have ended, by a program that no runner may have any more.
//!
//! Guarantees: all that wait for a program are looked at in turn, a few at a time; what was met is
//! given to the next runner that looks, whatever its programs. Does not: write; who takes one
//! writes that it is ignored, and what is lost on the way is met again.

use counterfoil_core::port::workflow::DueInput;
use tokio_postgres::Row;

use super::due::read;
use super::keep::{InputCursor, Key};
use crate::failure::Failure;
use crate::row::{flag, int, string};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const PROGRAM: Statement = statement!("input_program");
const SERVED: Statement = statement!("input_served");
const OF_ENDED: Statement = statement!("input_of_ended");

/// Looks at the next `limit` that wait for a program; how many of them came to a workflow that has
/// ended.
pub(super) async fn meet(
    tx: &Tx<'_>,
    cursor: &InputCursor,
    limit: usize,
) -> Result<usize, Failure> {
    let (mut program, mut arrival) = cursor.served_to();
    let (mut left, mut met) = (limit, Vec::new());
    while left > 0 {
        let most = i64::try_from(left).unwrap_or(i64::MAX);
        let page = tx.query(SERVED, &[&program, &arrival, &most]).await?;
        met.extend(page.iter().filter(|row| flag(row, 3)).map(key));
        if page.len() >= left {
            arrival = page.last().and_then(|row| int(row, 2)).unwrap_or(0);
            break;
        }
        // One more for the look at the next program.
        left = left.saturating_sub(page.len() + 1);
        let next = tx.query_opt(PROGRAM, &[&program]).await?;
        (program, arrival) = (next.and_then(|row| string(&row, 0)).unwrap_or_default(), 0);
        if program.is_empty() {
            break;
        }
    }
    let count = met.len();
    cursor.met((program, arrival), met);
    Ok(count)
}

/// What was met and is for none of these programs, `limit` at most.
pub(super) async fn due(
    tx: &Tx<'_>,
    keys: &Vec<String>,
    cursor: &InputCursor,
    limit: usize,
) -> Result<Vec<DueInput>, Failure> {
    let met = cursor.ended();
    if met.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let (streams, ids): (Vec<String>, Vec<String>) = met.into_iter().unzip();
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(OF_ENDED, &[&streams, &ids, keys, &most]).await?;
    let given: Vec<Key> = rows.iter().map(key).collect();
    cursor.given(&given, rows.len() >= limit);
    let mut due = Vec::with_capacity(rows.len());
    for row in &rows {
        match read(row) {
            Some(input) => due.push(input),
            None => cursor.note(key(row), false),
        }
    }
    Ok(due)
}

fn key(row: &Row) -> Key {
    (string(row, 0).unwrap_or_default(), string(row, 1).unwrap_or_default())
}
