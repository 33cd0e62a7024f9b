//! S1 and S2: decisions committed, by one and by 64 committers.
//!
//! Guarantees: each decision is one event and one command, durable before it counts. Does not:
//! deliver anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use counterfoil::sqlite::SqliteStore;

use crate::figure::{Figure, median, quantile};
use crate::limit;
use crate::load::{Ids, Scale, decision};

/// So many commits of ours, then as many of the limit: a disk that hiccups hits both.
const SLICE: usize = 500;

/// S1: one committer, one transaction each. The medians count, since one commit that waits for a
/// busy disk would hide a hundred others.
pub(crate) fn one_committer(scale: &Scale, ids: Ids) -> Result<Figure> {
    let (mut ours, mut raw) = (vec![], vec![]);
    for _ in 0..scale.rounds {
        let folder = scale.folder()?;
        let mut limit = limit::TwoInserts::new(&folder.path().join("raw.db"), ids)?;
        let store = SqliteStore::init(folder.path().join("ours.db"), None)?;
        let (mut i, begun) = (0, Instant::now());
        while begun.elapsed().as_secs_f64() < 2.0 * scale.seconds {
            for _ in 0..SLICE {
                raw.push(limit.commit()?);
            }
            for _ in 0..SLICE {
                let decision = decision(ids, i)?;
                let started = Instant::now();
                store.append_blocking(decision)??;
                ours.push(started.elapsed().as_secs_f64() * 1e6);
                i += 1;
            }
        }
    }
    let rate = |times: &[f64]| 1e6 / quantile(times, 0.5);
    let (ours_rate, limit) = (rate(&ours), rate(&raw));
    Ok(Figure {
        name: "S1".into(),
        what: format!("decisions, 1 committer, {}", ids.name()),
        ours: ours_rate,
        limit,
        unit: "/s",
        ratio: ours_rate / limit,
        goal: "≥ 0.9".into(),
        met: ours_rate / limit >= 0.9,
        more: vec![
            ("p50 µs".into(), quantile(&ours, 0.5)),
            ("p99 µs".into(), quantile(&ours, 0.99)),
            ("limit p99 µs".into(), quantile(&raw, 0.99)),
        ],
    })
}

/// S2: 64 committers, one decision each at a time.
pub(crate) fn many_committers(scale: &Scale, ids: Ids) -> Result<Figure> {
    let (mut ours, mut raw) = (vec![], vec![]);
    for _ in 0..scale.rounds {
        let folder = scale.folder()?;
        raw.push(limit::group_commit(&folder.path().join("raw.db"), ids, 64, scale.seconds)?);
        let store = SqliteStore::init(folder.path().join("ours.db"), None)?;
        let committers = Committers::start(&store, ids, 64);
        std::thread::sleep(Duration::from_secs_f64(scale.seconds));
        ours.push(committers.stop()?);
    }
    let (ours, limit) = (median(&ours), median(&raw));
    Ok(Figure {
        name: "S2".into(),
        what: format!("decisions, 64 committers, {}", ids.name()),
        ours,
        limit,
        unit: "/s",
        ratio: ours / limit,
        goal: "≥ 0.8".into(),
        met: ours / limit >= 0.8,
        more: vec![],
    })
}

/// Threads that commit decisions until they are stopped.
struct Committers {
    threads: Vec<std::thread::JoinHandle<Result<u64>>>,
    stop: Arc<AtomicBool>,
    begun: Instant,
}

impl Committers {
    fn start(store: &SqliteStore, ids: Ids, count: usize) -> Self {
        let (next, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let threads = (0..count)
            .map(|_| {
                let (store, next, stop) = (store.clone(), Arc::clone(&next), Arc::clone(&stop));
                std::thread::spawn(move || {
                    let mut count = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let decision = decision(ids, next.fetch_add(1, Ordering::Relaxed))?;
                        store.append_blocking(decision)??;
                        count += 1;
                    }
                    Ok(count)
                })
            })
            .collect();
        Self { threads, stop, begun: Instant::now() }
    }

    /// Decisions a second.
    fn stop(self) -> Result<f64> {
        self.stop.store(true, Ordering::Relaxed);
        let elapsed = self.begun.elapsed().as_secs_f64();
        let mut count = 0;
        for thread in self.threads {
            count += thread.join().map_err(|_| anyhow!("a committer panicked"))??;
        }
        Ok(count as f64 / elapsed)
    }
}
