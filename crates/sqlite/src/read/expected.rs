//! The answers of the user's own query, and which ids the store knows.
//!
//! Guarantees: the query runs on a connection of its own that cannot write, and a statement that
//! would is refused before it runs. Does not: judge the answers; the audit does.

use std::borrow::Cow;
use std::collections::HashSet;

use counterfoil_core::port::store::StoreError;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};

use crate::sql::Sql;

/// The first column as text, at most `limit` rows after skipping `offset`.
pub(crate) fn expected(
    reader: &Connection,
    sql: &str,
    offset: u64,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let mut answers = Vec::new();
    let mut at = 0;
    each(reader, sql, |value| {
        if at >= offset && answers.len() < limit {
            answers.push(text(value).into_owned());
        }
        at += 1;
        answers.len() < limit
    })?;
    Ok(answers)
}

/// Which of these ids are in the first column, in one reading of the answer.
pub(crate) fn expected_has(
    reader: &Connection,
    sql: &str,
    ids: &[String],
) -> Result<Vec<bool>, StoreError> {
    let mut missing: HashSet<&str> = ids.iter().map(String::as_str).collect();
    each(reader, sql, |value| {
        missing.remove(&*text(value));
        !missing.is_empty()
    })?;
    Ok(ids.iter().map(|id| !missing.contains(id.as_str())).collect())
}

/// Goes through the first column, as long as `want` wants more.
fn each(
    reader: &Connection,
    sql: &str,
    mut want: impl FnMut(ValueRef<'_>) -> bool,
) -> Result<(), StoreError> {
    let broken = |error: rusqlite::Error| StoreError::Broken(format!("the query {sql:?}: {error}"));
    let mut statement = reader.prepare(sql).map_err(broken)?;
    if !is_select(&statement) {
        let why = "it is no SELECT; an expectation only reads";
        return Err(StoreError::Broken(format!("the query {sql:?}: {why}")));
    }
    let mut rows = statement.query([]).map_err(broken)?;
    while let Some(row) = rows.next().map_err(broken)? {
        if !want(row.get_ref(0).map_err(broken)?) {
            break;
        }
    }
    Ok(())
}

fn is_select(statement: &Statement<'_>) -> bool {
    statement.readonly() && statement.column_count() > 0
}

fn text(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Null => "".into(),
        ValueRef::Integer(number) => number.to_string().into(),
        ValueRef::Real(number) => number.to_string().into(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes),
    }
}

/// Which of these ids are in the outbox or archived.
pub(crate) fn known(store: &Connection, ids: &[String]) -> rusqlite::Result<Vec<bool>> {
    let mut statement = store.prepare_cached(Sql::Known.text())?;
    ids.iter().map(|id| statement.query_row([id], |row| row.get(0))).collect()
}
