//! graphile_worker: its defaults, and a local queue with batched completions.
//!
//! Guarantees: its own migrations, its own `add_job`. Does not: use `add_jobs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, WorkerContext, WorkerOptions,
};
use graphile_worker_task_handler::TaskHandler;
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgPoolOptions;

use crate::load::{Load, Rates, Way, drained, enqueue, note};
use crate::server::Server;

/// Handlers are made from the job alone, so the count is no field of theirs.
static HANDLED: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Deserialize, Serialize)]
struct OrderPaid {
    order_id: String,
    note: String,
}

impl TaskHandler for OrderPaid {
    const IDENTIFIER: &'static str = "order_paid";

    async fn run(self, _context: WorkerContext) -> impl IntoTaskHandlerResult {
        HANDLED.fetch_add(1, Ordering::Release);
        Ok::<(), String>(())
    }
}

/// Enqueue and drain.
pub(crate) async fn measure(server: &Server, way: Way, load: Load) -> Result<Rates> {
    let best = way == Way::Best;
    HANDLED.store(0, Ordering::Release);
    let pool = PgPoolOptions::new()
        .max_connections(if best { 20 } else { 10 })
        .connect(&server.url("rivals"))
        .await?;
    let options = WorkerOptions::default().define_job::<OrderPaid>().pg_pool(pool);
    let options = if best {
        options
            .concurrency(16)
            .local_queue(LocalQueueConfig::default().with_size(500))
            .complete_job_batch_delay(Duration::from_millis(5))
    } else {
        options
    };
    let worker = Arc::new(options.init().await.map_err(|e| anyhow!("{e:?}"))?);
    let utils = Arc::new(worker.create_utils());
    let enqueue = enqueue(load, move |i| {
        let utils = Arc::clone(&utils);
        async move {
            let job = OrderPaid { order_id: format!("A-{i:06}"), note: note() };
            utils.add_job(job, JobSpec::default()).await.map_err(|e| anyhow!("{e:?}"))?;
            Ok(())
        }
    })
    .await?;
    let client = server.connect("rivals").await?;
    let begun = Instant::now();
    let running = Arc::clone(&worker);
    let task = tokio::spawn(async move { running.run().await.map_err(|e| anyhow!("{e:?}")) });
    // A job that is done is gone.
    let done = format!("SELECT {} - count(*) FROM graphile_worker._private_jobs", load.items);
    let drain = drained(load, begun, &HANDLED, &client, &done).await?;
    worker.request_shutdown();
    let ended = tokio::time::timeout(Duration::from_secs(10), task).await;
    if let Ok(ended) = ended {
        ended??;
    }
    Ok(Rates { enqueue, drain })
}
