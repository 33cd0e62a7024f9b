//! What all requests share: the store, the options, and room for bodies.
//!
//! Guarantees: a request waits for the store no longer than `store_timeout`; the bodies held in
//! memory at once are bounded. Does not: tell a caller what a database said; the log does.

use std::future::Future;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use counterfoil_core::port::store::StoreError;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::metrics::Glimpse;
use crate::options::ApiOptions;
use crate::problem::Problem;

/// Bodies held in memory at once, over all connections, in KiB: two of the largest.
const BODIES_KIB: usize = 64 * 1024;

/// What all requests share.
pub(crate) struct Desk<S> {
    pub(crate) store: S,
    pub(crate) options: ApiOptions,
    /// One permit a KiB of a body.
    pub(crate) room: Semaphore,
    /// Whoever holds it asks the store whether it is ready.
    pub(crate) probe: Arc<Semaphore>,
    /// Whoever holds it audits the store.
    pub(crate) auditing: Semaphore,
    /// The counts of the store for `/metrics`.
    pub(crate) glimpse: Glimpse,
}

impl<S> Desk<S> {
    pub(crate) fn new(store: S, options: ApiOptions) -> Self {
        let (room, probe) = (Semaphore::new(BODIES_KIB), Arc::new(Semaphore::new(1)));
        let (auditing, glimpse) = (Semaphore::new(1), Glimpse::default());
        Self { store, options, room, probe, auditing, glimpse }
    }

    /// Waits for the store's answer, within bounds.
    pub(crate) async fn ask<T>(
        &self,
        asked: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, Problem> {
        match timeout(self.options.store_timeout, asked).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                tracing::error!(%error, "the store failed a request of the API");
                Err(failed(&error))
            }
            Err(_) => {
                tracing::error!("the store did not answer a request of the API in time");
                Err(unavailable("did not answer in time, so a write may have been taken or not"))
            }
        }
    }
}

/// What a caller hears of a store that failed.
pub(crate) fn failed(error: &StoreError) -> Problem {
    match error {
        StoreError::Unavailable(_) => unavailable("is not available; nothing was written"),
        StoreError::NotKnown(_) => unavailable("does not know whether it took the write"),
        // It stood when it was looked up, and was archived since.
        StoreError::NoCursor { .. } => crate::refusal::archived().field("after"),
        _ => Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "CF1018",
            "the store is broken",
            "trying again does not help; the log of this program says what is wrong",
        ),
    }
}

fn unavailable(what: &str) -> Problem {
    let detail = format!("the store {what}: send the same again later, which acts once");
    let title = "the store did not answer";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "CF1017", title, detail).header(RETRY_AFTER, "1")
}
