//! A decision in the user's own transaction: armed past the guards, and whole or not at all.
//!
//! Guarantees: the pass that lets a decision through is disarmed on every way out; an error leaves
//! nothing of the decision. Does not: begin or commit; the user does.

use counterfoil_core::port::intent;
use counterfoil_core::port::store::{Append, Appended, WriteRefused};
use rusqlite::{Connection, params};

use crate::enqueue::Place;
use crate::outbox::{EnqueueError, insert};
use crate::row::Shown;
use crate::sql::Sql;

/// What `last_insert_rowid()` must be for the guards to let a decision in.
const PASS: i64 = -4_850_183_029_413_771_009;

/// Writes a decision that was planned.
pub(crate) fn append(
    connection: &Connection,
    append: &Append,
    planned: &Appended,
) -> Result<(), EnqueueError> {
    check_store(connection, append, planned)?;
    let pass = Pass::make(connection)?;
    whole(connection, || write_decision(connection, append, planned, &pass))
}

/// Checks head, causes and ids before anything is written.
fn check_store(
    connection: &Connection,
    append: &Append,
    planned: &Appended,
) -> Result<(), EnqueueError> {
    let stream = append.stream.as_str();
    let mut head = connection.prepare_cached(Sql::EventHead.text())?;
    let (actual, is_workflow) = head.query_row([stream], |row| Ok((row.get(0)?, row.get(1)?)))?;
    intent::check_place(append, actual, is_workflow)?;
    let mut taken = connection.prepare_cached(Sql::EventCause.text())?;
    for cause in append.events.iter().filter_map(|event| event.cause.as_deref()) {
        if taken.exists(params![stream, cause])? {
            return Err(intent::cause_taken(&append.stream, cause).into());
        }
    }
    let mut known = connection.prepare_cached(Sql::Known.text())?;
    for id in &planned.command_ids {
        if known.query_row([id.as_str()], |row| row.get(0))? {
            return Err(WriteRefused::Conflict { id: id.to_string() }.into());
        }
    }
    Ok(())
}

fn write_decision(
    connection: &Connection,
    append: &Append,
    planned: &Appended,
    pass: &Pass<'_>,
) -> Result<(), EnqueueError> {
    let stream = append.stream.as_str();
    pass.set(PASS)?;
    let mut event_insert = connection.prepare_cached(Sql::UserEventInsert.text())?;
    for (seq, commands, event) in intent::numbered(append) {
        let (kind, body) = (event.kind.as_str(), Shown(&event.body));
        event_insert.execute(params![stream, seq, kind, body, event.cause, commands])?;
    }
    for ((idx, id), command) in (0..).zip(&planned.command_ids).zip(&append.commands) {
        // The insert before has spent it.
        pass.set(PASS)?;
        let place = Place { stream, seq: planned.seq, idx };
        if insert(connection, id, Some(place), command)? == 0 {
            return Err(WriteRefused::Conflict { id: id.to_string() }.into());
        }
    }
    Ok(())
}

/// Runs `write` in a savepoint, so that an error leaves nothing of it.
pub(crate) fn whole<T>(
    connection: &Connection,
    write: impl FnOnce() -> Result<T, EnqueueError>,
) -> Result<T, EnqueueError> {
    let run = |sql| connection.prepare_cached(sql)?.execute([]);
    run("SAVEPOINT counterfoil_whole")?;
    let written = write();
    // Some failures take the whole transaction with them, and the savepoint too.
    if !connection.is_autocommit() {
        if written.is_err() {
            run("ROLLBACK TO counterfoil_whole")?;
        }
        run("RELEASE counterfoil_whole")?;
    }
    written
}

/// The pass that lets a decision through the guards; disarmed on every way out.
struct Pass<'c>(&'c Connection);

impl<'c> Pass<'c> {
    fn make(connection: &'c Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached(Sql::UserPassMake.text())?.execute([])?;
        Ok(Self(connection))
    }

    fn set(&self, number: i64) -> rusqlite::Result<()> {
        self.0.prepare_cached(Sql::UserPassSet.text())?.execute([number]).map(drop)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.set(0).is_err() {
            // A failure rolled the whole transaction back, and the table with it.
            let _ = Self::make(self.0).map(std::mem::forget);
            let _ = self.set(0);
        }
    }
}
