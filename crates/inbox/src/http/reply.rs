//! What the guard's word becomes over HTTP.
//!
//! Guarantees: a first answer and its repeat are the same bytes; `Counterfoil-Outcome` says the
//! receiver's own word, so that no gateway's status can be taken for it, nor a refusal for a
//! success. Does not: keep a media type: a stored result is JSON if it reads as such, else text,
//! else bytes.

use axum::http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use counterfoil_core::port::InboxRows;
use serde::de::IgnoredAny;

use super::problem::Problem;
use crate::guard::{Begun, First, Stored};

const OUTCOME: HeaderName = HeaderName::from_static("counterfoil-outcome");

/// How long a sender is asked to wait, in seconds, when another request holds the key.
const RETRY_SECS: &str = "1";

/// An answer of a receiver that uses the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done, now or before: 200 with the result.
    Completed(Vec<u8>),
    /// Taken on, and a receipt will say what came of it: 202.
    Accepted,
    /// Judged and refused, now or before: 400 with the reason as `detail`. The header says it is
    /// the receiver's word; the status says it to those who do not know the header.
    Rejected(Vec<u8>),
    /// The key stands with other content: 422.
    Conflict,
    /// A twin is at work: 409 with `Retry-After`.
    Busy,
    /// The key stands without an outcome: 409 with `Retry-After`, outcome unknown.
    Unfinished,
}

impl From<Stored> for Reply {
    fn from(stored: Stored) -> Self {
        if stored.is_refusal {
            Self::Rejected(stored.result)
        } else {
            Self::Completed(stored.result)
        }
    }
}

impl<R: InboxRows> Begun<R> {
    /// The key that was taken, or the answer of a request that must not act.
    ///
    /// # Errors
    /// The answer, as it is to be sent.
    pub fn first_or_reply(self) -> Result<First<R>, Reply> {
        match self {
            Self::First(first) => Ok(first),
            Self::Repeat(stored) => Err(stored.into()),
            Self::Unfinished { .. } => Err(Reply::Unfinished),
            Self::Conflict => Err(Reply::Conflict),
            Self::Busy => Err(Reply::Busy),
        }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        match self {
            Self::Completed(result) => completed(result),
            Self::Accepted => {
                let word = [(OUTCOME, HeaderValue::from_static("accepted"))];
                (StatusCode::ACCEPTED, word).into_response()
            }
            Self::Rejected(reason) => {
                let reason = String::from_utf8_lossy(&reason).into_owned();
                let title = "the command was judged and refused";
                Problem::new(StatusCode::BAD_REQUEST, "CF0719", title, reason)
                    .header(OUTCOME, "rejected")
                    .into_response()
            }
            Self::Conflict => Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "CF0708",
                "the key stands with other content",
                "this Idempotency-Key came before with another body: a new intent needs a new id",
            )
            .header(OUTCOME, "conflict")
            .into_response(),
            Self::Busy => Problem::new(
                StatusCode::CONFLICT,
                "CF0709",
                "the key is being worked on",
                "another request holds this Idempotency-Key: send the same request again later",
            )
            .header(RETRY_AFTER, RETRY_SECS)
            .into_response(),
            Self::Unfinished => Problem::new(
                StatusCode::CONFLICT,
                "CF0710",
                "the key stands without an outcome",
                "whoever took this Idempotency-Key committed it without an outcome, so nobody \
                 knows whether it was done: look at the receiver's books, then store the outcome \
                 beside the key",
            )
            .header(OUTCOME, "unknown")
            .header(RETRY_AFTER, RETRY_SECS)
            .into_response(),
        }
    }
}

fn completed(result: Vec<u8>) -> Response {
    let media_type = if serde_json::from_slice::<IgnoredAny>(&result).is_ok() {
        "application/json"
    } else if std::str::from_utf8(&result).is_ok() {
        "text/plain; charset=utf-8"
    } else {
        "application/octet-stream"
    };
    let headers = [(CONTENT_TYPE, media_type), (OUTCOME, "completed")]
        .map(|(name, value)| (name, HeaderValue::from_static(value)));
    (StatusCode::OK, headers, result).into_response()
}
