//! The receiver's book as an audit reads it: the inbox of a SQLite file.
//!
//! Guarantees: reads only, and only the keys of one source. Does not: create or upgrade the file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use counterfoil_core::audit::{BookEntry, InboxBook};
use counterfoil_core::domain::contract::GIVE_UP_AFTER;
use counterfoil_core::domain::{Micros, ReceiptOutcome, Span};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::exit::Failure;

/// How long a reader waits for a file that another program holds.
const PATIENCE: Duration = Duration::from_secs(10);

/// The inbox of one file, for one source.
pub(super) struct InboxFile {
    path: PathBuf,
    source: String,
    // A connection may not be shared between threads.
    connection: Mutex<Connection>,
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
        Ok(Self { path, source, connection: Mutex::new(connection) })
    }

    /// From when on the receiver must still know a key: its shortest retention ago, less the time
    /// that a command may have been tried before it ended. `None`: it keeps its keys for ever.
    ///
    /// # Errors
    /// What SQLite says.
    pub(super) fn remembers_since(&self, now: Micros) -> Result<Option<Micros>, Failure> {
        let query = include_str!("sql/inbox_retention.sql");
        let read: rusqlite::Result<(i64, i64, Option<i64>)> = self.with(|connection| {
            let three = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            connection.query_row(query, [&self.source], three)
        });
        let (keys, for_ever, shortest) = read.map_err(|error| {
            let path = self.path.display();
            Failure::could_not_run(format!("--inbox {path}: SQLite says: {error}"))
        })?;
        Ok(since(now, keys, for_ever, shortest.map(Span::from_micros)))
    }

    fn with<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        work(&self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// From when on a book with so many keys, of which some are kept for ever, must know a key.
pub(super) fn since(
    now: Micros,
    keys: i64,
    for_ever: i64,
    shortest: Option<Span>,
) -> Option<Micros> {
    if keys > 0 && for_ever == keys {
        return None;
    }
    // An inbox without any key may have forgotten all that is older than usual.
    let retention = shortest.unwrap_or(counterfoil_inbox::RETENTION);
    let tried = GIVE_UP_AFTER.min(retention.times(1, 2));
    let back = retention.as_micros() - tried.as_micros();
    Some(Micros::new(now.get().saturating_sub(back)))
}

impl InboxBook for InboxFile {
    type Error = rusqlite::Error;

    async fn has(&self, keys: &[String]) -> Result<Vec<Option<BookEntry>>, rusqlite::Error> {
        self.with(|connection| {
            let mut query = connection.prepare_cached(include_str!("sql/inbox_key.sql"))?;
            let look = |key: &String| {
                let entry = query.query_row([&self.source, key], |row| {
                    Ok(entry(key.clone(), row.get(0)?, row.get(1)?))
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
        self.with(|connection| {
            let mut query = connection.prepare_cached(include_str!("sql/inbox_page.sql"))?;
            let after = params![self.source, after.unwrap_or_default(), limit];
            let rows =
                query.query_map(after, |row| Ok(entry(row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.collect()
        })
    }
}

/// A row of the book.
pub(super) fn entry(key: String, outcome: Option<String>, at: i64) -> BookEntry {
    let outcome = outcome.and_then(|name| ReceiptOutcome::from_name(&name));
    BookEntry { key, outcome, received_at: Micros::new(at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_held_to_its_shortest_retention() {
        let now = Micros::new(2_000_000_000_000_000);
        let hours = |hours: i64| Span::from_secs(hours * 3600);
        let ago = |since: Option<Micros>| since.map(|since| now.since(since));
        assert_eq!(since(now, 5, 5, None), None, "all are kept for ever");
        assert_eq!(ago(since(now, 5, 0, Some(hours(100)))), Some(hours(80)));
        assert_eq!(ago(since(now, 5, 1, Some(hours(10)))), Some(hours(5)));
        assert_eq!(ago(since(now, 0, 0, None)), Some(hours(7 * 24 - 20)));
    }
}
