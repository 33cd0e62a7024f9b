//! What meets a burial that is under way: rows are gone, tombstones have come, and nothing is
//! committed.

use counterfoil_core::audit::{AuditOptions, Expect, audit};
use counterfoil_core::domain::ReceiptOutcome;
use counterfoil_core::port::archive::{Archive as _, Erased};
use counterfoil_core::port::store::{Recorded, Reported, WriteRefused};
use counterfoil_core::port::{Acted, Store as _};

use super::scene::{AGAIN, Books, ann, command, deed, in_lane, report};
use crate::server::{Stranger, refusal, wait_for_lock};

const INSERT: &str = "INSERT INTO cf.outbox(command_id, destination, kind, body)
    VALUES ('a', 'shop', 'order.paid', 'body of a')";

const RECORD: &str = "SELECT cf.record('a', 'shop', 'order.paid', 'body of a', NULL,
    'application/json', NULL, NULL, NULL, NULL)";

/// How many rows were inserted, or how it was refused.
async fn insert(stranger: &Stranger, sql: &str) -> String {
    let done = stranger.execute(sql, &[]).await;
    done.map_or_else(|error| refusal(&error), |rows| rows.to_string())
}

/// The story: an id moves from one table to the other, and whoever waits at the unique index of the
/// first for the row to go has looked into the second before the tombstone was there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_twin_sees_the_row_or_the_tombstone() {
    let books = Books::alone().await;
    books.reported(&["a"]).await;
    let gate = books.gate("archived").await;
    let burying = books.burying(vec![books.entry("a").await]);
    wait_for_lock(&gate).await;
    let before = books.schema.stranger().await;
    before.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await.unwrap();
    let serializable = books.schema.stranger().await;
    serializable.run("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1").await.unwrap();
    let other = INSERT.replace("body of a", "another");
    // None of these waits: the row is still there for all of them.
    books.sql.run("SET lock_timeout = '3s'").await.unwrap();
    let hasty = books.schema.store().await;
    for (sql, wanted) in [
        (INSERT.to_owned(), "0"),
        (format!("{INSERT} ON CONFLICT DO NOTHING"), "0"),
        (other.clone(), "CF0104"),
    ] {
        assert_eq!(insert(&books.sql, &sql).await, wanted, "{sql}");
    }
    let said = "SELECT cf.enqueue('a', 'shop', 'order.paid', 'body of a')";
    assert_eq!(books.sql.query(said, &[]).await.unwrap()[0].get::<_, &str>(0), "repeated");
    // The library's own door waits at the index, looks into the archive after that, and takes its
    // row back.
    let (record, waiting) = (RECORD, books.schema.stranger().await);
    let recording = tokio::spawn(async move { waiting.query(record, &[]).await.unwrap() });
    let mut another = command("a");
    another.body = b"another".to_vec();
    let conflict = Err(WriteRefused::Conflict { id: "a".into() });
    for (twin, wanted) in [(command("a"), Ok(Recorded::Repeated)), (another, conflict)] {
        assert_eq!(hasty.enqueue(vec![twin]).await.unwrap(), [wanted]);
    }
    assert!(!burying.is_finished() && !recording.is_finished());
    books.open(&gate).await;
    assert_eq!(burying.await.unwrap(), [true]);
    assert_eq!(recording.await.unwrap()[0].get::<_, &str>(0), "repeated");
    // Whose snapshot is of before sees the row, and never comes to the index.
    for old in [&before, &serializable] {
        assert_eq!(insert(old, INSERT).await, "0");
        assert_eq!(old.query(said, &[]).await.unwrap()[0].get::<_, &str>(0), "repeated");
        assert_eq!(insert(old, &other).await, "CF0104");
        old.run("ROLLBACK").await.unwrap();
    }
    assert_eq!(insert(&books.sql, INSERT).await, "CF0103");
    assert_eq!(books.count("outbox").await, 0);
    books.is_sound().await;
}

/// A redelivery waits for the burial, and is told what became of it; in a lane, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redelivery_behind_a_burial_finds_it_archived() {
    let books = Books::alone().await;
    books.sent(vec![command("a"), in_lane("b")]).await;
    let gate = books.gate("archived").await;
    let burying = books.burying(books.page(0, 9).await.entries);
    wait_for_lock(&gate).await;
    let store = books.store.clone();
    let act = move |id: &'static str| {
        let store = store.clone();
        tokio::spawn(
            async move { store.act(vec![deed(id, AGAIN)], ann()).await.unwrap().remove(0) },
        )
    };
    let acting = [act("a"), act("b")];
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'";
    while books.sql.number(waits).await < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    books.open(&gate).await;
    assert_eq!(burying.await.unwrap(), [true, true]);
    for acting in acting {
        assert_eq!(acting.await.unwrap(), Acted::Archived);
    }
    assert_eq!((books.count("delivery").await, books.count("operator_action").await), (0, 0));
    books.is_sound().await;
}

