//! G1, G2 and G5: the figures of a store that has grown old, beside those of a young one.
//!
//! Guarantees: the ended commands are filled in as a relay would have left them, digests included,
//! so that the audit holds. Does not: count the filling.

mod books;
mod fill;
mod measure;
mod postgres;
mod sqlite;

use anyhow::Result;

use crate::drain::runtime;
use crate::figure::{Figure, Report};
use crate::load::Scale;
use measure::Measured;

pub(crate) use books::keep_books;
pub(crate) use measure::{audit_memory, peak_kib, relay_memory};

/// Ended commands of the young store.
const YOUNG: u64 = 10_000;
/// The most that wait, in both.
const WAITING: u64 = 1_000_000;

/// So many wait at least: what is measured takes from them.
const ENOUGH: u64 = 100_000;

/// How old the old store is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Age {
    /// Ended commands.
    pub(crate) ended: u64,
    /// Commands that wait.
    pub(crate) waiting: u64,
}

/// Adds the figures that are wanted, of a store with `ended` ended commands.
pub(crate) fn figures(
    scale: &Scale,
    ended: u64,
    wanted: impl Fn(&str) -> bool,
    report: &mut Report,
) -> Result<()> {
    let young = Age { ended: YOUNG, waiting: WAITING.min(ended / 10).max(ENOUGH) };
    let old = Age { ended, ..young };
    if wanted("g1") || wanted("g2") || wanted("g5") {
        let runtime = runtime()?;
        let measured = runtime.block_on(async {
            let young = sqlite::measure(scale, young).await?;
            Ok::<_, anyhow::Error>((young, sqlite::measure(scale, old).await?))
        })?;
        add("SQLite", old, &measured, report);
    }
    if wanted("g1pg") || wanted("g5pg") {
        let server = crate::postgres::server::Server::start(scale.dir())?;
        let runtime = runtime()?;
        let measured = runtime.block_on(async {
            let young = postgres::measure(&server, scale.dir(), young).await?;
            Ok::<_, anyhow::Error>((young, postgres::measure(&server, scale.dir(), old).await?))
        })?;
        add("PostgreSQL", old, &measured, report);
    }
    Ok(())
}

/// The lines of the report: the old store beside the young one.
fn add(store: &str, age: Age, (young, old): &(Measured, Measured), report: &mut Report) {
    let Age { ended, waiting } = age;
    for ((name, fresh), (_, grown)) in young.rates.iter().zip(&old.rates) {
        report.add(Figure {
            name: "G1".into(),
            what: format!("{store}, {name}, {ended} ended and {waiting} waiting; limit: young"),
            ours: *grown,
            limit: *fresh,
            unit: "/s",
            ratio: grown / fresh,
            goal: "≥ 0.9".into(),
            met: grown / fresh >= 0.9,
            more: vec![],
        });
    }
    for (name, value, unit, most) in &old.bounds {
        report.add(Figure {
            name: if *unit == "MiB" { "G2" } else { "G5" }.into(),
            what: format!("{store}, {name}, {ended} ended and {waiting} waiting"),
            ours: *value,
            limit: *most,
            unit,
            ratio: value / most,
            goal: format!("≤ {most} {unit}"),
            met: value <= most,
            more: vec![],
        });
    }
    let (beside, alone) = old.beside;
    report.add(Figure {
        name: "G1".into(),
        what: format!("{store}, claims and settles beside audit and archive; limit: alone"),
        ours: beside,
        limit: alone,
        unit: "/s",
        ratio: beside / alone,
        goal: "≥ 0.8".into(),
        met: beside / alone >= 0.8,
        more: vec![],
    });
    report.add(Figure {
        name: "G5".into(),
        what: format!("{store}, full audit of {} commands", ended + waiting),
        ours: old.audited,
        limit: 300_000.0,
        unit: "/s",
        ratio: old.audited / 300_000.0,
        goal: "≥ 300,000/s".into(),
        met: old.audited >= 300_000.0,
        more: vec![],
    });
}
