//! The outbox on a connection of `sqlx` that is in a transaction.
//!
//! Guarantees: the same answers as on `tokio_postgres`; statements are prepared once a connection,
//! as `sqlx` does. Does not: begin or commit; know of a BEGIN that was not `sqlx`'s own.

use std::future::Future;
use std::sync::Arc;

use counterfoil_core::domain::{Command, CommandId, Token};
use counterfoil_core::port::store::{Recorded, Reported};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, query_scalar};

use super::bound::{Bound, Columns, reported};
use super::{EnqueueError, OutboxSql};
use crate::failure::sqlx_words;

/// Records commands, and reports what became of them, in the transaction that is open on this
/// connection: `&mut *transaction`, or the transaction itself. Bodies have at most 1 MiB.
///
/// On a connection itself the schema is `counterfoil`; for another one see [`OutboxSql::on_sqlx`].
///
/// # Example
/// ```no_run
/// # async fn pay(pool: &sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// use counterfoil_core::domain::Command;
/// use counterfoil_postgres::SqlxOutbox as _;
///
/// let mut order = pool.begin().await?;
/// sqlx::query("INSERT INTO orders VALUES ('A-001', true)").execute(&mut *order).await?;
/// let body = serde_json::json!({"order_id": "A-001"});
/// order.enqueue(&Command::json("order.paid:A-001", "shipping", "order.paid", &body)?).await?;
/// order.commit().await?;
/// # Ok(())
/// # }
/// ```
pub trait SqlxOutbox {
    /// Records a bare command.
    ///
    /// # Errors
    /// [`EnqueueError::NoTransaction`]. [`EnqueueError::Refused`]: a value out of bounds, an id
    /// with other content; the transaction is usable. [`EnqueueError::Server`]: it is not.
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

    /// Says that a command is done; as [`Outbox::complete`](super::Outbox::complete).
    ///
    /// # Errors
    /// As there, and [`EnqueueError::NoTransaction`].
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

/// The outbox of one schema on one connection; see [`OutboxSql::on_sqlx`].
#[derive(Debug)]
pub struct SqlxOutboxIn<'a> {
    pub(super) connection: &'a mut PgConnection,
    pub(super) sql: &'a OutboxSql,
}

impl SqlxOutboxIn<'_> {
    fn must_be_in_transaction(&self) -> Result<(), EnqueueError> {
        let is_in = self.connection.is_in_transaction();
        if is_in { Ok(()) } else { Err(EnqueueError::NoTransaction) }
    }

    async fn report(
        &mut self,
        sql: &Arc<str>,
        id: &CommandId,
        (result, evidence): (Option<&[u8]>, &str),
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        self.must_be_in_transaction()?;
        let asked = query_scalar::<_, String>(AssertSqlSafe(Arc::clone(sql)))
            .bind(id.as_str())
            .bind(result)
            .bind(evidence)
            .bind(token.map(Token::get));
        let word = asked.fetch_one(&mut *self.connection).await;
        let word = word.map_err(|error| EnqueueError::from(error).of_report(id, token))?;
        Ok(reported(&word))
    }
}

impl SqlxOutbox for SqlxOutboxIn<'_> {
    async fn enqueue(&mut self, command: &Command) -> Result<Recorded, EnqueueError> {
        self.must_be_in_transaction()?;
        let bound = Bound::new(command)?;
        let asked = query_scalar::<_, String>(AssertSqlSafe(Arc::clone(&self.sql.record)))
            .bind(bound.id.as_str())
            .bind(bound.destination)
            .bind(bound.kind)
            .bind(bound.body)
            .bind(bound.ordering_key)
            .bind(bound.content_type)
            .bind(bound.headers.as_deref())
            .bind(bound.not_before)
            .bind(bound.expires_at)
            .bind(bound.core_digest.as_deref());
        let word = asked.fetch_one(&mut *self.connection).await?;
        Ok(bound.recorded(&word)?)
    }

    async fn enqueue_all(&mut self, commands: &[Command]) -> Result<Vec<Recorded>, EnqueueError> {
        self.must_be_in_transaction()?;
        let columns = Columns::new(commands)?;
        self.connection.execute("SAVEPOINT counterfoil_all").await?;
        let asked = query_scalar::<_, String>(AssertSqlSafe(Arc::clone(&self.sql.record_all)))
            .bind(&columns.ids)
            .bind(&columns.destinations)
            .bind(&columns.kinds)
            .bind(&columns.bodies)
            .bind(&columns.ordering_keys)
            .bind(&columns.content_types)
            .bind(&columns.headers)
            .bind(&columns.not_before)
            .bind(&columns.expires_at)
            .bind(&columns.core_digests);
        let words = asked.fetch_all(&mut *self.connection).await?;
        let answer = columns.recorded(&words);
        if answer.is_err() {
            self.connection.execute("ROLLBACK TO SAVEPOINT counterfoil_all").await?;
        }
        self.connection.execute("RELEASE SAVEPOINT counterfoil_all").await?;
        Ok(answer?)
    }

    async fn complete(
        &mut self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        self.report(&self.sql.complete, id, (result, evidence), token).await
    }

    async fn reject(
        &mut self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        self.report(&self.sql.reject, id, (result, evidence), token).await
    }
}

impl SqlxOutbox for PgConnection {
    async fn enqueue(&mut self, command: &Command) -> Result<Recorded, EnqueueError> {
        OutboxSql::standard().on_sqlx(self).enqueue(command).await
    }

    async fn enqueue_all(&mut self, commands: &[Command]) -> Result<Vec<Recorded>, EnqueueError> {
        OutboxSql::standard().on_sqlx(self).enqueue_all(commands).await
    }

    async fn complete(
        &mut self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        OutboxSql::standard().on_sqlx(self).complete(id, result, evidence, token).await
    }

    async fn reject(
        &mut self,
        id: &CommandId,
        result: Option<&[u8]>,
        evidence: &str,
        token: Option<Token>,
    ) -> Result<Reported, EnqueueError> {
        OutboxSql::standard().on_sqlx(self).reject(id, result, evidence, token).await
    }
}

impl From<sqlx::Error> for EnqueueError {
    fn from(error: sqlx::Error) -> Self {
        let (code, said) = sqlx_words(&error);
        Self::Server { code, said }
    }
}
