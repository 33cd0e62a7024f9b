//! The one connection that writes.
//!
//! Guarantees: an answer, a refusal too, is given after COMMIT; a member that fails spoils no
//! other; after a COMMIT that failed the connection is opened again and each member looks itself
//! up; a panic inside a group answers its members. Does not: queue; see `commit_queue`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use counterfoil_core::domain::Micros;
use counterfoil_core::port::store::StoreError;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::clock::StoreTime;
use crate::connection::open_own;
use crate::failure::store_error;
use crate::member::Member;
use crate::patient::Patient;
use crate::place::Place;
use crate::transaction::{Ended, transact};

/// How long a foreign writer that was seen once is spared: longer than its busy handler sleeps,
/// since one that waits commits nothing that could be seen.
const FOREIGN_SEEN_FOR: Duration = Duration::from_secs(5);

/// How often it is looked whether the file still stands under its name.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The one connection that writes.
pub(crate) struct Writer {
    place: Place,
    connection: Option<Connection>,
    time: Arc<StoreTime>,
    data_version: Option<i64>,
    foreign_until: Option<Instant>,
    has_seen_foreign: bool,
    held_lock_for: Duration,
    look_at: Instant,
}

impl Writer {
    pub(crate) fn new(place: Place, connection: Connection, time: Arc<StoreTime>) -> Self {
        let connection = wait_politely(connection);
        let version = connection.as_ref().and_then(|connection| data_version(connection).ok());
        Self {
            place,
            connection,
            time,
            data_version: version,
            foreign_until: None,
            has_seen_foreign: false,
            held_lock_for: Duration::ZERO,
            look_at: Instant::now(),
        }
    }

    /// Commits the members together and leaves each with its answer; whether any wakes a relay.
    /// Those who wait for what they do join them.
    pub(crate) fn commit(
        &mut self,
        members: &mut [Box<dyn Member>],
        patient: &mut Patient,
    ) -> bool {
        let done = catch_unwind(AssertUnwindSafe(|| self.commit_all(members, patient)));
        if done.is_err() {
            // Nothing of an open transaction stands once its connection is gone.
            self.place.closing();
            self.connection = None;
            let why = "the writer panicked; nothing was written";
            for member in members.iter_mut() {
                member.fail(StoreError::Broken(why.into()));
            }
            patient.leave();
        }
        members.iter().any(|member| member.wakes()) || patient.wakes()
    }

    /// Whether a commit of another connection was seen beside a relay's work since this was asked:
    /// nobody was told of it.
    pub(crate) const fn has_seen_foreign(&mut self) -> bool {
        std::mem::replace(&mut self.has_seen_foreign, false)
    }

    /// How long the last transaction took, if another connection has written of late: as long
    /// the lock must be free, since a foreign writer only looks for it now and then.
    pub(crate) fn owes_foreign_writers(&self) -> Option<Duration> {
        let until = self.foreign_until?;
        (Instant::now() < until).then_some(self.held_lock_for)
    }

    fn commit_all(&mut self, members: &mut [Box<dyn Member>], patient: &mut Patient) {
        if let Err(error) = self.reopen(members.iter().any(|member| member.is_relay())) {
            return members.iter_mut().for_each(|member| member.fail(error.clone()));
        }
        if members.iter().any(|member| member.is_relay()) {
            self.has_seen_foreign |= self.sees_foreign();
        }
        let Some(connection) = self.connection.take() else { return };
        let mut open: Vec<&mut Box<dyn Member>> = members.iter_mut().collect();
        self.stop_relays_after_a_jump(&mut open);
        peek_all(&connection, self.time.steady(), &mut open);
        if open.is_empty() {
            self.connection = Some(connection);
            return;
        }
        let begun = Instant::now();
        // A jump of the clock stops them, too; asked by themselves they hear of it.
        let mut nobody = Patient::default();
        let may_join = patient.is_empty() || self.time.now().is_ok();
        let joining = if may_join { &mut *patient } else { &mut nobody };
        let ended = transact(&connection, &self.time, &mut open, joining);
        self.held_lock_for = begun.elapsed();
        match ended {
            Ended::Committed => self.connection = Some(connection),
            Ended::RolledBack(error) => {
                fail_all(&mut open, &error);
                self.connection = Some(connection);
            }
            Ended::NotKnown(error) => {
                self.place.closing();
                drop(connection);
                let why = format!("COMMIT failed: {error}");
                // Where it does not open now, the next commit tries again.
                let _ = self.reopen(false);
                for member in open {
                    member.look_up(self.connection.as_ref(), &why);
                }
                patient.look_up(self.connection.as_ref(), &why);
            }
        }
    }

