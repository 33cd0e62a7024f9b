//! S3b: decisions committed by 64 threads while a relay drains them, through one writer.
//!
//! Guarantees: both rates are taken over the same time. Does not: stop the committers when the
//! relay falls behind; a backlog keeps it busy from the start.

use std::time::Duration;

use anyhow::Result;
use counterfoil::Quiet;
use counterfoil::relay::{Options, Relay};
use counterfoil::sqlite::SqliteStore;

use crate::commit::Committers;
use crate::drain::{preload, runtime, served};
use crate::figure::{Figure, median, quantile};
use crate::limit;
use crate::load::{Ids, Scale};

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
        let committers = Committers::start(&store, ids, 64, backlog as u64);
        std::thread::sleep(Duration::from_secs_f64(scale.seconds));
        let committed = committers.stop()?;
        let after = receipts(&path)?;
        let _ = stop.send(());
        runtime.block_on(relaying)??;
        decided.push(committed.rate);
        delivered.push((after - before) as f64 / scale.seconds);
        waits.extend(committed.waits_ms);
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

fn receipts(path: &std::path::Path) -> Result<i64> {
    let sql = "SELECT coalesce(max(rowid), 0) FROM counterfoil_receipt";
    Ok(limit::open(path)?.query_row(sql, [], |row| row.get(0))?)
}
