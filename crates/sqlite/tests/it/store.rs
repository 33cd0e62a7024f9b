//! The store as a whole: from a command to its receipt, and what each reader sees of it.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Command, CommandId, Contract, Destination, Event, Idempotent, Outcome, ReceiptOutcome,
    ResultBody, Seed, State, Stream, Terms, Token,
};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::{FactsFrom, Filter};
use counterfoil_core::port::store::{
    Append, ClaimFrom, Claimed, Declared, Ended, Exchange, Exchanged, Recorded, Remaining,
    Reported, Settle, Settled, WriteRefused,
};
use counterfoil_sqlite::SqliteStore;
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) fn terms() -> Arc<Terms> {
    Arc::new(Terms::new(Contract::new(Idempotent::Forever)))
}

pub(crate) fn shipping() -> Destination {
    Destination::new("shipping").unwrap()
}

pub(crate) fn command(id: &str) -> Command {
    Command::json(id, "shipping", "order.paid", &serde_json::json!({"order": id})).unwrap()
}

pub(crate) fn fresh() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::init(folder.path().join("s.db"), Some("urn:test")).unwrap();
    (folder, store)
}

pub(crate) async fn declare(store: &SqliteStore) {
    let declared = store.declare(&shipping(), &terms().contract, false).await.unwrap();
    assert_eq!(declared, Declared::Agreed);
}

pub(crate) fn claim(limit: usize) -> Exchange {
    let from = ClaimFrom { destination: shipping(), limit, terms: terms() };
    Exchange {
        claim_from: vec![from],
        claim_limit: limit,
        owner: "test".into(),
        ..Exchange::default()
    }
}

pub(crate) fn settle(claimed: &Claimed, outcome: Outcome) -> Settle {
    Settle {
        claimed: claimed.clone(),
        ended: Ended::Outcome(outcome),
        started_at: claimed.delivery.first_sent_at.unwrap_or_default(),
        burns: true,
        seed: Seed(1),
        terms: terms(),
    }
}

pub(crate) fn completed() -> Outcome {
    Outcome::Completed { result: ResultBody::whole("{\"job\":7}"), evidence: "HTTP 200".into() }
}

pub(crate) async fn settle_all(
    store: &SqliteStore,
    claimed: &[Claimed],
    outcome: Outcome,
) -> Exchanged {
    let settles = claimed.iter().map(|claimed| settle(claimed, outcome.clone())).collect();
    store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap()
}

