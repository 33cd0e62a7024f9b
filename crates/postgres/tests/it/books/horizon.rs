//! A horizon passes nobody: what is at or below it stands when it is told, or never will.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use counterfoil_core::domain::ReceiptOutcome;
use counterfoil_core::port::Store as _;
use counterfoil_core::port::seal::{Audited as _, Horizon};

use super::scene::{AGAIN, ann, command, deed, report};
use crate::lanes::{completed, declare, exchange, terms};
use crate::private::PrivateServer;
use crate::server::{Stranger, TestSchema, wait_for_lock};

/// What each writes that the audit reads on from.
const WRITES: [(&str, &str); 6] = [
    ("outbox", "SELECT cf.enqueue('new', 'd', 'k', '')"),
    ("receipt", "SELECT cf.complete('open')"),
    ("contradiction", "SELECT cf.reject('ended', 'no'::text)"),
    (
        "attempt",
        "INSERT INTO cf.attempt(n, round, token, purpose, outcome, ended_at)
         VALUES (1, 1, 1, 'send', 'unknown', 1764421200000000)",
    ),
    (
        "action",
        "INSERT INTO cf.operator_action(verb, about, actor, recorded_at)
         VALUES ('retry', 'a', 'me', 1764421200000000)",
    ),
    (
        "event",
        "INSERT INTO cf.event(stream, seq, kind, body, commands, recorded_at)
         VALUES ('s', 1, 'k', '', 0, 1764421200000000)",
    ),
];

async fn with_commands() -> TestSchema {
    let schema = TestSchema::new().await;
    let made = "SELECT cf.enqueue('open', 'd', 'k', ''), cf.enqueue('ended', 'd', 'k', ''),
        cf.complete('ended')";
    schema.stranger().await.run(made).await.unwrap();
    schema
}

