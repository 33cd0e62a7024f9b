//! Tells waiters of this process that something may have been committed.
//!
//! Guarantees: a commit after a wait began, or since the last one ended, ends it. A hint: polling
//! is the truth.

use std::time::Duration;

use tokio::sync::watch;

/// Counts commits of this process that others may care for.
#[derive(Debug)]
pub(crate) struct Wake(watch::Sender<u64>);

impl Default for Wake {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Wake {
    /// Something was committed.
    pub(crate) fn wake(&self) {
        self.0.send_modify(|generation| *generation = generation.wrapping_add(1));
    }

    /// How many commits there were.
    pub(crate) fn generation(&self) -> u64 {
        *self.0.borrow()
    }

    /// Returns when there were more commits than `seen`, or after `at_most`.
    pub(crate) async fn changed(&self, seen: u64, at_most: Duration) {
        let mut told = self.0.subscribe();
        let newer = told.wait_for(|generation| *generation != seen);
        // Timed out or woken: the caller looks either way.
        let _ = tokio::time::timeout(at_most, newer).await;
    }
}
