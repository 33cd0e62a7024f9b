//! riverqueue: its README's settings, and many workers with a short cooldown.
//!
//! Guarantees: its own migrations, its client's own insert. Does not: use `insert_many`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use riverqueue::migrate::PostgresMigrator;
use riverqueue::sqlx::postgres::PgPoolOptions;
use riverqueue::{BoxError, Client, Job, JobArgs, QueueConfig, WorkContext, WorkOutcome, Workers};
use serde::{Deserialize, Serialize};

use crate::load::{Load, Rates, Way, drained, enqueue, note};
use crate::server::Server;

const DONE: &str = "SELECT count(*) FROM river_job WHERE state = 'completed'";

#[derive(Clone, Debug, Deserialize, JobArgs, Serialize)]
#[river(kind = "order_paid")]
struct OrderPaid {
    order_id: String,
    note: String,
}

/// Enqueue and drain.
pub(crate) async fn measure(server: &Server, way: Way, load: Load) -> Result<Rates> {
    let best = way == Way::Best;
    let pool = PgPoolOptions::new()
        .max_connections(if best { 20 } else { 10 })
        .connect(&server.url("rivals"))
        .await?;
    PostgresMigrator::new(pool.clone()).migrate_up().await.map_err(|e| anyhow!("{e}"))?;
    let handled = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&handled);
    let mut workers = Workers::new();
    workers.add_fn(move |_context: WorkContext, _job: Job<OrderPaid>| {
        counted.fetch_add(1, Ordering::Release);
        async { Ok::<_, BoxError>(WorkOutcome::Complete) }
    })?;
    let queue = QueueConfig::new(if best { 2_000 } else { 10 });
    let builder = Client::builder(pool).workers(workers).queue("default", queue);
    let builder = if best { builder.fetch_cooldown(Duration::from_millis(1)) } else { builder };
    let river = builder.build()?;
    let handed = river.clone();
    let enqueue = enqueue(load, move |i| {
        let river = handed.clone();
        async move {
            river.insert(OrderPaid { order_id: format!("A-{i:06}"), note: note() }).await?;
            Ok(())
        }
    })
    .await?;
    let client = server.connect("rivals").await?;
    let begun = Instant::now();
    let mut run = river.start()?;
    let drain = drained(load, begun, &handled, &client, DONE).await?;
    run.stop_and_cancel().await.ok();
    Ok(Rates { enqueue, drain })
}
