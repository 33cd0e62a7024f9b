//! A refusal over HTTP, as a problem of RFC 9457.
//!
//! Guarantees: a stable `code`, and a `detail` that says the rule and the way out. Does not: show
//! the body of a request, or credentials.

use std::fmt;

use axum::http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::core_digest::CoreRefused;
use crate::guard::InboxError;

/// A refusal, answered as `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    detail: String,
    error: Option<&'static str>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem with this status, stable code, summary and explanation.
    pub fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self { status, code, title, detail: detail.into(), error: None, headers: Vec::new() }
    }

    /// The service cannot answer now, 503 `CF0715` with `Retry-After`: the sender does not know
    /// what happened and repeats, and the key folds it.
    ///
    /// For whatever fails around the guard: a lock, a pool, BEGIN, the business write, COMMIT.
    pub fn unavailable(why: impl fmt::Display) -> Self {
        let detail = format!("the receiver failed ({why}): send the same again");
        let title = "the receiver's database failed";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "CF0715", title, detail).header(RETRY_AFTER, "1")
    }

    /// Adds a member `error`: a word for programs, such as `no_such_key`.
    #[must_use]
    pub fn error(mut self, word: &'static str) -> Self {
        self.error = Some(word);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// Its status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Its stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.code
    }
}

/// 400 where the sender's key or source is at fault, else 5xx. Roll the transaction back.
impl<E: std::error::Error + 'static> From<InboxError<E>> for Problem {
    fn from(error: InboxError<E>) -> Self {
        let (status, title) = match &error {
            InboxError::Rows(why) => return Self::unavailable(why),
            InboxError::Key(_) => (StatusCode::BAD_REQUEST, "the key is malformed"),
            InboxError::Source(_) => (StatusCode::BAD_REQUEST, "the source is malformed"),
            InboxError::NoRetention { .. } | InboxError::ResultTooLong { .. } => {
                (StatusCode::INTERNAL_SERVER_ERROR, "the receiver is at fault")
            }
        };
        Self::new(status, error.code(), title, error.to_string())
    }
}

/// So that a handler that returns [`axum::response::Result`] may use `?` on the guard.
impl<E: std::error::Error + 'static> IntoResponse for InboxError<E> {
    fn into_response(self) -> Response {
        Problem::from(self).into_response()
    }
}

impl IntoResponse for CoreRefused {
    fn into_response(self) -> Response {
        Problem::from(self).into_response()
    }
}

/// 400: the body is not what the receiver takes. 500 where it names no core field at all.
impl From<CoreRefused> for Problem {
    fn from(refused: CoreRefused) -> Self {
        let (status, title) = match &refused {
            CoreRefused::NoField => (StatusCode::INTERNAL_SERVER_ERROR, "the receiver is at fault"),
            CoreRefused::NotJson(_) | CoreRefused::Missing { .. } | CoreRefused::Canonical(_) => {
                (StatusCode::BAD_REQUEST, "the body has no core")
            }
        };
        Self::new(status, "CF0725", title, refused.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut body = json!({
            "type": format!("urn:counterfoil:problem:{}", self.code),
            "title": self.title,
            "status": self.status.as_u16(),
            "detail": self.detail,
            "code": self.code,
        });
        if let (Some(word), Some(members)) = (self.error, body.as_object_mut()) {
            members.insert("error".into(), word.into());
        }
        let mut response = (self.status, body.to_string()).into_response();
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response.headers_mut().extend(self.headers);
        response
    }
}
