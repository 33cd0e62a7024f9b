//! The guard: takes a key first, in the transaction of the business write.
//!
//! Guarantees: of all requests with one key, one gives [`Begun::First`] and commits; a refusal is
//! remembered as well as a success; a digest that differs is a [`Begun::Conflict`], whatever the
//! outcome was. Does not: begin or commit the transaction, nor wait for a twin longer than the
//! database waits.
//!
//! **What is committed without an outcome.** A [`First`] that owns its transaction gives it back
//! only from [`First::finish`] or [`First::finish_rejected`], so without one of them it rolls
//! back. Where the transaction was only lent, or another program wrote the row in plain SQL, a
//! key may still be committed with no outcome beside it. A repeat of it is [`Begun::Unfinished`],
//! a case of its own that every `match` must name: the effect may be there, or half of it, and
//! nobody knows the answer. It never becomes a `First` again while the key is kept, nor is it
//! called a success. Over HTTP it is 409 with `Counterfoil-Outcome: unknown`, so the sender asks
//! or retries, and ends uncertain before a person.

use counterfoil_core::domain::{CommandId, Digest, IdRefused, Micros, ReceiptOutcome, Span};
use counterfoil_core::port::{InboxEntry, InboxRows};

use crate::source::{self, SourceRefused};

/// How long a key is kept by default: 7 days.
///
/// It must be at least as long as the sender may repeat: Counterfoil's own relay gives up after 20
/// hours by default, and a person who looks after a weekend may retry or redeliver. Seven days
/// cover both, and a sender may then state `idempotent = { key_ttl = "7d" }`. Keep keys longer if
/// a sender's `give_up_after` is longer; a row costs about 150 bytes and its result.
pub const RETENTION: Span = Span::from_secs(7 * 24 * 3600);

/// The most bytes a stored result or reason may have: 16 MiB.
pub const RESULT_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// Why the guard cannot say anything. Roll the transaction back and answer 5xx or 400.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InboxError<E: std::error::Error + 'static> {
    /// The key breaks the rule of ids.
    #[error("the key is no id: {0}")]
    Key(#[from] IdRefused),
    /// The source breaks the rule of ids.
    #[error(transparent)]
    Source(#[from] SourceRefused),
    /// A key that is forgotten at once guards nothing.
    #[error(
        "the retention of key {key} is zero, so its repeat would act again: keep keys at least \
         as long as the sender may repeat, 7 days by default"
    )]
    NoRetention {
        /// The key.
        key: String,
    },
    /// The result is too long to be kept beside the key.
    #[error(
        "the result of key {key} has {len} bytes; at most {RESULT_BYTES_LIMIT} are kept: store it \
         elsewhere and answer with a reference"
    )]
    ResultTooLong {
        /// The key.
        key: String,
        /// How many bytes it has.
        len: usize,
    },
    /// The database failed.
    #[error(transparent)]
    Rows(E),
}

impl<E: std::error::Error + 'static> InboxError<E> {
    /// The stable code of this refusal.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Key(_) => "CF0704",
            Self::Source(_) => "CF0707",
            Self::NoRetention { .. } => "CF0717",
            Self::ResultTooLong { .. } => "CF0718",
            Self::Rows(_) => "CF0715",
        }
    }
}

/// An outcome that stands beside a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Whether the command was judged and refused; else it was done.
    pub is_refusal: bool,
    /// The result, or the reason of the refusal, byte for byte.
    pub result: Vec<u8>,
    /// When the key came first.
    pub received_at: Micros,
}

/// What a key is to this inbox. Not `#[non_exhaustive]`: each case needs an answer of its own.
#[must_use = "the transaction must not be committed before the guard's word is heard"]
#[derive(Debug)]
pub enum Begun<R> {
    /// It is new, and now taken: do the work in this transaction, then finish.
    First(First<R>),
    /// It was finished before with the same content: answer with what is stored. Nothing was
    /// written.
    Repeat(Stored),
    /// It was committed without an outcome: answer that it is not known; see the module's words.
    Unfinished {
        /// When the key came first.
        received_at: Micros,
    },
    /// It stands with other content: answer 422, so that a person sees it.
    Conflict,
    /// A twin holds it longer than the database waits: answer 409 with `Retry-After`.
    Busy,
}

