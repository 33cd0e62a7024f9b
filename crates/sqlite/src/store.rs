//! The store of commands in a SQLite file.
//!
//! Guarantees: what the `Store` port asks; writers of this process share transactions, and no
//! task is blocked. Does not: keep anything in memory that a crash could lose.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use counterfoil_core::domain::laws::{EventFacts, Totals};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Command, CommandId, Contract, Destination, EventRow, Micros, Stream,
};
use counterfoil_core::port::read::{Facts, FactsFrom, Filter, Listed, Status, Story};
use counterfoil_core::port::store::{
    Append, Appended, Declared, Exchange, Exchanged, Recorded, Remaining, Reported, StoreError,
    Swept, WriteRefused,
};
use counterfoil_core::port::{Clock, Store, SystemClock};
use rusqlite::Connection;

use crate::append::Decision;
use crate::clock::StoreTime;
use crate::commit_queue::CommitQueue;
use crate::connection::{OpenError, init, open_own};
use crate::destination::{self, Declare};
use crate::enqueue::Enqueue;
use crate::exchange::Exchanging;
use crate::options::Options;
use crate::pause::Pause;
use crate::place::Place;
use crate::read;
use crate::reader::Readers;
use crate::report::Reporting;
use crate::restored::Restored;
use crate::schema::Schema;
use crate::sql::Sql;
use crate::sweep::Sweep;
use crate::wake::Wake;
use crate::watch::Watch;

/// A store in a SQLite file; clones share its connections.
///
/// A clone remembers for itself which commits [`Store::changed`] has told it of: give each relay
/// its own.
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
        let watch = OnceLock::new();
        let inner = Inner { source, options, time, wake, readers, queue, watch };
        Ok(Self { seen: AtomicU64::new(inner.wake.generation()), inner: Arc::new(inner) })
    }

    /// Records bare commands from a plain thread: [`Store::enqueue`] without a task. With nothing
    /// else to write it commits on this thread.
    ///
    /// # Errors
    /// As [`Store::enqueue`].
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
    pub fn append_blocking(
        &self,
        append: Append,
    ) -> Result<Result<Appended, WriteRefused>, StoreError> {
        match self.deciding(append) {
            Ok(decision) => self.inner.queue.commit_blocking(decision),
            Err(refused) => Ok(Err(refused)),
        }
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

impl Store for SqliteStore {
    fn source(&self) -> Arc<str> {
        Arc::clone(&self.inner.source)
    }

    fn now(&self) -> Result<Micros, StoreError> {
        Ok(self.inner.time.now()?)
    }

    async fn enqueue(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Result<Recorded, WriteRefused>>, StoreError> {
        self.inner.queue.commit(self.enqueueing(commands)).await
    }

    async fn append(&self, append: Append) -> Result<Result<Appended, WriteRefused>, StoreError> {
        match self.deciding(append) {
            Ok(decision) => self.inner.queue.commit(decision).await,
            Err(refused) => Ok(Err(refused)),
        }
    }

    async fn load(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let stream = stream.clone();
        self.read(move |store, _| read::event::load(store, &stream, after, limit)).await
    }

    async fn declare(
        &self,
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> Result<Declared, StoreError> {
        self.inner.queue.commit(Declare::new(destination, contract, replace)?).await
    }

    async fn exchange(&self, exchange: Exchange) -> Result<Exchanged, StoreError> {
        let mut done = Exchanged::default();
        for part in Exchanging::parts(exchange, self.inner.options.body_bytes_max) {
            let written = match self.inner.queue.commit(part).await {
                Ok(written) => written.finish(),
                Err(error) if done.settled.is_empty() => return Err(error),
                // Parts before this one stand.
                Err(error) => return Err(StoreError::NotKnown(error.to_string())),
            };
            let settled = std::mem::take(&mut done.settled);
            done = written;
            done.settled.splice(0..0, settled);
        }
        Ok(done)
    }

    async fn next_due(&self, destinations: &[Destination]) -> Result<Option<Micros>, StoreError> {
        let destinations = destinations.to_vec();
        self.read(move |store, _| read::due::next_due(store, &destinations)).await
    }

    async fn changed(&self, at_most: Duration) {
        let Inner { wake, readers, watch, .. } = &*self.inner;
        watch.get_or_init(|| Watch::start(readers.path(), wake).ok());
        wake.changed(self.seen.load(Ordering::Acquire), at_most).await;
        // What is committed from here on ends the next wait.
        self.seen.store(wake.generation(), Ordering::Release);
    }

    async fn remaining(&self, destinations: &[Destination]) -> Result<Remaining, StoreError> {
        let destinations = destinations.to_vec();
        self.read(move |store, now| read::due::remaining(store, &destinations, now)).await
    }

    async fn report(&self, command_id: &CommandId, report: Report) -> Result<Reported, StoreError> {
        self.inner.queue.commit(Reporting { command_id: command_id.clone(), report }).await
    }

    async fn sweep(&self, limit: usize) -> Result<Swept, StoreError> {
        self.inner.queue.commit(Sweep { limit }).await
    }

    async fn newest_completed(
        &self,
        destination: &Destination,
        except: &CommandId,
    ) -> Result<Option<CommandId>, StoreError> {
        let (destination, except) = (destination.clone(), except.clone());
        self.read(move |store, _| read::control::newest_completed(store, &destination, &except))
            .await
    }

    async fn pause(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let (actor, reason) = (actor.to_owned(), reason.to_owned());
        self.inner.queue.commit(Pause { destination: destination.clone(), actor, reason }).await
    }

    async fn contracts(&self) -> Result<BTreeMap<String, Option<Contract>>, StoreError> {
        self.read(|store, _| destination::contracts(store)).await
    }

    async fn restored(&self, at: Micros, actor: &str) -> Result<u64, StoreError> {
        self.inner.queue.commit(Restored { at, actor: actor.to_owned() }).await
    }

    async fn status(&self) -> Result<Status, StoreError> {
        self.read(read::status::status).await
    }

    async fn list(&self, filter: Filter) -> Result<Vec<Listed>, StoreError> {
        self.read(move |store, _| read::list::list(store, &filter)).await
    }

    async fn show(&self, command_id: &str) -> Result<Option<Story>, StoreError> {
        let id = command_id.to_owned();
        self.read(move |store, _| read::show::show(store, &id)).await
    }

    async fn facts(&self, from: FactsFrom, limit: usize) -> Result<Facts, StoreError> {
        self.read(move |store, now| crate::facts::facts(store, from, limit, now)).await
    }

    async fn event_facts(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventFacts>, StoreError> {
        self.read(move |store, _| read::event::event_facts(store, after, limit)).await
    }

    async fn totals(&self) -> Result<Vec<Totals>, StoreError> {
        self.read(|store, _| read::status::totals(store)).await
    }

    async fn expected(
        &self,
        sql: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let (sql, readers) = (sql.to_owned(), self.inner.readers.clone());
        let reading = tokio::task::spawn_blocking(move || {
            read::expected::expected(&readers.open()?, &sql, offset, limit)
        });
        reading.await.unwrap_or_else(|error| Err(StoreError::Broken(format!("a read: {error}"))))
    }

    async fn known(&self, ids: &[String]) -> Result<Vec<bool>, StoreError> {
        let ids = ids.to_vec();
        self.read(move |store, _| read::expected::known(store, &ids)).await
    }
}
