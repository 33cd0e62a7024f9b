//! Commands by filter and cursor.
//!
//! Guarantees: in the order of recording; a filter by an open state walks open commands only.
//! Does not: list what is archived.

use counterfoil_core::domain::{Micros, State};
use counterfoil_core::port::read::{Filter, Listed};
use counterfoil_core::port::store::StoreError;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::row::{count, int, lossy, time};
use crate::sql::Sql;

/// How many a filter without a limit lists.
const LIMIT: usize = 100;

/// The commands that pass the filter.
pub(crate) fn list(
    store: &Connection,
    filter: &Filter,
) -> rusqlite::Result<Result<Vec<Listed>, StoreError>> {
    let after = match &filter.after {
        None => 0,
        Some(id) => match number(store, id)? {
            Some(n) => n,
            None => return Ok(Err(StoreError::NoCursor { id: id.clone() })),
        },
    };
    let state = filter.state.as_deref();
    let sql = match (state, state.and_then(State::from_name)) {
        (Some("parked"), _) => Sql::ListParked,
        (_, Some(state)) if state.is_parked() => Sql::ListParked,
        (_, Some(_)) => Sql::ListOpen,
        _ => Sql::ListAll,
    };
    let limit = if filter.limit == 0 { LIMIT } else { filter.limit };
    let mut statement = store.prepare_cached(sql.text())?;
    let rows = statement.query_map(
        params![
            after,
            filter.destination,
            filter.kind,
            filter.stream,
            filter.since.map(Micros::get),
            filter.until.map(Micros::get),
            state,
            filter.reason,
            i64::try_from(limit).unwrap_or(i64::MAX),
        ],
        listed,
    )?;
    rows.collect::<rusqlite::Result<_>>().map(Ok)
}

fn number(store: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    let mut number = store.prepare_cached(Sql::OutboxNumber.text())?;
    number.query_row([id], |row| row.get(0)).optional()
}

/// One line, in the columns of `list_all.sql`.
pub(crate) fn listed(row: &Row<'_>) -> rusqlite::Result<Listed> {
    let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
    let is_open = lossy(row, 5)?.is_some();
    let (state, round, attempts, token) = if is_open { (5, 6, 7, 10) } else { (12, 13, 14, 15) };
    Ok(Listed {
        command_id: text(1)?,
        destination: text(2)?,
        kind: text(3)?,
        // Neither delivery nor receipt: the audit says more.
        state: lossy(row, state)?.unwrap_or_else(|| "missing".into()),
        round: count(row, round)?,
        attempts: count(row, attempts)?,
        in_doubt: int(row, 8)?.unwrap_or(0) != 0,
        available_at: time(row, 9)?,
        token: int(row, token)?.unwrap_or(0),
        recorded_at: time(row, 4)?.unwrap_or_default(),
        last_outcome: lossy(row, 11)?,
        expires_at: time(row, 16)?,
        first_sent_at: time(row, 17)?,
        is_erased: row.get(18)?,
    })
}
