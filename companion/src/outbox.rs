//! The outbox on a connection of `sqlx` that is in a transaction.
//!
//! Guarantees: every statement passes the guards of the schema. Does not: begin or commit; know of
//! a BEGIN that was not `sqlx`'s own.

use std::future::Future;

use counterfoil_core::domain::command::BODY_BYTES_MAX;
use counterfoil_core::domain::{
    Command, CommandId, Digest, Micros, OrderingKey, ReceiptOutcome, Token,
};
use counterfoil_core::port::intent::{self, Address, Tombstone};
use counterfoil_core::port::store::{Recorded, Reported};
use sqlx::{Connection as _, SqliteConnection, query, query_as};

use crate::refused::{EnqueueError, says};
use crate::report::UserReport;

const ARCHIVED: &str = include_str!("../../sql/sqlite/archived_row.sql");
const INSERT: &str = include_str!("../../sql/sqlite/user_outbox_insert.sql");

/// Records bare commands, and reports what became of them, in the transaction that is open on this
/// connection: `&mut *transaction`, or the transaction itself. Bodies have at most 1 MiB.
pub trait SqlxOutbox {
    /// Records a bare command.
    ///
    /// # Errors
    /// [`EnqueueError`]: no transaction, a value out of bounds, an id with other content.
    fn enqueue(
        &mut self,
        command: &Command,
    ) -> impl Future<Output = Result<Recorded, EnqueueError>> + Send;

    /// Records bare commands, all of them or none.
    ///
    /// # Errors
    /// As [`SqlxOutbox::enqueue`], for the first that is refused.
    fn enqueue_all(
        &mut self,
        commands: &[Command],
    ) -> impl Future<Output = Result<Vec<Recorded>, EnqueueError>> + Send;

    /// Says that a command is done, beside the rows that doing it wrote.
    ///
    /// `token` is the one that the attempt carries (`Counterfoil-Token`). With it the report is
    /// fenced: it is an error unless the command is open and no other attempt owns it. Without it
    /// the first report wins, and another outcome is kept beside it. `evidence` says by what it is
    /// known; an empty one is filled in.
    ///
    /// # Errors
    /// [`EnqueueError::StaleToken`]: roll back. [`EnqueueError::NoSuchCommand`]; no transaction;
    /// SQLite's own words, with a code of the guards, for values out of bounds.
    fn complete(
        &mut self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> impl Future<Output = Result<Reported, EnqueueError>> + Send;

    /// Says that a command is refused for good; as [`SqlxOutbox::complete`] in all else.
    ///
    /// # Errors
    /// As [`SqlxOutbox::complete`].
    fn reject(
        &mut self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> impl Future<Output = Result<Reported, EnqueueError>> + Send;
}

impl SqlxOutbox for SqliteConnection {
    async fn enqueue(&mut self, command: &Command) -> Result<Recorded, EnqueueError> {
        must_be_in_transaction(self)?;
        record(self, command).await
    }

    async fn enqueue_all(&mut self, commands: &[Command]) -> Result<Vec<Recorded>, EnqueueError> {
        must_be_in_transaction(self)?;
        // Dropped without an end, `sqlx` takes the savepoint back.
        let mut savepoint = self.begin().await?;
        let mut recorded = Vec::with_capacity(commands.len());
        for command in commands {
            match record(&mut savepoint, command).await {
                Ok(one) => recorded.push(one),
                Err(error) => {
                    savepoint.rollback().await?;
                    return Err(error);
                }
            }
        }
        savepoint.commit().await?;
        Ok(recorded)
    }

    async fn complete(
        &mut self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        must_be_in_transaction(self)?;
        let outcome = ReceiptOutcome::Completed;
        UserReport { id, outcome, result, evidence, token }.write(self).await
    }

    async fn reject(
        &mut self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        must_be_in_transaction(self)?;
        let outcome = ReceiptOutcome::Rejected;
        UserReport { id, outcome, result, evidence, token }.write(self).await
    }
}

fn must_be_in_transaction(connection: &SqliteConnection) -> Result<(), EnqueueError> {
    if connection.is_in_transaction() { Ok(()) } else { Err(EnqueueError::NoTransaction) }
}

/// A tombstone as read: destination, kind, ordering key, digest; the rest is not needed.
type Archived = (String, String, Option<String>, Vec<u8>);

async fn record(
    connection: &mut SqliteConnection,
    command: &Command,
) -> Result<Recorded, EnqueueError> {
    let id = intent::check_bare(command, BODY_BYTES_MAX)?;
    let archived = query_as::<_, Archived>(ARCHIVED).bind(id.as_str());
    if let Some((destination, kind, key, digest)) =
        archived.fetch_optional(&mut *connection).await?
    {
        let address = Address {
            destination: destination.as_bytes(),
            kind: kind.as_bytes(),
            ordering_key: key.as_deref().map(str::as_bytes),
        };
        let is_same = Tombstone { address, digest: Digest::from_bytes(&digest) }.is_same(command);
        return if is_same { Ok(Recorded::Repeated) } else { Err(intent::conflict(id).into()) };
    }
    let asked = query(INSERT)
        .bind(id.as_str())
        .bind(None::<&str>)
        .bind(None::<i64>)
        .bind(None::<i64>)
        .bind(command.destination.as_str())
        .bind(command.kind.as_str());
    let text = std::str::from_utf8(&command.body).ok().filter(|_| command.body_is_text);
    let asked = match text {
        Some(text) => asked.bind(text),
        None => asked.bind(command.body.as_slice()),
    };
    let asked = asked
        .bind(command.content_type.as_str())
        .bind(command.headers_json())
        .bind(command.core_digest.map(|digest| digest.to_hex()))
        .bind(command.not_before.map(Micros::get))
        .bind(command.expires_at.map(Micros::get))
        .bind(command.ordering_key.as_ref().map(OrderingKey::as_str));
    match asked.execute(connection).await {
        Ok(done) if done.rows_affected() == 0 => Ok(Recorded::Repeated),
        Ok(_) => Ok(Recorded::Recorded),
        // Other content, erased, or archived meanwhile.
        Err(error) if says(&error, &["CF0103", "CF0104", "CF0112"]) => {
            Err(intent::conflict(id).into())
        }
        Err(error) => Err(error.into()),
    }
}
