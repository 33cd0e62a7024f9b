//! The guard over a driver that is async, such as those of PostgreSQL.
//!
//! Guarantees: those of [`begin`](crate::begin), by the same judgement. Does not: end the
//! transaction; a future that is dropped leaves it as it is, so roll back then.

use counterfoil_core::domain::{Digest, ReceiptOutcome, Span};
use counterfoil_core::port::AsyncInboxRows;

use crate::guard::{Begun, First, InboxError, check, standing};

/// Takes `key` of `source`, before anything else is written in the transaction behind `rows`; as
/// [`begin`](crate::begin) in all else. The time is the database's.
///
/// A twin that is in flight is waited for as long as the database waits: give the connection a
/// `lock_timeout`, and [`Begun::Busy`] is the answer after it.
///
/// # Errors
/// [`InboxError`]; the transaction must be rolled back then.
///
/// # Example
/// ```
/// use counterfoil_core::domain::Digest;
/// use counterfoil_core::port::AsyncInboxRows;
/// use counterfoil_inbox::{Begun, InboxError, RETENTION, begin_async};
///
/// /// What to answer, and whether to commit.
/// async fn ship<R: AsyncInboxRows>(
///     rows: R,
///     key: &str,
///     body: &[u8],
/// ) -> Result<(u16, Option<R>), InboxError<R::Error>> {
///     match begin_async(rows, "urn:shop", key, Digest::of(body), RETENTION).await? {
///         Begun::First(mut first) => {
///             let _transaction = first.rows(); // the business write
///             Ok((200, Some(first.finish_async(b"shipped").await?)))
///         }
///         Begun::Repeat(_stored) => Ok((200, None)),
///         Begun::Conflict => Ok((422, None)),
///         Begun::Unfinished { .. } | Begun::Busy => Ok((409, None)),
///     }
/// }
/// ```
pub async fn begin_async<R: AsyncInboxRows>(
    mut rows: R,
    source: &str,
    key: &str,
    digest: Digest,
    retention: Span,
) -> Result<Begun<R>, InboxError<R::Error>> {
    check(source, key, retention)?;
    match rows.insert(source, key, digest, retention).await {
        Ok(None) => Ok(Begun::First(First { rows, source: source.into(), key: key.into() })),
        Ok(Some(entry)) => Ok(standing(entry, digest)),
        Err(error) if R::is_busy(&error) => Ok(Begun::Busy),
        Err(error) => Err(InboxError::Rows(error)),
    }
}

impl<R: AsyncInboxRows> First<R> {
    /// Stores that it was done, and gives the rows back: commit now.
    ///
    /// # Errors
    /// [`InboxError::ResultTooLong`] or what the database reports; roll back then.
    pub async fn finish_async(self, result: &[u8]) -> Result<R, InboxError<R::Error>> {
        self.store_async(ReceiptOutcome::Completed, result).await
    }

    /// Stores that it was judged and refused, and gives the rows back: take back what was written
    /// for the command, if anything, and commit now, so that a repeat is refused the same way.
    ///
    /// # Errors
    /// [`InboxError::ResultTooLong`] or what the database reports; roll back then.
    pub async fn finish_rejected_async(self, reason: &[u8]) -> Result<R, InboxError<R::Error>> {
        self.store_async(ReceiptOutcome::Rejected, reason).await
    }

    async fn store_async(
        mut self,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<R, InboxError<R::Error>> {
        self.check_result(result)?;
        let stored = self.rows.finish(&self.source, &self.key, outcome, result).await;
        stored.map_err(InboxError::Rows)?;
        Ok(self.rows)
    }
}