/// And a burial leaves what a redelivery holds, without waiting for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burial_leaves_what_is_being_sent_again() {
    let books = Books::alone().await;
    books.reported(&["a", "b"]).await;
    let entries = books.page(0, 9).await.entries;
    let gate = books.gate("operator_action").await;
    let store = books.store.clone();
    let acting =
        tokio::spawn(async move { store.act(vec![deed("a", AGAIN)], ann()).await.unwrap() });
    wait_for_lock(&gate).await;
    assert_eq!(books.bury(entries.clone()).await, [false, true]);
    books.open(&gate).await;
    assert!(matches!(acting.await.unwrap()[0], Acted::Done { .. }));
    assert_eq!(books.bury(entries).await, [false, false], "it is open");
    books.is_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_behind_a_burial_is_judged_by_the_tombstone() {
    let books = Books::alone().await;
    books.reported(&["a", "b"]).await;
    let gate = books.gate("archived").await;
    let burying = books.burying(books.page(0, 9).await.entries);
    wait_for_lock(&gate).await;
    let store = books.store.clone();
    let by_library =
        tokio::spawn(async move { report(&store, "a", ReceiptOutcome::Rejected, None).await });
    let worker = books.schema.stranger().await;
    let by_sql = tokio::spawn(async move {
        let said = worker.query("SELECT cf.reject('b', 'no'::text)", &[]).await.unwrap();
        said[0].get::<_, String>(0)
    });
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'";
    while books.sql.number(waits).await < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    books.open(&gate).await;
    assert_eq!(burying.await.unwrap(), [true, true]);
    assert_eq!(by_library.await.unwrap(), Reported::Contradiction);
    assert_eq!(by_sql.await.unwrap(), "contradiction");
    assert_eq!(books.count("contradiction").await, 2);
}

/// A worker's open transaction says otherwise: its command is left, now and when it is committed.
#[tokio::test]
async fn a_burial_leaves_what_is_being_contradicted() {
    let books = Books::alone().await;
    books.reported(&["a", "b"]).await;
    let entries = books.page(0, 9).await.entries;
    let worker = books.schema.stranger().await;
    worker.run("BEGIN; SELECT cf.reject('a', 'no'::text)").await.unwrap();
    assert_eq!(books.bury(entries.clone()).await, [false, true]);
    worker.run("COMMIT").await.unwrap();
    assert_eq!(books.bury(entries).await, [false, false]);
    assert_eq!(books.page(0, 9).await.kept.contradicted, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_behind_a_burial_names_the_file() {
    let books = Books::alone().await;
    books.reported(&["a"]).await;
    let gate = books.gate("archived").await;
    let burying = books.burying(books.page(0, 9).await.entries);
    wait_for_lock(&gate).await;
    let store = books.store.clone();
    let erasing =
        tokio::spawn(async move { store.erase("a", ann(), "asked", None).await.unwrap() });
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'";
    while books.sql.number(waits).await < 1 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    books.open(&gate).await;
    assert_eq!(burying.await.unwrap(), [true]);
    let tombstone = books.tombstone("a").await.unwrap();
    assert_eq!(erasing.await.unwrap(), Erased::Archived(tombstone));
}

/// Its row may be gone rightly, once it is archived: that is looked at before it is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_archived_while_its_row_is_looked_for_is_no_surprise() {
    let books = Books::alone().await;
    books.reported(&["a", "b"]).await;
    // Whoever asks for the rows waits here, having read the commands.
    let gate = books.schema.stranger().await;
    gate.run("CREATE TABLE cf.users_rows(id text)").await.unwrap();
    gate.run("BEGIN; LOCK TABLE cf.users_rows IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let sql = format!("SELECT id FROM {}.users_rows", books.schema.name());
    let options = AuditOptions::default().expect(Expect::new(sql).kind("order.paid"));
    let store = books.store.clone();
    let auditing = tokio::spawn(async move { audit(&store, options).await.unwrap() });
    wait_for_lock(&gate).await;
    books.buried("a").await;
    gate.run("COMMIT").await.unwrap();
    let told = auditing.await.unwrap().violations.into_iter();
    let told: Vec<_> = told.map(|broken| (broken.code, broken.ids)).collect();
    assert_eq!(told, [("CF0832", vec!["b".to_owned()])]);
}
