//! Who commits, and when: rolled back, late, overlapping, and in each other's way.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{OrderingKey, Span};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::Recorded;

use tokio::sync::Barrier;

use super::scene::{AtWork, Book, KEYS, Random, command, prove, wait_for_the_end};
use crate::private::PrivateServer;
use crate::server::TestSchema;

const LEASE: Span = Span::from_secs(60);

fn ids(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The lower number commits last, the highest never.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_commit_is_delivered_and_a_rolled_back_one_never() {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    let book = Book::default();
    let served = vec![book.serves(KEYS, Duration::ZERO, LEASE)];
    let relay = AtWork::start(&schema.store().await, served, counterfoil_relay::Options::default());
    let (late, early, never) =
        (schema.stranger().await, schema.stranger().await, schema.stranger().await);
    for (client, id) in [(&late, "late"), (&early, "early"), (&never, "never")] {
        let sql = format!("BEGIN; SELECT cf.enqueue('{id}', '{KEYS}', 'k', '{{}}')");
        client.run(&sql).await.unwrap();
    }
    let number = "SELECT n FROM cf.outbox WHERE command_id = ";
    let low = late.number(&format!("{number}'late'")).await;
    let high = early.number(&format!("{number}'early'")).await;
    assert!(low < high);
    early.run("COMMIT").await.unwrap();
    wait_for(&book, "early").await;
    // The relay has passed the lower number by now, many times.
    for n in 0..20 {
        let id = format!("between-{n}");
        assert!(store.enqueue(vec![command(KEYS, &id)]).await.unwrap()[0].is_ok());
        wait_for(&book, &id).await;
    }
    never.run("ROLLBACK").await.unwrap();
    assert!(!book.times().contains_key("late"));
    late.run("COMMIT").await.unwrap();
    wait_for(&book, "late").await;
    wait_for_the_end(schema.url(), schema.name()).await;
    relay.stop().await;
    let mut all = ids(&["late", "early"]);
    all.extend((0..20).map(|n| format!("between-{n}")));
    prove(&store, schema.url(), schema.name(), &book, &all).await;
    assert!(!book.times().contains_key("never"));
    assert!(book.times().values().all(|times| *times == 1), "{:?}", book.times());
}

async fn wait_for(book: &Book, id: &str) {
    for _ in 0..6_000 {
        if book.times().contains_key(id) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{id} was not delivered within a minute");
}

/// Four connections, batches of the same ids and lanes in any order, and a relay between them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn batches_in_opposite_orders_meet_no_deadlock() {
    const IDS: u64 = 200;
    const LANES: u64 = 5;
    const ROUNDS: usize = 20;
    // Nobody else's deadlocks count.
    let server = PrivateServer::start(&[("deadlock_timeout", "100ms")]);
    let schema = TestSchema::new_at(server.url()).await;
    let book = Book::default();
    let served = vec![book.serves(KEYS, Duration::ZERO, LEASE)];
    let relay = AtWork::start(&schema.store().await, served, counterfoil_relay::Options::default());
    let mut random = Random::new();
    let mut writers = Vec::new();
    // All begin a round at the same instant.
    let together = Arc::new(Barrier::new(4));
    for _ in 0..4 {
        let (store, together) = (schema.store().await, Arc::clone(&together));
        let batches: Vec<Vec<u64>> = (0..ROUNDS)
            .map(|round| {
                let mut ids: Vec<u64> = (0..IDS).map(|id| round as u64 * IDS + id).collect();
                for at in (1..ids.len()).rev() {
                    ids.swap(at, usize::try_from(random.below(at as u64 + 1)).unwrap());
                }
                ids
            })
            .collect();
        writers.push(tokio::spawn(async move {
            let mut recorded = 0;
            for ids in batches {
                let commands = ids.iter().map(|id| {
                    let lane = OrderingKey::new(format!("lane-{}", id % LANES)).unwrap();
                    command(KEYS, &format!("id-{id}")).ordering_key(lane)
                });
                together.wait().await;
                let told = store.enqueue(commands.collect()).await.unwrap();
                for one in told {
                    recorded += usize::from(one.unwrap() == Recorded::Recorded);
                }
            }
            recorded
        }));
    }
    let mut recorded = 0;
    for writer in writers {
        recorded += writer.await.unwrap();
    }
    let all: Vec<String> = (0..ROUNDS as u64 * IDS).map(|id| format!("id-{id}")).collect();
    assert_eq!(recorded, all.len(), "each id is recorded once");
    wait_for_the_end(schema.url(), schema.name()).await;
    relay.stop().await;
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(schema.stranger().await.number(deadlocks).await, 0, "deadlocks, though retried");
    prove(&schema.store().await, schema.url(), schema.name(), &book, &all).await;
}
