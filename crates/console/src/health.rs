//! Whether this program runs, and whether its store answers.
//!
//! Guarantees: open to everybody, and tells nothing but that; the store is asked by one probe at
//! a time, so a store that hangs is not asked again and again. Does not: write, so it does not
//! see a full disk.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use counterfoil_core::port::Store;
use tokio::time::timeout;

use crate::desk::Desk;
use crate::problem::Problem;

/// An id that nobody has: looking it up reads two indexes and finds nothing.
const PROBE: &str = "counterfoil:ready?";

/// The program runs.
pub(crate) async fn livez() -> &'static str {
    "ok\n"
}

/// The store answers within `ready_timeout`.
pub(crate) async fn readyz<S: Store>(State(desk): State<Arc<Desk<S>>>) -> Response {
    match timeout(desk.options.ready_timeout, probe(&desk)).await {
        Ok(true) => "ready\n".into_response(),
        Ok(false) | Err(_) => {
            let detail = "the store did not answer in time, or failed: the log says more";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Problem::new(status, "CF1019", "not ready", detail)
                .header(RETRY_AFTER, "1")
                .into_response()
        }
    }
}

async fn probe<S: Store>(desk: &Desk<S>) -> bool {
    let Ok(turn) = Arc::clone(&desk.probe).acquire_owned().await else { return false };
    let store = desk.store.clone();
    // A task of its own keeps its turn for as long as the store really takes.
    let asked = tokio::spawn(async move {
        let _turn = turn;
        store.now()?;
        store.known(&[PROBE.to_owned()]).await
    });
    match asked.await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the store is not ready");
            false
        }
        Err(error) => {
            tracing::warn!(%error, "the store was not asked whether it is ready");
            false
        }
    }
}
