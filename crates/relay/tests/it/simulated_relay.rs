//! The real relay as the simulator starts it; the example `simulate` shares this file.
//!
//! Guarantees: nothing of the relay is left out. Does not: decide anything.

use std::sync::Arc;

use counterfoil_core::port::BoxFuture;
use counterfoil_relay::{Limits, Options, Relay, Served};
use counterfoil_testkit::simulator::{ProcessEnded, RelayBegin, SimDestination};

/// A relay from its start to its end.
pub(crate) fn start(begin: RelayBegin) -> BoxFuture<'static, ProcessEnded> {
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
