//! The outbox on a `tokio_postgres` transaction.
//!
//! Guarantees: one statement a call, which is not prepared unless the user asks for it, so that
//! poolers in transaction mode do no harm. Does not: begin or commit.

use std::future::Future;

use counterfoil_core::domain::{Command, CommandId, Token};
use counterfoil_core::port::store::{Recorded, Reported};
use futures_util::future::join;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, Statement, Transaction};

use super::bound::{Bound, Columns, reported};
use super::{EnqueueError, OutboxSql, PreparedOutbox, RECORD_TYPES, REPORT_TYPES};

/// Records commands, and reports what became of them, in an open transaction. Bodies have at most
/// 1 MiB.
///
/// On a transaction itself the schema is `counterfoil`; for another one see [`OutboxSql::on`]. A
/// transaction of `deadpool_postgres` derefs to one of `tokio_postgres`.
///
/// # Example
/// ```no_run
/// # async fn pay(client: &mut tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use counterfoil_core::domain::Command;
/// use counterfoil_postgres::Outbox as _;
///
/// let order = client.transaction().await?;
/// order.execute("INSERT INTO orders VALUES ('A-001', true)", &[]).await?;
/// let body = serde_json::json!({"order_id": "A-001"});
/// order.enqueue(&Command::json("order.paid:A-001", "shipping", "order.paid", &body)?).await?;
/// order.commit().await?;
/// # Ok(())
/// # }
/// ```
pub trait Outbox {
    /// Records a bare command.
    ///
    /// # Errors
    /// [`EnqueueError::Refused`]: a value out of bounds, an id with other content; the transaction
    /// is usable. [`EnqueueError::Server`]: it is not.
    fn enqueue(
        &self,
        command: &Command,
    ) -> impl Future<Output = Result<Recorded, EnqueueError>> + Send;

    /// Records bare commands, all of them or none; two round trips for any number.
    ///
    /// # Errors
    /// As [`Outbox::enqueue`], for the first that is refused.
    fn enqueue_all(
        &self,
        commands: &[Command],
    ) -> impl Future<Output = Result<Vec<Recorded>, EnqueueError>> + Send;

    /// Says that a command is done, beside the rows that doing it wrote: one effect without an
    /// inbox, since receipt and effect stand or fall together.
    ///
    /// `token` is the one that the attempt carries (`Counterfoil-Token`). With it the report is
    /// fenced: it is an error unless the command is open and no other attempt owns it. Without it
    /// the first report wins, and another outcome is kept beside it. `evidence` says by what it is
    /// known; an empty one is filled in.
    ///
    /// # Errors
    /// [`EnqueueError::StaleToken`]: roll back. [`EnqueueError::NoSuchCommand`]; the server's own
    /// words. Each of them aborts the transaction.
    fn complete(
        &self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> impl Future<Output = Result<Reported, EnqueueError>> + Send;

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
    ) -> impl Future<Output = Result<Reported, EnqueueError>> + Send;
}

/// The outbox of one schema in one transaction; see [`OutboxSql::on`] and [`PreparedOutbox::on`].
#[derive(Clone, Copy)]
pub struct OutboxIn<'a> {
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) sql: &'a OutboxSql,
    pub(super) prepared: Option<&'a PreparedOutbox>,
}

impl std::fmt::Debug for OutboxIn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutboxIn").field("sql", self.sql).finish_non_exhaustive()
    }
}

/// A statement, and its name where the connection has prepared it.
type Asked<'a> = (&'a str, Option<&'a Statement>);

/// What a call binds.
type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

impl OutboxIn<'_> {
    async fn ask(
        &self,
        (text, prepared): Asked<'_>,
        types: &[Type],
        values: Values<'_>,
    ) -> Result<Vec<Row>, EnqueueError> {
        if let Some(prepared) = prepared {
            return Ok(self.transaction.query(prepared, values).await?);
        }
        let typed: Vec<_> = values.iter().copied().zip(types.iter().cloned()).collect();
        Ok(self.transaction.query_typed(text, &typed).await?)
    }

    async fn report(
        &self,
        asked: Asked<'_>,
        id: &CommandId,
        (result, evidence): (Option<&[u8]>, &str),
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        let (name, number) = (id.as_str(), token.map(Token::get));
        let values: [&(dyn ToSql + Sync); 4] = [&name, &result, &evidence, &number];
        let rows = self.ask(asked, &REPORT_TYPES, &values).await;
        let rows = rows.map_err(|error| error.of_report(id, token))?;
        Ok(reported(only(&words_of(&rows)?)?))
    }
}

