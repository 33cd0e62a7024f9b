//! Snapshots that are older than a command: who has one sees neither the command nor its tombstone,
//! and would record it anew once its row is gone. So such a command is not buried yet.

use std::time::Duration;

use counterfoil_core::port::Store as _;
use counterfoil_core::port::store::Recorded;
use counterfoil_postgres::PostgresStore;

use super::scene::{Books, command};
use crate::server::{refusal, wait_for_lock};

const INSERT: &str = "INSERT INTO cf.outbox(command_id, destination, kind, body)
    VALUES ('a', 'shop', 'order.paid', 'body of a')";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_of_one_snapshot_holds_back_what_is_younger() {
    let books = Books::alone().await;
    books.reported(&["old"]).await;
    let old = books.schema.stranger().await;
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await.unwrap();
    books.reported(&["a"]).await;
    let entries = books.page(0, 9).await.entries;
    assert_eq!(books.bury(entries.clone()).await, [true, false]);
    let refused = old.run(INSERT).await.unwrap_err();
    assert!(refusal(&refused).starts_with("23505"), "{refused}");
    old.run("ROLLBACK").await.unwrap();
    assert_eq!(books.bury(entries).await, [false, true]);
    assert_eq!(insert_says(&books).await, "CF0103");
    books.is_sound().await;
}

async fn insert_says(books: &Books) -> String {
    refusal(&books.sql.run(INSERT).await.unwrap_err())
}

/// One statement under READ COMMITTED, which has looked, and waits for another's id before it comes
/// to this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_waits_holds_back_what_was_recorded_meanwhile() {
    let books = Books::alone().await;
    let other = books.schema.forger().await;
    other
        .run(
            "BEGIN; INSERT INTO cf.outbox(command_id, destination, kind, body)
             VALUES ('Before', 'shop', 'order.paid', '')",
        )
        .await
        .unwrap();
    let mut options = books.schema.options();
    options.lock_timeout = Duration::from_secs(120);
    options.statement_timeout = Duration::from_secs(120);
    let patient = PostgresStore::open(books.schema.url(), options).await.unwrap();
    let batch = tokio::spawn(async move {
        patient.enqueue(vec![command("Before"), command("a")]).await.unwrap()
    });
    wait_for_lock(&other).await;
    books.reported(&["a"]).await;
    let entry = books.entry("a").await;
    assert_eq!(books.bury(vec![entry.clone()]).await, [false]);
    other.run("ROLLBACK").await.unwrap();
    assert_eq!(batch.await.unwrap(), [Ok(Recorded::Recorded), Ok(Recorded::Repeated)]);
    assert_eq!(books.bury(vec![entry]).await, [true]);
    assert_eq!(books.sql.number("SELECT count(*) FROM cf.outbox WHERE command_id = 'a'").await, 0);
}

/// A transaction that writes elsewhere makes all snapshots look as old as itself; those that came
/// later are not waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_writes_elsewhere_holds_nothing_back() {
    let books = Books::alone().await;
    let (writer, looks) = (books.schema.stranger().await, books.schema.stranger().await);
    writer.run("BEGIN; CREATE TABLE cf.mine(a int)").await.unwrap();
    books.reported(&["a"]).await;
    let entry = books.entry("a").await;
    let reading = async |before: &str| {
        let reader = books.schema.stranger().await;
        let pid = reader.number("SELECT pg_backend_pid()").await;
        let before = before.to_owned();
        tokio::spawn(async move { reader.run(&before).await });
        let at_work =
            "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid = ";
        while looks.number(&format!("{at_work}{pid}")).await == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        pid
    };
    let was_there = reading("SELECT pg_sleep(100)").await;
    let burying = books.burying(vec![entry]);
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counterfoil'
        AND query LIKE '%virtualxid%'";
    while looks.number(waits).await == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    reading("SELECT pg_sleep(100)").await;
    assert!(!burying.is_finished());
    looks.number(&format!("SELECT pg_cancel_backend({was_there})::int")).await;
    assert_eq!(burying.await.unwrap(), [true]);
}
