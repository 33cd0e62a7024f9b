//! The server goes away and comes back, or its sessions do, while relays drain and writers write.

use std::time::Duration;

use counterfoil_core::domain::Span;
use counterfoil_core::port::Notice;
use counterfoil_core::port::store::StoreError;
use counterfoil_postgres::{Options, PostgresStore};

use super::scene::{
    AtWork, Book, Ends, Random, SCHEMA, Writers, connected, prepared, prove, wait_for_the_end,
};
use crate::private::{PrivateServer, Stop};

const LEASE: Span = Span::from_secs(4);

/// Two relays and four writers.
struct Busy {
    book: Book,
    relays: Vec<AtWork>,
    writers: Writers,
    store: PostgresStore,
}

impl Busy {
    async fn start(url: &str) -> Self {
        prepared(url).await;
        let book = Book::default();
        let mut relays = Vec::new();
        for _ in 0..2 {
            let store = PostgresStore::open(url, Options::default()).await.unwrap();
            // Long enough that a claim which was not durable is claimed again meanwhile.
            let served = book.both(Duration::from_millis(80), LEASE);
            let options = counterfoil_relay::Options::default().workers(64);
            relays.push(AtWork::start(&store, served, options));
        }
        let store = PostgresStore::open(url, Options::default()).await.unwrap();
        let writers = Writers::start(&store, url, Duration::from_millis(10));
        Self { book, relays, writers, store }
    }

    /// Lets all end, and proves that they did as they should.
    async fn end(self, url: &str) -> Ends {
        for error in self.writers.errors.lock().unwrap().iter() {
            let is_named = matches!(error, StoreError::Unavailable(_) | StoreError::NotKnown(_));
            assert!(is_named, "{error:?}");
        }
        let ids = self.writers.stop().await;
        assert!(ids.len() > 100, "only {} commands were written", ids.len());
        wait_for_the_end(url, SCHEMA).await;
        let mut failures = 0;
        for relay in self.relays {
            failures += relay.heard.count(|it| matches!(it, Notice::StoreFailed { .. }));
            relay.stop().await;
        }
        assert!(failures > 0, "no relay noticed a failure");
        let ends = prove(&self.store, url, SCHEMA, &self.book, &ids).await;
        eprintln!("{ends:?}, {failures} failures noticed by relays");
        ends
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_server_restarts_twenty_times_while_relays_drain() {
    let mut random = Random::new();
    let mut server = PrivateServer::start(&[]);
    let url = server.url();
    let busy = Busy::start(&url).await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(100 + random.below(600))).await;
        let how = if random.below(2) == 0 { Stop::Fast } else { Stop::Immediate };
        server.stop(how);
        std::thread::sleep(Duration::from_millis(random.below(200)));
        server.go_on();
    }
    busy.end(&url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_session_is_ended_again_and_again_in_the_middle() {
    let mut random = Random::new();
    let server = PrivateServer::start(&[]);
    let url = server.url();
    let busy = Busy::start(&url).await;
    let (mut ended, mut within) = (0, 0);
    for round in 0..120 {
        tokio::time::sleep(Duration::from_millis(random.below(100))).await;
        let client = connected(&url).await.unwrap();
        // Every session; or, when one is seen, whoever is between two statements of a transaction.
        let which = if round % 2 == 0 { "true" } else { "state LIKE 'idle in transaction%'" };
        let sql = format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND {which}"
        );
        for _ in 0..500 {
            let count: i64 = client.query_one(&sql, &[]).await.unwrap().get(0);
            (ended, within) = (ended + count, within + count * i64::from(round % 2));
            if count > 0 {
                break;
            }
        }
    }
    assert!(ended > 100 && within > 20, "only {ended} sessions were ended, {within} within");
    busy.end(&url).await;
}
