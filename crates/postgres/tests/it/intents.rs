//! Intents that meet others on their way: in flight, in one lane, in the archive.

use std::sync::Arc;

use counterfoil_core::domain::laws::of_lane;
use counterfoil_core::domain::{
    Command, Contract, Destination, Digest, Event, Idempotent, Micros, OrderingKey, Stream, Terms,
};
use counterfoil_core::port::Store as _;
use counterfoil_core::port::store::{
    Append, ClaimFrom, Exchange, Recorded, StoreError, WriteRefused,
};
use counterfoil_postgres::PostgresStore;
use tokio::task::JoinHandle;

use crate::server::{TestSchema, wait_for_lock};

type Answers = Vec<Result<Recorded, WriteRefused>>;

fn command(id: &str) -> Command {
    Command::bytes(id, "shop", "order.paid", format!("body of {id}")).unwrap()
}

fn in_lane(id: &str, key: &str) -> Command {
    command(id).ordering_key(OrderingKey::new(key).unwrap())
}

fn enqueue(store: &PostgresStore, commands: Vec<Command>) -> JoinHandle<Answers> {
    let store = store.clone();
    tokio::spawn(async move { store.enqueue(commands).await.unwrap() })
}

/// As the store writes it.
fn insert(id: &str, body: &str) -> String {
    format!(
        "INSERT INTO cf.outbox(command_id, destination, kind, body) \
         VALUES ('{id}', 'shop', 'order.paid', '{body}')"
    )
}

/// Two batches in opposite orders must not wait for each other.
#[tokio::test]
async fn a_batch_locks_its_ids_in_their_own_order() {
    let schema = TestSchema::new().await;
    let (store, other) = (schema.store().await, schema.forger().await);
    other.run("BEGIN; SET lock_timeout = '500ms'").await.unwrap();
    other.run(&insert("m", "x")).await.unwrap();
    let batch = enqueue(&store, vec![command("z"), command("m"), command("a")]);
    wait_for_lock(&other).await;
    other.run(&insert("z", "x")).await.unwrap();
    other.run("ROLLBACK").await.unwrap();
    assert_eq!(batch.await.unwrap(), [const { Ok(Recorded::Recorded) }; 3]);
    let listed = store.list(counterfoil_core::port::read::Filter::default()).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|listed| listed.command_id.as_str()).collect();
    assert_eq!(ids, ["z", "m", "a"], "numbered in the order given");
}

#[tokio::test]
async fn a_twin_in_flight_is_waited_for_and_compared() {
    let schema = TestSchema::new().await;
    let (store, other) = (schema.store().await, schema.forger().await);
    other.run("BEGIN").await.unwrap();
    other.run(&insert("a", "body of a")).await.unwrap();
    other.run(&insert("b", "another body")).await.unwrap();
    let batch = enqueue(&store, vec![command("a"), command("b"), command("c")]);
    wait_for_lock(&other).await;
    other.run("COMMIT").await.unwrap();
    let conflict = Err(WriteRefused::Conflict { id: "b".into() });
    assert_eq!(batch.await.unwrap(), [Ok(Recorded::Repeated), conflict, Ok(Recorded::Recorded)]);
}

#[tokio::test]
async fn what_is_archived_is_compared_by_its_digest() {
    let schema = TestSchema::new().await;
    let (store, forger) = (schema.store().await, schema.forger().await);
    let tombstone = "INSERT INTO cf.archived(rounds, command_id, destination, kind, outcome, file, \
                     digest) VALUES (1, $1, 'shop', 'order.paid', 'completed', 'f', $2)";
    for id in ["a", "b", "o-1:1:0"] {
        let digest = Digest::of(b"body of a");
        forger.execute(tombstone, &[&id, &digest.as_bytes().as_slice()]).await.unwrap();
    }
    let answers = store.enqueue(vec![command("a"), command("b")]).await.unwrap();
    let conflict = |id: &str| WriteRefused::Conflict { id: id.into() };
    assert_eq!(answers, [Ok(Recorded::Repeated), Err(conflict("b"))]);
    let append = Append {
        stream: Stream::new("o-1").unwrap(),
        expected_seq: 0,
        events: vec![Event::json("placed", &1).unwrap()],
        commands: vec![Command { id: None, ..command("a") }],
    };
    assert_eq!(store.append(append).await.unwrap(), Err(conflict("o-1:1:0")));
    assert_eq!(forger.number("SELECT count(*) FROM cf.event").await, 0);
}

