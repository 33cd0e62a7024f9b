//! The outbox inside the user's own `rusqlite` transaction, beside the user's own rows.
//!
//! Guarantees: a command stands or falls with the transaction; a refusal writes nothing and leaves
//! the transaction usable; nothing is written outside of one. Does not: commit; the user does.
//! After a call `last_insert_rowid()` is no longer that of the user's own last insert.

use counterfoil_core::domain::command::BODY_BYTES_MAX;
use counterfoil_core::domain::{Command, CommandId, Micros};
use counterfoil_core::port::store::{Append, Appended, Recorded, WriteRefused};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};

use crate::append::{cause_taken, check_version, numbered, plan};
use crate::enqueue::{Place, check_bare, is_archived_twin};
use crate::row::{Body, Shown};
use crate::sql::Sql;

/// What `last_insert_rowid()` must be for the guards to let a decision in.
const PASS: i64 = -4_850_183_029_413_771_009;

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// A rule of the store; the transaction is usable.
    #[error(transparent)]
    Refused(#[from] WriteRefused),
    /// The connection is not in a transaction.
    #[error(
        "there is no transaction: a command is recorded beside the rows that it belongs to, so \
         begin one first, best with BEGIN IMMEDIATE"
    )]
    NoTransaction,
    /// The connection runs no triggers, so nothing would deliver the command.
    #[error(
        "triggers are off on this connection, so the command would never be delivered: switch \
         them on, or use a connection of your own"
    )]
    TriggersOff,
    /// The database failed; look at the transaction before you go on.
    #[error("SQLite says: {0}{way_out}", way_out = way_out(.0))]
    Sqlite(#[from] rusqlite::Error),
}

/// What helps where SQLite's own words do not say it.
fn way_out(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            ": another connection writes, or wrote since this transaction began to read: roll \
             back and try again, begin with BEGIN IMMEDIATE, and set a busy timeout"
        }
        _ if error.to_string().contains("no such table: counterfoil_") => {
            ": this file has no Counterfoil schema: run `counterfoil init` on it once"
        }
        _ => "",
    }
}

/// Records commands and decisions in the transaction that is open on this connection. Bodies have
/// at most 1 MiB.
///
/// # Example
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use counterfoil_core::domain::Command;
/// use counterfoil_sqlite::Outbox as _;
/// let mut connection = rusqlite::Connection::open_in_memory()?;
/// counterfoil_sqlite::migrate(&mut connection, None)?;
/// connection.execute("CREATE TABLE orders(id TEXT PRIMARY KEY, paid INTEGER)", [])?;
///
/// let order = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
/// order.execute("INSERT INTO orders VALUES ('A-001', 1)", [])?;
/// let body = serde_json::json!({"order_id": "A-001"});
/// order.enqueue(&Command::json("order.paid:A-001", "shipping", "order.paid", &body)?)?;
/// order.commit()?;
/// # Ok(())
/// # }
/// ```
pub trait Outbox {
    /// Records a bare command.
    ///
    /// # Errors
    /// [`EnqueueError`]: no transaction, a value out of bounds, an id with other content.
    fn enqueue(&self, command: &Command) -> Result<Recorded, EnqueueError>;

    /// Records bare commands, all of them or none.
    ///
    /// # Errors
    /// As [`Outbox::enqueue`], for the first that is refused.
    fn enqueue_all(&self, commands: &[Command]) -> Result<Vec<Recorded>, EnqueueError>;

    /// Records a decision whole, or nothing of it.
    ///
    /// # Errors
    /// [`EnqueueError`]: no transaction, another version, a cause or an id that is taken.
    fn append(&self, append: &Append) -> Result<Appended, EnqueueError>;
}

impl Outbox for Connection {
    fn enqueue(&self, command: &Command) -> Result<Recorded, EnqueueError> {
        must_be_usable(self)?;
        record(self, command)
    }

    fn enqueue_all(&self, commands: &[Command]) -> Result<Vec<Recorded>, EnqueueError> {
        must_be_usable(self)?;
        whole(self, || commands.iter().map(|command| record(self, command)).collect())
    }

    fn append(&self, append: &Append) -> Result<Appended, EnqueueError> {
        must_be_usable(self)?;
        let planned = plan(append, BODY_BYTES_MAX)?;
        check_store(self, append, &planned)?;
        let pass = Pass::make(self)?;
        whole(self, || write_decision(self, append, &planned, &pass))?;
        Ok(planned)
    }
}

fn must_be_usable(connection: &Connection) -> Result<(), EnqueueError> {
    if connection.is_autocommit() {
        return Err(EnqueueError::NoTransaction);
    }
    if !connection.db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER)? {
        return Err(EnqueueError::TriggersOff);
    }
    Ok(())
}

fn record(connection: &Connection, command: &Command) -> Result<Recorded, EnqueueError> {
    let id = check_bare(command, BODY_BYTES_MAX)?;
    let mut archived = connection.prepare_cached(Sql::ArchivedRow.text())?;
    let twin = archived.query_row([id.as_str()], |row| is_archived_twin(row, command));
    match twin.optional()? {
        Some(true) => return Ok(Recorded::Repeated),
        Some(false) => return Err(WriteRefused::Conflict { id: id.to_string() }.into()),
        None => {}
    }
    let inserted = insert(connection, id, None, command)?;
    Ok(if inserted == 0 { Recorded::Repeated } else { Recorded::Recorded })
}

/// Inserts by the guards; a conflict that they see is a refusal.
fn insert(
    connection: &Connection,
    id: &CommandId,
    place: Option<Place<'_>>,
    command: &Command,
) -> Result<usize, EnqueueError> {
    let inserted = connection.prepare_cached(Sql::UserOutboxInsert.text())?.execute(params![
        id.as_str(),
        place.map(|place| place.stream),
        place.map(|place| place.seq),
        place.map(|place| place.idx),
        command.destination.as_str(),
        command.kind.as_str(),
        Body { bytes: &command.body, is_text: command.body_is_text },
        command.content_type,
        command.headers_json(),
        command.core_digest.map(|digest| digest.to_hex()),
        command.not_before.map(Micros::get),
        command.expires_at.map(Micros::get),
    ]);
    inserted.map_err(|error| match says_conflict(&error) {
        true => WriteRefused::Conflict { id: id.to_string() }.into(),
        false => error.into(),
    })
}

/// Other content, erased, or archived.
fn says_conflict(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(_, Some(words)) = error else { return false };
    ["CF0103", "CF0104", "CF0112"].iter().any(|code| words.starts_with(code))
}

/// Checks head, causes and ids before anything is written.
fn check_store(
    connection: &Connection,
    append: &Append,
    planned: &Appended,
) -> Result<(), EnqueueError> {
    let stream = append.stream.as_str();
    let mut head = connection.prepare_cached(Sql::EventHead.text())?;
    check_version(append, head.query_row([stream], |row| row.get(0))?)?;
    let mut taken = connection.prepare_cached(Sql::EventCause.text())?;
    for cause in append.events.iter().filter_map(|event| event.cause.as_deref()) {
        if taken.exists(params![stream, cause])? {
            return Err(cause_taken(&append.stream, cause).into());
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
    for (seq, commands, event) in numbered(append) {
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
fn whole<T>(
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
