//! The outbox inside the user's own `rusqlite` transaction, beside the user's own rows.
//!
//! Guarantees: a command, and a report, stands or falls with the transaction; a refusal writes
//! nothing and leaves the transaction usable; nothing is written outside of one. Does not: commit,
//! nor roll back after a stale token; the user does.
//! After a call `last_insert_rowid()` is no longer that of the user's own last insert.

use counterfoil_core::domain::command::BODY_BYTES_MAX;
use counterfoil_core::domain::{Command, CommandId, Micros, OrderingKey, ReceiptOutcome, Token};
use counterfoil_core::port::intent;
use counterfoil_core::port::store::{Append, Appended, Recorded, Reported, WriteRefused};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};

use crate::enqueue::{Place, is_archived_twin};
use crate::failure::said;
use crate::row::Body;
use crate::sql::Sql;
use crate::user_decision::{self, whole};
use crate::user_report::UserReport;

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// A rule of the store; the transaction is usable.
    #[error(transparent)]
    Refused(#[from] WriteRefused),
    /// A report about a command that this store never recorded.
    #[error(
        "no such command: this store never heard of {id}; check the id, and check that the \
         connection is to the sender's own file"
    )]
    NoSuchCommand {
        /// The id.
        id: String,
    },
    /// The token of a report is not the newest of an open command: another attempt owns it, or it
    /// has ended. Roll the transaction back, so that nothing is done twice.
    #[error(
        "the token {token} is not the newest of command {id}, or the command has ended: another \
         attempt owns it; roll the transaction back"
    )]
    StaleToken {
        /// The command.
        id: String,
        /// The token of the report.
        token: i64,
    },
    /// The connection is not in a transaction.
    #[error(
        "there is no transaction: a command is recorded, and reported, beside the rows that it \
         belongs to, so begin one first, best with BEGIN IMMEDIATE"
    )]
    NoTransaction,
    /// The connection runs no triggers, so nothing would deliver or end the command.
    #[error(
        "triggers are off on this connection, so the command would never be delivered, nor a \
         report heard: switch them on, or use a connection of your own"
    )]
    TriggersOff,
    /// The database failed; look at the transaction before you go on.
    #[error("SQLite says: {}{}", said(.0), way_out(.0))]
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

/// Records commands and decisions, and reports what became of commands, in the transaction that is
/// open on this connection. Bodies have at most 1 MiB.
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

    /// Says that a command is done, beside the rows that doing it wrote: one effect without an
    /// inbox, since receipt and effect stand or fall together.
    ///
    /// `token` is the one that the attempt carries (`Counterfoil-Token`, or the command of an
    /// in-process handler). With it the report is fenced: it is an error unless the command is
    /// open and no other attempt owns it. Without it the first report wins, and another outcome
    /// is kept beside it. A handler of a relay returns `Ok` afterwards as always: its settle
    /// meets the receipt.
    ///
    /// Gives `Recorded`, `Repeated`, or `Contradiction`. `evidence` says by what it is known, at
    /// most 64 KiB; an empty one is filled in. `result` has at most 16 MiB.
    ///
    /// # Errors
    /// [`EnqueueError::StaleToken`]: roll back. [`EnqueueError::NoSuchCommand`]; no transaction;
    /// SQLite's own words, with a code of the guards, for values out of bounds.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use counterfoil_core::domain::{Command, CommandId};
    /// use counterfoil_core::port::store::Reported;
    /// use counterfoil_sqlite::Outbox as _;
    /// # let mut connection = rusqlite::Connection::open_in_memory()?;
    /// # counterfoil_sqlite::migrate(&mut connection, None)?;
    /// # connection.execute("CREATE TABLE labels(order_id TEXT PRIMARY KEY)", [])?;
    /// # let order = connection.transaction()?;
    /// # order.enqueue(&Command::json("order.paid:A-001", "labels", "order.paid", &1)?)?;
    /// # order.commit()?;
    /// let id = CommandId::new("order.paid:A-001")?;
    /// let token = None; // a relay's handler gives `Some(token)` of its attempt
    ///
    /// let work = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    /// work.execute("INSERT INTO labels VALUES ('A-001')", [])?;
    /// // An error here drops `work`, and the label with it.
    /// let reported = work.complete(&id, Some(b"label 7"), "the label is printed", token)?;
    /// assert_eq!(reported, Reported::Recorded);
    /// work.commit()?;
    /// # Ok(())
    /// # }
    /// ```
    fn complete(
        &self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError>;

    /// Says that a command is refused for good; as [`Outbox::complete`] in all else.
    ///
    /// # Errors
    /// As [`Outbox::complete`].
    fn reject(
        &self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError>;
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
        let planned = intent::plan(append, BODY_BYTES_MAX)?;
        user_decision::append(self, append, &planned)?;
        Ok(planned)
    }

    fn complete(
        &self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        must_be_usable(self)?;
        let outcome = ReceiptOutcome::Completed;
        UserReport { id, outcome, result, evidence, token }.write(self)
    }

    fn reject(
        &self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        must_be_usable(self)?;
        let outcome = ReceiptOutcome::Rejected;
        UserReport { id, outcome, result, evidence, token }.write(self)
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
    let id = intent::check_bare(command, BODY_BYTES_MAX)?;
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
pub(crate) fn insert(
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
        command.ordering_key.as_ref().map(OrderingKey::as_str),
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
