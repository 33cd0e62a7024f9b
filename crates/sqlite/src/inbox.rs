//! The rows of a receiver's inbox inside a rusqlite transaction of the receiver's own.
//!
//! Guarantees: a key is taken by the insert itself, so of two twins one waits and then sees the
//! other; outside a transaction nothing is written; every statement passes the guards of the
//! schema, so it works on any connection. Does not: begin, commit or roll back; an owned
//! transaction that is dropped rolls itself back.

mod book;

use std::ops::{Deref, DerefMut};

use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome};
use counterfoil_core::port::{InboxEntry, InboxRows};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Savepoint, Transaction, params};

pub use book::{BookPage, BookRefused, InboxBook};

use InboxTxError as Error;

const NOW: &str = include_str!("../../../sql/sqlite/inbox/now.sql");
const INSERT: &str = include_str!("../../../sql/sqlite/inbox/insert.sql");
const STANDING: &str = include_str!("../../../sql/sqlite/inbox/standing.sql");
const FORGET: &str = include_str!("../../../sql/sqlite/inbox/forget.sql");
const FINISH: &str = include_str!("../../../sql/sqlite/inbox/finish.sql");
const PURGE: &str = include_str!("../../../sql/sqlite/inbox/purge.sql");

/// Why the rows of an inbox cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InboxTxError {
    /// There is no transaction to be part of.
    #[error(
        "key {key} of {source_name} must be taken inside a transaction, with the business write: \
         begin one (BEGIN IMMEDIATE) before the guard"
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
    /// SQLite failed otherwise, or a guard refused.
    #[error("SQLite says: {}", crate::failure::said(.0))]
    Sqlite(#[from] rusqlite::Error),
}

/// What a transaction is seen through: a rusqlite transaction or savepoint, owned or borrowed, or
/// a connection on which `BEGIN IMMEDIATE` was run.
pub trait InTransaction {
    /// The connection that the transaction is open on.
    fn connection(&self) -> &Connection;
}

impl InTransaction for Connection {
    fn connection(&self) -> &Connection {
        self
    }
}

impl InTransaction for Transaction<'_> {
    fn connection(&self) -> &Connection {
        self
    }
}

impl InTransaction for Savepoint<'_> {
    fn connection(&self) -> &Connection {
        self
    }
}

impl<T: InTransaction> InTransaction for &T {
    fn connection(&self) -> &Connection {
        (**self).connection()
    }
}

/// The inbox, seen from one transaction.
///
/// Give it the transaction itself, and only a guard that was finished gives it back to be
/// committed; or lend it `&transaction`, and rolling back is up to you.
#[derive(Debug)]
pub struct InboxTx<T>(T);

impl<T: InTransaction> InboxTx<T> {
    /// The inbox in the database of this transaction, whose schema must exist.
    pub const fn new(transaction: T) -> Self {
        Self(transaction)
    }

    /// The transaction.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// What stands about a key; an expired one counts as absent. Takes nothing.
    ///
    /// # Errors
    /// [`InboxTxError::Sqlite`], [`InboxTxError::ForeignDigest`].
    pub fn look(&self, source: &str, key: &str) -> Result<Option<InboxEntry>, InboxTxError> {
        self.standing(source, key, self.time()?)
    }

    /// Removes at most `limit` keys whose retention is over, oldest first; how many.
    ///
    /// Call it now and then, in short transactions of its own, until it gives less than `limit`.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn purge(&self, limit: usize) -> Result<usize, InboxTxError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let now = self.time()?;
        Ok(self.0.connection().prepare_cached(PURGE)?.execute(params![now.get(), limit])?)
    }

    fn time(&self) -> Result<Micros, InboxTxError> {
        let now = self.0.connection().prepare_cached(NOW)?.query_row([], |row| row.get(0))?;
        Ok(Micros::new(now))
    }

    fn take(&self, source: &str, key: &str, digest: Digest, until: Micros) -> Result<bool, Error> {
        let mut insert = self.0.connection().prepare_cached(INSERT)?;
        let digest = digest.as_bytes().as_slice();
        Ok(insert.execute(params![source, key, digest, until.get()])? > 0)
    }

    fn standing(&self, source: &str, key: &str, now: Micros) -> Result<Option<InboxEntry>, Error> {
        let mut query = self.0.connection().prepare_cached(STANDING)?;
        let read = query.query_row([source, key], |row| {
            let until = row.get::<_, Option<i64>>(4)?;
            if until.is_some_and(|until| until <= now.get()) {
                return Ok(None);
            }
            let outcome: Option<String> = row.get(1)?;
            let result = match row.get_ref(2)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
            };
            let received_at = Micros::new(row.get(3)?);
            Ok(Some(digest(row.get_ref(0)?).map(|digest| InboxEntry {
                digest,
                outcome: outcome.as_deref().and_then(ReceiptOutcome::from_name),
                result,
                received_at,
            })))
        });
        let foreign = || Error::ForeignDigest { source_name: source.into(), key: key.into() };
        let kept = read.optional()?.flatten();
        kept.map(|entry| entry.ok_or_else(foreign)).transpose()
    }
}

/// SHA-256 as another program may have written it: 32 bytes, or 64 digits as text or bytes.
fn digest(stored: ValueRef<'_>) -> Option<Digest> {
    let (ValueRef::Blob(bytes) | ValueRef::Text(bytes)) = stored else { return None };
    let hex = || std::str::from_utf8(bytes).ok().and_then(Digest::from_hex);
    Digest::from_bytes(bytes).or_else(hex)
}

impl<T: InTransaction> InboxRows for InboxTx<T> {
    type Error = InboxTxError;

    fn now(&mut self) -> Result<Micros, InboxTxError> {
        self.time()
    }

    fn insert(
        &mut self,
        source: &str,
        key: &str,
        digest: Digest,
        expires_at: Micros,
    ) -> Result<Option<InboxEntry>, InboxTxError> {
        if self.0.connection().is_autocommit() {
            return Err(Error::NoTransaction { source_name: source.into(), key: key.into() });
        }
        // The insert comes before the first read: it takes the write lock, so no twin can come
        // between, and a deferred transaction does not begin with a snapshot that cannot write.
        if self.take(source, key, digest, expires_at)? {
            return Ok(None);
        }
        let now = self.time()?;
        let mut forget = self.0.connection().prepare_cached(FORGET)?;
        if forget.execute(params![source, key, now.get()])? > 0 {
            self.take(source, key, digest, expires_at)?;
            return Ok(None);
        }
        self.standing(source, key, now)
    }

    fn finish(
        &mut self,
        source: &str,
        key: &str,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<(), InboxTxError> {
        // As text where it is text, so that SQL shows it.
        let result = match std::str::from_utf8(result) {
            Ok(text) if !text.contains('\0') => Value::Text(text.into()),
            _ => Value::Blob(result.to_vec()),
        };
        let mut finish = self.0.connection().prepare_cached(FINISH)?;
        match finish.execute(params![source, key, outcome.name(), result])? {
            0 => Err(Error::NotHeld { source_name: source.into(), key: key.into() }),
            _ => Ok(()),
        }
    }

    fn is_busy(error: &InboxTxError) -> bool {
        let Error::Sqlite(error) = error else { return false };
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    }
}

impl<T> Deref for InboxTx<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for InboxTx<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
