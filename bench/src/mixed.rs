//! S3b: decisions committed by 128 tasks while a relay drains them, through one writer.
//!
//! Guarantees: both rates are taken over the same time. Does not: stop the committers when the
//! relay falls behind; a backlog keeps it busy from the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use counterfoil::relay::{Options, Relay};
use counterfoil::sqlite::SqliteStore;
use counterfoil::{Quiet, Store as _};

use crate::drain::{preload, runtime, served};
use crate::figure::{Figure, median, quantile};
use crate::limit;
use crate::load::{Ids, Scale, decision};

/// S3b.
pub(crate) fn commit_and_drain(scale: &Scale, ids: Ids) -> Result<Figure> {
    let (mut decided, mut delivered, mut raw, mut waits) = (vec![], vec![], vec![], vec![]);
    for _ in 0..scale.rounds {
        let folder = scale.folder()?;
        let backlog = (scale.seconds * 150_000.0) as usize;
        let raw_path = folder.path().join("raw.db");
        raw.push(limit::one_writer(&raw_path, ids, backlog, scale.seconds)?.0);
        let path = folder.path().join("ours.db");
        let store = SqliteStore::init(&path, None)?;
        let runtime = runtime()?;
        runtime.block_on(preload(&store, ids, backlog))?;
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let handler = counterfoil::relay::handler(|_attempt| async {
            Ok::<_, std::convert::Infallible>(Vec::new())
        });
        let relay = Relay::new(store.clone(), vec![served(handler)?], Options::default(), Quiet);
        let before = receipts(&path)?;
        let relaying = runtime.spawn(relay.run(async move {
            let _ = stopped.await;
        }));
        let until = Duration::from_secs_f64(scale.seconds);
        let committed = runtime.block_on(commit(&store, ids, backlog as u64, until))?;
        let after = receipts(&path)?;
        let _ = stop.send(());
        runtime.block_on(relaying)??;
        decided.push(committed.len() as f64 / scale.seconds);
        delivered.push((after - before) as f64 / scale.seconds);
        waits.extend(committed);
    }
    let (decided, delivered, limit) = (median(&decided), median(&delivered), median(&raw));
    let ours = decided.min(delivered);
    Ok(Figure {
        name: "S3b".into(),
        what: format!("decisions and as many deliveries at once, {}", ids.name()),
        ours,
        limit,
        unit: "/s",
        ratio: ours / limit,
        goal: "≥ 0.55, no commit over 50 ms".into(),
        met: ours / limit >= 0.55 && quantile(&waits, 1.0) <= 50.0,
        more: vec![
            ("decisions/s".into(), decided),
            ("deliveries/s".into(), delivered),
            ("commit p99 ms".into(), quantile(&waits, 0.99)),
            ("commit max ms".into(), quantile(&waits, 1.0)),
        ],
    })
}

/// 128 tasks, each a decision after the other: how long each decision took, in ms.
async fn commit(store: &SqliteStore, ids: Ids, from: u64, lasts: Duration) -> Result<Vec<f64>> {
    let (next, until) = (Arc::new(AtomicU64::new(from)), Instant::now() + lasts);
    let tasks: Vec<_> = (0..128)
        .map(|_| {
            let (store, next) = (store.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                let mut waits = vec![];
                while Instant::now() < until {
                    let decision = decision(ids, next.fetch_add(1, Ordering::Relaxed))?;
                    let started = Instant::now();
                    store.append(decision).await??;
                    waits.push(started.elapsed().as_secs_f64() * 1e3);
                }
                Ok::<_, anyhow::Error>(waits)
            })
        })
        .collect();
    let mut waits = vec![];
    for task in tasks {
        waits.extend(task.await??);
    }
    Ok(waits)
}

fn receipts(path: &std::path::Path) -> Result<i64> {
    let sql = "SELECT coalesce(max(rowid), 0) FROM counterfoil_receipt";
    Ok(limit::open(path)?.query_row(sql, [], |row| row.get(0))?)
}
