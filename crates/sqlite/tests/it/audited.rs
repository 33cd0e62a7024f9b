//! What an audit that goes on from the last one asks: horizons, what came since, seals.

use std::sync::Arc;

use counterfoil_core::domain::{Event, Outcome, Span, Stream};
use counterfoil_core::port::archive::Archive as _;
use counterfoil_core::port::seal::{Arrived, Horizon};
use counterfoil_core::port::store::Append;
use counterfoil_core::port::{Audited as _, Clock as _, Store as _};
use counterfoil_sqlite::{Options, SqliteStore, open_own};
use counterfoil_testkit::ManualClock;
use rusqlite::Connection;

use crate::archive::{REDELIVER, act, broken, bury, completed_shop, end_as, id, rejected, shop};
use crate::store::{command, completed, shipping};

async fn horizon(store: &SqliteStore) -> Horizon {
    store.horizon().await.unwrap().unwrap()
}

#[tokio::test]
async fn the_horizon_is_the_newest_of_each_and_events_an_hour_ago() {
    let (_folder, store) = shop().await;
    let empty = horizon(&store).await;
    assert_eq!((empty.n, empty.receipt, empty.attempt, empty.action), (0, 0, 0, 0));
    store.enqueue(vec![command("a"), command("b")]).await.unwrap();
    end_as(&store, Outcome::unknown("reset")).await;
    for one in ["a", "b"] {
        store.report(&id(one), rejected("no")).await.unwrap();
    }
    let done = counterfoil_core::domain::ReceiptOutcome::Completed;
    let said = counterfoil_core::domain::transition::Report { outcome: done, ..rejected("yes") };
    store.report(&id("a"), said).await.unwrap();
    store.pause(&shipping(), "ann", "why").await.unwrap();
    let hour = Span::from_secs(3600);
    let (before, found) = (store.now().unwrap(), horizon(&store).await);
    let after = store.now().unwrap();
    assert_eq!((found.n, found.receipt, found.attempt), (2, 2, 2));
    assert_eq!((found.contradiction, found.action), (1, 1));
    assert!(found.event.plus(hour) >= before && found.event.plus(hour) <= after);
}

