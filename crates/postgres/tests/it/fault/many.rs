//! One backlog, and one, four or sixteen relays.

use std::time::Duration;

use counterfoil_core::domain::Span;
use counterfoil_core::port::{Notice, Store};
use counterfoil_postgres::PostgresStore;

use super::scene::{AtWork, Book, Ends, KEYLESS, KEYS, command, prove, wait_for_the_end};
use crate::server::TestSchema;

const BACKLOG: usize = 2_000;

async fn drained_by(relays: usize) {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    let ids: Vec<String> = (0..BACKLOG).map(|n| format!("c-{n}")).collect();
    // All of one destination stand before all of the other: who takes the oldest first starves one.
    for (destination, ids) in [(KEYS, &ids[..BACKLOG / 2]), (KEYLESS, &ids[BACKLOG / 2..])] {
        for page in ids.chunks(200) {
            let commands = page.iter().map(|id| command(destination, id)).collect();
            assert!(store.enqueue(commands).await.unwrap().iter().all(Result::is_ok));
        }
    }
    let book = Book::default();
    let mut working = Vec::new();
    for _ in 0..relays {
        let mut options = schema.options();
        options.connections = 3;
        let store = PostgresStore::open(schema.url(), options).await.unwrap();
        let served = book.both(Duration::ZERO, Span::from_secs(120));
        let options = counterfoil_relay::Options::default().workers(32);
        working.push(AtWork::start(&store, served, options));
    }
    wait_for_the_end(schema.url(), schema.name()).await;
    for relay in working {
        let late = relay.heard.count(|it| {
            matches!(
                it,
                Notice::Late { .. } | Notice::LeaseLost { .. } | Notice::StoreFailed { .. }
            )
        });
        assert_eq!(late, 0, "nobody settles what another has");
        relay.stop().await;
    }
    let ends = prove(&store, schema.url(), schema.name(), &book, &ids).await;
    assert_eq!(ends, Ends { completed: BACKLOG, uncertain: 0 });
    let calls = book.calls();
    assert_eq!(calls.len(), BACKLOG, "as many calls as commands");
    // Neither waits until the other is done: in the first half of all calls both have their share.
    for name in [KEYS, KEYLESS] {
        let early = calls[..BACKLOG / 2].iter().filter(|(destination, _)| destination == name);
        let early = early.count();
        assert!(early >= BACKLOG / 8, "{name} had {early} of the first {}", BACKLOG / 2);
    }
    let odd = "SELECT (SELECT count(*) FROM cf.attempt) + (SELECT count(*) FROM cf.contradiction)";
    assert_eq!(schema.stranger().await.number(odd).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_relay_drains_two_destinations_side_by_side() {
    drained_by(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_relays_drain_one_backlog_and_call_once() {
    drained_by(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_relays_drain_one_backlog_and_call_once() {
    drained_by(16).await;
}
