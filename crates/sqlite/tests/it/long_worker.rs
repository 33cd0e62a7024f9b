//! A worker's transaction that stays open for longer than a lease, beside a relay's settles.

use std::sync::Arc;
use std::time::{Duration, Instant};

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::{CommandId, Span, State, Terms};
use counterfoil_core::port::Store as _;
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::store::{ClaimFrom, Exchange, Reported, Settle, Settled};
use counterfoil_sqlite::Outbox as _;
use rusqlite::{Connection, TransactionBehavior};

use crate::store::{command, completed, declare, fresh, settle, shipping, terms};

/// The lease of the relay, in milliseconds.
const LEASE: i64 = 300;

fn short() -> Arc<Terms> {
    let mut short = (*terms()).clone();
    short.pace.lease = Span::from_millis(LEASE);
    Arc::new(short)
}

fn claims(limit: usize) -> Exchange {
    let from = ClaimFrom { destination: shipping(), limit, terms: short() };
    Exchange {
        claim_from: vec![from],
        claim_limit: limit,
        owner: "relay".into(),
        ..Exchange::default()
    }
}

/// The story: a worker completed a command and then took its time before it committed. Settles
/// could not be written meanwhile, and every lease ran out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_and_no_attempt_counted_twice() {
    let (folder, store) = fresh();
    declare(&store).await;
    let names: Vec<_> = (0..40).map(|at| format!("c-{at:02}")).collect();
    store.enqueue(names.iter().map(|name| command(name)).collect()).await.unwrap();
    let claimed = store.exchange(claims(40)).await.unwrap().claimed;
    assert_eq!(claimed.len(), 40);
    let claimed_at = Instant::now();
    let path = folder.path().join("s.db");
    let (own, token) = (claimed[0].command.command_id.clone(), claimed[0].delivery.token);
    let (begun, wait) = std::sync::mpsc::channel();
    let working = std::thread::spawn(move || {
        let mut worker = Connection::open(path).unwrap();
        worker.busy_timeout(Duration::from_secs(10)).unwrap();
        worker.execute_batch("CREATE TABLE labels(id TEXT)").unwrap();
        let work = worker.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        work.execute("INSERT INTO labels VALUES ('one')", []).unwrap();
        let said = work.complete(&own, Some(b"label 7"), "printed", Some(token)).unwrap();
        begun.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(LEASE.unsigned_abs() * 3));
        work.commit().unwrap();
        said
    });
    wait.recv().unwrap();
    let settles: Vec<Settle> = claimed
        .iter()
        .map(|claimed| Settle { terms: short(), ..settle(claimed, completed()) })
        .collect();
    // Two batches, each with a look at what is due: what they settle is not taken over.
    let (first, second) = settles.split_at(20);
    let batch = |settles: &[Settle]| Exchange { settles: settles.to_vec(), ..Exchange::default() };
    let last = Exchange { settles: second.to_vec(), ..claims(40) };
    let (one, two) = tokio::join!(store.exchange(batch(first)), store.exchange(last));
    let lease = Duration::from_millis(LEASE.unsigned_abs());
    assert!(claimed_at.elapsed() > lease, "it was held for longer than a lease");
    assert_eq!(working.join().unwrap(), Reported::Recorded);
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!(matches!(one.settled[0], Settled::Ignored(_)), "the worker's receipt was there first");
    let ended = one.settled[1..].iter().chain(&two.settled);
    assert_eq!(ended.filter(|settled| **settled == Settled::Ended("completed")).count(), 39);
    assert_eq!((two.claimed.len(), two.parked.len()), (0, 0), "nothing is left to take over");
    let all = store.list(Filter { limit: 100, ..Filter::default() }).await.unwrap();
    assert_eq!(all.len(), 40);
    for listed in all {
        let told = (listed.state.as_str(), listed.attempts);
        assert_eq!(told, ("completed", 1), "{}", listed.command_id);
    }
    let report = audit(&store, AuditOptions::default()).await.unwrap();
    assert_eq!(report.violations, []);
}

/// As long as the worker's transaction is open, its command is what it was to everybody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_worker_has_not_committed_is_not_seen() {
    let (folder, store) = fresh();
    declare(&store).await;
    store.enqueue(vec![command("a")]).await.unwrap();
    let claimed = store.exchange(claims(1)).await.unwrap().claimed.remove(0);
    let mut worker = Connection::open(folder.path().join("s.db")).unwrap();
    let work = worker.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let id = CommandId::new("a").unwrap();
    work.complete(&id, None, "e", Some(claimed.delivery.token)).unwrap();
    let story = store.show("a").await.unwrap().unwrap();
    assert_eq!((story.listed.state.as_str(), story.receipts.len()), ("sending", 0));
    tokio::time::sleep(Duration::from_millis(LEASE.unsigned_abs() + 50)).await;
    let taking_over = tokio::spawn({
        let store = store.clone();
        async move { store.exchange(claims(1)).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    work.commit().unwrap();
    let after = taking_over.await.unwrap().unwrap();
    assert_eq!(after.claimed, [], "the receipt came before the takeover");
    assert_ne!(claimed.delivery.state, State::Uncertain);
    assert_eq!(store.show("a").await.unwrap().unwrap().listed.state, "completed");
}
