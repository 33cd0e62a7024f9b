//! S3: a backlog drained by a relay with a handler that does nothing.
//!
//! Guarantees: default settings; full state, a receipt with digests per command. Does not: count
//! the loading of the backlog.

use std::time::Instant;

use anyhow::{Result, ensure};
use counterfoil::relay::{Options, Relay, Served};
use counterfoil::sqlite::SqliteStore;
use counterfoil::{Contract, Destination, Idempotent, Quiet, Terms};

use crate::figure::{Figure, median};
use crate::limit;
use crate::load::{Ids, Scale, command};

/// A relay's destination served by `handle`.
pub(crate) fn served(transport: impl counterfoil::Transport) -> Result<Served> {
    let terms = Terms::new(Contract::new(Idempotent::Forever));
    let shipping = Destination::new("shipping")?;
    Ok(Served::new(shipping, terms, std::sync::Arc::new(transport)))
}

/// A runtime as a program has it by default.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Bare commands, recorded in bulk.
pub(crate) async fn preload(store: &SqliteStore, ids: Ids, items: usize) -> Result<()> {
    use counterfoil::Store as _;
    let numbers: Vec<u64> = (0..items as u64).collect();
    for chunk in numbers.chunks(5_000) {
        let commands = chunk.iter().map(|i| command(ids, *i)).collect::<Result<Vec<_>>>()?;
        for answer in store.enqueue(commands).await? {
            answer?;
        }
    }
    Ok(())
}

/// S3.
pub(crate) fn no_op_handler(scale: &Scale, ids: Ids) -> Result<Figure> {
    let (mut ours, mut raw) = (vec![], vec![]);
    for _ in 0..scale.rounds {
        let folder = scale.folder()?;
        raw.push(limit::fused_drain(&folder.path().join("raw.db"), ids, scale.items)?);
        let path = folder.path().join("ours.db");
        let store = SqliteStore::init(&path, None)?;
        let runtime = runtime()?;
        runtime.block_on(preload(&store, ids, scale.items))?;
        limit::open(&path)?.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
        let elapsed = runtime.block_on(async {
            let handler = counterfoil::relay::handler(|_attempt| async {
                Ok::<_, std::convert::Infallible>(Vec::new())
            });
            let options = Options::default().until_idle(true);
            let relay = Relay::new(store.clone(), vec![served(handler)?], options, Quiet);
            let begun = Instant::now();
            relay.run(std::future::pending()).await?;
            Ok::<_, anyhow::Error>(begun.elapsed().as_secs_f64())
        })?;
        let receipts: i64 = limit::open(&path)?.query_row(
            "SELECT count(*) FROM counterfoil_receipt WHERE outcome = 'completed'",
            [],
            |row| row.get(0),
        )?;
        ensure!(receipts == scale.items as i64, "{receipts} of {} have a receipt", scale.items);
        ours.push(scale.items as f64 / elapsed);
    }
    let (ours, limit) = (median(&ours), median(&raw));
    Ok(Figure {
        name: "S3".into(),
        what: format!("drain of {}, no-op handler, {}", scale.items, ids.name()),
        ours,
        limit,
        unit: "/s",
        ratio: ours / limit,
        goal: "≥ 0.5".into(),
        met: ours / limit >= 0.5,
        more: vec![],
    })
}