/// While the head of a lane ends, the next one comes: neither transaction sees the other, and a
/// note tells a sweep. Nobody waits for the one that ends, which may be a user's transaction.
#[tokio::test]
async fn a_turn_is_not_lost_between_an_end_and_an_arrival() {
    let schema = TestSchema::new().await;
    let (store, settle) = (schema.store().await, schema.forger().await);
    store.enqueue(vec![in_lane("head", "k")]).await.unwrap();
    settle.run("BEGIN; DELETE FROM cf.delivery").await.unwrap();
    let next = store.enqueue(vec![in_lane("next", "k")]).await.unwrap();
    assert_eq!(next, [Ok(Recorded::Recorded)]);
    // The note stays while the one before it is held.
    assert_eq!(settle.number("SELECT count(*) FROM cf.lane_freed").await, 1);
    assert_eq!(store.sweep(9, None).await.unwrap().promoted, 0);
    assert_eq!(settle.number("SELECT count(*) FROM cf.lane_freed").await, 1);
    settle.run("COMMIT").await.unwrap();
    assert_eq!(store.sweep(9, None).await.unwrap().promoted, 1);
    let story = store.show("next").await.unwrap().unwrap();
    assert!(story.listed.available_at.is_some(), "nobody would give it the turn");
    assert_eq!(settle.number("SELECT count(*) FROM cf.lane_freed").await, 0);
}

