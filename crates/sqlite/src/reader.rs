//! Connections that only read, lent to one read at a time.
//!
//! Guarantees: a task is not blocked; each read is one snapshot. Does not: limit how many reads
//! run at once; it keeps a few connections open and closes the rest.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use counterfoil_core::port::store::StoreError;
use rusqlite::Connection;

use crate::connection::open_reader;
use crate::failure::store_error;
use crate::place::Place;
use crate::writer::keep_plans;

/// How many connections wait for the next read.
const KEPT_MAX: usize = 4;

/// The readers of one store.
#[derive(Clone)]
pub(crate) struct Readers {
    place: Place,
    kept: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    pub(crate) fn new(place: Place) -> Self {
        Self { place, kept: Arc::default() }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Reads in one snapshot, away from the tasks' threads.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = self.clone();
        let reading = tokio::task::spawn_blocking(move || readers.read_blocking(read));
        reading.await.unwrap_or_else(|error| Err(StoreError::Broken(format!("a read: {error}"))))
    }

    fn read_blocking<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.place.check()?;
        let connection = self.lend()?;
        let snapshot = |connection: &Connection| {
            connection.prepare_cached("BEGIN")?.execute([])?;
            let read = read(connection);
            connection.prepare_cached("ROLLBACK")?.execute([])?;
            read
        };
        // One that failed is not lent again.
        let read = snapshot(&connection).map_err(|error| store_error(&error))?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT_MAX {
            kept.push(connection);
        }
        Ok(read)
    }

    fn lend(&self) -> Result<Connection, StoreError> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.map_or_else(|| self.open(), Ok)
    }

    /// A connection of its own, for what is not our SQL.
    pub(crate) fn open(&self) -> Result<Connection, StoreError> {
        let opened = open_reader(self.place.path());
        let (reader, _) = opened.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        keep_plans(&reader).map_err(|error| store_error(&error))?;
        Ok(reader)
    }
}
