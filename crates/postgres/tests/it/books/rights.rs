//! Who may archive, erase, mend and seal.

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::port::Store as _;
use counterfoil_core::port::archive::{Archive as _, Erased};
use counterfoil_core::port::seal::{Arrived, Audited as _};
use counterfoil_core::port::store::StoreError;
use counterfoil_postgres::{PostgresStore, roles_sql};

use super::scene::{Books, FILE, ann, bury, command};

async fn with_roles(books: Books, ids: &[&str]) -> Books {
    books.reported(ids).await;
    books.sql.client.batch_execute(&roles_sql(books.schema.name()).unwrap()).await.unwrap();
    books
}

/// The store, by a user who is in one role alone.
async fn store_as(books: &Books, role: &str) -> PostgresStore {
    let sql = format!("CREATE ROLE cf_{role}_user LOGIN PASSWORD 'secret' IN ROLE cf_{role}");
    books.sql.run(&sql).await.unwrap();
    let user = format!("{}_{role}_user:secret@", books.schema.name());
    let url = books.schema.url().replace("postgres@", &user);
    PostgresStore::open(&url, books.schema.options()).await.unwrap()
}

fn denied<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    let Err(StoreError::Broken(why)) = answer else { panic!("{answer:?}") };
    assert!(why.contains("42501"), "{why}");
}

#[tokio::test]
async fn a_relay_removes_nothing_and_seals_nothing() {
    let books = with_roles(Books::new().await, &["a"]).await;
    let relay = store_as(&books, "relay").await;
    let entries =
        relay.ended(counterfoil_core::domain::Micros::LATEST, 0, 9).await.unwrap().entries;
    denied(relay.bury(FILE, entries, None).await);
    denied(relay.erase("a", ann(), "", None).await);
    denied(relay.mend(&["a".into()], ann()).await);
    denied(relay.save_seal(0, "{}").await);
    assert_eq!((books.count("outbox").await, books.count("seal").await), (1, 0));
}

/// It sees snapshots of users that it knows nothing about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_archives_erases_mends_and_seals() {
    // A snapshot that is left open holds back others' tests, too.
    let books = with_roles(Books::alone().await, &["a", "b"]).await;
    let operator = store_as(&books, "operator").await;
    assert_eq!(operator.erase("a", ann(), "", None).await, Ok(Erased::Done));
    let page = async || {
        let page = operator.ended(counterfoil_core::domain::Micros::LATEST, 0, 9).await;
        page.unwrap().entries
    };
    assert_eq!(bury(&operator, page().await).await, [true, true]);
    let old = books.schema.stranger().await;
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await.unwrap();
    books.reported(&["young"]).await;
    assert_eq!(bury(&operator, page().await).await, [false]);
    books.enqueue(command("lost")).await;
    books.schema.forger().await.run("DELETE FROM cf.delivery").await.unwrap();
    assert_eq!(operator.mend(&["lost".into()], ann()).await, Ok(1));
    assert!(operator.horizon().await.unwrap().is_some());
    assert_eq!(operator.save_seal(0, "{}").await, Ok(true));
    assert_eq!(operator.save_seal(1, "{}").await, Ok(true));
    books.is_sound().await;
}

#[tokio::test]
async fn an_auditor_reads_all_and_writes_the_seal() {
    let books = with_roles(Books::new().await, &["a", "b"]).await;
    let auditor = store_as(&books, "auditor").await;
    let horizon = auditor.horizon().await.unwrap().unwrap();
    assert_eq!(horizon.n, 2);
    let (facts, _) = auditor.ended_since(Arrived::default(), 9).await.unwrap();
    assert_eq!(facts.commands.len(), 2);
    auditor.events(None, 9).await.unwrap();
    auditor.actions(0, 9).await.unwrap();
    assert!(audit(&auditor, AuditOptions::default()).await.unwrap().holds);
    assert_eq!(auditor.sealed().await, Ok(None));
    for (version, written) in [(0, true), (1, true), (1, false), (0, false)] {
        assert_eq!(auditor.save_seal(version, "{}").await, Ok(written), "{version}");
    }
    assert_eq!(auditor.sealed().await.unwrap().unwrap().version, 2);
    auditor.tombstones(None, 9).await.unwrap();
    denied(auditor.bury(FILE, vec![books.entry("a").await], None).await);
    denied(auditor.erase("a", ann(), "", None).await);
    denied(auditor.mend(&["a".into()], ann()).await);
    denied(auditor.enqueue(vec![command("c")]).await);
    books.is_sound().await;
}
