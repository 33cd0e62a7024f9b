//! How many workflows have ended, by the runner's notices.

use std::sync::Arc;

use counterfoil::workflow::runner::{Notice, Observer};
use tokio::sync::watch;

/// A count that can be waited for.
#[derive(Clone)]
pub(crate) struct Ended(Arc<watch::Sender<usize>>);

impl Ended {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// How many have.
    pub(crate) fn count(&self) -> usize {
        *self.0.borrow()
    }

    /// Returns when so many have.
    pub(crate) async fn reach(&self, count: usize) {
        // The sender lives as long as this.
        let _ = self.0.subscribe().wait_for(|ended| *ended >= count).await;
    }
}

impl Observer for Ended {
    fn notice(&self, notice: &Notice) {
        if let Notice::Stepped { ended, .. } = notice {
            self.0.send_modify(|count| *count += ended);
        }
    }
}
