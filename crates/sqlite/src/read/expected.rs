//! The answers of the user's own query, and which ids the store knows.
//!
//! Guarantees: the query runs on a connection of its own that cannot write, and a statement that
//! would is refused before it runs. Does not: judge the answers; the audit does.

use counterfoil_core::port::store::StoreError;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::sql::Sql;

/// The first column as text, at most `limit` rows after skipping `offset`.
pub(crate) fn expected(
    reader: &Connection,
    sql: &str,
    offset: u64,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let broken = |error: rusqlite::Error| StoreError::Broken(format!("the query {sql:?}: {error}"));
    let mut statement = reader.prepare(sql).map_err(broken)?;
    if !statement.readonly() || statement.column_count() == 0 {
        let why = "it is no SELECT; an expectation only reads";
        return Err(StoreError::Broken(format!("the query {sql:?}: {why}")));
    }
    let mut rows = statement.query([]).map_err(broken)?;
    let mut answers = Vec::new();
    let mut at = 0;
    while answers.len() < limit {
        let Some(row) = rows.next().map_err(broken)? else { break };
        if at >= offset {
            answers.push(text(row.get_ref(0).map_err(broken)?));
        }
        at += 1;
    }
    Ok(answers)
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into(),
    }
}

/// Which of these ids are in the outbox or archived.
pub(crate) fn known(store: &Connection, ids: &[String]) -> rusqlite::Result<Vec<bool>> {
    let mut statement = store.prepare_cached(Sql::Known.text())?;
    ids.iter().map(|id| statement.query_row([id], |row| row.get(0))).collect()
}
