//! S5: from the commit to the handler, on an idle system, in process and across processes.
//!
//! Guarantees: one command at a time; the clock is the monotonic one, which processes share.
//! Does not: include the commit itself; it has returned when the time begins.

use std::collections::HashMap;
use std::io::BufRead as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result};
use counterfoil::Quiet;
use counterfoil::relay::{Options, Relay};
use counterfoil::sqlite::SqliteStore;

use crate::drain::{runtime, served};
use crate::figure::{Figure, quantile};
use crate::limit;
use crate::load::{Ids, Scale, decision};

type Handled = Arc<Mutex<HashMap<String, u64>>>;

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// S5, both ways, and what an idle relay costs.
pub(crate) fn commit_to_handled(scale: &Scale) -> Result<Vec<Figure>> {
    let folder = scale.folder()?;
    let mut limit = limit::TwoInserts::new(&folder.path().join("raw.db"), Ids::Orders)?;
    let commits = (0..1000).map(|_| limit.commit()).collect::<Result<Vec<_>>>()?;
    let commit_ms = quantile(&commits, 0.5) / 1e3;
    let path = folder.path().join("ours.db");
    let store = SqliteStore::init(&path, None)?;
    let handled: Handled = Arc::default();
    let heard = Arc::clone(&handled);
    let handler = counterfoil::relay::handler(move |attempt: counterfoil::Attempt| {
        let now = monotonic_ns();
        if let Ok(mut handled) = heard.lock() {
            handled.insert(attempt.command.command_id.to_string(), now);
        }
        async { Ok::<_, std::convert::Infallible>(Vec::new()) }
    });
    let runtime = runtime()?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let relay = Relay::new(store.clone(), vec![served(handler)?], Options::default(), Quiet);
    let relaying = runtime.spawn(relay.run(async move {
        let _ = stopped.await;
    }));
    std::thread::sleep(Duration::from_millis(200));
    let idle = idle_share();
    let here = in_process(&store, &handled, scale)?;
    let across = across_processes(&path, &handled, scale)?;
    let _ = stop.send(());
    runtime.block_on(relaying)??;
    Ok(vec![
        figure("S5 in process", &here, commit_ms, 2.0, 0.0),
        Figure {
            more: vec![
                ("p99 ms".into(), quantile(&across, 0.99)),
                ("idle relay, share of a core".into(), idle),
            ],
            goal: "p50 ≤ 5 ms, idle ≤ 1 % of a core".into(),
            met: quantile(&across, 0.5) <= 5.0 && idle <= 0.01,
            ..figure("S5 across processes", &across, commit_ms, 0.0, 5.0)
        },
    ])
}

fn figure(name: &str, times_ms: &[f64], commit_ms: f64, commits: f64, bound_ms: f64) -> Figure {
    let p50 = quantile(times_ms, 0.5);
    Figure {
        name: name.into(),
        what: format!("commit → handled p50, {} samples", times_ms.len()),
        ours: p50,
        limit: commit_ms,
        unit: "ms",
        ratio: p50 / commit_ms,
        goal: "p50 ≤ 2 raw commits".into(),
        met: p50 <= (commits * commit_ms).max(bound_ms),
        more: vec![("p99 ms".into(), quantile(times_ms, 0.99))],
    }
}

/// CPU time over two idle seconds, as a share of one core.
fn idle_share() -> f64 {
    let cpu = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let before = cpu();
    std::thread::sleep(Duration::from_secs(2));
    (cpu() - before) / 2.0
}

fn wait_for(handled: &Handled, id: &str) -> Result<u64> {
    for _ in 0..50_000 {
        if let Some(at) = handled.lock().ok().and_then(|handled| handled.get(id).copied()) {
            return Ok(at);
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    anyhow::bail!("{id} was not handled within 5 s")
}

fn in_process(store: &SqliteStore, handled: &Handled, scale: &Scale) -> Result<Vec<f64>> {
    let mut times = vec![];
    for i in 0..(300.0 * scale.seconds) as u64 {
        let appended = store.append_blocking(decision(Ids::Orders, i)?)??;
        let committed = monotonic_ns();
        let id = appended.command_ids.first().context("one command")?.to_string();
        let at = wait_for(handled, &id)?;
        times.push((at as f64 - committed as f64) / 1e6);
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(times)
}

fn across_processes(path: &std::path::Path, handled: &Handled, scale: &Scale) -> Result<Vec<f64>> {
    let mut child = std::process::Command::new(std::env::current_exe()?)
        .arg("--foreign-writer")
        .arg(path)
        .args(["--pause-ms", "7", "--seconds", &(2.0 * scale.seconds).to_string()])
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().context("the writer's output")?;
    let mut times = vec![];
    for line in std::io::BufReader::new(output).lines() {
        let line = line?;
        if let Some((id, committed)) = line.split_once(' ') {
            let at = wait_for(handled, id)?;
            times.push((at as f64 - committed.parse::<u64>()? as f64) / 1e6);
        }
    }
    child.wait()?;
    Ok(times)
}
