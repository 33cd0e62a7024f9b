//! An old snapshot keeps every dead row: a claim must not walk them all.

use std::sync::Arc;

use counterfoil_core::domain::outcome::ResultBody;
use counterfoil_core::domain::{Contract, Destination, Micros, Outcome, Seed, Span, Terms};
use counterfoil_core::port::store::{ClaimFrom, Claimed, Ended, Exchange, Exchanged, Settle};
use counterfoil_core::port::{Clock as _, Store};
use counterfoil_postgres::PostgresStore;
use counterfoil_testkit::ManualClock;

use super::scene::{KEYS, command, promise};
use crate::server::{Stranger, TestSchema};

const BATCHES: usize = 30;
const BATCH: usize = 100;

pub(super) async fn exchange(
    store: &PostgresStore,
    settled: Vec<Claimed>,
    limit: usize,
) -> Exchanged {
    let terms = Arc::new(Terms::new(Contract::new(promise(KEYS))));
    let settle = |claimed: Claimed| Settle {
        started_at: Micros::new(claimed.delivery.token.get()),
        claimed,
        ended: Ended::Outcome(Outcome::Completed {
            result: ResultBody::default(),
            evidence: "it answered".into(),
        }),
        burns: true,
        seed: Seed(1),
        terms: Arc::clone(&terms),
    };
    let exchange = Exchange {
        settles: settled.into_iter().map(settle).collect(),
        claim_from: vec![ClaimFrom {
            destination: Destination::new(KEYS).unwrap(),
            limit,
            terms: Arc::clone(&terms),
        }],
        claim_limit: limit,
        owner: "test".into(),
        seed: 1,
        ..Exchange::default()
    };
    store.exchange(exchange).await.unwrap()
}

/// The time of a store and of its server, moved by hand.
struct Time<'a> {
    schema: &'a TestSchema,
    clock: ManualClock,
}

impl Time<'_> {
    async fn pass(&self, span: Span) {
        self.clock.advance(span);
        self.schema.set_time(self.clock.machine().get()).await;
    }

    async fn store(&self, name: &str) -> PostgresStore {
        let url = format!("{}&application_name={name}", self.schema.url());
        let clock = Arc::new(self.clock.clone());
        PostgresStore::open_with_clock(&url, self.schema.options(), clock).await.unwrap()
    }
}

/// How many entries of the index of claims were read so far, once all sessions of `name` ended.
async fn entries_read(stranger: &Stranger, name: &str) -> i64 {
    let sessions =
        format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'");
    for _ in 0..6_000 {
        if stranger.number(&sessions).await == 0 {
            let read = stranger.sql(
                "SELECT idx_tup_read FROM pg_stat_all_indexes
                 WHERE indexrelid = 'cf.delivery_due'::regclass",
            );
            return stranger.number(&read).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the sessions of {name} do not end");
}

async fn enqueue(store: &PostgresStore, about: &str, count: usize) {
    let commands = (0..count).map(|n| command(KEYS, &format!("{about}-{n}"))).collect();
    assert!(store.enqueue(commands).await.unwrap().iter().all(Result::is_ok));
}

#[tokio::test]
async fn a_claim_does_not_walk_what_an_old_snapshot_keeps() {
    let schema = TestSchema::new().await;
    let clock = ManualClock::default();
    schema.set_time(clock.machine().get()).await;
    let time = Time { schema: &schema, clock };
    let watcher = schema.stranger().await;
    let name = format!("{}_work", schema.name());
    let store = time.store(&name).await;
    let destination = Destination::new(KEYS).unwrap();
    store.declare(&destination, &Contract::new(promise(KEYS)), false).await.unwrap();

    let old = schema.stranger().await;
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    old.number("SELECT count(*) FROM cf.delivery").await;
    for batch in 0..BATCHES {
        time.pass(Span::from_secs(1)).await;
        enqueue(&store, &format!("old-{batch}"), BATCH).await;
        let claimed = exchange(&store, Vec::new(), BATCH).await.claimed;
        assert_eq!(claimed.len(), BATCH);
        let settled = exchange(&store, claimed, 0).await.settled;
        assert_eq!(settled.len(), BATCH);
    }
    assert_eq!(watcher.number("SELECT count(*) FROM cf.delivery").await, 0);
    drop(store);
    let before = entries_read(&watcher, &name).await;

    // One look from the beginning: it meets all of them.
    time.pass(Span::from_secs(1)).await;
    let store = time.store(&name).await;
    assert!(exchange(&store, Vec::new(), 10).await.claimed.is_empty());
    drop(store);
    let whole = entries_read(&watcher, &name).await - before;
    let dead = i64::try_from(BATCHES * BATCH).unwrap();
    assert!(whole >= dead, "only {whole} dead entries were kept, so nothing is proved");

    // One more, and forty claims after it, in the same second.
    let before = entries_read(&watcher, &name).await;
    let store = time.store(&name).await;
    enqueue(&store, "new", 40).await;
    for _ in 0..40 {
        assert_eq!(exchange(&store, Vec::new(), 1).await.claimed.len(), 1);
    }
    drop(store);
    let claims = entries_read(&watcher, &name).await - before;
    eprintln!("one look from the beginning: {whole} entries, forty claims: {claims}");
    assert!(claims < 4 * whole, "forty claims read {claims} entries, one look {whole}");
    old.run("ROLLBACK").await.unwrap();
}
