//! A store in memory, for tests: tables behind a mutex, and a clock passed in.
//!
//! Guarantees: it persists only what `transition` says; each method is one step that others see
//! whole or not at all; `changed` works under tokio's paused time. Does not: keep anything on a
//! disk, or answer SQL (tests say beforehand what `expected` finds).

mod act;
mod archive;
mod audited;
mod bodies;
mod by_hand;
mod exchange;
mod facts;
mod flow_facts;
mod flow_rows;
mod input;
mod intent;
mod lane;
mod port;
mod report;
pub mod rows;
mod step;
mod story;
mod upkeep;
mod workflow;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::command::BODY_BYTES_MAX;
use counterfoil_core::domain::store_clock::StoreClock;
use counterfoil_core::port::store::{Exchange, Exchanged, StoreError};
use counterfoil_core::port::{Clock, Patience, SystemClock};
use tokio::sync::watch;

use rows::Rows;

/// How an exchange fails, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `Unavailable`: nothing was written.
    Unavailable,
    /// `NotKnown`, and it did take effect.
    NotKnownApplied,
    /// `NotKnown`, and it did not take effect.
    NotKnownLost,
}

/// How a call of `steps` fails, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepsFault {
    /// As an exchange does.
    Fails(Fault),
    /// It never answers, and nothing was written: for whoever is stopped meanwhile.
    Hangs,
}

struct Shared {
    rows: Arc<Mutex<Rows>>,
    clock: Arc<dyn Clock>,
    store_clock: Mutex<StoreClock>,
    commits: watch::Sender<u64>,
    faults: Mutex<VecDeque<Fault>>,
    steps_faults: Mutex<VecDeque<StepsFault>>,
    body_bytes_max: usize,
    source: Arc<str>,
}

/// A store in memory. Clones share the same rows.
pub struct MemoryStore {
    shared: Arc<Shared>,
    /// The newest commit that `changed` of this clone has told of.
    told: AtomicU64,
    is_patient: bool,
}

