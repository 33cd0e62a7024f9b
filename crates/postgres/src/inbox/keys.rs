//! The steps by which a key is taken, the same on each driver.
//!
//! Guarantees: the insert comes first, so a twin in flight is waited for; a key whose retention is
//! over counts as absent and is replaced. Does not: know a driver.

use std::future::Future;

use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome, Span};
use counterfoil_core::port::InboxEntry;

use super::InboxTxError as Error;

/// How often a key is asked for that is gone each time one looks.
const TRIES_MAX: usize = 8;

/// A key of a sender.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    pub(super) source: &'a str,
    pub(super) key: &'a str,
}

impl Key<'_> {
    fn words(self) -> (String, String) {
        (self.source.into(), self.key.into())
    }
}

/// How long a key is kept.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    /// From the server's time now.
    For(Span),
    /// Until then.
    Until(Micros),
}

impl Keep {
    /// As the statement binds it: a time, or a span.
    pub(super) fn bound(self) -> (Option<i64>, Option<i64>) {
        match self {
            Self::For(span) => (None, Some(span.as_micros().min(Micros::LATEST.get()))),
            Self::Until(time) => (Some(time.get()), None),
        }
    }
}

/// A row as read.
pub(super) struct Standing {
    pub(super) digest: Vec<u8>,
    pub(super) outcome: Option<String>,
    pub(super) result: Option<Vec<u8>>,
    pub(super) received_at: i64,
    pub(super) is_over: bool,
}

/// One statement each.
pub(super) trait Keys: Send {
    /// Inserts the key unless it stands.
    fn take(
        &mut self,
        key: Key<'_>,
        digest: Digest,
        keep: Keep,
    ) -> impl Future<Output = Result<bool, Error>> + Send;

    /// What stands.
    fn standing(
        &mut self,
        key: Key<'_>,
    ) -> impl Future<Output = Result<Option<Standing>, Error>> + Send;

    /// Removes the key if its retention is over.
    fn forget(&mut self, key: Key<'_>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Stores an outcome if there is none.
    fn store(
        &mut self,
        key: Key<'_>,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Removes some keys whose retention is over.
    fn purge(&mut self, limit: usize) -> impl Future<Output = Result<usize, Error>> + Send;
}

/// Takes the key, or gives what stands.
pub(super) async fn insert(
    keys: &mut impl Keys,
    key: Key<'_>,
    digest: Digest,
    keep: Keep,
) -> Result<Option<InboxEntry>, Error> {
    for _ in 0..TRIES_MAX {
        if keys.take(key, digest, keep).await? {
            return Ok(None);
        }
        match keys.standing(key).await? {
            Some(standing) if standing.is_over => keys.forget(key).await?,
            Some(standing) => return entry(standing, key).map(Some),
            // Its transaction rolled back, or it was purged, after it was in the way.
            None => {}
        }
    }
    let (source_name, key) = key.words();
    Err(Error::Contended { source_name, key })
}

/// What stands about a key; an expired one counts as absent.
pub(super) async fn look(keys: &mut impl Keys, key: Key<'_>) -> Result<Option<InboxEntry>, Error> {
    let standing = keys.standing(key).await?.filter(|standing| !standing.is_over);
    standing.map(|standing| entry(standing, key)).transpose()
}

/// Stores the outcome beside the key.
pub(super) async fn finish(
    keys: &mut impl Keys,
    key: Key<'_>,
    outcome: ReceiptOutcome,
    result: &[u8],
) -> Result<(), Error> {
    if keys.store(key, outcome, result).await? {
        return Ok(());
    }
    let (source_name, key) = key.words();
    Err(Error::NotHeld { source_name, key })
}

fn entry(standing: Standing, key: Key<'_>) -> Result<InboxEntry, Error> {
    // SHA-256 as another program may have written it: 32 bytes, or 64 digits.
    let bytes = &standing.digest;
    let hex = || std::str::from_utf8(bytes).ok().and_then(Digest::from_hex);
    let Some(digest) = Digest::from_bytes(bytes).or_else(hex) else {
        let (source_name, key) = key.words();
        return Err(Error::ForeignDigest { source_name, key });
    };
    Ok(InboxEntry {
        digest,
        outcome: standing.outcome.as_deref().and_then(ReceiptOutcome::from_name),
        result: standing.result,
        received_at: Micros::new(standing.received_at),
    })
}
