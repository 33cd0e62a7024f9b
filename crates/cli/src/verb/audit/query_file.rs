//! A receiver's own table in a SQLite file as its book: what a query answers.
//!
//! Guarantees: the query runs on a connection that cannot write, in pages, each in one snapshot;
//! nothing but a page is in memory. Does not: know when an effect took place, or of a refusal.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use counterfoil_core::audit::{BookEntry, InboxBook};
use counterfoil_core::domain::Micros;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::exit::Failure;

/// How long a reader waits for a file that another program holds.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many pages of keys are looked for at once: each look begins at the answer's first row.
pub(super) const PAGES: usize = 100;

/// The answer of a query, as a book.
pub(super) struct QueryFile {
    sql: String,
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
            let asks = statement.readonly() && statement.column_count() > 0;
            drop(statement);
            Ok((connection, asks))
        });
        match opened {
            Ok((connection, true)) => {
                let (sql, open) = (sql.to_owned(), Mutex::new((connection, 0)));
                Ok(Self { sql, open })
            }
            Ok((_, false)) => Err(refused(&shown, sql, &"it is no SELECT")),
            Err(error) => Err(refused(&shown, sql, &error)),
        }
    }

    /// Goes through the answer from its `skip`th row on, as long as `each` wants more.
    fn rows(
        connection: &Connection,
        sql: &str,
        skip: usize,
        mut each: impl FnMut(String) -> bool,
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut at = 0;
        while let Some(row) = rows.next()? {
            at += 1;
            if at <= skip {
                continue;
            }
            if !each(text(row.get_ref(0)?)) {
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

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into(),
    }
}

/// What took effect.
pub(super) fn effect(key: String) -> BookEntry {
    BookEntry { key, outcome: None, received_at: Micros::default() }
}

impl InboxBook for QueryFile {
    type Error = rusqlite::Error;

    async fn has(&self, keys: &[String]) -> Result<Vec<Option<BookEntry>>, rusqlite::Error> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
        if !wanted.is_empty() {
            Self::rows(&open.0, &self.sql, 0, |key| {
                wanted.remove(key.as_str());
                !wanted.is_empty()
            })?;
        }
        let found = |key: &String| (!wanted.contains(key.as_str())).then(|| effect(key.clone()));
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
        Self::rows(&open.0, &self.sql, told, |key| {
            told += 1;
            // A key that ends a page may come again.
            if Some(key.as_str()) != after {
                entries.push(effect(key));
            }
            entries.len() < limit
        })?;
        open.1 = told;
        Ok(entries)
    }
}
