//! Whose command a request is: put there by the layer that authenticated the caller.
//!
//! Guarantees: a handler that takes a [`Caller`] never runs for a request that no layer named one
//! for; nothing that the request says about itself is believed. Does not: authenticate: that is
//! the layer's, by a token, a client certificate, or what a gateway vouches for.
//!
//! # Example
//!
//! ```
//! use axum::{Router, extract::Request, middleware::Next, response::Response, routing::post};
//! use counterfoil_inbox::{Source, http::{Caller, Problem}, receiver::Callers};
//!
//! async fn authenticate(mut request: Request, next: Next) -> Result<Response, Problem> {
//!     // Any authentication of your own goes here; this one is a bearer token for each sender.
//!     let shop = Source::new("urn:example:orders").map_err(Problem::unavailable)?;
//!     let source = Callers::by_token([("token-of-the-shop", shop)]).source(request.headers())?;
//!     request.extensions_mut().insert(Caller(source));
//!     Ok(next.run(request).await)
//! }
//!
//! async fn handle(Caller(source): Caller) -> String {
//!     source.to_string()
//! }
//!
//! let layer = axum::middleware::from_fn(authenticate);
//! let app: Router = Router::new().route("/commands", post(handle)).layer(layer);
//! # let _ = app;
//! ```

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;

use super::problem::Problem;
use crate::source::Source;

/// The authenticated sender of a request; an extractor that reads the request's extensions.
///
/// Its rejection is a 500, `CF0724`: a route without the layer is a mistake of the service, and a
/// 5xx has the sender try again once it is mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller(pub Source);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "CF0724",
                "nobody said who calls",
                "no layer of this service has put the authenticated Caller into the request's \
                 extensions: add the layer to this route",
            )
        })
    }
}
