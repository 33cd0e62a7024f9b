//! The hint that something may have been committed.
//!
//! Guarantees: a commit that was heard of between two waits ends the second at once; so none is
//! missed between a look and a wait. Does not: hear of other processes by itself; see `watch`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use tokio::sync::Notify;

/// The commits of one store, as far as this process hears of them.
#[derive(Default)]
pub(crate) struct Wake {
    generation: AtomicU64,
    moved: Notify,
    waiters: AtomicUsize,
    watcher: OnceLock<Thread>,
    watcher_sleeps: AtomicBool,
    is_closed: AtomicBool,
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
        if self.generation() != seen {
            return;
        }
        let _waiting = self.wait();
        let _ = tokio::time::timeout(at_most, moved).await;
    }

    /// Somebody waits, and other processes' commits are listened for, until this is dropped.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        self.waiters.fetch_add(1, Ordering::SeqCst);
        if self.watcher_sleeps.swap(false, Ordering::SeqCst) {
            self.unpark_watcher();
        }
        Waiting(self)
    }

    /// Says which thread watches.
    pub(crate) fn watched_by(&self, thread: Thread) {
        // A store has one watch in its life.
        let _ = self.watcher.set(thread);
    }

    /// Puts the watching thread to sleep while nobody waits; false when it is over.
    pub(crate) fn sleep_until_somebody_waits(&self) -> bool {
        loop {
            self.watcher_sleeps.store(true, Ordering::SeqCst);
            if self.is_closed() {
                return false;
            }
            if self.waiters.load(Ordering::SeqCst) > 0 {
                return true;
            }
            std::thread::park();
        }
    }

    /// The watch is over.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.unpark_watcher();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    fn unpark_watcher(&self) {
        if let Some(watcher) = self.watcher.get() {
            watcher.unpark();
        }
    }
}

/// Somebody waits, until this is dropped.
pub(crate) struct Waiting<'a>(&'a Wake);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::SeqCst);
    }
}
