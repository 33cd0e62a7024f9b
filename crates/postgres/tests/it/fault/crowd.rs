//! Only so many claim at one destination at a time, and those that stand still keep nobody out.

use std::time::{Duration, Instant};

use counterfoil_core::domain::{Contract, Destination, Span};
use counterfoil_core::port::Store;
use counterfoil_postgres::PostgresStore;

use super::dead_rows::exchange;
use super::scene::{AtWork, Book, KEYLESS, KEYS, command, promise};
use crate::server::{Stranger, TestSchema};

/// So many claim at a time, by `delivery_due.sql`.
const SLOTS: usize = 4;
const BACKLOG: usize = 200;

async fn enqueue(store: &PostgresStore, destination: &str) {
    let id = |n| format!("{destination}-{n}");
    let commands = (0..BACKLOG).map(|n| command(destination, &id(n))).collect();
    assert!(store.enqueue(commands).await.unwrap().iter().all(Result::is_ok));
}

/// Claimers that found two commands each, and stand still in their transactions.
async fn standing(schema: &TestSchema, destination: &str) -> Vec<Stranger> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql/postgres/delivery_due.sql");
    let text = std::fs::read_to_string(file).unwrap();
    let store = schema.stranger().await;
    let contract = "SELECT contract FROM cf.destination WHERE name = ";
    let contract = store.text(&format!("{contract}'{destination}'")).await.unwrap();
    let mut all = Vec::new();
    for _ in 0..SLOTS {
        let claimer = schema.forger().await;
        claimer.run(&format!("BEGIN; PREPARE due AS {text}")).await.unwrap();
        let contract = contract.replace('\'', "''");
        let call = format!("EXECUTE due('{destination}', '{contract}', 0, 2, 1000000, false)");
        let found = claimer.query(&call, &[]).await.unwrap();
        assert!(found.len() == 2 && found[0].get::<_, bool>(34), "it was not let in");
        all.push(claimer);
    }
    all
}

#[tokio::test]
async fn only_so_many_claim_at_a_destination() {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    for destination in [KEYS, KEYLESS] {
        let name = Destination::new(destination).unwrap();
        store.declare(&name, &Contract::new(promise(destination)), false).await.unwrap();
        enqueue(&store, destination).await;
    }
    let claimers = standing(&schema, KEYS).await;
    let done = exchange(&store, Vec::new(), 10).await;
    assert!(done.crowded && done.claimed.is_empty(), "a fifth was let in: {done:?}");

    claimers[SLOTS - 1].run("COMMIT").await.unwrap();
    let done = exchange(&store, Vec::new(), 10).await;
    assert!(!done.crowded && done.claimed.len() == 10, "a slot is free: {done:?}");
    let done = exchange(&store, Vec::new(), 10).await;
    assert_eq!(done.claimed.len(), 10, "what the last one took ended with its transaction");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claimers_that_stand_still_keep_nobody_out() {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    let book = Book::default();
    let name = Destination::new(KEYS).unwrap();
    store.declare(&name, &Contract::new(promise(KEYS)), false).await.unwrap();
    enqueue(&store, KEYS).await;
    let claimers = standing(&schema, KEYS).await;

    let begun = Instant::now();
    let workers = counterfoil_relay::Options::default().workers(8);
    let served = book.both(Duration::ZERO, Span::from_secs(30));
    let relay = AtWork::start(&store, served, workers);
    // What stands still holds two each; all else is delivered, and what comes elsewhere at once.
    enqueue(&store, KEYLESS).await;
    let free = 2 * BACKLOG - 2 * SLOTS;
    while book.times().len() < free {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} of {free}", book.times().len());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(claimers);
    while book.times().len() < 2 * BACKLOG {
        assert!(begun.elapsed() < Duration::from_secs(40), "what was held was not delivered");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    relay.stop().await;
    assert!(book.times().values().all(|times| *times == 1), "as many calls as commands");
}
