//! Nobody waits without end for a transaction of somebody else, and nobody keeps others waiting.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{Command, CommandId, Outcome, ReceiptOutcome};
use counterfoil_core::port::store::{Ended, Settle, Settled, StoreError};
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store as _};
use counterfoil_postgres::PostgresStore;

use crate::lanes::{completed, declare, exchange, terms};
use crate::server::{TestSchema, wait_for_lock};

const PATIENCE: Duration = Duration::from_secs(120);

fn command(id: &str) -> Command {
    Command::bytes(id, "shop", "k", "body").unwrap()
}

fn act(id: &str, act: Act) -> (Vec<Deed>, Actor) {
    let deed = Deed { command_id: id.into(), act, by_filter: false };
    (vec![deed], Actor { name: "ann".into(), reason: "because".into() })
}

/// A worker's report stands in an open transaction: whoever needs its row says so in time.
#[tokio::test]
async fn a_users_transaction_is_not_waited_for_without_end() {
    let schema = TestSchema::new().await;
    let mut options = schema.options();
    options.statement_timeout = Duration::ZERO;
    options.lock_timeout = Duration::from_millis(200);
    let store = PostgresStore::open(schema.url(), options).await.unwrap();
    let (terms, worker) = (terms(), schema.stranger().await);
    declare(&store, &terms).await;
    store.enqueue(vec![command("a"), command("b")]).await.unwrap();
    let claimed = exchange(&store, &terms, Vec::new(), 2).await.claimed;
    worker.run("BEGIN; SELECT cf.complete('a')").await.unwrap();
    let (deeds, actor) = act("a", Act::Cancel);
    let acted = tokio::time::timeout(PATIENCE, store.act(deeds, actor)).await.unwrap();
    let Err(StoreError::Unavailable(why)) = acted else { panic!("{acted:?}") };
    assert!(why.contains("another transaction holds a row"), "{why}");
    let report = Report {
        outcome: ReceiptOutcome::Completed,
        result: None,
        evidence: None,
        source: "http".into(),
        token: None,
        equals_earlier: false,
    };
    let id = CommandId::new("a").unwrap();
    let report = store.report(&id, report);
    let reported = tokio::time::timeout(PATIENCE, report).await.unwrap();
    assert!(matches!(reported, Err(StoreError::Unavailable(_))), "{reported:?}");
    // A relay does not wait at all.
    let settles = claimed.into_iter().map(|claimed| completed(claimed, &terms)).collect();
    let done = exchange(&store, &terms, settles, 9).await;
    assert_eq!(done.settled, [Settled::Held, Settled::Ended("completed")]);
    worker.run("COMMIT").await.unwrap();
}

/// A late claim held the rows of a whole batch for the length of its look, and each of its settles
/// went alone, row by row. A trigger makes the batch slow enough to let go of them under it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_held_a_moment_ago_is_settled_as_a_batch() {
    let schema = TestSchema::new().await;
    let (store, terms, holder) = (schema.store().await, terms(), schema.forger().await);
    declare(&store, &terms).await;
    let ids = ["a", "b", "c"];
    store.enqueue(ids.map(command).into()).await.unwrap();
    let claimed = exchange(&store, &terms, Vec::new(), 9).await.claimed;
    holder
        .run(
            "CREATE TABLE cf.batch(receipts bigint);
             CREATE FUNCTION cf.note_batch() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
               PERFORM pg_sleep(1);
               INSERT INTO cf.batch SELECT count(*) FROM made;
               RETURN NULL;
             END $$;
             CREATE TRIGGER note_batch AFTER INSERT ON cf.receipt
             REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION cf.note_batch()",
        )
        .await
        .unwrap();
    holder.run("BEGIN; SELECT n FROM cf.delivery FOR UPDATE").await.unwrap();
    let settles = claimed.into_iter().map(|claimed| completed(claimed, &terms)).collect();
    let (settling, asked) = (store.clone(), Arc::clone(&terms));
    let settled = tokio::spawn(async move { exchange(&settling, &asked, settles, 0).await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    holder.run("COMMIT").await.unwrap();
    assert_eq!(settled.await.unwrap().settled, [const { Settled::Ended("completed") }; 3]);
    assert_eq!(holder.number("SELECT count(*) FROM cf.delivery").await, 0, "one is open still");
    assert_eq!(holder.number("SELECT sum(count)::bigint FROM cf.tally").await, 3);
    let batches = "SELECT count(*) FROM cf.batch WHERE receipts =";
    assert_eq!(holder.number(&format!("{batches} 3")).await, 1, "not as a batch");
    assert_eq!(holder.number(&format!("{batches} 1")).await, 0, "one went alone");
}

#[tokio::test]
async fn each_session_has_its_limits() {
    let schema = TestSchema::new().await;
    for pooler in [false, true] {
        let mut options = schema.options();
        options.pooler = pooler;
        let store = PostgresStore::open(schema.url(), options).await.unwrap();
        let ask = "SELECT current_setting(name) FROM unnest(ARRAY['statement_timeout', \
                   'lock_timeout', 'idle_in_transaction_session_timeout']) AS n(name)";
        let told = store.expected(ask, 0, 9).await.unwrap();
        assert_eq!(told, ["30s", "5s", "30s"], "pooler: {pooler}");
    }
    // Workers cost a page of a large table 17 ms. A query of the user's may have them, so what it
    // is told is put back, and the session's own value is what it would be reset to.
    let store = schema.store().await;
    let ask = "SELECT concat(setting, ' in place of ', reset_val) FROM pg_settings \
               WHERE name = 'max_parallel_workers_per_gather'";
    assert_eq!(store.expected(ask, 0, 9).await.unwrap(), ["2 in place of 0"]);
}

/// What a slow transaction makes due is due before what claims have come to meanwhile, and is
/// found at once all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_slow_transaction_made_due_is_found_at_once() {
    let schema = TestSchema::new().await;
    let (store, terms, holder) = (schema.store().await, terms(), schema.forger().await);
    declare(&store, &terms).await;
    store.enqueue(vec![command("parked")]).await.unwrap();
    let claimed = exchange(&store, &terms, Vec::new(), 1).await.claimed.remove(0);
    let parks = Ended::Outcome(Outcome::Conflict { reason: "no".into() });
    let settle = Settle { ended: parks, ..completed(claimed, &terms) };
    exchange(&store, &terms, vec![settle], 0).await;
    // From here on claims begin where the last one ended, for a second.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    holder.run("BEGIN; SELECT n FROM cf.delivery FOR UPDATE").await.unwrap();
    let retrying = store.clone();
    let retry = tokio::spawn(async move {
        let (deeds, actor) = act("parked", Act::Retry { may_act_twice: false });
        retrying.act(deeds, actor).await.unwrap()
    });
    wait_for_lock(&holder).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    store.enqueue(vec![command("later")]).await.unwrap();
    let later = exchange(&store, &terms, Vec::new(), 9).await.claimed;
    assert_eq!(later[0].command.command_id.as_str(), "later");
    holder.run("COMMIT").await.unwrap();
    assert!(matches!(retry.await.unwrap()[0], Acted::Done { .. }));
    let found = exchange(&store, &terms, Vec::new(), 9).await.claimed;
    assert_eq!(found.len(), 1, "it waits behind the floor");
    assert_eq!(found[0].command.command_id.as_str(), "parked");
}
