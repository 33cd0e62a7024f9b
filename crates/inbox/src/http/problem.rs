//! A refusal over HTTP, as a problem of RFC 9457.
//!
//! Guarantees: a stable `code`, and a `detail` that says the rule and the way out. Does not: show
//! the body of a request, or credentials.

use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

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
