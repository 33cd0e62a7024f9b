//! The inbox on a `tokio_postgres` transaction.
//!
//! Guarantees: nothing is prepared, so that poolers in transaction mode do no harm. Does not:
//! begin or commit.

use std::ops::{Deref, DerefMut};

use counterfoil_core::domain::{Digest, ReceiptOutcome, Span};
use counterfoil_core::port::{AsyncInboxRows, InboxEntry};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{GenericClient, Row, Transaction};

use super::keys::{self, Keep, Key, Keys, Standing};
use super::{InboxSql, InboxTxError as Error, TAKE_TYPES};

/// A transaction that is open, owned or lent.
pub trait InTransaction: Send + Sync {
    /// The transaction.
    fn transaction(&self) -> &Transaction<'_>;
}

impl InTransaction for Transaction<'_> {
    fn transaction(&self) -> &Transaction<'_> {
        self
    }
}

impl InTransaction for deadpool_postgres::Transaction<'_> {
    fn transaction(&self) -> &Transaction<'_> {
        self
    }
}

impl<T: InTransaction + ?Sized> InTransaction for &T {
    fn transaction(&self) -> &Transaction<'_> {
        (**self).transaction()
    }
}

/// The inbox, seen from one transaction of `tokio_postgres` or `deadpool_postgres`.
///
/// Give it the transaction itself, and only a guard that was finished gives it back to be
/// committed; or lend it `&transaction`, and rolling back is up to you.
pub struct InboxTx<T> {
    transaction: T,
    sql: InboxSql,
}

impl<T> std::fmt::Debug for InboxTx<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InboxTx").field("sql", &self.sql).finish_non_exhaustive()
    }
}

impl<T: InTransaction> InboxTx<T> {
    /// The inbox in the schema `counterfoil` of this transaction's database; for another one see
    /// [`InboxSql::on`].
    pub fn new(transaction: T) -> Self {
        Self::of(transaction, InboxSql::default())
    }

    pub(super) fn of(transaction: T, sql: InboxSql) -> Self {
        Self { transaction, sql }
    }

    /// The transaction.
    pub fn into_inner(self) -> T {
        self.transaction
    }

    /// What stands about a key; an expired one counts as absent. Takes nothing.
    ///
    /// # Errors
    /// [`InboxTxError::Server`], [`InboxTxError::ForeignDigest`].
    ///
    /// [`InboxTxError::Server`]: super::InboxTxError::Server
    /// [`InboxTxError::ForeignDigest`]: super::InboxTxError::ForeignDigest
    pub async fn look(&self, source: &str, key: &str) -> Result<Option<InboxEntry>, Error> {
        keys::look(&mut self.keys(), Key { source, key }).await
    }

    /// Removes at most `limit` keys whose retention is over, oldest first; how many.
    ///
    /// Call it now and then, in short transactions of its own, until it gives less than `limit`.
    ///
    /// # Errors
    /// What the server says.
    pub async fn purge(&self, limit: usize) -> Result<usize, Error> {
        self.keys().purge(limit).await
    }

    fn keys(&self) -> On<'_, Transaction<'_>> {
        On { client: self.transaction.transaction(), sql: &self.sql }
    }
}

impl<T: InTransaction> AsyncInboxRows for InboxTx<T> {
    type Error = Error;

    async fn insert(
        &mut self,
        source: &str,
        key: &str,
        digest: Digest,
        keep: Span,
    ) -> Result<Option<InboxEntry>, Error> {
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

impl<T> Deref for InboxTx<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.transaction
    }
}

impl<T> DerefMut for InboxTx<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.transaction
    }
}

/// The steps on whatever runs a statement.
pub(super) struct On<'a, C> {
    pub(super) client: &'a C,
    pub(super) sql: &'a InboxSql,
}

impl<C: GenericClient + Sync> On<'_, C> {
    async fn rows(
        &self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Error> {
        Ok(self.client.query_typed(sql, params).await?)
    }
}

impl<C: GenericClient + Sync> Keys for On<'_, C> {
    async fn take(&mut self, key: Key<'_>, digest: Digest, keep: Keep) -> Result<bool, Error> {
        let (until, span) = keep.bound();
        let digest = digest.as_bytes().as_slice();
        let values: [&(dyn ToSql + Sync); 5] = [&key.source, &key.key, &digest, &until, &span];
        let typed: Vec<_> = values.into_iter().zip(TAKE_TYPES).collect();
        Ok(!self.rows(&self.sql.0.take, &typed).await?.is_empty())
    }

    async fn standing(&mut self, key: Key<'_>) -> Result<Option<Standing>, Error> {
        let params: [(&(dyn ToSql + Sync), Type); 2] =
            [(&key.source, Type::TEXT), (&key.key, Type::TEXT)];
        let rows = self.rows(&self.sql.0.standing, &params).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(Standing {
            digest: row.try_get(0)?,
            outcome: row.try_get(1)?,
            result: row.try_get(2)?,
            received_at: row.try_get(3)?,
            is_over: row.try_get(4)?,
        }))
    }

    async fn forget(&mut self, key: Key<'_>) -> Result<(), Error> {
        let params: [(&(dyn ToSql + Sync), Type); 2] =
            [(&key.source, Type::TEXT), (&key.key, Type::TEXT)];
        self.rows(&self.sql.0.forget, &params).await.map(drop)
    }

    async fn store(
        &mut self,
        key: Key<'_>,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<bool, Error> {
        let name = outcome.name();
        let params: [(&(dyn ToSql + Sync), Type); 4] = [
            (&key.source, Type::TEXT),
            (&key.key, Type::TEXT),
            (&name, Type::TEXT),
            (&result, Type::BYTEA),
        ];
        Ok(!self.rows(&self.sql.0.finish, &params).await?.is_empty())
    }

    async fn purge(&mut self, limit: usize) -> Result<usize, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Ok(self.rows(&self.sql.0.purge, &[(&limit, Type::INT8)]).await?.len())
    }
}
