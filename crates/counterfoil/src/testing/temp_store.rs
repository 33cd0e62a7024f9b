//! A store in a file of its own that is gone when the test ends.
//!
//! Guarantees: a real SQLite file, durable as in production, with a clock that the test may let
//! run ahead. Does not: live in memory, since a store's connections must share it.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterfoil_relay::Served;
use counterfoil_sqlite::{BUSY_TIMEOUT, Options, SqliteStore};
use counterfoil_testkit::VirtualClock;
use rusqlite::Connection;
use tempfile::TempDir;

use super::{DeliverAll, deliver_all_inline, must};

/// A store in a temporary file; dereferences to the [`SqliteStore`].
///
/// # Example
/// ```
/// use counterfoil::testing::TempStore;
///
/// let store = TempStore::new();
/// let orders = store.connect();
/// orders.execute_batch("CREATE TABLE orders(id TEXT PRIMARY KEY)").unwrap();
/// ```
#[derive(Debug)]
pub struct TempStore {
    // Before the folder: its connections end before the file is removed.
    store: SqliteStore,
    clock: VirtualClock,
    path: PathBuf,
    _folder: Option<TempDir>,
}

impl Default for TempStore {
    fn default() -> Self {
        Self::new()
    }
}

impl TempStore {
    /// A new and empty store with a clock of its own.
    ///
    /// # Panics
    /// The folder for temporary files cannot be written.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self::with_clock(&VirtualClock::new())
    }

    /// A new and empty store that tells the time by `clock`.
    ///
    /// # Panics
    /// As [`TempStore::new`].
    #[must_use]
    #[track_caller]
    pub fn with_clock(clock: &VirtualClock) -> Self {
        let folder = must(tempfile::tempdir(), "making a temporary folder");
        let path = folder.path().join("store.db");
        drop(must(SqliteStore::init(&path, None), "creating a store"));
        let store = open(&path, clock);
        Self { store, clock: clock.clone(), path, _folder: Some(folder) }
    }

    /// The file of another process's store, which is that one's to remove.
    #[track_caller]
    pub(super) fn of(path: &Path) -> Self {
        let clock = VirtualClock::new();
        Self { store: open(path, &clock), clock, path: path.into(), _folder: None }
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its clock.
    #[must_use]
    pub const fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    /// A connection of the user's own to the same file, as the code under test opens it.
    ///
    /// # Panics
    /// The file cannot be opened.
    #[must_use]
    #[track_caller]
    pub fn connect(&self) -> Connection {
        let connection = must(Connection::open(&self.path), "opening the store's file");
        must(connection.busy_timeout(BUSY_TIMEOUT), "setting a busy timeout");
        connection
    }

    /// Delivers everything that is due to these destinations, with the clock held; see
    /// [`deliver_all_inline`](super::deliver_all_inline).
    pub fn deliver_all_inline(&self, served: Vec<Served>) -> DeliverAll<SqliteStore> {
        deliver_all_inline(&self.store, served).holding(&self.clock)
    }

    /// The same store opened once more, as a process does that starts anew.
    ///
    /// # Panics
    /// The file cannot be opened.
    #[must_use]
    #[track_caller]
    pub fn reopen(&self) -> SqliteStore {
        open(&self.path, &self.clock)
    }
}

impl Deref for TempStore {
    type Target = SqliteStore;

    fn deref(&self) -> &SqliteStore {
        &self.store
    }
}

#[track_caller]
fn open(path: &Path, clock: &VirtualClock) -> SqliteStore {
    let clock = Arc::new(clock.clone());
    must(SqliteStore::open_with_clock(path, Options::default(), clock), "opening a store")
}
