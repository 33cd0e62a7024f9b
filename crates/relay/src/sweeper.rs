//! Ends what is past its expiry, and gives lanes their turn, once a second.
//!
//! Guarantees: each write is short and another comes at once while more is left; with nothing to
//! do it only reads; it has looked once before its relay ends. Does not: fail; a store that does
//! not answer is told of by the relay itself, and the next look finds what this one did not.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::port::store::Swept;
use counterfoil_core::port::{Announce, Notice, Observer, Store};
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::JoinHandle;

use crate::notice;

/// At most so many end in one write.
const ROWS_MAX: usize = 256;
/// How often it looks.
const EVERY: Duration = Duration::from_secs(1);
/// The pause after a write that left more to do, so that other writers come in between.
const BREATH: Duration = Duration::from_millis(1);
/// How long its last write may hold up the end of its relay.
const END_MAX: Duration = Duration::from_secs(1);

/// A sweeper at work; it ends at once when it is dropped.
pub(crate) struct Sweeper {
    task: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Sweeper {
    pub(crate) fn begin<S: Store, O: Observer>(
        store: S,
        announce: Option<Announce>,
        observer: Arc<O>,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(sweep(store, announce, observer, stopped));
        Self { task, stop: Some(stop) }
    }

    /// Lets the write that is under way come to its end, so that what it did is told.
    pub(crate) async fn end(mut self) {
        drop(self.stop.take());
        let _ = tokio::time::timeout(END_MAX, &mut self.task).await;
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn sweep<S: Store, O: Observer>(
    store: S,
    announce: Option<Announce>,
    observer: Arc<O>,
    mut stopped: oneshot::Receiver<()>,
) {
    loop {
        let swept = store.sweep(ROWS_MAX, announce.clone()).await.unwrap_or_default();
        let wait = if may_go_on(&swept) { BREATH } else { EVERY };
        tell(&*observer, swept);
        if stopped.try_recv() != Err(TryRecvError::Empty) {
            return;
        }
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Whether more is left and this write was of use: what cannot be ended is not tried without end.
/// A sweep looks at some lanes only; where some had to be given their turn, so will others.
fn may_go_on(swept: &Swept) -> bool {
    let done = swept.expired.len() + swept.parked.len() + swept.asking;
    (swept.more && done > 0) || swept.promoted > 0
}

fn tell(observer: &impl Observer, swept: Swept) {
    for (command, destination) in swept.expired {
        observer.notice(&Notice::Expired { command, destination });
    }
    for parked in swept.parked {
        observer.notice(&notice::parked(parked));
    }
}
