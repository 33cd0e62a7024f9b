//! Writers of one process that share transactions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{Command, Event, Stream};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Append, Exchange, Recorded, StoreError, WriteRefused};
use counterfoil_sqlite::SqliteStore;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::store::{claim, command, completed, declare, fresh, settle, settle_all};

const THREADS: usize = 64;
const EACH: usize = 20;

/// Enough for every task to reach the queue; more would make nothing truer.
const PATIENCE: Duration = Duration::from_millis(50);

fn stranger(folder: &TempDir) -> Connection {
    Connection::open(folder.path().join("s.db")).unwrap()
}

fn count(folder: &TempDir, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    stranger(folder).query_row(&sql, [], |row| row.get(0)).unwrap()
}

fn decision(stream: &str, expected_seq: i64) -> Append {
    Append {
        stream: Stream::new(stream).unwrap(),
        expected_seq,
        events: vec![Event::json("paid", &expected_seq).unwrap()],
        commands: vec![Command::unnamed("shipping", "ship", &expected_seq).unwrap()],
    }
}

/// Lets everything that is asked meanwhile wait in the queue, so that it shares a transaction: the
/// writer itself waits for the lock, with a member that came before.
async fn while_locked<T>(folder: &TempDir, store: &SqliteStore, ask: impl Future<Output = T>) -> T {
    let lock = stranger(folder);
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let own = store.clone();
    let first = tokio::spawn(async move { own.enqueue(vec![command("first-of-all")]).await });
    tokio::time::sleep(PATIENCE).await;
    let asked = ask.await;
    tokio::time::sleep(PATIENCE).await;
    lock.execute_batch("COMMIT").unwrap();
    assert!(first.await.unwrap().unwrap()[0].is_ok());
    asked
}

#[test]
fn many_threads_commit_together_and_lose_nothing() {
    let (folder, store) = fresh();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for seq in 0..EACH {
                    let seq = i64::try_from(seq).unwrap();
                    let decision = decision(&format!("order-{thread}"), seq);
                    let appended = store.append_blocking(decision).unwrap().unwrap();
                    assert_eq!(appended.seq, seq + 1);
                    let bare = store.enqueue_blocking(vec![command("shared")]).unwrap();
                    assert!(bare[0].is_ok());
                }
            });
        }
    });
    let decided = i64::try_from(THREADS * EACH).unwrap();
    assert_eq!(count(&folder, "counterfoil_event"), decided);
    assert_eq!(count(&folder, "counterfoil_outbox"), decided + 1);
    assert_eq!(count(&folder, "counterfoil_delivery"), decided + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_is_recorded_and_the_others_repeat() {
    let (folder, store) = fresh();
    let asked = while_locked(&folder, &store, async {
        (0..20)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move { store.enqueue(vec![command("a")]).await.unwrap() })
            })
            .collect::<Vec<_>>()
    });
    let mut answers = Vec::new();
    for asked in asked.await {
        answers.extend(asked.await.unwrap());
    }
    let recorded = answers.iter().filter(|answer| **answer == Ok(Recorded::Recorded)).count();
    assert_eq!((answers.len(), recorded), (20, 1));
}

/// The member breaks a rule that only the database knows: an index of the user's own.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_fails_spoils_no_other() {
    let (folder, store) = fresh();
    declare(&store).await;
    let strange = "CREATE UNIQUE INDEX mine ON counterfoil_outbox(body) WHERE kind = 'strange'";
    stranger(&folder).execute_batch(strange).unwrap();
    store.enqueue(vec![command("to-claim")]).await.unwrap();
    let claimed = store.exchange(claim(1)).await.unwrap().claimed;
    let kind = |id: &str, kind: &str| Command::json(id, "shipping", kind, &1).unwrap();
    store.enqueue(vec![kind("first", "strange")]).await.unwrap();
    let asked = while_locked(&folder, &store, async {
        let mut asked = Vec::new();
        for i in 0..10 {
            let own = store.clone();
            let bad = if i == 4 { "strange" } else { "plain" };
            let command = kind(&format!("c{i}"), bad);
            asked.push(tokio::spawn(async move { own.enqueue(vec![command]).await }));
        }
        let own = store.clone();
        let settles = vec![settle(&claimed[0], completed())];
        let exchange = Exchange { settles, ..Exchange::default() };
        let settled = tokio::spawn(async move { own.exchange(exchange).await });
        (asked, settled)
    });
    let (asked, settled) = asked.await;
    for (i, asked) in asked.into_iter().enumerate() {
        let answer = asked.await.unwrap();
        if i == 4 {
            assert!(matches!(answer, Err(StoreError::Broken(_))), "{answer:?}");
        } else {
            assert_eq!(answer.unwrap(), [Ok(Recorded::Recorded)], "{i}");
        }
    }
    assert_eq!(settled.await.unwrap().unwrap().settled.len(), 1);
    let totals = store.totals().await.unwrap();
    assert_eq!(totals[0].tally, [("completed".to_owned(), 1, 1)]);
    assert_eq!(totals[0].outbox, 12);
}

