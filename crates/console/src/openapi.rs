//! `GET /openapi.json`: this API as programs read it, OpenAPI 3.1.
//!
//! Guarantees: tests hold the document to the routes, to real answers, and to schemathesis. Does
//! not: depend on the store or the options.

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const DOCUMENT: &str = include_str!("openapi.json");

/// The document.
pub(crate) async fn serve() -> Response {
    let mut response = DOCUMENT.into_response();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
