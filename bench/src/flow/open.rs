//! W1: the memory of a runner with very many open workflows.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use counterfoil::sqlite::SqliteStore;
use counterfoil::workflow::{Runner, Workflows};

use super::shop::start;
use super::steps::Counter;
use crate::drain::runtime;
use crate::figure::Figure;
use crate::grown::peak_kib;
use crate::load::Scale;

/// Workflows that are open.
const OPEN: usize = 100_000;
/// The most that a runner may take, in MiB.
const MIB: f64 = 100.0;

pub(crate) fn of_many(scale: &Scale) -> Result<Figure> {
    let folder = scale.folder()?;
    let path = folder.path().join("open.db");
    let store = SqliteStore::init(&path, None)?;
    runtime()?.block_on(async {
        for chunk in (0..OPEN).collect::<Vec<_>>().chunks(5_000) {
            let starts = chunk.iter().map(|at| start(&format!("open-{at:06}"), "counter"));
            for sent in store.send_inputs(starts.collect::<Result<_>>()?).await? {
                sent?;
            }
        }
        Ok::<_, anyhow::Error>(())
    })?;
    let said = Command::new(std::env::current_exe()?).arg("--runner-memory").arg(&path).output()?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let kib: f64 = String::from_utf8_lossy(&said.stdout).trim().parse().context("its memory")?;
    let mib = kib / 1024.0;
    Ok(Figure {
        name: "W1".into(),
        what: format!("peak memory of a runner that opened {OPEN} workflows"),
        ours: mib,
        limit: MIB,
        unit: "MiB",
        ratio: mib / MIB,
        goal: format!("≤ {MIB}"),
        met: mib <= MIB,
        more: vec![],
    })
}

/// Part of w1: runs what is due in this file and says the most memory that it took, in KiB.
#[allow(clippy::print_stdout, reason = "its parent reads it")]
pub(crate) async fn memory(path: &Path) -> Result<()> {
    let store = SqliteStore::open(path, Default::default())?;
    let end = Runner::builder(store).workflow(Counter).build()?.run_until_idle().await?;
    ensure!(end.inputs == OPEN as u64, "{} inputs were decided", end.inputs);
    println!("{}", peak_kib()?);
    Ok(())
}