impl Clone for MemoryStore {
    fn clone(&self) -> Self {
        let told = AtomicU64::new(self.told.load(Ordering::Acquire));
        Self { shared: Arc::clone(&self.shared), told, is_patient: self.is_patient }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(SystemClock)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryStore {
    /// An empty store that reads `clock`.
    #[must_use]
    pub fn new(clock: impl Clock) -> Self {
        Self::over(Arc::default(), clock)
    }

    /// The same rows as a process sees them that opens them now: with a clock and wake-ups of its
    /// own.
    #[must_use]
    pub fn reopen(&self, clock: impl Clock) -> Self {
        Self::over(Arc::clone(&self.shared.rows), clock)
    }

    fn over(rows: Arc<Mutex<Rows>>, clock: impl Clock) -> Self {
        let saved = locked(&rows).clock;
        let store_clock = StoreClock::start(clock.machine(), clock.boot(), saved);
        let shared = Shared {
            rows,
            clock: Arc::new(clock),
            store_clock: Mutex::new(store_clock),
            commits: watch::Sender::new(0),
            faults: Mutex::default(),
            steps_faults: Mutex::default(),
            body_bytes_max: BODY_BYTES_MAX,
            source: "urn:counterfoil:memory".into(),
        };
        Self { shared: Arc::new(shared), told: AtomicU64::new(0), is_patient: false }
    }

    /// The same store, in which claims may wait for something to be due.
    #[must_use]
    pub fn patient(self) -> Self {
        Self { is_patient: true, ..self }
    }

    /// The rows as they stand, for a test to look at or to spoil; counts as a commit.
    pub fn with_rows<T>(&self, touch: impl FnOnce(&mut Rows) -> T) -> T {
        let told = touch(&mut locked(&self.shared.rows));
        self.committed();
        told
    }

    /// The rows as they stand, to look at only; no commit.
    pub fn look<T>(&self, look: impl FnOnce(&Rows) -> T) -> T {
        look(&locked(&self.shared.rows))
    }

    /// Pauses a destination for `why`, or ends its pause, with no record of who did.
    pub fn set_paused(&self, destination: &str, why: Option<&str>) {
        self.with_rows(|rows| {
            let entry = rows.destinations.entry(destination.to_owned()).or_default();
            entry.paused = why.map(str::to_owned);
        });
    }

    /// Puts a row that no reader can decode, as foreign SQL would; its `n`.
    pub fn put_unreadable(&self, command_id: &[u8], destination: &str) -> i64 {
        let now = self.time().unwrap_or_default();
        self.with_rows(|rows| rows.put_unreadable(command_id, destination, now))
    }

    /// Says what `expected` finds for the query `sql`.
    pub fn expect(&self, sql: &str, ids: impl IntoIterator<Item = String>) {
        let ids = ids.into_iter().collect();
        self.with_rows(|rows| rows.expected.insert(sql.to_owned(), ids));
    }

    /// The next exchanges fail so, one after the other.
    pub fn fail_exchange(&self, fault: Fault) {
        locked(&self.shared.faults).push_back(fault);
    }

    /// The next calls of `steps` fail so, one after the other.
    pub fn fail_steps(&self, fault: StepsFault) {
        locked(&self.shared.steps_faults).push_back(fault);
    }

    /// How many commits there were; reads and refusals make none.
    #[must_use]
    pub fn commits(&self) -> u64 {
        *self.shared.commits.borrow()
    }

    fn committed(&self) {
        self.shared.commits.send_modify(|count| *count += 1);
    }

    fn time(&self) -> Result<Micros, StoreError> {
        let clock = &self.shared.clock;
        let (machine, boot) = (clock.machine(), clock.boot());
        Ok(locked(&self.shared.store_clock).observe(machine, boot)?)
    }

    /// One write: `write` says whether it changed anything.
    fn write<T>(
        &self,
        write: impl FnOnce(&mut Rows, Micros) -> (T, bool),
    ) -> Result<T, StoreError> {
        let now = self.time()?;
        let (told, changed) = {
            let mut rows = locked(&self.shared.rows);
            rows.clock = rows.clock.max(now);
            write(&mut rows, now)
        };
        if changed {
            self.committed();
        }
        Ok(told)
    }

    fn read<T>(&self, read: impl FnOnce(&Rows, Micros) -> T) -> Result<T, StoreError> {
        let now = self.time()?;
        Ok(read(&locked(&self.shared.rows), now))
    }

    fn exchanged(&self, exchange: &Exchange) -> Result<Exchanged, StoreError> {
        let fault = locked(&self.shared.faults).pop_front();
        let not_known = || StoreError::NotKnown("scripted".into());
        match fault {
            Some(Fault::Unavailable) => return Err(StoreError::Unavailable("scripted".into())),
            Some(Fault::NotKnownLost) => return Err(not_known()),
            Some(Fault::NotKnownApplied) | None => {}
        }
        let done = self.write(|rows, now| rows.exchange(exchange, now))?;
        if fault.is_some() { Err(not_known()) } else { Ok(done) }
    }

    async fn exchanged_when_due(
        &self,
        exchange: &Exchange,
        patience: &Patience,
    ) -> Result<Exchanged, StoreError> {
        let mut commits = self.shared.commits.subscribe();
        while !patience.has_ended() {
            commits.mark_unchanged();
            patience.claims();
            let done = self.exchanged(exchange)?;
            if !self.is_patient || done != Exchanged::default() {
                return Ok(done);
            }
            tokio::select! {
                biased;
                // The sender lives as long as the store.
                _ = commits.changed() => {}
                () = patience.ended() => {}
            }
        }
        Ok(Exchanged::default())
    }

    async fn wait_for_commit(&self, at_most: Duration) {
        let mut commits = self.shared.commits.subscribe();
        let told = self.told.load(Ordering::Acquire);
        let newer = tokio::time::timeout(at_most, commits.wait_for(|count| *count != told)).await;
        if let Ok(Ok(count)) = newer {
            self.told.store(*count, Ordering::Release);
        }
    }
}
