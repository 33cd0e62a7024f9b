//! Whether this program runs, and whether its store answers.
//!
//! Guarantees: open to everybody, and tells nothing but that; the store is asked by one probe at
//! a time, so a store that hangs is not asked again and again. Does not: write, so it does not
//! see a full disk.

use std::future::Future;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::StoreError;
use tokio::sync::Semaphore;
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
    let store = desk.store.clone();
    let asked = async move {
        store.now()?;
        store.known(&[PROBE.to_owned()]).await.map(drop)
    };
    match timeout(desk.options.ready_timeout, probe(&desk.probe, asked)).await {
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

/// Asks when it is its turn; the turn ends with the store's answer, whether or not somebody still
/// waits for it.
async fn probe(
    turn: &Arc<Semaphore>,
    asked: impl Future<Output = Result<(), StoreError>> + Send + 'static,
) -> bool {
    let Ok(turn) = Arc::clone(turn).acquire_owned().await else { return false };
    let asked = tokio::spawn(async move {
        let _turn = turn;
        asked.await
    });
    match asked.await {
        Ok(Ok(())) => true,
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_store_that_hangs_is_asked_once() {
        let turn = Arc::new(Semaphore::new(1));
        let (release, released) = tokio::sync::watch::channel(());
        let asked = Arc::new(AtomicUsize::new(0));
        let ask = || {
            let (asked, mut released) = (Arc::clone(&asked), released.clone());
            async move {
                asked.fetch_add(1, Ordering::SeqCst);
                let _ = released.changed().await;
                Ok(())
            }
        };
        for _ in 0..3 {
            let wait = Duration::from_millis(20);
            assert!(timeout(wait, probe(&turn, ask())).await.is_err());
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        drop(release);
        assert!(probe(&turn, ask()).await);
    }
}
