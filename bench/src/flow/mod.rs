//! S6, P5 and G3: workflows of one command, and of ten thousand steps.
//!
//! Guarantees: default settings; start, command, receipt and end of each stand in the store when
//! it counts. Does not: measure the rivals; their figures are told with the machine they are of.

mod count;
mod open;
mod shop;
mod steps;

use anyhow::{Result, ensure};
use counterfoil::sqlite::SqliteStore;
use counterfoil_postgres::PostgresStore;

use crate::drain::runtime;
use crate::figure::{Figure, Report, median, quantile};
use crate::limit;
use crate::load::{Ids, Scale};
use crate::postgres::server::Server;
use shop::Shop;

pub(crate) use open::memory;

/// Workflows that are open at once.
const IN_FLIGHT: usize = 64;
/// Workflows of a round, and of the look at one alone.
const WORKFLOWS: usize = 20_000;
const ALONE: usize = 1_000;
/// Workflows a second of rivals, as measured before: the best on SQLite, direct; one of PostgreSQL,
/// queued; and its time of one alone, direct, in ms.
const DURARE: f64 = 1_760.0;
const DBOS_QUEUED: f64 = 684.0;
const DBOS_DIRECT_MS: f64 = 1.0;

/// Adds the figures that are wanted.
pub(crate) fn figures(
    scale: &Scale,
    wanted: impl Fn(&str) -> bool,
    report: &mut Report,
) -> Result<()> {
    if wanted("s6") {
        s6(scale)?.into_iter().for_each(|figure| report.add(figure));
    }
    if wanted("p5") {
        p5(scale)?.into_iter().for_each(|figure| report.add(figure));
    }
    if wanted("g3") {
        steps::g3(scale)?.into_iter().for_each(|figure| report.add(figure));
    }
    if wanted("w1") {
        report.add(open::of_many(scale)?);
    }
    Ok(())
}

/// How many a second with [`IN_FLIGHT`] open, and how long one alone takes, in ms.
async fn measured<S>(store: &S, rounds: usize) -> Result<(f64, f64)>
where
    S: counterfoil::workflow::Workflows + counterfoil::Store,
{
    let mut rates = Vec::new();
    let shop = Shop::open(store.clone())?;
    for round in 0..rounds {
        rates.push(shop.rate(&format!("r{round}"), WORKFLOWS, IN_FLIGHT).await?);
    }
    let alone = shop.alone(ALONE).await?;
    let ended = shop.close().await?;
    ensure!(ended == rounds * WORKFLOWS + ALONE, "{ended} workflows ended");
    Ok((median(&rates), quantile(&alone, 0.5)))
}

fn s6(scale: &Scale) -> Result<Vec<Figure>> {
    let folder = scale.folder()?;
    let mut raw = limit::TwoInserts::new(&folder.path().join("raw.db"), Ids::Orders)?;
    let commits = (0..1000).map(|_| raw.commit()).collect::<Result<Vec<_>>>()?;
    let commit_ms = quantile(&commits, 0.5) / 1e3;
    let store = SqliteStore::init(folder.path().join("ours.db"), None)?;
    let (rate, alone) = runtime()?.block_on(measured(&store, scale.rounds))?;
    Ok(vec![many("S6", "durare, direct", rate, DURARE), one("S6", alone, commit_ms, 4.0)])
}

fn p5(scale: &Scale) -> Result<Vec<Figure>> {
    let server = Server::start(scale.dir())?;
    let (rate, alone) = runtime()?.block_on(async {
        server.create("flows").await?;
        let options = counterfoil_postgres::Options::default();
        let store = PostgresStore::init(&server.url("flows"), options, None).await?;
        measured(&store, scale.rounds).await
    })?;
    Ok(vec![many("P5", "dbos, queued", rate, DBOS_QUEUED), one("P5", alone, DBOS_DIRECT_MS, 1.0)])
}

fn many(name: &str, rival: &str, rate: f64, limit: f64) -> Figure {
    Figure {
        name: name.into(),
        what: format!("one-command workflows, {IN_FLIGHT} in flight, beside {rival}"),
        ours: rate,
        limit,
        unit: "/s",
        ratio: rate / limit,
        goal: "≥ 10".into(),
        met: rate / limit >= 10.0,
        more: vec![],
    }
}

fn one(name: &str, alone: f64, limit: f64, most: f64) -> Figure {
    let beside = if name == "S6" { "a raw commit" } else { "dbos, direct" };
    Figure {
        name: name.into(),
        what: format!("start → end p50, one alone, beside {beside}"),
        ours: alone,
        limit,
        unit: "ms",
        ratio: alone / limit,
        goal: format!("≤ {most}"),
        met: alone <= most * limit,
        more: vec![],
    }
}
