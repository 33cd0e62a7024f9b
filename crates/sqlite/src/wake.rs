//! The hint that something may have been committed.
//!
//! Guarantees: a commit of this process between two waits ends the second at once; so it is not
//! missed between a look and a wait. Does not: promise anything about other processes where the
//! system tells nothing; polling is the truth.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// The commits of one store, as far as this process hears of them.
#[derive(Default)]
pub(crate) struct Wake {
    generation: AtomicU64,
    moved: Notify,
}

impl Wake {
    /// Something was committed.
    pub(crate) fn commit(&self) {
        self.generation.fetch_add(1, Ordering::Release);
        self.moved.notify_waiters();
    }

    /// The number of commits heard of.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Waits until the generation is not `seen`, or for `at_most`.
    pub(crate) async fn changed(&self, seen: u64, at_most: Duration) {
        let mut moved = std::pin::pin!(self.moved.notified());
        // From here on a commit is heard of; only now the look that must not come before.
        moved.as_mut().enable();
        if self.generation() == seen {
            let _ = tokio::time::timeout(at_most, moved).await;
        }
    }
}
