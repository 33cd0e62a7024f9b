//! The receiver's memory of keys, inside the receiver's own transaction.
//!
//! Guarantees asked of an implementation: `insert` comes first in the transaction of the business
//! write and is atomic with it. It is not asked to judge; the guard does.

use std::future::Future;

use crate::domain::{Digest, Micros, ReceiptOutcome, Span};

/// What stands about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxEntry {
    /// The digest of the body, or of its core fields.
    pub digest: Digest,
    /// The outcome, once stored: `Completed` or `Rejected`.
    pub outcome: Option<ReceiptOutcome>,
    /// The result or the reason, once stored.
    pub result: Option<Vec<u8>>,
    /// When the key came first.
    pub received_at: Micros,
}

/// The rows of an inbox, seen from one open transaction.
pub trait InboxRows {
    /// Why the rows cannot be read or written.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The database's time now.
    ///
    /// # Errors
    /// What the database reports.
    fn now(&mut self) -> Result<Micros, Self::Error>;

    /// Inserts the key, or returns what stands. An expired row counts as absent and is replaced.
    ///
    /// # Errors
    /// What the database reports; busy is an error of its own kind, see `is_busy`.
    fn insert(
        &mut self,
        source: &str,
        key: &str,
        digest: Digest,
        expires_at: Micros,
    ) -> Result<Option<InboxEntry>, Self::Error>;

    /// Stores the outcome beside the key.
    ///
    /// # Errors
    /// What the database reports.
    fn finish(
        &mut self,
        source: &str,
        key: &str,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<(), Self::Error>;

    /// Whether the error means that a twin holds the key now: wait, or answer 409.
    fn is_busy(error: &Self::Error) -> bool;
}

/// The rows of an inbox whose driver is async, seen from one open transaction.
pub trait AsyncInboxRows: Send {
    /// Why the rows cannot be read or written.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Inserts the key, kept so long from the database's time now, or returns what stands. An
    /// expired row counts as absent and is replaced; a twin in flight is waited for.
    ///
    /// # Errors
    /// What the database reports; busy is an error of its own kind, see `is_busy`.
    fn insert(
        &mut self,
        source: &str,
        key: &str,
        digest: Digest,
        keep: Span,
    ) -> impl Future<Output = Result<Option<InboxEntry>, Self::Error>> + Send;

    /// Stores the outcome beside the key.
    ///
    /// # Errors
    /// What the database reports.
    fn finish(
        &mut self,
        source: &str,
        key: &str,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Whether the error means that a twin holds the key now: wait, or answer 409.
    fn is_busy(error: &Self::Error) -> bool;
}

/// So that a guard may borrow the rows of a transaction that goes on after it.
impl<R: InboxRows + ?Sized> InboxRows for &mut R {
    type Error = R::Error;

    fn now(&mut self) -> Result<Micros, Self::Error> {
        (**self).now()
    }

    fn insert(
        &mut self,
        source: &str,
        key: &str,
        digest: Digest,
        expires_at: Micros,
    ) -> Result<Option<InboxEntry>, Self::Error> {
        (**self).insert(source, key, digest, expires_at)
    }

    fn finish(
        &mut self,
        source: &str,
        key: &str,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<(), Self::Error> {
        (**self).finish(source, key, outcome, result)
    }

    fn is_busy(error: &Self::Error) -> bool {
        R::is_busy(error)
    }
}
