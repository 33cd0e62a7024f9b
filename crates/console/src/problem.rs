//! A refusal over HTTP, as a problem of RFC 9457.
//!
//! Guarantees: a stable `code`, and a `detail` that says the rule and the way out; where one
//! member of a body is wrong, `field` names it. Does not: show a body, a secret, or what a
//! database said.

use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// A refusal, answered as `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    detail: String,
    field: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self { status, code, title, detail: detail.into(), field: None, headers: Vec::new() }
    }

    /// Names the member that is wrong.
    pub(crate) fn field(mut self, name: impl Into<String>) -> Self {
        self.field = Some(name.into());
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    #[cfg(test)]
    pub(crate) fn seen(&self) -> (u16, &'static str, Option<&str>) {
        (self.status.as_u16(), self.code, self.field.as_deref())
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
        if let (Some(field), Some(members)) = (self.field, body.as_object_mut()) {
            members.insert("field".into(), field.into());
        }
        let mut response = (self.status, body.to_string()).into_response();
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response.headers_mut().extend(self.headers);
        response
    }
}