/// All that stands at or below a horizon.
async fn below(stranger: &Stranger, horizon: Horizon) -> BTreeSet<String> {
    let Horizon { n, receipt, attempt, contradiction, action, event } = horizon;
    let sql = format!(
        "SELECT 'outbox ' || n FROM cf.outbox WHERE n <= {n}
         UNION ALL SELECT concat_ws(' ', 'receipt', n, round) FROM cf.receipt
           WHERE recorded_at <= {receipt}
         UNION ALL SELECT 'attempt ' || id FROM cf.attempt WHERE id <= {attempt}
         UNION ALL SELECT 'contradiction ' || id FROM cf.contradiction WHERE id <= {contradiction}
         UNION ALL SELECT 'action ' || id FROM cf.operator_action WHERE id <= {action}
         UNION ALL SELECT concat_ws(' ', 'event', stream, seq) FROM cf.event
           WHERE recorded_at <= {}",
        event.get()
    );
    stranger.query(&sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Whatever it has written, a transaction that is left open has no horizon behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_left_open_is_not_passed() {
    let mut tasks = Vec::new();
    for (table, write) in WRITES {
        tasks.push(tokio::spawn(async move {
            let schema = with_commands().await;
            let (store, writer) = (schema.store().await, schema.forger().await);
            assert!(store.horizon().await.unwrap().is_some(), "{table}");
            writer.run("BEGIN").await.unwrap();
            writer.run(write).await.unwrap();
            assert_eq!(store.horizon().await.unwrap(), None, "{table}");
            writer.run("COMMIT").await.unwrap();
            let horizon = store.horizon().await.unwrap().unwrap();
            let stands = below(&schema.stranger().await, horizon).await;
            // An event of a moment ago is read by a later audit.
            let stands = table == "event" || stands.iter().any(|row| row.starts_with(table));
            assert!(stands, "{table}");
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// It is waited for, and what it wrote is at or below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_commits_late_is_waited_for() {
    let schema = with_commands().await;
    let (store, writer) = (schema.store().await, schema.stranger().await);
    writer.run("BEGIN; SELECT cf.enqueue('late', 'd', 'k', '')").await.unwrap();
    let late = writer.number("SELECT n FROM cf.outbox WHERE command_id = 'late'").await;
    // Numbers that came later stand already.
    schema.stranger().await.run("SELECT cf.enqueue('quick', 'd', 'k', '')").await.unwrap();
    let asking = {
        let store = store.clone();
        tokio::spawn(async move { store.horizon().await.unwrap() })
    };
    let other = schema.stranger().await;
    let looks = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_locks l%'
        AND application_name = 'counterfoil' AND query LIKE '%' || $1 || '%'";
    let seen = async || {
        let rows = other.client.query(looks, &[&schema.name()]).await.unwrap();
        rows[0].get::<_, i64>(0) > 0
    };
    while !seen().await {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert!(!asking.is_finished());
    // Who comes after it is not.
    let later = schema.stranger().await;
    later.run("BEGIN; SELECT cf.enqueue('later', 'd', 'k', '')").await.unwrap();
    writer.run("COMMIT").await.unwrap();
    let horizon = asking.await.unwrap().unwrap();
    assert!(horizon.n > late, "{horizon:?}");
    assert!(below(&writer, horizon).await.contains(&format!("outbox {late}")));
}

/// A report tells the time, and waits for a row before it writes its receipt: its time is that of
/// the receipt, whose table it holds by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_carries_no_time_from_before_its_lock() {
    let schema = with_commands().await;
    let (store, holder) = (schema.store().await, schema.forger().await);
    holder.run("BEGIN; SELECT FROM cf.delivery FOR UPDATE").await.unwrap();
    let reporting = {
        let store = store.clone();
        tokio::spawn(async move { report(&store, "open", ReceiptOutcome::Completed, None).await })
    };
    wait_for_lock(&holder).await;
    let horizon = store.horizon().await.unwrap().expect("nobody writes");
    let stood = below(&holder, horizon).await;
    holder.run("COMMIT").await.unwrap();
    reporting.await.unwrap();
    assert_eq!(below(&holder, horizon).await, stood);
}

#[tokio::test]
async fn a_prepared_transaction_is_not_passed() {
    let server = PrivateServer::start(&[("max_prepared_transactions", "4")]);
    let schema = TestSchema::new_at(server.url()).await;
    let (store, writer) = (schema.store().await, schema.stranger().await);
    writer
        .run("BEGIN; SELECT cf.enqueue('a', 'd', 'k', ''); PREPARE TRANSACTION 'two'")
        .await
        .unwrap();
    assert_eq!(store.horizon().await.unwrap(), None);
    writer.run("COMMIT PREPARED 'two'").await.unwrap();
    assert_eq!(store.horizon().await.unwrap().unwrap().n, 1);
}

#[tokio::test]
async fn an_empty_store_has_a_horizon() {
    let schema = TestSchema::new().await;
    let horizon = schema.store().await.horizon().await.unwrap().unwrap();
    let Horizon { n, attempt, contradiction, action, receipt, event } = horizon;
    assert_eq!((n, attempt, contradiction, action), (0, 0, 0, 0));
    // A receipt of the same microsecond may still come.
    assert_eq!(receipt + 1 - event.get(), 3_600_000_000);
    // Readers and those that write elsewhere are nobody's concern.
    let reader = schema.forger().await;
    let elsewhere = "BEGIN; SELECT FROM cf.outbox; CREATE TABLE cf.mine(a int);
        INSERT INTO cf.mine VALUES (1)";
    reader.run(elsewhere).await.unwrap();
    assert!(schema.store().await.horizon().await.unwrap().is_some());
}

/// Writers of every door, none of whom stops: there is always a horizon, and nothing appears below
/// it afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_busy_store_has_a_horizon_that_holds() {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    declare(&store, &terms()).await;
    let stops = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..4 {
        let (store, sql) = (store.clone(), schema.stranger().await);
        let stops = Arc::clone(&stops);
        writers.push(tokio::spawn(async move {
            for at in 0.. {
                if stops.load(Ordering::Acquire) {
                    break;
                }
                let id = format!("{writer}-{at}");
                store.enqueue(vec![command(&id)]).await.unwrap()[0].as_ref().unwrap();
                let plain = format!(
                    "BEGIN; SELECT cf.enqueue('s{id}', 'd', 'k', ''); SELECT pg_sleep(0.002);
                     SELECT cf.complete('s{id}'); SELECT cf.reject('s{id}'); COMMIT"
                );
                sql.run(&plain).await.unwrap();
                let claimed = exchange(&store, &terms(), vec![], 3).await.claimed;
                let settles = claimed.into_iter().map(|one| completed(one, &terms())).collect();
                exchange(&store, &terms(), settles, 0).await;
                report(&store, &id, ReceiptOutcome::Completed, None).await;
                store.act(vec![deed(&id, AGAIN)], ann()).await.unwrap();
            }
        }));
    }
    let reader = schema.stranger().await;
    let mut told = Vec::new();
    for _ in 0..12 {
        let horizon = store.horizon().await.unwrap().expect("short transactions end");
        told.push((horizon, below(&reader, horizon).await));
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    stops.store(true, Ordering::Release);
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(told[11].1.len() > told[0].1.len() + 20, "too little happened");
    for (horizon, stood) in told {
        let stands = below(&reader, horizon).await;
        assert_eq!(
            stands.difference(&stood).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "{horizon:?}"
        );
    }
}