/// Behind a backlog nobody waits for who is settled, and holds nobody up.
#[tokio::test]
async fn behind_two_others_nobody_is_waited_for() {
    let schema = TestSchema::new().await;
    let (store, settle) = (schema.store().await, schema.forger().await);
    store.enqueue(vec![in_lane("head", "k"), in_lane("second", "k")]).await.unwrap();
    settle.run("BEGIN; DELETE FROM cf.delivery WHERE turn = 1").await.unwrap();
    let next = store.enqueue(vec![in_lane("next", "k")]).await.unwrap();
    assert_eq!(next, [Ok(Recorded::Recorded)]);
    settle.run("ROLLBACK").await.unwrap();
    assert_eq!(store.show("next").await.unwrap().unwrap().listed.available_at, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_at_once_share_a_lane_densely() {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    let batch = |who: usize| {
        let ids = (0..5).map(move |at| format!("{who}-{at}"));
        ids.map(|id| in_lane(&id, "k")).chain([in_lane(&format!("{who}"), "other")]).collect()
    };
    let writers: Vec<_> = (0..8).map(|who| enqueue(&store, batch(who))).collect();
    for writer in writers {
        assert!(writer.await.unwrap().iter().all(|answer| *answer == Ok(Recorded::Recorded)));
    }
    let lanes = store.lane_facts(None, 9).await.unwrap();
    assert_eq!(
        lanes.iter().map(|lane| (lane.places, lane.last)).collect::<Vec<_>>(),
        [(40, Some(40)), (8, Some(8))]
    );
    assert!(lanes.iter().all(|lane| of_lane(lane).is_empty()), "{lanes:?}");
    let turns = "SELECT count(*) FROM cf.delivery WHERE turn = 1 AND key_seq = 1";
    assert_eq!(schema.stranger().await.number(turns).await, 2);
}

/// The story: claims begin to look where the last one ended, and a `not_before` may be long past.
#[tokio::test]
async fn what_was_due_long_ago_is_claimed_at_once() {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    let shop = Destination::new("shop").unwrap();
    let contract = Contract::new(Idempotent::Forever);
    store.declare(&shop, &contract, false).await.unwrap();
    let claim = async || {
        let terms = Arc::new(Terms::new(contract.clone()));
        let from = ClaimFrom { destination: shop.clone(), limit: 9, terms };
        let exchange = Exchange {
            claim_from: vec![from],
            claim_limit: 9,
            owner: "me".into(),
            ..Exchange::default()
        };
        store.exchange(exchange).await.unwrap().claimed.len()
    };
    store.enqueue(vec![command("a")]).await.unwrap();
    assert_eq!(claim().await, 1);
    let past = Micros::new(1_500_000_000_000_000);
    store.enqueue(vec![command("b").not_before(past)]).await.unwrap();
    assert_eq!(claim().await, 1);
    let append = Append {
        stream: Stream::new("o-1").unwrap(),
        expected_seq: 0,
        events: vec![Event::json("placed", &1).unwrap()],
        commands: vec![Command { id: None, ..command("c") }.not_before(past)],
    };
    store.append(append).await.unwrap().unwrap();
    assert_eq!(claim().await, 1);
}

#[tokio::test]
async fn the_users_query_only_reads() {
    let schema = TestSchema::new().await;
    let (store, stranger) = (schema.store().await, schema.stranger().await);
    stranger
        .run("CREATE TABLE cf.mine(id int); INSERT INTO cf.mine VALUES (7), (8)")
        .await
        .unwrap();
    let answers = async |sql: &str| store.expected(&stranger.sql(sql), 0, 9).await;
    for sql in [
        "SELECT id, 'x', 1.5 FROM cf.mine ORDER BY id",
        "SELECT id FROM cf.mine ORDER BY id; ",
        "SELECT id FROM cf.mine ORDER BY id -- all of them",
        "WITH m AS (SELECT id FROM cf.mine) SELECT * FROM m ORDER BY id",
        "VALUES (7), (8)",
    ] {
        assert_eq!(answers(sql).await.unwrap(), ["7", "8"], "{sql}");
    }
    assert_eq!(answers("SELECT NULL").await.unwrap(), [""]);
    stranger
        .run(
            "CREATE FUNCTION cf.writes() RETURNS int LANGUAGE sql AS \
              $$ INSERT INTO cf.mine VALUES (9) RETURNING id $$",
        )
        .await
        .unwrap();
    for sql in [
        "DELETE FROM cf.mine RETURNING id",
        "WITH d AS (DELETE FROM cf.mine RETURNING id) SELECT id FROM d",
        "SELECT cf.writes()",
        "SELECT 1; DELETE FROM cf.mine",
        "SELECT 1) q(first); DELETE FROM cf.mine; SELECT (1",
        "SELECT 1) q(first); COMMIT; SELECT * FROM (SELECT 1",
        "SELECT nothing",
        "",
    ] {
        let refused = answers(sql).await;
        let Err(StoreError::Broken(why)) = refused else { panic!("{sql}: {refused:?}") };
        assert!(why.contains("the query"), "{why}");
    }
    assert_eq!(stranger.number("SELECT count(*) FROM cf.mine").await, 2);
    assert_eq!(answers("SELECT id FROM cf.mine ORDER BY id").await.unwrap(), ["7", "8"]);
}

/// The server refuses to be asked for a NUL; nothing is called so.
#[tokio::test]
async fn a_nul_is_in_no_name() {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    store.enqueue(vec![command("a")]).await.unwrap();
    assert_eq!(store.known(&["a\0".into(), "a".into()]).await.unwrap(), [false, true]);
    assert_eq!(store.show("a\0").await.unwrap(), None);
    let filter = |set: fn(&mut counterfoil_core::port::read::Filter)| {
        let mut filter = counterfoil_core::port::read::Filter::default();
        set(&mut filter);
        filter
    };
    for filter in [
        filter(|filter| filter.state = Some("pending\0".into())),
        filter(|filter| filter.kind = Some("\0".into())),
        filter(|filter| filter.reason = Some("\0".into())),
    ] {
        assert_eq!(store.list(filter).await.unwrap(), []);
    }
    let after = filter(|filter| filter.after = Some("a\0".into()));
    let no_cursor = counterfoil_core::port::store::StoreError::NoCursor { id: "a\0".into() };
    assert_eq!(store.list(after).await, Err(no_cursor));
}
