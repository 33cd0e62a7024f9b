//! S7: a foreign writer in its own process, beside a draining relay.
//!
//! Guarantees: the writer is plain SQL on its own connection, as another language would be. Does
//! not: use Counterfoil's library in the writer.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use counterfoil::Quiet;
use counterfoil::relay::{Options, Relay};
use counterfoil::sqlite::SqliteStore;

use crate::drain::{preload, runtime, served};
use crate::figure::{Figure, median, quantile};
use crate::latency::monotonic_ns;
use crate::limit;
use crate::load::{Ids, Scale, body};

const INSERT: &str = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body)
  VALUES (?1, 'shipping', 'order.paid', ?2)";

/// The foreign writer: a line `id commit-time` each where it pauses, one summary line else.
pub(crate) fn write(path: &Path, seconds: f64, pause_ms: u64) -> Result<()> {
    let conn = limit::open(path)?;
    conn.execute_batch("PRAGMA wal_autocheckpoint=0")?;
    let (mut out, text) = (std::io::stdout().lock(), String::from_utf8(body())?);
    let (mut waits, begun) = (vec![], Instant::now());
    while begun.elapsed().as_secs_f64() < seconds {
        let id = format!("foreign:{}:{}", std::process::id(), waits.len());
        let started = Instant::now();
        conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        conn.prepare_cached(INSERT)?.execute([&id, &text])?;
        conn.prepare_cached("COMMIT")?.execute([])?;
        waits.push(started.elapsed().as_secs_f64() * 1e3);
        if pause_ms > 0 {
            writeln!(out, "{id} {}", monotonic_ns())?;
            out.flush()?;
            std::thread::sleep(Duration::from_millis(pause_ms));
        }
    }
    if pause_ms == 0 {
        let rate = waits.len() as f64 / begun.elapsed().as_secs_f64();
        let (p99, max) = (quantile(&waits, 0.99), quantile(&waits, 1.0));
        writeln!(out, "{rate} {p99} {max}")?;
    }
    Ok(())
}

struct Wrote {
    rate: f64,
    p99_ms: f64,
    max_ms: f64,
}

fn run_writer(path: &Path, seconds: f64) -> Result<Wrote> {
    let output = std::process::Command::new(std::env::current_exe()?)
        .arg("--foreign-writer")
        .arg(path)
        .args(["--seconds", &seconds.to_string()])
        .output()?;
    ensure!(output.status.success(), "the foreign writer failed: {}", output.status);
    let line = output.stdout.lines().next().context("the writer's summary")??;
    let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [rate, p99_ms, max_ms] = numbers[..] else { anyhow::bail!("odd summary {line}") };
    Ok(Wrote { rate, p99_ms, max_ms })
}

/// S7.
pub(crate) fn beside_a_relay(scale: &Scale) -> Result<Figure> {
    let (mut alone, mut beside, mut p99, mut max) = (vec![], vec![], vec![], vec![]);
    let mut drained = vec![];
    for _ in 0..scale.rounds {
        let folder = scale.folder()?;
        let quiet = folder.path().join("alone.db");
        drop(SqliteStore::init(&quiet, None)?);
        alone.push(run_writer(&quiet, scale.seconds)?.rate);
        let path = folder.path().join("beside.db");
        let store = SqliteStore::init(&path, None)?;
        let runtime = runtime()?;
        runtime.block_on(preload(&store, Ids::Orders, (scale.seconds * 150_000.0) as usize))?;
        let handler = counterfoil::relay::handler(|_attempt| async {
            Ok::<_, std::convert::Infallible>(Vec::new())
        });
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let relay = Relay::new(store.clone(), vec![served(handler)?], Options::default(), Quiet);
        let relaying = runtime.spawn(relay.run(async move {
            let _ = stopped.await;
        }));
        let wrote = run_writer(&path, scale.seconds)?;
        let count: i64 = limit::open(&path)?.query_row(
            "SELECT count(*) FROM counterfoil_receipt",
            [],
            |row| row.get(0),
        )?;
        let _ = stop.send(());
        runtime.block_on(relaying)??;
        drained.push(count as f64 / scale.seconds);
        beside.push(wrote.rate);
        p99.push(wrote.p99_ms);
        max.push(wrote.max_ms);
    }
    let (ours, limit, p99) = (median(&beside), median(&alone), median(&p99));
    Ok(Figure {
        name: "S7".into(),
        what: "a foreign writer beside a draining relay".into(),
        ours,
        limit,
        unit: "/s",
        ratio: ours / limit,
        goal: "≥ 0.5, p99 ≤ 50 ms, no error".into(),
        met: ours / limit >= 0.5 && p99 <= 50.0,
        more: vec![
            ("p99 ms".into(), p99),
            ("max ms".into(), quantile(&max, 1.0)),
            ("relay deliveries/s".into(), median(&drained)),
        ],
    })
}
