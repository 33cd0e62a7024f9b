//! G3: what a step costs after ten thousand others.

use std::time::Instant;

use anyhow::{Result, ensure};
use counterfoil::sqlite::SqliteStore;
use counterfoil::workflow::runner::Options;
use counterfoil::workflow::{
    Decision, Input, InputKind, NewInput, Runner, What, Workflow, Workflows,
};
use counterfoil::{Stream, workflow};
use serde::{Deserialize, Serialize};

use super::shop::start;
use crate::drain::runtime;
use crate::figure::{Figure, median};
use crate::load::Scale;

/// Steps that are timed, each loaded, decided and committed by itself.
const TIMED: usize = 200;
/// The history of the old one.
const LONG: usize = 10_000;

/// Counts its signals.
pub(crate) struct Counter;

/// One more.
#[derive(Serialize, Deserialize)]
pub(crate) enum Event {
    Counted,
}

impl Workflow for Counter {
    type State = u64;
    type Event = Event;

    fn name(&self) -> &'static str {
        "counter"
    }

    fn evolve(&self, state: u64, _: &Event) -> u64 {
        state + 1
    }

    fn decide(&self, _: &u64, input: &Input) -> Decision<Event> {
        match &input.what {
            What::Start { .. } | What::Signal { .. } => Decision::none().event(Event::Counted),
            _ => Decision::none(),
        }
    }
}

fn signal(stream: &str, at: usize) -> Result<NewInput> {
    Ok(NewInput {
        stream: Stream::new(stream)?,
        id: format!("s{at:06}"),
        kind: InputKind::Signal,
        name: "more".into(),
        body: None,
    })
}

async fn grow(store: &SqliteStore, stream: &str, to: usize) -> Result<()> {
    store.send_inputs(vec![start(stream, "counter")?]).await?.remove(0)?;
    for chunk in (0..to).collect::<Vec<_>>().chunks(1_000) {
        let signals = chunk.iter().map(|at| signal(stream, *at)).collect::<Result<Vec<_>>>()?;
        for sent in store.send_inputs(signals).await? {
            sent?;
        }
    }
    run(store).await.map(drop)
}

/// As a runner that has just started: it knows nothing from memory.
async fn run(store: &SqliteStore) -> Result<workflow::RunnerEnd> {
    let options = Options::default();
    let runner = Runner::builder(store.clone()).workflow(Counter).options(options).build()?;
    Ok(runner.run_until_idle().await?)
}

/// Steps a second after `history` others.
async fn rate(store: &SqliteStore, stream: &str, (history, from): (usize, usize)) -> Result<f64> {
    let begun = Instant::now();
    for at in 0..TIMED {
        store.send_inputs(vec![signal(stream, history + from + at)?]).await?.remove(0)?;
        let end = run(store).await?;
        ensure!(end.inputs == 1, "one input, not {}", end.inputs);
    }
    Ok(TIMED as f64 / begun.elapsed().as_secs_f64())
}

pub(crate) fn g3(scale: &Scale) -> Result<Vec<Figure>> {
    let folder = scale.folder()?;
    let store = SqliteStore::init(folder.path().join("steps.db"), None)?;
    let (long, short) = runtime()?.block_on(async {
        let (mut long, mut short) = (vec![], vec![]);
        grow(&store, "long", LONG).await?;
        for round in 0..scale.rounds {
            // A new one each time, or the young one would be old.
            let young = format!("young-{round}");
            grow(&store, &young, 10).await?;
            short.push(rate(&store, &young, (10, 0)).await?);
            long.push(rate(&store, "long", (LONG, round * TIMED)).await?);
        }
        Ok::<_, anyhow::Error>((median(&long), median(&short)))
    })?;
    Ok(vec![Figure {
        name: "G3".into(),
        what: format!("steps by a fresh runner each, after {LONG} others, beside after 10"),
        ours: long,
        limit: short,
        unit: "/s",
        ratio: long / short,
        goal: "≥ 1 / 1.1".into(),
        met: long / short >= 1.0 / 1.1,
        more: vec![],
    }])
}
