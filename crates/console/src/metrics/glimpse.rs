//! The counts of the store, read seldom enough that who asks often costs little.
//!
//! Guarantees: one read at a time, kept for a second and for twenty times as long as it took, a
//! minute at most; nobody waits longer than [`WAIT_MAX`]. Does not: show what changed since.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::port::Store;
use counterfoil_core::port::read::Status;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// The longest wait for a read; Prometheus waits 10 s for a page.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// The shortest time that a read is kept.
const KEEP_LEAST: Duration = Duration::from_secs(1);
/// The longest.
const KEEP_MOST: Duration = Duration::from_secs(60);
/// A read is kept for so many times as long as it took: counting costs 5 % of one core at most.
const KEEP_TIMES: u32 = 20;

/// The newest read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Glimpse {
    kept: Arc<Mutex<Option<Kept>>>,
}

#[derive(Clone, Debug)]
struct Kept {
    until: Instant,
    status: Option<Arc<Status>>,
}

impl Glimpse {
    /// The counts, new enough; `None` if the store does not tell them.
    pub(crate) async fn status<S: Store>(&self, store: &S) -> Option<Arc<Status>> {
        let (kept, store) = (Arc::clone(&self.kept), store.clone());
        // The turn ends with the store's answer, whether or not somebody still waits for it.
        let read = tokio::spawn(async move {
            let mut kept = kept.lock_owned().await;
            let now = Instant::now();
            if let Some(kept) = kept.as_ref().filter(|kept| kept.until > now) {
                return kept.status.clone();
            }
            let status = match store.status().await {
                Ok(status) => Some(Arc::new(status)),
                Err(error) => {
                    tracing::warn!(%error, "the store did not tell its counts");
                    None
                }
            };
            let keep = (now.elapsed() * KEEP_TIMES).clamp(KEEP_LEAST, KEEP_MOST);
            *kept = Some(Kept { until: Instant::now() + keep, status: status.clone() });
            status
        });
        timeout(WAIT_MAX, read).await.ok()?.ok()?
    }
}
