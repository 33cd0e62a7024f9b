//! The rows of a receiver's inbox inside a PostgreSQL transaction of the receiver's own.
//!
//! Guarantees: a key is taken by the insert itself, so of two twins one waits and then sees the
//! other; every statement passes the guards of the schema, so it works on any connection. Does
//! not: judge, which `counterfoil_inbox` does; begin, commit or roll back; an owned transaction
//! that is dropped rolls itself back.

mod book;
mod driver;
mod keys;
#[cfg(feature = "sqlx")]
mod sqlx;

#[cfg(feature = "sqlx")]
use std::ops::DerefMut;
use std::sync::{Arc, LazyLock};

use tokio_postgres::types::Type;

pub use book::{BookPage, BookRefused, InboxBook};
pub use driver::{InTransaction, InboxTx};
#[cfg(feature = "sqlx")]
pub use sqlx::SqlxInboxTx;

use crate::failure::words;
use crate::statement::{Statement, in_schema, quoted, statement};

const TAKE: Statement = statement!("inbox_take");
const STANDING: Statement = statement!("inbox_standing");
const FORGET: Statement = statement!("inbox_forget");
const FINISH: Statement = statement!("inbox_finish");
const PURGE: Statement = statement!("inbox_purge");

/// Why the rows of an inbox cannot be read or written.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InboxTxError {
    /// There is no transaction to be part of.
    #[error(
        "key {key} of {source_name} must be taken inside a transaction, with the business write: \
         begin one before the guard"
    )]
    NoTransaction {
        /// Whose key.
        source_name: String,
        /// The key.
        key: String,
    },
    /// The digest was written by another program in a form of its own.
    #[error(
        "key {key} of {source_name} stands with a digest that is neither 32 bytes nor 64 \
         hexadecimal digits: write SHA-256 as one of these, or compare it in the program that \
         wrote it"
    )]
    ForeignDigest {
        /// Whose key.
        source_name: String,
        /// The key.
        key: String,
    },
    /// The key is not held, or has an outcome already.
    #[error(
        "key {key} of {source_name} cannot be finished: it was not taken in this transaction, or \
         has an outcome already"
    )]
    NotHeld {
        /// Whose key.
        source_name: String,
        /// The key.
        key: String,
    },
    /// Twins came and went each time the key was looked at.
    #[error("key {key} of {source_name} changes hands faster than it can be read: ask again later")]
    Contended {
        /// Whose key.
        source_name: String,
        /// The key.
        key: String,
    },
    /// The server failed, or a guard refused; the transaction is aborted.
    #[error("PostgreSQL says: {said}")]
    Server {
        /// The SQLSTATE, if the server answered.
        code: Option<String>,
        /// Its words.
        said: String,
    },
}

impl InboxTxError {
    /// Whether another transaction was in the way: a lock that was waited for too long, or a
    /// serialization failure. Run the whole transaction again, or let the sender repeat.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Contended { .. } => true,
            Self::Server { code: Some(code), .. } => {
                matches!(code.as_str(), "40001" | "40P01" | "55P03")
            }
            _ => false,
        }
    }
}

impl From<tokio_postgres::Error> for InboxTxError {
    fn from(error: tokio_postgres::Error) -> Self {
        let code = error.code().map(|code| code.code().to_owned());
        Self::Server { code, said: words(&error) }
    }
}

/// The statements for one schema; clones share them.
///
/// The default is the schema `counterfoil`; another service in the same database has another one.
#[derive(Clone, Debug)]
pub struct InboxSql(Arc<Texts>);

#[derive(Debug)]
struct Texts {
    take: Arc<str>,
    standing: Arc<str>,
    forget: Arc<str>,
    finish: Arc<str>,
    purge: Arc<str>,
}

impl InboxSql {
    /// The statements for the schema of this name.
    #[must_use]
    pub fn of_schema(schema: &str) -> Self {
        let text = |statement: Statement| in_schema(statement.0, &quoted(schema)).into();
        Self(Arc::new(Texts {
            take: text(TAKE),
            standing: text(STANDING),
            forget: text(FORGET),
            finish: text(FINISH),
            purge: text(PURGE),
        }))
    }

    /// The inbox of this schema in a transaction.
    pub fn on<T: InTransaction>(&self, transaction: T) -> InboxTx<T> {
        InboxTx::of(transaction, self.clone())
    }

    /// The inbox of this schema on a connection of `sqlx` that is in a transaction.
    #[cfg(feature = "sqlx")]
    pub fn on_sqlx<C: DerefMut<Target = ::sqlx::PgConnection> + Send>(
        &self,
        connection: C,
    ) -> SqlxInboxTx<C> {
        SqlxInboxTx::of(connection, self.clone())
    }
}

impl Default for InboxSql {
    fn default() -> Self {
        static STANDARD: LazyLock<InboxSql> = LazyLock::new(|| InboxSql::of_schema("counterfoil"));
        STANDARD.clone()
    }
}

/// The types that a taken key binds.
const TAKE_TYPES: [Type; 5] = [Type::TEXT, Type::TEXT, Type::BYTEA, Type::INT8, Type::INT8];