/// A key that was taken in this transaction: do the work, then finish. Dropped, nothing is stored
/// and an owned transaction rolls back; roll a lent one back yourself.
#[must_use = "finish it or roll back: committed as it is, no repeat can be answered"]
#[derive(Debug)]
pub struct First<R> {
    pub(crate) rows: R,
    pub(crate) source: String,
    pub(crate) key: String,
}

/// Takes `key` of `source`, before anything else is written in the transaction behind `rows`.
///
/// `digest` is over the body, or over its core fields, see [`core_digest`](crate::core_digest):
/// always over the same of the two for one source. `retention` is how long the key is kept from
/// now, [`RETENTION`] by default; beyond the year 2286 it counts as until then.
///
/// # Errors
/// [`InboxError`]; the transaction must be rolled back then.
pub fn begin<R: InboxRows>(
    mut rows: R,
    source: &str,
    key: &str,
    digest: Digest,
    retention: Span,
) -> Result<Begun<R>, InboxError<R::Error>> {
    check(source, key, retention)?;
    let until = rows.now().map(|now| now.plus(retention).min(Micros::LATEST));
    match until.and_then(|until| rows.insert(source, key, digest, until)) {
        Ok(None) => Ok(Begun::First(First { rows, source: source.into(), key: key.into() })),
        Ok(Some(entry)) => Ok(standing(entry, digest)),
        Err(error) if R::is_busy(&error) => Ok(Begun::Busy),
        Err(error) => Err(InboxError::Rows(error)),
    }
}

/// Checks what needs no database.
pub(crate) fn check<E: std::error::Error>(
    source: &str,
    key: &str,
    retention: Span,
) -> Result<(), InboxError<E>> {
    source::check(source)?;
    CommandId::new(key)?;
    if retention == Span::ZERO {
        return Err(InboxError::NoRetention { key: key.into() });
    }
    Ok(())
}

/// What a key is that stands.
pub(crate) fn standing<R>(entry: InboxEntry, digest: Digest) -> Begun<R> {
    if entry.digest != digest {
        return Begun::Conflict;
    }
    let received_at = entry.received_at;
    match Stored::of(entry) {
        Some(stored) => Begun::Repeat(stored),
        None => Begun::Unfinished { received_at },
    }
}

impl Stored {
    /// The outcome beside a key; `None` if it has none.
    #[must_use]
    pub fn of(entry: InboxEntry) -> Option<Self> {
        let is_refusal = match entry.outcome? {
            ReceiptOutcome::Completed => false,
            ReceiptOutcome::Rejected => true,
            // No inbox stores these, so whoever did has said nothing that can be repeated.
            ReceiptOutcome::Accepted | ReceiptOutcome::Cancelled | ReceiptOutcome::Expired => {
                return None;
            }
        };
        let result = entry.result.unwrap_or_default();
        Some(Self { is_refusal, result, received_at: entry.received_at })
    }
}

impl<R> First<R> {
    /// The rows, and behind them the transaction, for the business write.
    pub fn rows(&mut self) -> &mut R {
        &mut self.rows
    }

    /// The key that was taken.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Refuses what is too long to be kept.
    pub(crate) fn check_result<E: std::error::Error>(
        &self,
        result: &[u8],
    ) -> Result<(), InboxError<E>> {
        if result.len() > RESULT_BYTES_LIMIT {
            return Err(InboxError::ResultTooLong { key: self.key.clone(), len: result.len() });
        }
        Ok(())
    }
}

impl<R: InboxRows> First<R> {
    /// Stores that it was done, and gives the rows back: commit now.
    ///
    /// # Errors
    /// [`InboxError::ResultTooLong`] or what the database reports; roll back then.
    pub fn finish(self, result: &[u8]) -> Result<R, InboxError<R::Error>> {
        self.store(ReceiptOutcome::Completed, result)
    }

    /// Stores that it was judged and refused, and gives the rows back: take back what was written
    /// for the command, if anything, and commit now, so that a repeat is refused the same way.
    ///
    /// # Errors
    /// [`InboxError::ResultTooLong`] or what the database reports; roll back then.
    pub fn finish_rejected(self, reason: &[u8]) -> Result<R, InboxError<R::Error>> {
        self.store(ReceiptOutcome::Rejected, reason)
    }

    fn store(mut self, outcome: ReceiptOutcome, result: &[u8]) -> Result<R, InboxError<R::Error>> {
        self.check_result(result)?;
        let stored = self.rows.finish(&self.source, &self.key, outcome, result);
        stored.map_err(InboxError::Rows)?;
        Ok(self.rows)
    }
}
