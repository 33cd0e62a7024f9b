//! The outbox inside the user's own transaction, beside the user's own rows.
//!
//! Guarantees: a command, and a report, stands or falls with the transaction; what is refused as a
//! conflict writes nothing and leaves the transaction usable; one round trip a call. Does not:
//! commit, nor roll back after a stale token; the user does.

mod bound;
mod driver;
mod refused;
#[cfg(feature = "sqlx")]
mod sqlx;

use std::sync::{Arc, LazyLock};

use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Transaction};

pub use driver::{Outbox, OutboxIn};
pub use refused::EnqueueError;
#[cfg(feature = "sqlx")]
pub use sqlx::{SqlxOutbox, SqlxOutboxIn};

use crate::statement::{Statement, in_schema, quoted, statement};

const RECORD: Statement = statement!("user_record");
const RECORD_ALL: Statement = statement!("user_record_all");
const COMPLETE: Statement = statement!("user_complete");
const REJECT: Statement = statement!("user_reject");

/// The types that a record binds.
const RECORD_TYPES: [Type; 10] = [
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::BYTEA,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::INT8,
    Type::INT8,
    Type::TEXT,
];

/// The types that a report binds.
const REPORT_TYPES: [Type; 4] = [Type::TEXT, Type::BYTEA, Type::TEXT, Type::INT8];

/// The statements for one schema.
///
/// The default is the schema `counterfoil`; another service in the same database has another one.
/// Make it once and keep it.
#[derive(Clone, Debug)]
pub struct OutboxSql {
    record: Arc<str>,
    record_all: Arc<str>,
    complete: Arc<str>,
    reject: Arc<str>,
}

impl OutboxSql {
    /// The statements for the schema of this name.
    #[must_use]
    pub fn of_schema(schema: &str) -> Self {
        let text = |statement: Statement| in_schema(statement.0, &quoted(schema)).into();
        Self {
            record: text(RECORD),
            record_all: text(RECORD_ALL),
            complete: text(COMPLETE),
            reject: text(REJECT),
        }
    }

    /// The outbox of this schema in a transaction. Its statements are not prepared.
    #[must_use]
    pub fn on<'a>(&'a self, transaction: &'a Transaction<'a>) -> OutboxIn<'a> {
        OutboxIn { transaction, sql: self, prepared: None }
    }

    /// The outbox of this schema on a connection of `sqlx` that is in a transaction.
    #[cfg(feature = "sqlx")]
    #[must_use]
    pub fn on_sqlx<'a>(&'a self, connection: &'a mut ::sqlx::PgConnection) -> SqlxOutboxIn<'a> {
        SqlxOutboxIn { connection, sql: self }
    }

    /// Prepares the statements on one connection; with them a call costs the server less. They are
    /// that connection's and die with it; a pooler in transaction mode does not stand between.
    ///
    /// # Errors
    /// [`EnqueueError::Server`]: among others, the schema is not there.
    pub async fn prepare(
        &self,
        client: &(impl GenericClient + Sync),
    ) -> Result<PreparedOutbox, EnqueueError> {
        Ok(PreparedOutbox {
            record: client.prepare_typed(&self.record, &RECORD_TYPES).await?,
            complete: client.prepare_typed(&self.complete, &REPORT_TYPES).await?,
            reject: client.prepare_typed(&self.reject, &REPORT_TYPES).await?,
            sql: self.clone(),
        })
    }

    /// The statements for the schema `counterfoil`.
    fn standard() -> &'static Self {
        static STANDARD: LazyLock<OutboxSql> = LazyLock::new(OutboxSql::default);
        &STANDARD
    }
}

impl Default for OutboxSql {
    fn default() -> Self {
        Self::of_schema("counterfoil")
    }
}

/// The statements as one connection has prepared them, see [`OutboxSql::prepare`].
#[derive(Clone)]
pub struct PreparedOutbox {
    record: tokio_postgres::Statement,
    complete: tokio_postgres::Statement,
    reject: tokio_postgres::Statement,
    sql: OutboxSql,
}

impl PreparedOutbox {
    /// The outbox in a transaction of the connection that prepared it.
    #[must_use]
    pub fn on<'a>(&'a self, transaction: &'a Transaction<'a>) -> OutboxIn<'a> {
        OutboxIn { transaction, sql: &self.sql, prepared: Some(self) }
    }
}

impl std::fmt::Debug for PreparedOutbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedOutbox").field("sql", &self.sql).finish_non_exhaustive()
    }
}
