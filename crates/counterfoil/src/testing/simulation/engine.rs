//! The real relay and the real runner, as a simulation starts them.
//!
//! Guarantees: nothing of them is left out. Does not: decide anything.

use std::sync::Arc;

use counterfoil_core::domain::Span;
use counterfoil_core::port::{BoxFuture, Quiet};
use counterfoil_relay::{Limits, Options, Relay, Served};
use counterfoil_testkit::MemoryStore;
use counterfoil_testkit::simulator::{
    ProcessEnded, RelayBegin, RunnerBegin, SimDestination, StartRunner,
};
use counterfoil_workflow::verify::{Which, verify_all};
use counterfoil_workflow::{Programs, Runner, runner};

/// Longer than any simulation: 100 years.
const EVER: Span = Span::from_secs(100 * 366 * 86_400);

/// A relay from its start to its end.
#[must_use]
pub fn start_relay(begin: RelayBegin) -> BoxFuture<'static, ProcessEnded> {
    let RelayBegin { store, served, observer, clock, owner, seed, workers, poll, stop } = begin;
    let of = |one: SimDestination| {
        let SimDestination { destination, terms, concurrency, rate, transport } = one;
        let mut limits = Limits::default();
        (limits.concurrency, limits.rate) = (concurrency, rate);
        Served::new(destination, terms, Arc::clone(&transport)).limits(limits)
    };
    let served = served.into_iter().map(of).collect();
    let options =
        Options::default().owner(owner).seed(seed).workers(workers).poll(poll).clock(clock);
    let relay = Relay::new(store, served, options, observer);
    Box::pin(async move { relay.run(stop).await.map(drop).map_err(|why| why.to_string()) })
}

/// Runners that have these programs.
#[derive(Clone, Debug)]
pub struct Runners(Programs);

impl Runners {
    /// All of them have these.
    #[must_use]
    pub const fn of(programs: Programs) -> Self {
        Self(programs)
    }
}

impl StartRunner for Runners {
    fn start(&self, begin: RunnerBegin) -> BoxFuture<'static, ProcessEnded> {
        let RunnerBegin { store, owner, poll, lease, batch, snapshot_every, cache, stop } = begin;
        let options = runner::Options::default()
            .owner(owner)
            .poll(poll)
            .lease(lease)
            .batch(batch)
            .snapshot_every(snapshot_every)
            .cache(cache)
            .orphans_after(EVER)
            .decide_max(std::time::Duration::ZERO);
        let runner = Runner::builder(store).programs(self.0.clone()).options(options);
        let runner = runner.observer(Quiet).build();
        Box::pin(async move {
            let runner = runner.map_err(|why| why.to_string())?;
            runner.run(stop).await.map(drop).map_err(|why| why.to_string())
        })
    }

    fn verify(&self, store: MemoryStore) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let mut differs = Ok(());
            let tell = |verified: counterfoil_workflow::verify::Verified| {
                if let (Some(mismatch), Ok(())) = (&verified.mismatch, &differs) {
                    differs = Err(mismatch.to_string());
                }
            };
            verify_all(&store, &self.0, Which::default(), tell)
                .await
                .map_err(|why| why.to_string())?;
            differs
        })
    }
}
