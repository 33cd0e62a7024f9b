//! The inbox on a connection of `sqlx` that is in a transaction.
//!
//! Guarantees: the same answers as on `tokio_postgres`. Does not: begin or commit; know of a BEGIN
//! that was not `sqlx`'s own.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use counterfoil_core::domain::{Digest, ReceiptOutcome, Span};
use counterfoil_core::port::{AsyncInboxRows, InboxEntry};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, query, query_as};

use super::keys::{self, Keep, Key, Keys, Standing};
use super::{InboxSql, InboxTxError as Error};
use crate::failure::sqlx_words;

/// A row as `sqlx` reads it: digest, outcome, result, received_at, whether its retention is over.
type Read = (Vec<u8>, Option<String>, Option<Vec<u8>>, i64, bool);

/// The inbox, seen from one transaction of `sqlx`.
///
/// Give it the transaction itself, and only a guard that was finished gives it back to be
/// committed; or lend it `&mut *transaction`, and rolling back is up to you.
pub struct SqlxInboxTx<C> {
    connection: C,
    sql: InboxSql,
}

impl<C> std::fmt::Debug for SqlxInboxTx<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlxInboxTx").field("sql", &self.sql).finish_non_exhaustive()
    }
}

impl<C: DerefMut<Target = PgConnection> + Send> SqlxInboxTx<C> {
    /// The inbox in the schema `counterfoil` of this connection's database; for another one see
    /// [`InboxSql::on_sqlx`].
    pub fn new(connection: C) -> Self {
        Self::of(connection, InboxSql::default())
    }

    pub(super) fn of(connection: C, sql: InboxSql) -> Self {
        Self { connection, sql }
    }

    /// The transaction, or what was lent.
    pub fn into_inner(self) -> C {
        self.connection
    }

    /// What stands about a key; an expired one counts as absent. Takes nothing.
    ///
    /// # Errors
    /// [`InboxTxError::Server`], [`InboxTxError::ForeignDigest`].
    ///
    /// [`InboxTxError::Server`]: super::InboxTxError::Server
    /// [`InboxTxError::ForeignDigest`]: super::InboxTxError::ForeignDigest
    pub async fn look(&mut self, source: &str, key: &str) -> Result<Option<InboxEntry>, Error> {
        keys::look(&mut self.keys(), Key { source, key }).await
    }

    /// Removes at most `limit` keys whose retention is over, oldest first; how many.
    ///
    /// # Errors
    /// What the server says.
    pub async fn purge(&mut self, limit: usize) -> Result<usize, Error> {
        self.keys().purge(limit).await
    }

    fn keys(&mut self) -> On<'_> {
        On { connection: &mut self.connection, sql: &self.sql }
    }
}

impl<C: DerefMut<Target = PgConnection> + Send> AsyncInboxRows for SqlxInboxTx<C> {
    type Error = Error;

    async fn insert(
        &mut self,
        source: &str,
        key: &str,
        digest: Digest,
        keep: Span,
    ) -> Result<Option<InboxEntry>, Error> {
        if !self.connection.is_in_transaction() {
            return Err(Error::NoTransaction { source_name: source.into(), key: key.into() });
        }
        keys::insert(&mut self.keys(), Key { source, key }, digest, Keep::For(keep)).await
    }

    async fn finish(
        &mut self,
        source: &str,
        key: &str,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<(), Error> {
        keys::finish(&mut self.keys(), Key { source, key }, outcome, result).await
    }

    fn is_busy(error: &Error) -> bool {
        error.is_busy()
    }
}

impl<C> Deref for SqlxInboxTx<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.connection
    }
}

impl<C> DerefMut for SqlxInboxTx<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.connection
    }
}

/// The steps on a connection.
struct On<'a> {
    connection: &'a mut PgConnection,
    sql: &'a InboxSql,
}

fn text(sql: &Arc<str>) -> AssertSqlSafe<Arc<str>> {
    AssertSqlSafe(Arc::clone(sql))
}

impl Keys for On<'_> {
    async fn take(&mut self, key: Key<'_>, digest: Digest, keep: Keep) -> Result<bool, Error> {
        let (until, span) = keep.bound();
        let asked = query(text(&self.sql.0.take))
            .bind(key.source)
            .bind(key.key)
            .bind(digest.as_bytes().as_slice())
            .bind(until)
            .bind(span);
        Ok(asked.fetch_optional(&mut *self.connection).await?.is_some())
    }

    async fn standing(&mut self, key: Key<'_>) -> Result<Option<Standing>, Error> {
        let asked = query_as::<_, Read>(text(&self.sql.0.standing)).bind(key.source).bind(key.key);
        let read = asked.fetch_optional(&mut *self.connection).await?;
        Ok(read.map(|(digest, outcome, result, received_at, is_over)| Standing {
            digest,
            outcome,
            result,
            received_at,
            is_over,
        }))
    }

    async fn forget(&mut self, key: Key<'_>) -> Result<(), Error> {
        let asked = query(text(&self.sql.0.forget)).bind(key.source).bind(key.key);
        asked.fetch_optional(&mut *self.connection).await?;
        Ok(())
    }

    async fn store(
        &mut self,
        key: Key<'_>,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<bool, Error> {
        let asked = query(text(&self.sql.0.finish))
            .bind(key.source)
            .bind(key.key)
            .bind(outcome.name())
            .bind(result);
        Ok(asked.fetch_optional(&mut *self.connection).await?.is_some())
    }

    async fn purge(&mut self, limit: usize) -> Result<usize, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let asked = query(text(&self.sql.0.purge)).bind(limit);
        Ok(asked.fetch_all(&mut *self.connection).await?.len())
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let (code, said) = sqlx_words(&error);
        Self::Server { code, said }
    }
}