/// The exchange fails at its second settle: what it counted at its first is taken back.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_failed_member_counted_is_not_counted() {
    let (folder, store) = fresh();
    declare(&store).await;
    let strange = "CREATE UNIQUE INDEX mine ON counterfoil_receipt(evidence)";
    stranger(&folder).execute_batch(strange).unwrap();
    store.enqueue(vec![command("a"), command("b")]).await.unwrap();
    let claimed = store.exchange(claim(2)).await.unwrap().claimed;
    let asked = while_locked(&folder, &store, async {
        let own = store.clone();
        let settles = claimed.iter().map(|claimed| settle(claimed, completed())).collect();
        let exchange = Exchange { settles, ..Exchange::default() };
        let settled = tokio::spawn(async move { own.exchange(exchange).await });
        let own = store.clone();
        (settled, tokio::spawn(async move { own.enqueue(vec![command("c")]).await }))
    });
    let (settled, recorded) = asked.await;
    let settled = settled.await.unwrap();
    assert!(matches!(settled, Err(StoreError::Broken(_))), "{settled:?}");
    assert_eq!(recorded.await.unwrap().unwrap(), [Ok(Recorded::Recorded)]);
    assert_eq!(store.totals().await.unwrap()[0].tally, []);
    assert_eq!(
        (count(&folder, "counterfoil_receipt"), count(&folder, "counterfoil_delivery")),
        (0, 4)
    );
}

/// A foreign key of the user's own makes COMMIT itself say no.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_says_no_spoils_no_other() {
    let (folder, store) = fresh();
    store.enqueue(vec![command("held")]).await.unwrap();
    declare(&store).await;
    let claimed = store.exchange(claim(1)).await.unwrap().claimed;
    let hold = "CREATE TABLE held(n INTEGER REFERENCES counterfoil_delivery(n) \
                DEFERRABLE INITIALLY DEFERRED); \
                INSERT INTO held SELECT n FROM counterfoil_delivery";
    stranger(&folder).execute_batch(hold).unwrap();
    let asked = while_locked(&folder, &store, async {
        let own = store.clone();
        let one = tokio::spawn(async move { own.enqueue(vec![command("a")]).await });
        let own = store.clone();
        let settles = vec![settle(&claimed[0], completed())];
        let exchange = Exchange { settles, ..Exchange::default() };
        let settled = tokio::spawn(async move { own.exchange(exchange).await });
        let own = store.clone();
        (one, settled, tokio::spawn(async move { own.enqueue(vec![command("b")]).await }))
    });
    let (one, settled, other) = asked.await;
    assert_eq!(one.await.unwrap().unwrap(), [Ok(Recorded::Recorded)]);
    assert_eq!(other.await.unwrap().unwrap(), [Ok(Recorded::Recorded)]);
    let settled = settled.await.unwrap();
    assert!(matches!(settled, Err(StoreError::Broken(_))), "{settled:?}");
    assert_eq!(count(&folder, "counterfoil_receipt"), 0);
}

#[tokio::test]
async fn a_refusal_is_no_failure_of_its_group() {
    let (_folder, store) = fresh();
    let asks = [decision("s", 0), decision("s", 0), decision("s", 1)];
    let answers = asks.map(|append| store.append_blocking(append).unwrap());
    assert!(answers[0].is_ok() && answers[2].is_ok());
    assert!(matches!(answers[1], Err(WriteRefused::VersionConflict { actual: 1, .. })));
}

/// Two stores on one file stand for two processes: each has connections of its own.
#[tokio::test(flavor = "multi_thread")]
async fn two_stores_never_claim_the_same_and_end_each_once() {
    let (folder, one) = fresh();
    declare(&one).await;
    let all: Vec<_> = (0..300).map(|i| command(&format!("c{i}"))).collect();
    one.enqueue(all).await.unwrap();
    let path = folder.path().join("s.db");
    let other = SqliteStore::open(path, counterfoil_sqlite::Options::default()).unwrap();
    let relays = [one.clone(), other].map(|store| {
        tokio::spawn(async move {
            let mut sent = Vec::new();
            loop {
                let claimed = store.exchange(claim(7)).await.unwrap().claimed;
                if claimed.is_empty() {
                    return sent;
                }
                let settled = settle_all(&store, &claimed, completed()).await.settled;
                assert_eq!(settled.len(), claimed.len());
                sent.extend(claimed.into_iter().map(|claimed| claimed.delivery.n));
            }
        })
    });
    let mut sent = Vec::new();
    for relay in relays {
        sent.extend(relay.await.unwrap());
    }
    assert_eq!((sent.len(), BTreeSet::from_iter(sent).len()), (300, 300));
    assert_eq!(
        (count(&folder, "counterfoil_receipt"), count(&folder, "counterfoil_delivery")),
        (300, 0)
    );
}

/// A foreign writer beside a relay that never rests: its own patience, one second, is the bound.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_writer_is_let_in() {
    let (folder, store) = fresh();
    declare(&store).await;
    let foreign = stranger(&folder);
    foreign.busy_timeout(Duration::from_secs(1)).unwrap();
    let written = std::thread::spawn(move || {
        for i in 0..100 {
            let put = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body) \
                       VALUES (?1, 'shipping', 'k', 'b')";
            foreign.execute(put, [format!("foreign-{i}")])?;
        }
        Ok::<_, rusqlite::Error>(())
    });
    let store = Arc::new(store);
    while !written.is_finished() {
        // An unsafe relay: it sends the same again and again, and never waits.
        let claimed = store.exchange(claim(64)).await.unwrap().claimed;
        settle_all(&store, &claimed, counterfoil_core::domain::Outcome::not_sent("no")).await;
    }
    written.join().unwrap().expect("the foreign writer was locked out");
}
