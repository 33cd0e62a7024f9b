//! One process: a tokio runtime of its own, whose time the world drives.
//!
//! Guarantees: it runs until its next timer or its next request, no further; stopped, its timers
//! stand still; dropped, nothing of it runs again. Does not: share a timer with another process.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::ProcessEnded;
use super::request::Mailbox;
use super::world::Event;
use crate::MemoryStore;

/// How a process stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// Stopped by a signal: its timers are all due when it goes on.
    Stopped,
    /// Suspended with its machine: its timers do not notice.
    Suspended,
}

/// A relay or a runner.
pub(super) struct Process {
    /// Unlike any other's of the run.
    pub(super) pid: u64,
    pub(super) mailbox: Arc<Mailbox>,
    /// The store with the clock of this process.
    pub(super) store: MemoryStore,
    /// How far it has run, in the world's milliseconds.
    pub(super) local_ms: u64,
    pub(super) paused: Option<Pause>,
    /// Events that wait until it goes on.
    pub(super) deferred: Vec<Event>,
    stop: Option<oneshot::Sender<()>>,
    born: Instant,
    born_ms: u64,
    root: Option<JoinHandle<ProcessEnded>>,
    runtime: Runtime,
}

impl Process {
    /// A process born at `now_ms` that runs what `start` makes of its stop.
    ///
    /// # Errors
    /// The runtime cannot be made.
    pub(super) fn spawn<F: Future<Output = ProcessEnded> + Send + 'static>(
        pid: u64,
        mailbox: Arc<Mailbox>,
        store: MemoryStore,
        now_ms: u64,
        start: impl FnOnce(oneshot::Receiver<()>) -> F,
    ) -> io::Result<Self> {
        let parking = Arc::clone(&mailbox);
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .on_thread_park(move || parking.idle())
            .build()?;
        let entered = runtime.enter();
        let born = Instant::now();
        let _ = mailbox.clock.born.set((born, now_ms));
        let (stop, stopped) = oneshot::channel();
        let life = start(stopped);
        let ended = Arc::clone(&mailbox);
        let root = runtime.spawn(async move {
            let end = life.await;
            ended.halt();
            end
        });
        drop(entered);
        Ok(Self {
            pid,
            mailbox,
            store,
            local_ms: now_ms,
            paused: None,
            deferred: Vec::new(),
            stop: Some(stop),
            born,
            born_ms: now_ms,
            root: Some(root),
            runtime,
        })
    }

    /// Runs until `until_ms`, or until it asks something of the world.
    pub(super) fn run(&mut self, until_ms: u64) {
        let suspended = self.mailbox.clock.suspended.load(Ordering::Relaxed);
        let lived = until_ms.saturating_sub(self.born_ms).saturating_sub(suspended);
        let until = self.born + Duration::from_millis(lived);
        self.drive(step(Arc::clone(&self.mailbox), until));
    }

    fn drive(&mut self, future: impl Future<Output = ()>) {
        let clock = &self.mailbox.clock;
        clock.inside.store(true, Ordering::Relaxed);
        let local_ms = self.runtime.block_on(async {
            future.await;
            clock.now_ms()
        });
        clock.inside.store(false, Ordering::Relaxed);
        self.local_ms = self.local_ms.max(local_ms);
    }

    /// Goes on at `now_ms` after it stood still.
    pub(super) fn resume(&mut self, now_ms: u64) {
        let missed = now_ms.saturating_sub(self.local_ms);
        match self.paused.take() {
            Some(Pause::Stopped) => {
                self.drive(tokio::time::advance(Duration::from_millis(missed)));
            }
            Some(Pause::Suspended) => {
                self.mailbox.clock.suspended.fetch_add(missed, Ordering::Relaxed);
                self.local_ms = now_ms;
            }
            None => {}
        }
    }

    /// Asks it to stop.
    pub(super) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// How it ended, if it did: by itself, with an error, or by a panic.
    pub(super) fn ended(&mut self) -> Option<Result<ProcessEnded, String>> {
        let root = self.root.take_if(|root| root.is_finished())?;
        Some(self.runtime.block_on(root).map_err(|why| why.to_string()))
    }
}

async fn step(mailbox: Arc<Mailbox>, until: Instant) {
    let mut alarm = pin!(tokio::time::sleep_until(until));
    poll_fn(|cx| {
        if mailbox.shall_halt(cx.waker()) {
            return Poll::Ready(());
        }
        alarm.as_mut().poll(cx)
    })
    .await;
}