#[tokio::test]
async fn a_command_goes_from_record_to_receipt() {
    let (_folder, store) = fresh();
    let recorded = store.enqueue(vec![command("a"), command("b"), command("a")]).await.unwrap();
    assert_eq!(recorded, [Recorded::Recorded, Recorded::Recorded, Recorded::Repeated].map(Ok));
    let other = Command::json("a", "shipping", "order.paid", &1).unwrap();
    let refused = store.enqueue(vec![other]).await.unwrap();
    assert_eq!(refused, [Err(WriteRefused::Conflict { id: "a".into() })]);

    let nothing = store.exchange(claim(9)).await.unwrap();
    assert_eq!((nothing.claimed.len(), nothing.differing), (0, vec![shipping()]));
    declare(&store).await;
    assert!(store.next_due(&[shipping()]).await.unwrap().unwrap() <= store.now().unwrap());
    let one = store.exchange(claim(1)).await.unwrap();
    assert!(one.more && one.claimed.len() == 1);
    let first = &one.claimed[0];
    assert_eq!((first.delivery.state, first.delivery.attempts), (State::Sending, 1));
    assert_eq!(first.command.body, br#"{"order":"a"}"#);
    let mut next = claim(9);
    next.settles = vec![settle(first, completed())];
    let two = store.exchange(next).await.unwrap();
    assert_eq!((two.settled, two.more), (vec![Settled::Ended("completed")], false));
    let late = settle_all(&store, &one.claimed, Outcome::not_sent("late")).await;
    assert!(matches!(late.settled[..], [Settled::Ignored(_)]));

    let left = store.remaining(&[shipping()]).await.unwrap();
    assert_eq!(left, Remaining { busy: 1, ..Remaining::default() });
    let unknown = settle_all(&store, &two.claimed, Outcome::unknown("HTTP 500")).await;
    assert_eq!(unknown.settled, [Settled::Open(State::Pending)]);
    let status = store.status().await.unwrap();
    assert_eq!(status.destinations["shipping"]["completed"], 1);
    assert_eq!(status.destinations["shipping"]["pending"], 1);
    let story = store.show("a").await.unwrap().unwrap();
    assert_eq!(story.receipts[0].result.as_deref(), Some(&b"{\"job\":7}"[..]));
    assert_eq!(story.tries.iter().map(|told| told.what.as_str()).collect::<Vec<_>>(), ["send"]);
    let listed = store.list(Filter::default()).await.unwrap();
    let states: Vec<_> = listed.iter().map(|line| line.state.as_str()).collect();
    assert_eq!(states, ["completed", "pending"]);
    let facts = store.facts(FactsFrom::default(), 10).await.unwrap();
    assert!(facts.last && facts.commands.len() == 2);
    assert!(facts.commands[1].delivery.as_ref().unwrap().row_digest.is_some());
    assert_eq!(facts.commands[0].receipts[0].digest, Some(first.digest));
    let totals = store.totals().await.unwrap();
    assert_eq!(totals[0].tally, [("completed".to_string(), 1, 1)]);
    assert_eq!((totals[0].outbox, totals[0].open), (2, 1));
}

#[tokio::test]
async fn a_decision_is_written_whole_or_not_at_all() {
    let (_folder, store) = fresh();
    let stream = Stream::new("order-1").unwrap();
    let decision = |expected_seq| Append {
        stream: stream.clone(),
        expected_seq,
        events: vec![Event::json("paid", &1).unwrap(), Event::json("packed", &2).unwrap()],
        commands: vec![Command::unnamed("shipping", "ship", &3).unwrap(); 2],
    };
    let appended = store.append(decision(0)).await.unwrap().unwrap();
    assert_eq!(appended.seq, 2);
    assert_eq!(appended.command_ids[1].as_str(), "order-1:2:1");
    let refused = store.append(decision(0)).await.unwrap().unwrap_err();
    let stream_name = "order-1".to_string();
    let conflict = WriteRefused::VersionConflict { stream: stream_name, expected: 0, actual: 2 };
    assert_eq!(refused, conflict);
    store.enqueue(vec![command("order-1:4:1")]).await.unwrap()[0].clone().unwrap();
    let taken = store.append(decision(2)).await.unwrap().unwrap_err();
    assert_eq!(taken, WriteRefused::Conflict { id: "order-1:4:1".into() });
    let events = store.load(&stream, 0, 10).await.unwrap();
    assert_eq!(events.iter().map(|event| event.commands).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(store.known(&["order-1:4:0".into()]).await.unwrap(), [false]);
    let facts = store.event_facts(None, 10).await.unwrap();
    assert_eq!(facts.iter().map(|event| event.found).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(facts.iter().map(|event| event.seq_before).collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test]
async fn a_report_ends_a_command_once() {
    let (_folder, store) = fresh();
    store.enqueue(vec![command("a")]).await.unwrap()[0].clone().unwrap();
    let id = CommandId::new("a").unwrap();
    let report = |outcome, token| Report {
        outcome,
        result: None,
        evidence: Some("seen".into()),
        source: "report".into(),
        token,
        equals_earlier: false,
    };
    let (done, refused) = (ReceiptOutcome::Completed, ReceiptOutcome::Rejected);
    let stale = store.report(&id, report(done, Some(Token::new(7)))).await.unwrap();
    assert!(matches!(stale, Reported::Refused(_)));
    assert_eq!(store.report(&id, report(done, None)).await.unwrap(), Reported::Recorded);
    assert_eq!(store.report(&id, report(done, None)).await.unwrap(), Reported::Repeated);
    for _ in 0..2 {
        let said = store.report(&id, report(refused, None)).await.unwrap();
        assert_eq!(said, Reported::Contradiction);
    }
    let never = CommandId::new("never").unwrap();
    assert_eq!(store.report(&never, report(done, None)).await.unwrap(), Reported::Unknown);
    let story = store.show("a").await.unwrap().unwrap();
    assert_eq!((story.listed.state.as_str(), story.tries.len()), ("completed", 1));
}

#[tokio::test]
async fn an_expectation_only_reads() {
    let (_folder, store) = fresh();
    store.enqueue(vec![command("a"), command("b")]).await.unwrap();
    let sql = "SELECT command_id FROM counterfoil_outbox ORDER BY n";
    assert_eq!(store.expected(sql, 1, 5).await.unwrap(), ["b"]);
    for sql in ["DELETE FROM counterfoil_meta", "no sql", "PRAGMA query_only = 0; SELECT 1"] {
        let refused = store.expected(sql, 0, 5).await;
        assert!(refused.is_err(), "{sql}: {refused:?}");
    }
}

/// What a relay does between a claim's answer and its settle is the network's: by then the claim
/// stands for everybody, and nothing is held that another would wait for.
#[tokio::test]
async fn a_claim_is_committed_before_its_answer_and_leaves_no_transaction_open() {
    let (folder, store) = fresh();
    declare(&store).await;
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    stranger.busy_timeout(Duration::ZERO).unwrap();
    let sending = "SELECT count(*) FROM counterfoil_delivery WHERE state = 'sending'";
    for i in 0..20_i64 {
        store.enqueue(vec![command(&format!("c{i}"))]).await.unwrap();
        assert_eq!(store.exchange(claim(1)).await.unwrap().claimed.len(), 1);
        let found: i64 = stranger.query_row(sending, [], |row| row.get(0)).unwrap();
        assert_eq!(found, i + 1, "claims that can be seen");
        // Neither a writer nor a reader of ours is in a transaction: this waits for both.
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: i64 = stranger.query_row(checkpoint, [], |row| row.get(0)).unwrap();
        assert_eq!(busy, 0, "a transaction is open");
    }
}
