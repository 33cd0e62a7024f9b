//! Spans that have ended, on their way to the collector.
//!
//! Guarantees: whoever ends a span never waits; at most so many wait, and what finds no place is
//! dropped and counted; an outage is said once, and its end once. Does not: keep spans over a
//! restart, or send a batch again after the exporter gave it up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanExporter, SpanProcessor};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

/// How long the end waits for what is left.
pub(super) const FLUSH_MAX: Duration = Duration::from_secs(5);

/// How spans are batched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batching {
    /// The most spans that wait.
    pub(super) queue_max: usize,
    /// The most spans of one export.
    pub(super) batch_max: usize,
    /// How long the first of a batch waits for others, and how long a failing collector is left
    /// alone.
    pub(super) delay: Duration,
    /// How long one export may take.
    pub(super) timeout: Duration,
}

#[derive(Debug, Default)]
struct Tally {
    ended: AtomicU64,
    full: AtomicU64,
    exported: AtomicU64,
}

impl Tally {
    /// Spans that ended and were not taken by the collector.
    fn lost(&self) -> u64 {
        let exported = self.exported.load(Ordering::Relaxed);
        self.ended.load(Ordering::Relaxed).saturating_sub(exported)
    }
}

/// Takes spans as they end.
#[derive(Debug)]
pub(super) struct Queue {
    place: mpsc::Sender<SpanData>,
    tally: Arc<Tally>,
}

impl SpanProcessor for Queue {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.tally.ended.fetch_add(1, Ordering::Relaxed);
        if self.place.try_send(span).is_err() {
            self.tally.full.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// [`Sending::end`] does it, which can wait without holding a thread.
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// The task that sends them.
#[derive(Debug)]
pub(super) struct Sending {
    task: JoinHandle<()>,
    end: oneshot::Sender<()>,
    tally: Arc<Tally>,
}

/// Begins to send to `exporter` what the queue takes.
pub(super) fn begin(exporter: impl SpanExporter + 'static, batching: Batching) -> (Queue, Sending) {
    let (place, spans) = mpsc::channel(batching.queue_max);
    let (end, ended) = oneshot::channel();
    let tally = Arc::new(Tally::default());
    let task = Task { spans, batching, exporter, tally: Arc::clone(&tally), state: State::Well };
    let task = tokio::spawn(task.run(ended));
    (Queue { place, tally: Arc::clone(&tally) }, Sending { task, end, tally })
}

impl Sending {
    /// Sends what waits, for [`FLUSH_MAX`] at most, and says how many spans were lost in all.
    pub(super) async fn end(self) {
        let Self { mut task, end, tally } = self;
        // It has ended by itself if nobody listens.
        let _ = end.send(());
        if timeout(FLUSH_MAX, &mut task).await.is_err() {
            task.abort();
        }
        let dropped = tally.lost();
        if dropped > 0 {
            tracing::warn!(dropped, "spans were dropped: the collector did not take them");
        }
    }
}

/// How the collector does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Well,
    Failing,
}

struct Task<E> {
    spans: mpsc::Receiver<SpanData>,
    batching: Batching,
    exporter: E,
    tally: Arc<Tally>,
    state: State,
}

impl<E: SpanExporter> Task<E> {
    /// Sends until it is told to end and nothing waits any more.
    async fn run(mut self, mut end: oneshot::Receiver<()>) {
        let mut is_full_said = false;
        let mut has_end = false;
        loop {
            let mut batch = Vec::new();
            let whole = tokio::select! {
                biased;
                _ = &mut end, if !has_end => {
                    has_end = true;
                    self.spans.close();
                    false
                }
                whole = gather(&mut self.spans, &mut batch, self.batching) => whole,
            };
            if batch.is_empty() {
                if has_end && whole {
                    return;
                }
                continue;
            }
            self.export(batch).await;
            if self.state == State::Failing && !has_end {
                // What is asked for meanwhile is heard after it.
                let rest = timeout(self.batching.delay, &mut end).await;
                if rest.is_ok() {
                    has_end = true;
                    self.spans.close();
                }
            }
            let full = self.tally.full.load(Ordering::Relaxed);
            if full > 0 && !is_full_said && self.state == State::Well {
                is_full_said = true;
                tracing::warn!(dropped = full, "more spans end than the collector takes");
            }
        }
    }

    async fn export(&mut self, batch: Vec<SpanData>) {
        let count = batch.len() as u64;
        let within = self.batching.timeout;
        let failed = match timeout(within, self.exporter.export(batch)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {within:?}")),
        };
        match (failed, self.state) {
            (None, state) => {
                self.tally.exported.fetch_add(count, Ordering::Relaxed);
                self.state = State::Well;
                if state == State::Failing {
                    let dropped = self.tally.lost();
                    tracing::info!(dropped, "the collector takes spans again");
                }
            }
            (Some(reason), State::Well) => {
                self.state = State::Failing;
                tracing::warn!(
                    reason,
                    "the collector takes no spans: they are dropped until it does"
                );
            }
            (Some(_), State::Failing) => {}
        }
    }
}

/// Fills a batch: to its size, to its age, or to the end of the queue. Whether the queue has ended.
///
/// Dropped in the middle it loses nothing: what was taken stands in the batch.
async fn gather(
    spans: &mut mpsc::Receiver<SpanData>,
    batch: &mut Vec<SpanData>,
    batching: Batching,
) -> bool {
    let max = batching.batch_max;
    if spans.recv_many(batch, max).await == 0 {
        return true;
    }
    let until = Instant::now() + batching.delay;
    while batch.len() < max {
        let left = max - batch.len();
        match timeout_at(until, spans.recv_many(batch, left)).await {
            Ok(0) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}
