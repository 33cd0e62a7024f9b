//! Which path is served by what, and to whom.
//!
//! Guarantees: every path of `/v1` asks for a role before anything else is looked at; what is not
//! here, and a method that is not known, are problems too; no answer is cached. Does not: judge
//! bodies.

use std::sync::Arc;

use axum::Router;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::{get, post};
use counterfoil_core::port::{Archive, Audited, Workflows};

use crate::caller::{Callers, Role, admit};
use crate::desk::Desk;
use crate::problem::Problem;
use crate::{
    acting, audit, by_hand, commands, destination, health, look, metrics, openapi, receipt,
    workflow,
};

const REPORTERS: &[Role] = &[Role::Receipt, Role::Operator];
const READERS: &[Role] = &[Role::Read, Role::Operator];
const OPERATORS: &[Role] = &[Role::Operator];

pub(crate) fn router<S: Audited + Archive + Workflows>(
    desk: Arc<Desk<S>>,
    callers: &Arc<Callers>,
) -> Router {
    let only = |roles| from_fn_with_state((Arc::clone(callers), roles), admit);
    let open = Router::new()
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz::<S>));
    let reporting =
        Router::new().route("/v1/receipts", post(receipt::take::<S>)).route_layer(only(REPORTERS));
    let reading = Router::new()
        .route("/metrics", get(metrics::serve::<S>))
        .route("/v1/status", get(look::status::<S>))
        .route("/v1/audit", get(audit::run::<S>))
        .route("/v1/commands", get(commands::list::<S>))
        .route("/v1/commands/{id}", get(look::command::<S>))
        .route("/v1/workflows", get(workflow::list::<S>))
        .route("/v1/orphans", get(workflow::orphans::<S>))
        .route("/v1/workflows/{stream}", get(workflow::show::<S>))
        .route_layer(only(READERS));
    let acting = Router::new()
        .route("/v1/commands/{id}/retry", post(acting::retry::<S>))
        .route("/v1/commands/{id}/resolve", post(acting::resolve::<S>))
        .route("/v1/commands/{id}/cancel", post(acting::cancel::<S>))
        .route("/v1/commands/{id}/redeliver", post(acting::redeliver::<S>))
        .route("/v1/destinations/{name}/pause", post(destination::pause::<S>))
        .route("/v1/destinations/{name}/resume", post(destination::resume::<S>))
        .route("/v1/workflows/{stream}/start", post(workflow::start::<S>))
        .route("/v1/workflows/{stream}/signal", post(workflow::signal::<S>))
        .route("/v1/workflows/{stream}/cancel", post(workflow::cancel::<S>))
        .route("/v1/workflows/{stream}/retry", post(by_hand::retry::<S>))
        .route("/v1/workflows/{stream}/drop", post(by_hand::drop_input::<S>))
        .route("/v1/workflows/{stream}/end", post(by_hand::end::<S>))
        .route_layer(only(OPERATORS));
    let told =
        Router::new().route("/openapi.json", get(openapi::serve)).route_layer(only(&Role::ALL));
    open.merge(reporting)
        .merge(reading)
        .merge(acting)
        .merge(told)
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(map_response(kept_by_nobody))
        .with_state(desk)
}

async fn kept_by_nobody(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn not_found() -> Problem {
    let detail = "GET /openapi.json names every path, with its methods";
    Problem::new(StatusCode::NOT_FOUND, "CF1004", "nothing is here", detail)
}

/// axum adds `Allow`.
async fn not_allowed() -> Problem {
    let detail = "this path knows the methods in Allow only";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "CF1005", "method not allowed", detail)
}
