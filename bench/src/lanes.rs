//! L1 and L2: claims and settles of commands with an ordering key beside those without.
//!
//! Guarantees: all go through `Store::exchange`, which settles one batch and claims the next in
//! one durable write, as a relay does; digests, decoding and the commit are in it. Does not: send;
//! a handler, a network and their waits would be the same for all.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use counterfoil::port::store::{ClaimFrom, Ended, Exchange, Settle};
use counterfoil::sqlite::{Options, SqliteStore};
use counterfoil::{
    Contract, Destination, Idempotent, OrderingKey, Outcome, ResultBody, Seed, Store as _, Terms,
};

use crate::drain::runtime;
use crate::figure::{Figure, median};
use crate::limit;
use crate::load::{Ids, Scale, command};

/// Commands that stand open in each file.
const OPEN: usize = 100_000;
/// What a relay has in flight by default where it sends over HTTP.
const BATCH: usize = 64;
/// How many are claimed and settled in a round, and one at a time.
const MANY: usize = 50_000;
const FEW: usize = 1_000;

/// Which commands wait in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shape {
    /// No key.
    Unordered,
    /// Each a key of its own, rising.
    Keys,
    /// Each a key of its own, a UUID.
    UuidKeys,
    /// All the same key.
    OneKey,
}

/// Makes a store with [`OPEN`] commands.
pub(crate) fn fill(path: &Path, shape: Shape) -> Result<()> {
    let store = SqliteStore::init(path, None)?;
    let key = |i| match shape {
        Shape::Unordered => None,
        Shape::Keys => Some(Ids::Orders.id(i)),
        Shape::UuidKeys => Some(Ids::Uuids.id(i)),
        Shape::OneKey => Some("order A-000001".to_owned()),
    };
    let ordered = |i| {
        let command = command(Ids::Orders, i)?;
        let key = key(i).map(OrderingKey::new).transpose()?;
        Ok(match key {
            Some(key) => command.ordering_key(key),
            None => command,
        })
    };
    runtime()?.block_on(async {
        let numbers: Vec<u64> = (0..OPEN as u64).collect();
        for chunk in numbers.chunks(5_000) {
            let commands = chunk.iter().map(|i| ordered(*i)).collect::<Result<Vec<_>>>()?;
            for answer in store.enqueue(commands).await? {
                answer?;
            }
        }
        Ok::<_, anyhow::Error>(())
    })?;
    drop(store);
    Ok(limit::open(path)?.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?)
}

/// Claims and settles `count` commands, `batch` in a write; commands a second.
pub(crate) fn drain(path: &Path, count: usize, batch: usize) -> Result<f64> {
    let store = SqliteStore::open(path, Options::default())?;
    runtime()?.block_on(exchange_many(&store, count, batch))
}

/// Claims and settles `count` commands of any store, `batch` in a write; commands a second.
pub(crate) async fn exchange_many(
    store: &impl counterfoil::Store,
    count: usize,
    batch: usize,
) -> Result<f64> {
    let terms = Arc::new(Terms::new(Contract::new(Idempotent::Forever)));
    let destination = Destination::new("shipping")?;
    store.declare(&destination, &terms.contract, false).await?;
    let (mut settles, mut done, begun) = (Vec::new(), 0, Instant::now());
    loop {
        let limit = batch.min(count - done - settles.len());
        let (destination, terms) = (destination.clone(), Arc::clone(&terms));
        let from = ClaimFrom { destination, limit, terms: Arc::clone(&terms) };
        let ending = settles.len();
        let exchange = Exchange {
            settles: std::mem::take(&mut settles),
            claim_from: vec![from],
            claim_limit: limit,
            owner: "bench".into(),
            ..Exchange::default()
        };
        let exchanged = store.exchange(exchange).await?;
        done += ending;
        if done == count {
            break;
        }
        ensure!(!exchanged.claimed.is_empty(), "nothing more to claim after {done}");
        let settle = |claimed| settle(claimed, &terms);
        settles = exchanged.claimed.into_iter().map(settle).collect();
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

fn settle(claimed: counterfoil::port::store::Claimed, terms: &Arc<Terms>) -> Settle {
    let result = ResultBody::default();
    Settle {
        started_at: claimed.delivery.first_sent_at.unwrap_or_default(),
        claimed,
        ended: Ended::Outcome(Outcome::Completed { result, evidence: "bench".into() }),
        burns: true,
        seed: Seed(1),
        terms: Arc::clone(terms),
    }
}

/// L1 and L2.
pub(crate) fn beside_unordered(scale: &Scale) -> Result<Vec<Figure>> {
    let plans = [
        ("L1", "10⁵ rising keys, one command each", Shape::Keys, MANY, BATCH),
        ("L1", "10⁵ UUIDs as keys, one command each", Shape::UuidKeys, MANY, BATCH),
        ("L2", "one key with 10⁵ waiting, one a write", Shape::OneKey, FEW, 1),
    ];
    plans.into_iter().map(|plan| figure(scale, plan)).collect()
}

fn figure(
    scale: &Scale,
    (name, what, shape, count, batch): (&str, &str, Shape, usize, usize),
) -> Result<Figure> {
    let (mut ours, mut unordered) = (vec![], vec![]);
    for _ in 0..scale.rounds {
        for (shape, rates) in [(Shape::Unordered, &mut unordered), (shape, &mut ours)] {
            let folder = scale.folder()?;
            let path = folder.path().join("lanes.db");
            fill(&path, shape)?;
            rates.push(drain(&path, count, batch).context(what.to_owned())?);
        }
    }
    let (ours, limit) = (median(&ours), median(&unordered));
    Ok(Figure {
        name: name.into(),
        what: what.into(),
        ours,
        limit,
        unit: "/s",
        ratio: ours / limit,
        goal: "≥ 0.83".into(),
        met: ours / limit >= 1.0 / 1.2,
        more: vec![("unordered / ours".into(), limit / ours)],
    })
}