impl Outbox for OutboxIn<'_> {
    async fn enqueue(&self, command: &Command) -> Result<Recorded, EnqueueError> {
        let bound = Bound::new(command)?;
        let id = bound.id.as_str();
        let values: [&(dyn ToSql + Sync); 10] = [
            &id,
            &bound.destination,
            &bound.kind,
            &bound.body,
            &bound.ordering_key,
            &bound.content_type,
            &bound.headers,
            &bound.not_before,
            &bound.expires_at,
            &bound.core_digest,
        ];
        let asked = (&*self.sql.record, self.prepared.map(|prepared| &prepared.record));
        let rows = self.ask(asked, &RECORD_TYPES, &values).await?;
        Ok(bound.recorded(only(&words_of(&rows)?)?)?)
    }

    async fn enqueue_all(&self, commands: &[Command]) -> Result<Vec<Recorded>, EnqueueError> {
        let columns = Columns::new(commands)?;
        let values: [&(dyn ToSql + Sync); 10] = [
            &columns.ids,
            &columns.destinations,
            &columns.kinds,
            &columns.bodies,
            &columns.ordering_keys,
            &columns.content_types,
            &columns.headers,
            &columns.not_before,
            &columns.expires_at,
            &columns.core_digests,
        ];
        let texts = Type::TEXT_ARRAY;
        let types = RECORD_TYPES.map(|of| match of {
            Type::BYTEA => Type::BYTEA_ARRAY,
            Type::INT8 => Type::INT8_ARRAY,
            _ => texts.clone(),
        });
        // Polled together, they travel together.
        let begin = self.transaction.batch_execute("SAVEPOINT counterfoil_all");
        let all = self.ask((&self.sql.record_all, None), &types, &values);
        let (begun, rows) = join(begin, all).await;
        begun?;
        let answer = columns.recorded(&words_of(&rows?)?);
        let end = match answer {
            Ok(_) => "RELEASE SAVEPOINT counterfoil_all",
            Err(_) => "ROLLBACK TO SAVEPOINT counterfoil_all; RELEASE SAVEPOINT counterfoil_all",
        };
        self.transaction.batch_execute(end).await?;
        Ok(answer?)
    }

    async fn complete(
        &self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        let asked = (&*self.sql.complete, self.prepared.map(|prepared| &prepared.complete));
        self.report(asked, id, (result, evidence), token).await
    }

    async fn reject(
        &self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        let asked = (&*self.sql.reject, self.prepared.map(|prepared| &prepared.reject));
        self.report(asked, id, (result, evidence), token).await
    }
}

impl Outbox for Transaction<'_> {
    async fn enqueue(&self, command: &Command) -> Result<Recorded, EnqueueError> {
        OutboxSql::standard().on(self).enqueue(command).await
    }

    async fn enqueue_all(&self, commands: &[Command]) -> Result<Vec<Recorded>, EnqueueError> {
        OutboxSql::standard().on(self).enqueue_all(commands).await
    }

    async fn complete(
        &self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        OutboxSql::standard().on(self).complete(id, result, evidence, token).await
    }

    async fn reject(
        &self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        OutboxSql::standard().on(self).reject(id, result, evidence, token).await
    }
}

/// The words that a function answers, one a row.
fn words_of(rows: &[Row]) -> Result<Vec<String>, EnqueueError> {
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// The only word.
fn only(words: &[String]) -> Result<&str, EnqueueError> {
    let none = || EnqueueError::Server { code: None, said: "no answer came".into() };
    words.first().map(String::as_str).ok_or_else(none)
}
