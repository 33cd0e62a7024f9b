//! What an audit over a real file finds where somebody went behind Counterfoil's back.

use std::sync::Arc;

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::contract::Completion;
use counterfoil_core::domain::{Command, Event, Kind, Outcome, ResultBody, Stream, Terms};
use counterfoil_core::port::Store as _;
use counterfoil_core::port::store::{Append, Exchange, Settle};
use counterfoil_sqlite::SqliteStore;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::store::{claim, command, declare, fresh, settle, shipping, terms};

async fn codes(store: &SqliteStore) -> Vec<&'static str> {
    let report = audit(store, AuditOptions::default()).await.unwrap();
    report.violations.iter().map(|violation| violation.code).collect()
}

/// A store with a command of a decision that is open, and a bare one that is completed; what
/// `spoil` makes of it as SQL of a tool that runs without triggers.
async fn spoiled(spoil: &str) -> Vec<&'static str> {
    let (folder, store) = fresh();
    declare(&store).await;
    store.enqueue(vec![command("done")]).await.unwrap()[0].clone().unwrap();
    let claimed = store.exchange(claim(9)).await.unwrap().claimed.remove(0);
    let done = Outcome::Completed { result: ResultBody::whole("job"), evidence: "said so".into() };
    let settles = vec![settle(&claimed, done)];
    store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
    for expected_seq in [0, 1] {
        let kind = Kind::new("paid").unwrap();
        let events = vec![Event { kind, body: b"{}".to_vec(), cause: None }];
        let commands = vec![Command::unnamed("shipping", "k", &1).unwrap()];
        let stream = Stream::new("o-1").unwrap();
        store.append(Append { stream, expected_seq, events, commands }).await.unwrap().unwrap();
    }
    assert_eq!(codes(&store).await, [""; 0], "it is sound");
    let hand = Connection::open(folder.path().join("s.db")).unwrap();
    hand.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    hand.execute_batch(spoil).unwrap();
    codes(&store).await
}

/// No gap is left where the newest event goes, and no event counts what is not there.
#[tokio::test]
async fn the_newest_event_of_a_stream_removed_is_found() {
    let found = spoiled("DELETE FROM counterfoil_event WHERE seq = 2").await;
    assert_eq!(found, ["CF0824"]);
    let found = spoiled("DELETE FROM counterfoil_event").await;
    assert_eq!(found, ["CF0824", "CF0824"]);
}

#[tokio::test]
async fn a_receipt_without_its_digests_is_found() {
    let found = spoiled("UPDATE counterfoil_receipt SET digest = NULL, row_digest = NULL").await;
    assert_eq!(found, ["CF0823"]);
}

/// The story: the receiver reported that it had refused what its answer had called completed. The
/// contradiction was kept, and the audit held.
#[tokio::test]
async fn a_report_that_said_otherwise_is_found() {
    let (folder, store) = fresh();
    store.enqueue(vec![command("a"), command("b")]).await.unwrap();
    let worker = Connection::open(folder.path().join("s.db")).unwrap();
    let report = |outcome: &str| {
        let insert = "INSERT INTO counterfoil_report(command_id, outcome) VALUES ('a', ?1)";
        worker.execute(insert, [outcome]).unwrap();
    };
    report("completed");
    report("completed");
    assert_eq!(codes(&store).await, [""; 0]);
    report("rejected");
    assert_eq!(codes(&store).await, ["CF0822"]);
}

/// The story: a broker had taken a command, then its worker reported it done. Through the library
/// that was a repeat; through plain SQL it was kept as a contradiction.
#[tokio::test]
async fn completed_after_accepted_is_no_contradiction_by_either_door() {
    let (folder, store) = fresh();
    let mut terms = Terms::clone(&terms());
    terms.contract.completion = Completion::Accepted;
    let terms = Arc::new(terms);
    store.declare(&shipping(), &terms.contract, false).await.unwrap();
    store.enqueue(vec![command("a")]).await.unwrap();
    let mut claims = claim(1);
    claims.claim_from[0].terms = Arc::clone(&terms);
    let claimed = store.exchange(claims).await.unwrap().claimed.remove(0);
    let accepted = Outcome::Accepted { evidence: "ack".into() };
    let settles = vec![Settle { terms, ..settle(&claimed, accepted) }];
    store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
    let worker = Connection::open(folder.path().join("s.db")).unwrap();
    let report = |outcome: &str| {
        let insert = "INSERT INTO counterfoil_report(command_id, outcome) VALUES ('a', ?1)";
        worker.execute(insert, [outcome]).unwrap();
    };
    report("completed");
    assert_eq!(codes(&store).await, [""; 0]);
    report("rejected");
    assert_eq!(codes(&store).await, ["CF0822"]);
}
