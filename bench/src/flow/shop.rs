//! A relay and a runner of workflows of one command, and those who start them.

use std::time::Instant;

use anyhow::{Context as _, Result};
use counterfoil::relay::{Options as RelayOptions, Relay};
use counterfoil::workflow::{
    Decision, Input, InputKind, NewInput, Runner, Unnamed, What, Workflow, Workflows,
};
use counterfoil::{Command, Quiet, Store, Stream};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::count::Ended;
use crate::drain::served;
use crate::load::body;

/// Orders one thing, and ends when it is shipped.
pub(crate) struct Order;

/// What happened.
#[derive(Serialize, Deserialize)]
pub(crate) enum Event {
    Ordered,
    Shipped,
}

impl Workflow for Order {
    type State = ();
    type Event = Event;

    fn name(&self) -> &'static str {
        "order"
    }

    fn evolve(&self, (): (), _: &Event) {}

    fn decide(&self, (): &(), input: &Input) -> Decision<Event> {
        match &input.what {
            What::Start { body } => match Command::bytes("x", "shipping", "ship", body.clone()) {
                Ok(ship) => {
                    let command = Command { id: None, ..ship };
                    Decision::none().event(Event::Ordered).command(Unnamed { command, label: None })
                }
                Err(why) => Decision::none().fail(why.to_string()),
            },
            What::Receipt(_) => Decision::none().event(Event::Shipped).complete(""),
            _ => Decision::none(),
        }
    }
}

/// The input that starts one.
pub(crate) fn start(stream: &str, program: &str) -> Result<NewInput> {
    Ok(NewInput {
        stream: Stream::new(stream)?,
        id: "start".into(),
        kind: InputKind::Start,
        name: program.into(),
        body: Some(body()),
    })
}

/// A relay and a runner at work.
pub(crate) struct Shop<S> {
    store: S,
    ended: Ended,
    stops: Vec<oneshot::Sender<()>>,
    tasks: Vec<JoinHandle<Result<()>>>,
}

impl<S: Workflows + Store> Shop<S> {
    pub(crate) fn open(store: S) -> Result<Self> {
        let ended = Ended::new();
        let handler = counterfoil::relay::handler(|_attempt| async {
            Ok::<_, std::convert::Infallible>(Vec::new())
        });
        let relay =
            Relay::new(store.clone(), vec![served(handler)?], RelayOptions::default(), Quiet);
        let runner =
            Runner::builder(store.clone()).workflow(Order).observer(ended.clone()).build()?;
        let (stop_relay, relay_stopped) = oneshot::channel::<()>();
        let (stop_runner, runner_stopped) = oneshot::channel::<()>();
        let relaying = tokio::spawn(async move {
            relay.run(async { drop(relay_stopped.await) }).await?;
            Ok(())
        });
        let running = tokio::spawn(async move {
            runner.run(async { drop(runner_stopped.await) }).await?;
            Ok(())
        });
        let (stops, tasks) = (vec![stop_relay, stop_runner], vec![relaying, running]);
        Ok(Self { store, ended, stops, tasks })
    }

    /// Starts `count`, each as soon as fewer than `open` are; how many a second ended.
    pub(crate) async fn rate(&self, name: &str, count: usize, open: usize) -> Result<f64> {
        let (before, begun) = (self.ended.count(), Instant::now());
        let mut started = 0;
        while started < count {
            self.ended.reach((before + started + 1).saturating_sub(open)).await;
            let room = open - (before + started).saturating_sub(self.ended.count());
            let ids = started..(started + room).min(count);
            started = ids.end;
            let starts = ids.map(|at| start(&format!("{name}-{at:06}"), "order"));
            for sent in self.store.send_inputs(starts.collect::<Result<_>>()?).await? {
                sent?;
            }
        }
        self.ended.reach(before + count).await;
        Ok(count as f64 / begun.elapsed().as_secs_f64())
    }

    /// One after the other; how long each took, in ms.
    pub(crate) async fn alone(&self, count: usize) -> Result<Vec<f64>> {
        let mut took = Vec::new();
        for at in 0..count {
            let (before, begun) = (self.ended.count(), Instant::now());
            let inputs = vec![start(&format!("alone-{at:06}"), "order")?];
            self.store.send_inputs(inputs).await?.pop().context("one answer")??;
            self.ended.reach(before + 1).await;
            took.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        Ok(took)
    }

    /// Stops both; how many workflows ended.
    pub(crate) async fn close(self) -> Result<usize> {
        drop(self.stops);
        for task in self.tasks {
            task.await??;
        }
        Ok(self.ended.count())
    }
}
