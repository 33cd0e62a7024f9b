//! What each has to do, and how its rates are taken.
//!
//! Guarantees: the same number of items of about the same size for all. Does not: know whom it
//! measures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio_postgres::Client;

/// How one is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// As its documentation says.
    Recommended,
    /// The best that was found.
    Best,
}

/// How much.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) items: u64,
    /// Tasks that enqueue at once, each item in a transaction of its own.
    pub(crate) tasks: usize,
    /// Seconds that a drain is watched.
    pub(crate) most: f64,
}

/// Items a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    pub(crate) enqueue: f64,
    pub(crate) drain: f64,
}

/// What fills an item to about 100 bytes of JSON.
pub(crate) fn note() -> String {
    "x".repeat(60)
}

/// Enqueues all items one by one; items a second.
pub(crate) async fn enqueue<F>(load: Load, one: impl Fn(u64) -> F) -> Result<f64>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let begun = Instant::now();
    let one = Arc::new(one);
    let next = AtomicU64::new(0);
    let mut tasks = Vec::new();
    for _ in 0..load.tasks {
        tasks.push(async {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= load.items {
                    return Ok::<_, anyhow::Error>(());
                }
                tokio::spawn(one(i)).await??;
            }
        });
    }
    for ended in join_all(tasks).await {
        ended?;
    }
    Ok(load.items as f64 / begun.elapsed().as_secs_f64())
}

async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.into_iter().map(|it| Some(Box::pin(it))).collect();
    let mut done: Vec<Option<F::Output>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (pending, done) in pending.iter_mut().zip(&mut done) {
            let Some(future) = pending else { continue };
            if let std::task::Poll::Ready(output) = future.as_mut().poll(context) {
                (*done, *pending) = (Some(output), None);
            }
        }
        let all = done.iter().all(Option::is_some);
        if all { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// Waits until `handled` and then the database say that all are done, or the time is over; items a
/// second. `done` counts what is done, `begun` is when the worker was started.
pub(crate) async fn drained(
    load: Load,
    begun: Instant,
    handled: &AtomicU64,
    client: &Client,
    done: &str,
) -> Result<f64> {
    let most = Duration::from_secs_f64(load.most);
    while handled.load(Ordering::Acquire) < load.items && begun.elapsed() < most {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    loop {
        let count: i64 = client.query_one(done, &[]).await?.get(0);
        let elapsed = begun.elapsed();
        ensure!(count >= 0, "{count} items are done");
        if count as u64 >= load.items || elapsed >= most {
            return Ok(count as f64 / elapsed.as_secs_f64());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
