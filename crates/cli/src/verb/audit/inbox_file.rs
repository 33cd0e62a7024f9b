//! The receiver's book as an audit reads it: the inbox of a SQLite file.
//!
//! Guarantees: reads only, and only the keys of one source; one that is no text is told with its
//! bytes, and the others after it. Does not: create or upgrade the file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use counterfoil_core::audit::{BookEntry, InboxBook};
use counterfoil_core::domain::{Micros, ReceiptOutcome};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::kept::Kept;
use crate::exit::Failure;

/// How long a reader waits for a file that another program holds.
const PATIENCE: Duration = Duration::from_secs(10);

/// The inbox of one file, for one source.
pub(super) struct InboxFile {
    path: PathBuf,
    source: String,
    // A connection may not be shared between threads. Beside it: the key that was told last.
    open: Mutex<(Connection, Vec<u8>)>,
}

impl InboxFile {
    /// Opens the file for reading.
    ///
    /// # Errors
    /// There is no such file, or it holds no inbox.
    pub(super) fn open(path: &Path, source: &str) -> Result<Self, Failure> {
        let shown = path.display();
        if !path.exists() {
            let text = format!("--inbox {shown}: there is no such file");
            return Err(Failure::could_not_run(text).help("name the receiver's own store"));
        }
        let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, read_only).and_then(|connection| {
            connection.busy_timeout(PATIENCE)?;
            connection.prepare(include_str!("sql/inbox_retention.sql"))?;
            Ok(connection)
        });
        let connection = opened.map_err(|error| {
            let text = format!("--inbox {shown}: no inbox can be read there: SQLite says: {error}");
            Failure::could_not_run(text).help("name the receiver's own store, sqlite:PATH")
        })?;
        let (path, source) = (path.to_owned(), source.to_owned());
        Ok(Self { path, source, open: Mutex::new((connection, Vec::new())) })
    }

    /// How long it keeps the keys of the source.
    ///
    /// # Errors
    /// What SQLite says.
    pub(super) fn kept(&self) -> Result<Kept, Failure> {
        let query = include_str!("sql/inbox_retention.sql");
        let read = self.with(|connection| {
            connection.query_row(query, [&self.source], |row| {
                Ok(Kept::new(row.get(0)?, row.get(1)?, row.get(2)?))
            })
        });
        read.map_err(|error| {
            let path = self.path.display();
            Failure::could_not_run(format!("--inbox {path}: SQLite says: {error}"))
        })
    }

    fn with<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        work(&self.open.lock().unwrap_or_else(PoisonError::into_inner).0)
    }
}

impl InboxBook for InboxFile {
    type Error = rusqlite::Error;

    async fn has(&self, keys: &[String]) -> Result<Vec<Option<BookEntry>>, rusqlite::Error> {
        self.with(|connection| {
            let mut query = connection.prepare_cached(include_str!("sql/inbox_key.sql"))?;
            let look = |key: &String| {
                let entry = query.query_row([&self.source, key], |row| {
                    Ok(entry(key.clone(), text(row.get_ref(0)?).as_deref(), row.get(1)?))
                });
                entry.optional()
            };
            keys.iter().map(look).collect()
        })
    }

    async fn page(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<BookEntry>, rusqlite::Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (connection, last) = &mut *open;
        if after.is_none() {
            last.clear();
        }
        // As it stands, not as it was told: of a key that is no text the two differ.
        let from = match String::from_utf8(last.clone()) {
            Ok(text) => Value::Text(text),
            Err(bytes) => Value::Blob(bytes.into_bytes()),
        };
        let mut query = connection.prepare_cached(include_str!("sql/inbox_page.sql"))?;
        let mut rows = query.query(params![self.source, from, limit])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            *last = bytes(row.get_ref(0)?).to_vec();
            let (outcome, at) = (text(row.get_ref(1)?), row.get(2)?);
            let (key, place) = match std::str::from_utf8(last) {
                Ok(key) => (key.to_owned(), None),
                Err(_) => (lossy(last), Some(format!("{}, which is no UTF-8", hexadecimal(last)))),
            };
            entries.push(BookEntry { place, ..entry(key, outcome.as_deref(), at) });
        }
        Ok(entries)
    }
}

/// The bytes of a text, as they stand.
fn bytes(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => &[],
    }
}

fn text(value: ValueRef<'_>) -> Option<String> {
    (value != ValueRef::Null).then(|| lossy(bytes(value)))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// As SQL has it, to look for: `WHERE CAST(key AS BLOB) = x'62FF'`.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("x'{digits}'")
}

/// A row of the book.
pub(super) fn entry(key: String, outcome: Option<&str>, at: i64) -> BookEntry {
    let outcome = outcome.and_then(ReceiptOutcome::from_name);
    BookEntry { key, outcome, received_at: Micros::new(at), place: None }
}
