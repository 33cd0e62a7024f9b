//! A receiver's own table in a SQLite file as its book: what a query answers.
//!
//! Guarantees: the query runs on a connection that cannot write, in pages, each in one snapshot;
//! nothing but a page is in memory, and repeats are counted by SQLite. Does not: know when an
//! effect took place, or of a refusal.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use counterfoil_core::audit::{BookEntry, InboxBook, Repeated};
use counterfoil_core::domain::Micros;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::exit::Failure;

/// How long a reader waits for a file that another program holds.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many pages of keys are looked for at once: each look begins at the answer's first row.
pub(super) const PAGES: usize = 100;

/// What is said of a query that waits for a value.
pub(super) const PARAMETER: &str = "it has a parameter, and nothing is given for it";

/// The answer of a query, as a book.
pub(super) struct QueryFile {
    sql: String,
    /// Which ids are answered more than once.
    repeats: String,
    // A connection may not be shared between threads. Beside it: how many rows were told.
    open: Mutex<(Connection, usize)>,
}

impl QueryFile {
    /// Opens the file for reading, and looks whether the query is one.
    ///
    /// # Errors
    /// There is no such file, or the query cannot be asked there.
    pub(super) fn open(path: &Path, sql: &str) -> Result<Self, Failure> {
        let shown = path.display();
        if !path.exists() {
            let text = format!("--inbox {shown}: there is no such file");
            return Err(Failure::could_not_run(text).help("name the receiver's own store"));
        }
        let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, read_only).and_then(|connection| {
            connection.busy_timeout(PATIENCE)?;
            let statement = connection.prepare(sql)?;
            let columns = if statement.readonly() { statement.column_count() } else { 0 };
            let why = match (columns, statement.parameter_count()) {
                (0, _) => Some("it is no SELECT"),
                (_, 0) => None,
                _ => Some(PARAMETER),
            };
            drop(statement);
            let repeats = repeats(sql, columns);
            if why.is_none() {
                connection.prepare(&repeats)?;
            }
            Ok((connection, repeats, why))
        });
        match opened {
            Ok((connection, repeats, None)) => {
                let (sql, open) = (sql.to_owned(), Mutex::new((connection, 0)));
                Ok(Self { sql, repeats, open })
            }
            Ok((_, _, Some(why))) => Err(refused(&shown, sql, &why)),
            Err(error) => Err(refused(&shown, sql, &error)),
        }
    }

    /// Goes through the answer from behind its `skip`th row on, as long as `each` wants more.
    fn rows(
        connection: &Connection,
        sql: &str,
        skip: usize,
        mut each: impl FnMut(BookEntry) -> bool,
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut at = 0;
        while let Some(row) = rows.next()? {
            at += 1;
            if at <= skip {
                continue;
            }
            if !each(effect(text(row.get_ref(0)?), at)) {
                break;
            }
        }
        Ok(())
    }
}

/// Why a query cannot be asked.
pub(super) fn refused(
    store: &dyn std::fmt::Display,
    sql: &str,
    why: &dyn std::fmt::Display,
) -> Failure {
    Failure::could_not_run(format!("--inbox-query {sql:?} of {store}: {why}")).help(
        "write one SELECT over the receiver's own tables, whose first column is command ids that \
         took effect, with an ORDER BY over something that only grows",
    )
}

/// The query in lines of its own, so that a comment ends with it; its columns are named, whatever
/// they are called.
fn repeats(sql: &str, columns: usize) -> String {
    let sql = sql.trim_end().trim_end_matches(';');
    let others: String = (1..columns).map(|at| format!(", other{at}")).collect();
    format!(
        "WITH q(first{others}) AS (\n{sql}\n) \
         SELECT CAST(first AS TEXT), count(*), count(*) OVER () FROM q WHERE first IS NOT NULL \
         GROUP BY CAST(first AS TEXT) COLLATE BINARY HAVING count(*) > 1 \
         ORDER BY CAST(first AS TEXT) COLLATE BINARY LIMIT ?1"
    )
}

/// The bytes of a value; `None`: it is NULL.
fn text(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(number.to_string().into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

/// What took effect: the answer's row of this number, from 1.
pub(super) fn effect(key: Option<Vec<u8>>, row: usize) -> BookEntry {
    let (outcome, received_at) = (None, Micros::default());
    let (key, place) = match key.map(String::from_utf8) {
        Some(Ok(key)) if key.is_empty() => (key, Some(format!("row {row} of the answer, empty"))),
        Some(Ok(key)) => (key, None),
        Some(Err(bytes)) => {
            let key = String::from_utf8_lossy(bytes.as_bytes()).into_owned();
            (key, Some(format!("row {row} of the answer, no UTF-8")))
        }
        None => ("NULL".to_owned(), Some(format!("row {row} of the answer"))),
    };
    BookEntry { key, outcome, received_at, place }
}

impl InboxBook for QueryFile {
    type Error = rusqlite::Error;

    async fn has(&self, keys: &[String]) -> Result<Vec<Option<BookEntry>>, rusqlite::Error> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
        if !wanted.is_empty() {
            Self::rows(&open.0, &self.sql, 0, |entry| {
                if entry.place.is_none() {
                    wanted.remove(entry.key.as_str());
                }
                !wanted.is_empty()
            })?;
        }
        let stands = |key: &String| !wanted.contains(key.as_str());
        let found = |key: &String| stands(key).then(|| effect(Some(key.clone().into_bytes()), 0));
        Ok(keys.iter().map(found).collect())
    }

    fn at_once(&self, page: usize) -> usize {
        page.saturating_mul(PAGES)
    }

    /// The answer has no key to go on after, so it is counted how many rows were told.
    async fn page(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<BookEntry>, rusqlite::Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told = if after.is_none() { 0 } else { open.1 };
        let mut entries = Vec::new();
        Self::rows(&open.0, &self.sql, told, |entry| {
            told += 1;
            // A key that ends a page may come again; `repeated` tells it.
            if entry.place.is_some() || Some(entry.key.as_str()) != after {
                entries.push(entry);
            }
            entries.len() < limit
        })?;
        open.1 = told;
        Ok(entries)
    }

    async fn repeated(&self, limit: usize) -> Result<Repeated, rusqlite::Error> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = open.0.prepare_cached(&self.repeats)?;
        let mut rows = statement.query([i64::try_from(limit).unwrap_or(i64::MAX)])?;
        let mut repeated = Repeated::default();
        while let Some(row) = rows.next()? {
            let key = effect(text(row.get_ref(0)?), 0).key;
            let (times, found): (i64, i64) = (row.get(1)?, row.get(2)?);
            repeated.first.push((key, times.unsigned_abs()));
            repeated.found = found.unsigned_abs();
        }
        Ok(repeated)
    }
}
