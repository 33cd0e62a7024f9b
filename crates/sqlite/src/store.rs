//! The store of commands in a SQLite file.
//!
//! Guarantees: what the `Store` port asks; writers of this process share transactions, and no
//! task is blocked. Does not: keep anything in memory that a crash could lose.

mod bodies;
mod books;
mod flows;
mod port;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use counterfoil_core::domain::{Command, Micros};
use counterfoil_core::port::store::{Append, Appended, Recorded, StoreError, WriteRefused};
use counterfoil_core::port::{Clock, SystemClock};
use rusqlite::Connection;

use crate::append::Decision;
use crate::clock::StoreTime;
use crate::commit_queue::CommitQueue;
use crate::connection::{init, open_own};
use crate::enqueue::Enqueue;
use crate::lane::LaneCursor;
use crate::open_error::OpenError;
use crate::options::Options;
use crate::place::Place;
use crate::reader::Readers;
use crate::schema::Schema;
use crate::sql::Sql;
use crate::wake::Wake;
use crate::watch::Watch;
use crate::workflow::keep::InputCursor;

/// A store in a SQLite file; clones share its connections.
///
/// A clone remembers for itself which commits [`Store::changed`] has told it of: give each relay
/// its own.
///
/// [`Store::changed`]: counterfoil_core::port::Store::changed
pub struct SqliteStore {
    inner: Arc<Inner>,
    seen: AtomicU64,
}

struct Inner {
    source: Arc<str>,
    options: Options,
    time: Arc<StoreTime>,
    wake: Arc<Wake>,
    readers: Readers,
    queue: CommitQueue,
    /// Set at the first wait; `None` where other processes' commits cannot be heard of.
    watch: OnceLock<Option<Watch>>,
    /// Where sweeps are among the lanes.
    lanes: Arc<LaneCursor>,
    /// Where the upkeep is among the inputs of workflows.
    inputs: Arc<InputCursor>,
}

impl SqliteStore {
    /// Opens an existing store. Blocks while it opens the file.
    ///
    /// # Errors
    /// [`OpenError`]: no such file, no schema of this version, not writable, not durable.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        Self::open_with_clock(path, options, Arc::new(SystemClock))
    }

    /// Opens an existing store that tells the time by `clock`; for tests.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn open_with_clock(
        path: impl AsRef<Path>,
        options: Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let path = path.as_ref();
        Self::start(path, open_own(path)?, options, clock)
    }

    /// Creates the store, or upgrades it, and opens it. Blocks.
    ///
    /// `source` names it to receivers for ever; `None` takes a URN with its random id.
    ///
    /// # Errors
    /// [`OpenError`]; a file that is refused is not changed.
    pub fn init(path: impl AsRef<Path>, source: Option<&str>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        Self::start(path, init(path, source)?, Options::default(), Arc::new(SystemClock))
    }

    fn start(
        path: &Path,
        (connection, schema): (Connection, Schema),
        options: Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        // A path of its own, since the working directory may change under a reopened connection.
        let path: PathBuf = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let failed = |source| OpenError::Sqlite { path: path.clone(), source };
        let saved = connection.query_row(Sql::ClockSaved.text(), [], |row| row.get(0));
        let time = Arc::new(StoreTime::start(clock, Micros::new(saved.map_err(failed)?)));
        let wake = Arc::new(Wake::default());
        let (own_time, own_wake) = (Arc::clone(&time), Arc::clone(&wake));
        let gap = options.relay_gap;
        let place = Place::new(path.clone());
        let queue = CommitQueue::start(place.clone(), connection, own_time, own_wake, gap)
            .map_err(|_| OpenError::CannotOpen { path })?;
        let readers = Readers::new(place);
        let source = schema.source.into();
        let (watch, lanes, inputs) = (OnceLock::new(), Arc::default(), Arc::default());
        let inner = Inner { source, options, time, wake, readers, queue, watch, lanes, inputs };
        Ok(Self { seen: AtomicU64::new(inner.wake.generation()), inner: Arc::new(inner) })
    }

    /// Records bare commands from a plain thread: [`Store::enqueue`] without a task. With nothing
    /// else to write it commits on this thread.
    ///
    /// # Errors
    /// As [`Store::enqueue`].
    ///
    /// [`Store::enqueue`]: counterfoil_core::port::Store::enqueue
    pub fn enqueue_blocking(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Result<Recorded, WriteRefused>>, StoreError> {
        self.inner.queue.commit_blocking(self.enqueueing(commands))
    }

    /// Records a decision from a plain thread: [`Store::append`] without a task. With nothing
    /// else to write it commits on this thread.
    ///
    /// # Errors
    /// As [`Store::append`].
    ///
    /// [`Store::append`]: counterfoil_core::port::Store::append
    pub fn append_blocking(
        &self,
        append: Append,
    ) -> Result<Result<Appended, WriteRefused>, StoreError> {
        match self.deciding(append) {
            Ok(decision) => self.inner.queue.commit_blocking(decision),
            Err(refused) => Ok(Err(refused)),
        }
    }

    /// Listens for other processes' commits from now on, where the system tells of them.
    fn listen(&self) {
        let Inner { wake, readers, watch, queue, .. } = &*self.inner;
        watch.get_or_init(|| Watch::start(readers.path(), wake, queue.ear()).ok());
    }

    fn enqueueing(&self, commands: Vec<Command>) -> Enqueue {
        Enqueue { commands, body_bytes_max: self.inner.options.body_bytes_max }
    }

    fn deciding(&self, append: Append) -> Result<Decision, WriteRefused> {
        Decision::new(append, self.inner.options.body_bytes_max)
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection, Micros) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let time = Arc::clone(&self.inner.time);
        self.inner.readers.read(move |store| read(store, time.steady())).await
    }
}

impl Clone for SqliteStore {
    fn clone(&self) -> Self {
        let seen = AtomicU64::new(self.seen.load(Ordering::Relaxed));
        Self { inner: Arc::clone(&self.inner), seen }
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("source", &self.inner.source).finish_non_exhaustive()
    }
}
