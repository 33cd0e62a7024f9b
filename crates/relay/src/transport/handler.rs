//! A function in this process as a destination.
//!
//! Guarantees: its lease is renewed while it runs, so that a long one runs once; an error or a
//! panic is an unknown outcome, since it may have acted before. Does not: make its effects
//! idempotent; write them with the command's id, or give the function's database the inbox.

use std::fmt::Display;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use counterfoil_core::domain::outcome::ResultBody;
use counterfoil_core::domain::{Digest, Judge, Outcome, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Transport};
use futures_util::FutureExt;
use serde::Serialize;

use crate::reason::of_panic;

/// The most bytes of a result that are kept; of a longer one, length and digest are kept too.
pub const RESULT_BYTES_MAX: usize = 65_536;

/// Why a handler did not complete a command.
///
/// Whatever can be displayed becomes [`HandlerError::Unknown`], so `?` works with any error: the
/// function may have acted before it failed. Say more only where more is known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandlerError {
    /// Judged and refused: it ends the command.
    Rejected {
        /// Why.
        reason: String,
    },
    /// Nothing was done; it is tried again.
    NotSent {
        /// Why.
        reason: String,
        /// How long to wait at least.
        retry_after: Option<Span>,
    },
    /// The key is known with other content: a person must look.
    Conflict {
        /// What differs.
        reason: String,
    },
    /// It may have been done, or not.
    Unknown {
        /// Why.
        reason: String,
    },
}

impl HandlerError {
    /// Judged and refused.
    #[must_use]
    pub fn rejected(reason: impl Display) -> Self {
        Self::Rejected { reason: reason.to_string() }
    }

    /// Nothing was done.
    #[must_use]
    pub fn not_sent(reason: impl Display) -> Self {
        Self::NotSent { reason: reason.to_string(), retry_after: None }
    }

    /// Nothing was done; try again after `retry_after` at the earliest.
    #[must_use]
    pub fn not_before(reason: impl Display, retry_after: Span) -> Self {
        Self::NotSent { reason: reason.to_string(), retry_after: Some(retry_after) }
    }

    /// The key is known with other content.
    #[must_use]
    pub fn conflict(reason: impl Display) -> Self {
        Self::Conflict { reason: reason.to_string() }
    }

    /// It may have been done, or not.
    #[must_use]
    pub fn unknown(reason: impl Display) -> Self {
        Self::Unknown { reason: reason.to_string() }
    }
}

impl<E: Display> From<E> for HandlerError {
    fn from(error: E) -> Self {
        // The alternate form shows the whole chain, where an error has one.
        Self::Unknown { reason: format!("{error:#}") }
    }
}

impl From<HandlerError> for Outcome {
    fn from(error: HandlerError) -> Self {
        match error {
            HandlerError::Rejected { reason } => Self::Rejected { reason, by: Judge::Receiver },
            HandlerError::NotSent { reason, retry_after } => {
                Self::NotSent { reason, retry_after, misconfigured: false }
            }
            HandlerError::Conflict { reason } => Self::Conflict { reason },
            HandlerError::Unknown { reason } => Self::unknown(reason),
        }
    }
}

/// A result that is kept as JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// Taken on, to be done later; the words say by what that is known, such as the id of a job.
///
/// With `completion = "receipt"` or `"response"` the command is *published* then: whoever does the
/// work reports it, or the command is due again after `receipt_timeout`. With
/// `completion = "accepted"` it ends the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted(pub String);

impl HandlerResult for Accepted {
    fn into_bytes(self) -> Result<Vec<u8>, String> {
        Ok(self.0.into())
    }

    fn into_outcome(self) -> Outcome {
        Outcome::Accepted { evidence: self.0 }
    }
}

/// What a handler may return: the result that the receipt keeps, or [`Accepted`].
pub trait HandlerResult: Sized {
    /// The bytes of the result.
    ///
    /// # Errors
    /// A value that is no JSON; the work is done all the same, so the receipt says so.
    fn into_bytes(self) -> Result<Vec<u8>, String>;

    /// What the attempt comes to. Default: completed, whatever `completion` says, since it is the
    /// receiver's own word.
    fn into_outcome(self) -> Outcome {
        completed(self)
    }
}

impl HandlerResult for () {
    fn into_bytes(self) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }
}

macro_rules! as_bytes {
    ($($type:ty),*) => {$(
        impl HandlerResult for $type {
            fn into_bytes(self) -> Result<Vec<u8>, String> {
                Ok(self.into())
            }
        }
    )*};
}

as_bytes!(Vec<u8>, Bytes, String, &str);

impl<T: Serialize> HandlerResult for Json<T> {
    fn into_bytes(self) -> Result<Vec<u8>, String> {
        counterfoil_core::domain::json::to_sorted_vec(&self.0).map_err(|error| error.to_string())
    }
}

/// An async function as a transport; see [`handler`].
#[derive(Clone, Copy, Debug)]
pub struct Handler<F> {
    function: F,
}

/// Makes an async function the destination.
///
/// `Ok` completes the command: bytes, text, `()`, or [`Json`] of a value; [`Accepted`] says that it
/// is taken on only. Any error that can be displayed is unknown; [`HandlerError`] says more where
/// more is known.
///
/// # Example
/// ```
/// use counterfoil_core::port::Attempt;
/// use counterfoil_relay::transport::handler::{HandlerError, Json, handler};
///
/// let shipping = handler(|attempt: Attempt| async move {
///     let order: serde_json::Value = serde_json::from_slice(&attempt.command.body)
///         .map_err(|error| HandlerError::rejected(error))?;
///     Ok::<_, HandlerError>(Json(serde_json::json!({ "shipped": order["order_id"] })))
/// });
/// # let _ = shipping;
/// ```
pub fn handler<F, Fut, T, E>(function: F) -> Handler<F>
where
    F: Fn(Attempt) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send,
    T: HandlerResult,
    E: Into<HandlerError>,
{
    Handler { function }
}

impl<F, Fut, T, E> Transport for Handler<F>
where
    F: Fn(Attempt) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send,
    T: HandlerResult,
    E: Into<HandlerError>,
{
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if attempt.gate.begin().is_err() {
                return Outcome::not_sent("withdrawn before it began");
            }
            // The call itself may panic, before there is a future.
            let called = AssertUnwindSafe(async { (self.function)(attempt.clone()).await });
            match called.catch_unwind().await {
                Ok(Ok(result)) => result.into_outcome(),
                Ok(Err(error)) => error.into().into(),
                Err(panic) => Outcome::unknown(of_panic("handler", &*panic)),
            }
        })
    }

    fn request_timeout(&self) -> Option<Span> {
        None
    }
}

fn completed(result: impl HandlerResult) -> Outcome {
    let evidence = "handler returned";
    match result.into_bytes() {
        Ok(bytes) => Outcome::Completed { result: kept(bytes), evidence: evidence.into() },
        Err(error) => {
            let evidence = format!("{evidence}; its result is no JSON: {error}");
            Outcome::Completed { result: ResultBody::default(), evidence }
        }
    }
}

/// The result, cut to what is kept.
fn kept(mut bytes: Vec<u8>) -> ResultBody {
    if bytes.len() <= RESULT_BYTES_MAX {
        return ResultBody::whole(bytes);
    }
    let (full_len, full_digest) = (bytes.len() as u64, Some(Digest::of(&bytes)));
    bytes.truncate(RESULT_BYTES_MAX);
    ResultBody { bytes, full_len, full_digest }
}