/// The story: the newest receipt was archived, the next one got its number, and an audit that had
/// seen that number never looked at it.
#[tokio::test]
async fn a_number_is_never_given_twice_whatever_is_archived() {
    let (folder, store) = shop().await;
    store.enqueue(vec![command("first"), command("open")]).await.unwrap();
    for round in 0..3 {
        let before = horizon(&store).await;
        let name = format!("c{round}");
        store.enqueue(vec![command(&name)]).await.unwrap();
        end_as(&store, Outcome::unknown("reset")).await;
        store.report(&id(&name), rejected("no")).await.unwrap();
        // The one behind it keeps `n`; nothing keeps the numbers of its receipt and attempts.
        store.enqueue(vec![command(&format!("open-{round}"))]).await.unwrap();
        let newest = horizon(&store).await;
        assert!(newest.receipt > before.receipt && newest.attempt > before.attempt);
        assert_eq!(bury(&store).await, 1);
        let buried = horizon(&store).await;
        assert_eq!((buried.receipt, buried.attempt), (newest.receipt, newest.attempt));
        assert_eq!(broken(&store).await, [""; 0], "a mark is no receipt");
    }
    let marks = |table| {
        let sql = format!("SELECT count(*) FROM counterfoil_{table} WHERE n = 0");
        let file = Connection::open(folder.path().join("s.db")).unwrap();
        file.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!([marks("receipt"), marks("attempt")], [1, 1], "the newest mark alone stands");
    let seen = Arrived { arrival: horizon(&store).await.receipt, ..Arrived::default() };
    store.report(&id("first"), rejected("no")).await.unwrap();
    let (facts, _) = store.ended_since(seen, 9).await.unwrap();
    assert_eq!(facts.commands.len(), 1, "it is seen");
}

/// SQLite promises it only for numbers that are a primary key; here it follows from the indexes.
#[tokio::test]
async fn a_vacuum_keeps_the_numbers() {
    let (folder, store) = shop().await;
    for name in ["a", "b", "c"] {
        store.enqueue(vec![command(name)]).await.unwrap();
        end_as(&store, Outcome::unknown("reset")).await;
        store.report(&id(name), rejected("no")).await.unwrap();
    }
    store.enqueue(vec![command("open")]).await.unwrap();
    let entry = store.entry("a").await.unwrap().unwrap();
    store.bury("f", vec![entry], None).await.unwrap();
    let done = counterfoil_core::domain::ReceiptOutcome::Completed;
    let said = counterfoil_core::domain::transition::Report { outcome: done, ..rejected("yes") };
    store.report(&id("a"), said.clone()).await.unwrap();
    store.report(&id("b"), said).await.unwrap();
    let read = || async {
        let entries = [store.entry("b").await.unwrap(), store.entry("c").await.unwrap()];
        (entries, horizon(&store).await.receipt, horizon(&store).await.contradiction)
    };
    let before = read().await;
    Connection::open(folder.path().join("s.db")).unwrap().execute_batch("VACUUM").unwrap();
    assert_eq!(read().await, before);
}

#[tokio::test]
async fn what_ended_since_comes_in_the_order_of_arrival() {
    let (_folder, store) = shop().await;
    store.enqueue(["a", "b", "c"].map(command).to_vec()).await.unwrap();
    for one in ["c", "a", "b"] {
        store.report(&id(one), rejected("no")).await.unwrap();
    }
    act(&store, "c", REDELIVER).await;
    end_as(&store, completed()).await;
    let mut after = Arrived::default();
    let mut seen = Vec::new();
    loop {
        let (facts, next) = store.ended_since(after, 2).await.unwrap();
        seen.extend(facts.commands.iter().map(|facts| (facts.id.clone(), facts.receipts.len())));
        assert!(next.arrival > after.arrival);
        after = next;
        if facts.last {
            break;
        }
    }
    let expected = [("c", 2), ("a", 1), ("b", 1), ("c", 2)];
    assert_eq!(seen, expected.map(|(id, receipts)| (id.to_owned(), receipts)));
    let (facts, same) = store.ended_since(after, 2).await.unwrap();
    assert_eq!((facts.commands.len(), facts.last, same), (0, true, after));
}

#[tokio::test]
async fn events_and_acts_are_paged_whole() {
    let (_folder, store) = completed_shop(&["a"]).await;
    for (stream, expected_seq) in [("o-2", 0), ("o-1", 0), ("o-1", 1)] {
        let stream = Stream::new(stream).unwrap();
        let events = vec![Event::json("paid", &expected_seq).unwrap()];
        let append = Append { stream, expected_seq, events, commands: Vec::new() };
        store.append(append).await.unwrap().unwrap();
    }
    let read = async |after, limit| {
        let page = store.events(after, limit).await.unwrap();
        page.into_iter().map(Result::unwrap).collect::<Vec<_>>()
    };
    let page = read(None, 2).await;
    let of = |event: &counterfoil_core::domain::EventRow| (event.stream.to_string(), event.seq);
    assert_eq!(page.iter().map(of).collect::<Vec<_>>(), [("o-1".into(), 1), ("o-1".into(), 2)]);
    assert_eq!((page[1].body.as_slice(), page[1].kind.as_str()), (&b"1"[..], "paid"));
    let rest = read(Some(of(&page[1])), 2).await;
    assert_eq!(rest.iter().map(of).collect::<Vec<_>>(), [("o-2".into(), 1)]);

    store.pause(&shipping(), "ann", "why").await.unwrap();
    act(&store, "a", REDELIVER).await;
    let acts = store.actions(0, 1).await.unwrap();
    let told = (acts[0].verb.as_str(), acts[0].about.as_str(), acts[0].actor.as_str());
    assert_eq!((told, acts.len()), (("pause", "shipping", "ann"), 1));
    let acts = store.actions(acts[0].arrival, 9).await.unwrap();
    assert_eq!((acts[0].verb.as_str(), acts.len()), ("redeliver", 1));
}

#[tokio::test]
async fn a_seal_is_written_over_the_one_that_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    drop(SqliteStore::init(&path, None).unwrap());
    let clock = ManualClock::default();
    let open = || {
        SqliteStore::open_with_clock(&path, Options::default(), Arc::new(clock.clone())).unwrap()
    };
    let (store, other) = (open(), open());
    assert_eq!(store.sealed().await.unwrap(), None);
    assert!(store.save_seal(0, "one").await.unwrap());
    assert!(!other.save_seal(0, "two").await.unwrap(), "another stands");
    clock.advance(Span::from_secs(60));
    assert!(other.save_seal(1, "two").await.unwrap());
    let sealed = store.sealed().await.unwrap().unwrap();
    assert_eq!((sealed.version, sealed.seal.as_str()), (2, "two"));
    assert_eq!(sealed.recorded_at, clock.machine());
    // A machine clock that went back while nobody looked: no later time stands before the seal's.
    let saved = "SELECT clock FROM counterfoil_meta";
    let (own, _) = open_own(&path).unwrap();
    let saved: i64 = own.query_row(saved, [], |row| row.get(0)).unwrap();
    assert_eq!(saved, sealed.recorded_at.get());
    let both = tokio::join!(store.save_seal(2, "mine"), other.save_seal(2, "theirs"));
    assert_ne!(both.0.unwrap(), both.1.unwrap(), "one of two");
}

/// Another process claims and settles, and a stranger has a transaction open, while pages are read.
#[tokio::test]
async fn pages_are_read_while_others_write() {
    let (folder, store) = completed_shop(&["a", "b"]).await;
    let writer = Connection::open(folder.path().join("s.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let insert = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body) \
                  VALUES ('held', 'shipping', 'k', 'b')";
    writer.execute(insert, []).unwrap();
    assert_eq!(crate::archive::page(&store).await.entries.len(), 2);
    assert_eq!(horizon(&store).await.n, 3, "what is not committed is beyond it");
    assert!(store.events(None, 9).await.unwrap().is_empty());
    assert_eq!(store.tombstones(None, 9).await.unwrap(), []);
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(horizon(&store).await.n, 4);
}
