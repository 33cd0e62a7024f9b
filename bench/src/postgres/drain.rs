//! P2 and P4: a backlog drained by one relay and by many, with a handler that does nothing.
//!
//! Guarantees: default settings; a receipt with digests per command; the database says that all are
//! done. Does not: count the loading of the backlog.

use std::time::Instant;

use anyhow::{Result, ensure};
use counterfoil::Quiet;
use counterfoil::Store as _;
use counterfoil::relay::{Options as RelayOptions, Relay};
use counterfoil_postgres::{Options, PostgresStore};

use super::limit;
use super::server::Server;
use crate::drain::served;
use crate::figure::{Figure, median};
use crate::load::{Ids, Scale, command};

/// The backlog of P4, in backlogs of P2.
const BACKLOG: usize = 4;

/// Bare commands, recorded in bulk.
pub(crate) async fn preload(store: &PostgresStore, ids: Ids, items: usize) -> Result<()> {
    let numbers: Vec<u64> = (0..items as u64).collect();
    for chunk in numbers.chunks(5_000) {
        let commands = chunk.iter().map(|i| command(ids, *i)).collect::<Result<Vec<_>>>()?;
        for answer in store.enqueue(commands).await? {
            answer?;
        }
    }
    Ok(())
}

/// A new store with a backlog, vacuumed as an older one would be.
pub(crate) async fn backlog(server: &Server, ids: Ids, items: usize) -> Result<PostgresStore> {
    server.create("ours").await?;
    let store = PostgresStore::init(&server.url("ours"), Options::default(), None).await?;
    preload(&store, ids, items).await?;
    let client = server.connect("ours").await?;
    client.batch_execute("VACUUM (ANALYZE)").await?;
    Ok(store)
}

/// One relay until nothing is left; `None`: with as many workers as it has by default.
pub(crate) async fn drain(store: PostgresStore, workers: Option<usize>) -> Result<()> {
    let handler = counterfoil::relay::handler(|_attempt| async {
        Ok::<_, std::convert::Infallible>(Vec::new())
    });
    let options = RelayOptions::default().until_idle(true);
    let options = match workers {
        Some(workers) => options.workers(workers),
        None => options,
    };
    let relay = Relay::new(store, vec![served(handler)?], options, Quiet);
    relay.run(std::future::pending()).await?;
    Ok(())
}

/// The rate of so many relays on one backlog, each with so many workers.
async fn rate(
    server: &Server,
    (ids, items): (Ids, usize),
    (relays, workers): (usize, Option<usize>),
) -> Result<f64> {
    drop(backlog(server, ids, items).await?);
    let mut stores = Vec::new();
    for _ in 0..relays {
        // Each with connections of its own, as on another machine.
        stores.push(PostgresStore::open(&server.url("ours"), Options::default()).await?);
    }
    let begun = Instant::now();
    let tasks: Vec<_> =
        stores.into_iter().map(|store| tokio::spawn(drain(store, workers))).collect();
    for task in tasks {
        task.await??;
    }
    let elapsed = begun.elapsed().as_secs_f64();
    let client = server.connect("ours").await?;
    let done = "SELECT count(*) FROM counterfoil.receipt WHERE outcome = 'completed'";
    let done: i64 = client.query_one(done, &[]).await?.get(0);
    ensure!(done == items as i64, "{done} of {items} have a receipt");
    Ok(items as f64 / elapsed)
}

/// P2, beside the raw claim + done at two sizes of batch: of 100, by a relay at its defaults; of
/// 1,000, by one that may have as many in flight.
pub(crate) async fn no_op_handler(scale: &Scale, server: &Server) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for ids in [Ids::Orders, Ids::Uuids] {
        for (batch, workers, goal) in [(100, None, 0.9), (1000, Some(1000), 1.0)] {
            let (mut ours, mut raw) = (vec![], vec![]);
            for _ in 0..scale.rounds {
                server.create("raw").await?;
                let client = server.connect("raw").await?;
                limit::create(&client).await?;
                limit::fill(&client, ids, scale.items).await?;
                raw.push(limit::drain(server, "raw", batch, scale.items).await?);
                ours.push(rate(server, (ids, scale.items), (1, workers)).await?);
            }
            let (ours, limit) = (median(&ours), median(&raw));
            let by = workers.map_or("defaults".into(), |workers| format!("{workers} workers"));
            figures.push(Figure {
                name: "P2".into(),
                what: format!(
                    "drain of {}, no-op handler, {by}, {}, beside raw batches of {batch}",
                    scale.items,
                    ids.name()
                ),
                ours,
                limit,
                unit: "/s",
                ratio: ours / limit,
                goal: format!("≥ {goal}"),
                met: ours / limit >= goal,
                more: vec![],
            });
        }
    }
    Ok(figures)
}

/// P4: more relays on one backlog beside one, of so many times the items that it outlasts the start
/// of sixteen of them.
pub(crate) async fn many_relays(scale: &Scale, server: &Server) -> Result<Vec<Figure>> {
    let counts = [1, 4, 16];
    let mut rates = [vec![], vec![], vec![]];
    let items = scale.items * BACKLOG;
    for _ in 0..scale.rounds {
        for (rates, relays) in rates.iter_mut().zip(counts) {
            rates.push(rate(server, (Ids::Orders, items), (relays, None)).await?);
        }
    }
    let one = median(&rates[0]);
    let figures = counts.iter().zip(&rates).skip(1).map(|(relays, rates)| {
        let ours = median(rates);
        Figure {
            name: "P4".into(),
            what: format!("drain of {items} by {relays} relays beside one"),
            ours,
            limit: one,
            unit: "/s",
            ratio: ours / one,
            goal: "≥ 1".into(),
            met: ours >= one,
            more: vec![],
        }
    });
    Ok(figures.collect())
}
