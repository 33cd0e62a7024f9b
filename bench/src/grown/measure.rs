//! What is measured on a grown store, whichever database it is in.
//!
//! Guarantees: the same steps on each. Does not: know how a store is filled.

use std::path::Path;
use std::process::Child;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use counterfoil::audit::{AuditOptions, How, audit_sealed};
use counterfoil::port::read::Filter;
use counterfoil::port::{Archive, Audited};
use counterfoil::relay::{Options, Relay};
use counterfoil::{Destination, Quiet};

use super::Age;
use super::fill::DESTINATION;
use crate::drain::served;
use crate::figure::quantile;
use crate::lanes;
use crate::load::{Ids, command};

/// Commits, each measured.
const COMMITS: u64 = 2_000;
/// Commands that are claimed and settled, and how many in a write.
const CLAIMS: usize = 20_000;
const BATCH: usize = 100;
/// So many are new at the incremental audit.
const NEW: u64 = 1_000;
/// How often each read is done.
const READS: usize = 20;

/// What one store came to.
pub(crate) struct Measured {
    /// By name: how many a second.
    pub(crate) rates: Vec<(&'static str, f64)>,
    /// By name: a value, its unit, and the most that it may be.
    pub(crate) bounds: Vec<(&'static str, f64, &'static str, f64)>,
    /// Commands a second of a full audit.
    pub(crate) audited: f64,
    /// Claims and settles a second beside a full audit and an archive in a process of its own, and
    /// alone.
    pub(crate) beside: (f64, f64),
}

/// Measures it. `rest` is what the database does by itself within a minute of so many writes.
pub(crate) async fn measure(
    store: &(impl Archive + Audited),
    age: Age,
    beside: impl FnOnce() -> Result<Child>,
    rest: impl AsyncFnOnce() -> Result<()>,
) -> Result<Measured> {
    let mut rates = Vec::new();
    let first = age.ended + age.waiting + 1;
    let mut took = Vec::new();
    for n in first..first + COMMITS {
        let command = command(Ids::Orders, n)?;
        let begun = Instant::now();
        store.enqueue(vec![command]).await?.remove(0)?;
        took.push(begun.elapsed().as_secs_f64());
    }
    rates.push(("commits by one", 1.0 / quantile(&took, 0.5)));
    rates.push(("claims and settles", lanes::exchange_many(store, CLAIMS, BATCH).await?));
    rates.push(("status", read(async || Ok(store.status().await.map(drop)?)).await?));
    let page = Filter { limit: 100, ..Filter::default() };
    rates.push((
        "list, first page",
        read(async || Ok(store.list(page.clone()).await.map(drop)?)).await?,
    ));
    let parked = Filter { state: Some("parked".into()), ..page.clone() };
    rates.push((
        "list, parked",
        read(async || Ok(store.list(parked.clone()).await.map(drop)?)).await?,
    ));
    let id = Ids::Orders.id(age.ended / 2);
    rates.push(("show", read(async || Ok(store.show(&id).await.map(drop)?)).await?));
    let shipping = [Destination::new(DESTINATION)?];
    rates.push(("next due", read(async || Ok(store.next_due(&shipping).await.map(drop)?)).await?));
    let (full, took) = audited(store, How::default().full()).await?;
    let audited_rate = full as f64 / took;
    let alone = lanes::exchange_many(store, CLAIMS, BATCH).await?;
    let mut child = beside()?;
    let beside = lanes::exchange_many(store, CLAIMS, BATCH).await?;
    child.kill()?;
    child.wait()?;
    // Open ones are always looked at, so none but the new should be left.
    let gone = 3 * CLAIMS as u64;
    lanes::exchange_many(store, usize::try_from(age.waiting + COMMITS - gone)?, BATCH).await?;
    rest().await?;
    audited(store, How::default()).await?;
    for n in first + COMMITS..first + COMMITS + NEW {
        store.enqueue(vec![command(Ids::Orders, n)?]).await?.remove(0)?;
    }
    lanes::exchange_many(store, usize::try_from(NEW)?, BATCH).await?;
    let (_, incremental) = audited(store, How::default()).await?;
    let name = "audit from a seal, 1,000 recorded and ended since";
    let bounds = vec![(name, incremental * 1e3, "ms", 100.0)];
    Ok(Measured { rates, bounds, audited: audited_rate, beside: (beside, alone) })
}

/// How many commands an audit looked at, and the seconds that it took.
async fn audited(store: &(impl Archive + Audited), how: How) -> Result<(u64, f64)> {
    let begun = Instant::now();
    let report = audit_sealed(store, AuditOptions::default(), how).await?;
    ensure!(report.holds, "the filled store breaks a law: {:?}", report.violations.first());
    Ok((report.checked.commands, begun.elapsed().as_secs_f64()))
}

/// How often a second `read` is done: by its median.
async fn read(read: impl AsyncFn() -> Result<()>) -> Result<f64> {
    let mut took = Vec::with_capacity(READS);
    for _ in 0..READS {
        let begun = Instant::now();
        read().await?;
        took.push(begun.elapsed().as_secs_f64());
    }
    Ok(1.0 / quantile(&took, 0.5))
}

/// Part of g2: in a process of its own, relays from a SQLite file for `seconds` and says the most
/// memory that it had, in KiB.
#[allow(clippy::print_stdout, reason = "its parent reads it")]
pub(crate) async fn relay_memory(path: &Path, seconds: f64) -> Result<()> {
    let store = counterfoil::sqlite::SqliteStore::open(path, Default::default())?;
    let handler = counterfoil::relay::handler(|_attempt| async {
        Ok::<_, std::convert::Infallible>(Vec::new())
    });
    let relay = Relay::new(store, vec![served(handler)?], Options::default(), Quiet);
    let stop = tokio::time::sleep(std::time::Duration::from_secs_f64(seconds));
    relay.run(stop).await?;
    println!("{}", peak_kib()?);
    Ok(())
}

/// Part of g2: a full audit of a SQLite file, and the most memory that it took, in KiB.
#[allow(clippy::print_stdout, reason = "its parent reads it")]
pub(crate) async fn audit_memory(path: &Path) -> Result<()> {
    let store = counterfoil::sqlite::SqliteStore::open(path, Default::default())?;
    audited(&store, How::default().full()).await?;
    println!("{}", peak_kib()?);
    Ok(())
}

/// The most resident memory that this process had.
pub(crate) fn peak_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.context("no VmHWM in /proc/self/status")?.parse()?)
}
