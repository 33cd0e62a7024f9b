//! An answer that is no refusal.
//!
//! Guarantees: JSON, and said to be. Does not: stream.

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

/// 200 with this value.
pub(crate) fn done(value: &Value) -> Response {
    let mut response = value.to_string().into_response();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
