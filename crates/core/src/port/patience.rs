//! How long a claim may wait in the store for something to become due, and who ends that.
//!
//! Guarantees: an end is heard, whether it comes before, while or after the store waits; the time
//! right before the claim is known to the caller, whose deadlines count from it. Does not: take a
//! claim back that was made before the end.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use super::Clock;
use crate::domain::Micros;

/// No claim was made yet.
const NOT_YET: i64 = i64::MIN;

/// The patience of one claim; clones are the same one. One task at a time waits for its end.
#[derive(Clone)]
pub struct Patience(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    has_ended: AtomicBool,
    claimed_at: AtomicI64,
    waker: Mutex<Option<Waker>>,
}

impl Patience {
    /// One that lasts until [`Patience::end`]; `clock` is that of the caller's deadlines.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            clock,
            has_ended: AtomicBool::new(false),
            claimed_at: AtomicI64::new(NOT_YET),
            waker: Mutex::new(None),
        }))
    }

    /// The caller waits no longer.
    pub fn end(&self) {
        self.0.has_ended.store(true, Ordering::SeqCst);
        let waker = self.0.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether the caller waits no longer.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::SeqCst)
    }

    /// Returns when the caller waits no longer.
    pub async fn ended(&self) {
        poll_fn(|context| {
            let mut waker = self.0.waker.lock().unwrap_or_else(PoisonError::into_inner);
            if self.has_ended() {
                return Poll::Ready(());
            }
            *waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// For the store: the claim is made now, and not before.
    pub fn claims(&self) {
        self.0.claimed_at.store(self.0.clock.boot().get(), Ordering::SeqCst);
    }

    /// The boot clock right before the claim was made; `None` if the store never said.
    #[must_use]
    pub fn claimed_at(&self) -> Option<Micros> {
        let at = self.0.claimed_at.load(Ordering::SeqCst);
        (at != NOT_YET).then(|| Micros::new(at))
    }

    /// Whether both are the same one.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for Patience {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patience").field("has_ended", &self.has_ended()).finish_non_exhaustive()
    }
}