    /// Opens the connection where it was closed; refuses where its file no longer stands, which
    /// is looked at before it is opened and before a relay writes, else now and then: a look costs
    /// two system calls, which a lone committer would feel.
    fn reopen(&mut self, for_relay: bool) -> Result<(), StoreError> {
        let now = Instant::now();
        if for_relay || self.connection.is_none() || now >= self.look_at {
            self.place.check()?;
            self.look_at = now + LOOK_EVERY;
        }
        if self.connection.is_none() {
            let opened = open_own(self.place.path());
            let (connection, _) = opened.map_err(|e| StoreError::Unavailable(e.to_string()))?;
            self.connection = wait_politely(connection);
            // Versions of two connections say nothing of each other.
            self.data_version = None;
            self.place.opened();
        }
        Ok(())
    }

    fn stop_relays_after_a_jump(&self, open: &mut Vec<&mut Box<dyn Member>>) {
        if !open.iter().any(|member| member.is_relay()) {
            return;
        }
        if let Err(jumped) = self.time.now() {
            open.retain_mut(|member| {
                let is_relay = member.is_relay();
                if is_relay {
                    member.fail(StoreError::Clock(jumped));
                }
                !is_relay
            });
        }
    }

    /// Whether another connection has committed since the last look, this process's own aside.
    pub(crate) fn sees_foreign(&mut self) -> bool {
        let Some(connection) = &self.connection else { return false };
        let version = data_version(connection).ok();
        let is_foreign = version != self.data_version;
        if is_foreign && self.data_version.is_some() {
            self.foreign_until = Some(Instant::now() + FOREIGN_SEEN_FOR);
        }
        self.data_version = version;
        is_foreign
    }
}

/// Changes when another connection commits.
pub(crate) fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// Waits in short steps, for half a minute, where another connection holds the file: no foreign
/// writer makes a statement of ours fail.
fn wait_politely(mut connection: Connection) -> Option<Connection> {
    connection.busy_handler(Some(wait_for_lock)).ok()?;
    keep_plans(&connection).ok()?;
    Some(connection)
}

/// Keeps the plan of a statement whatever is bound to it. Else SQLite looks at the values where a
/// partial index might serve, and prepares claims and appends anew each time.
pub(crate) fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Called by SQLite with the number of waits so far; whether to go on.
fn wait_for_lock(waits: i32) -> bool {
    // A writer in a tight loop frees the lock for moments only: who looks seldom never gets it.
    let step = match waits {
        0..200 => Duration::from_micros(50),
        200..2_000 => Duration::from_micros(200),
        _ => Duration::from_millis(1),
    };
    std::thread::sleep(step);
    waits < 31_600
}

/// Answers whom reading alone can answer.
fn peek_all(connection: &Connection, now: Micros, open: &mut Vec<&mut Box<dyn Member>>) {
    open.retain_mut(|member| match member.peek(connection, now) {
        Ok(is_answered) => !is_answered,
        // What cannot be read will say so inside the transaction.
        Err(_) => true,
    });
}

fn fail_all(open: &mut [&mut Box<dyn Member>], error: &rusqlite::Error) {
    for member in open.iter_mut().filter(|member| !member.has_failed()) {
        member.fail(store_error(error));
    }
}
