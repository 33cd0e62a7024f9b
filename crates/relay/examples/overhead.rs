//! What the relay itself costs a command: a drain through it, beside the same exchanges bare.
//!
//! Guarantees: the same store, in memory, and the same work in both; the best of many rounds
//! counts. Does not: measure a database; `bench/` does.

#![allow(clippy::print_stdout, reason = "a figure is what it is run for")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use counterfoil_core::domain::{Command, Contract, Destination, Idempotent, Outcome, Seed, Terms};
use counterfoil_core::port::store::{ClaimFrom, Ended, Exchange, Settle};
use counterfoil_core::port::{Quiet, Store};
use counterfoil_relay::transport::handler::{HandlerError, handler};
use counterfoil_relay::{Options, Relay, Served};
use counterfoil_testkit::MemoryStore;

const COMMANDS: u32 = 2_048;
const ROUNDS: usize = 40;

async fn filled() -> Result<MemoryStore, Box<dyn Error>> {
    let store = MemoryStore::default();
    let command = |number| Command::json(format!("A-{number}"), "shipping", "order.paid", &number);
    let commands = (0..COMMANDS).map(command).collect::<Result<Vec<_>, _>>()?;
    store.enqueue(commands).await?;
    Ok(store)
}

async fn bare(destination: &Destination, terms: &Arc<Terms>) -> Result<Duration, Box<dyn Error>> {
    let store = filled().await?;
    store.declare(destination, &terms.contract, false).await?;
    let (began, mut settles) = (Instant::now(), Vec::new());
    loop {
        let (destination, terms) = (destination.clone(), Arc::clone(terms));
        let claim_from = vec![ClaimFrom { destination, limit: 64, terms: Arc::clone(&terms) }];
        let exchange = Exchange { settles, claim_from, claim_limit: 64, ..Exchange::default() };
        let done = store.exchange(exchange).await?;
        if done.claimed.is_empty() && done.settled.is_empty() {
            return Ok(began.elapsed());
        }
        let (started_at, seed) = (store.now()?, Seed(1));
        let settle = |claimed| {
            let result = counterfoil_core::domain::ResultBody::default();
            let outcome = Outcome::Completed { result, evidence: "handler returned".into() };
            let (ended, terms) = (Ended::Outcome(outcome), Arc::clone(&terms));
            Settle { claimed, ended, started_at, burns: true, seed, terms }
        };
        settles = done.claimed.into_iter().map(settle).collect();
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (destination, terms) = (Destination::new("shipping")?, Contract::new(Idempotent::Forever));
    let (terms, mut best) = (Arc::new(Terms::new(terms)), [Duration::MAX; 2]);
    for _ in 0..ROUNDS {
        best[0] = best[0].min(bare(&destination, &terms).await?);
        let transport = Arc::new(handler(|_| async { Ok::<_, HandlerError>(()) }));
        let served = Served::new(destination.clone(), terms.clone(), transport);
        let options = Options::default().until_idle(true);
        let relay = Relay::new(filled().await?, vec![served], options, Quiet);
        let began = Instant::now();
        relay.run(std::future::pending()).await?;
        best[1] = best[1].min(began.elapsed());
    }
    let [bare, whole] = best.map(|best| best / COMMANDS);
    let own = whole.saturating_sub(bare);
    println!("a command through the relay {whole:?}, bare {bare:?}, the relay's own {own:?}");
    Ok(())
}
