//! An archiver that is killed in the middle of a burial, and one whose COMMIT is not answered.

use std::process::{Command, Stdio};
use std::time::Duration;

use counterfoil_core::domain::Micros;
use counterfoil_core::port::archive::Archive as _;
use counterfoil_postgres::{Options, PostgresStore};

use super::scene::{Books, bury, ids};
use crate::server::wait_for_lock;

const URL: &str = "COUNTERFOIL_BURY_URL";
const SCHEMA: &str = "COUNTERFOIL_BURY_SCHEMA";
const CHILD: &str = "books::killed::a_killed_archiver_has_done_nothing";

/// The child: it buries all that ended.
async fn archiver(url: &str) {
    let mut options = Options::default();
    options.schema = std::env::var(SCHEMA).unwrap();
    // Its backend stands at the gate for as long as the test takes.
    options.lock_timeout = Duration::from_secs(120);
    options.statement_timeout = Duration::from_secs(120);
    let store = PostgresStore::open(url, options).await.unwrap();
    let page = store.ended(Micros::LATEST, 0, 99).await.unwrap();
    bury(&store, page.entries).await;
    panic!("it was not killed in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_archiver_has_done_nothing() {
    if let Ok(url) = std::env::var(URL) {
        return archiver(&url).await;
    }
    let books = Books::alone().await;
    books.reported(&["a", "b", "c"]).await;
    let gate = books.gate("archived").await;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--nocapture"])
        .env(URL, books.schema.url())
        .env(SCHEMA, books.schema.name())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_lock(&gate).await;
    child.kill().unwrap();
    child.wait().unwrap();
    // Its backend is still at work: what it holds is left, and what it did is seen by nobody.
    let page = books.page(0, 9).await;
    assert_eq!(ids(&page.entries), ["a", "b", "c"]);
    assert_eq!(books.bury(page.entries).await, [false; 3]);
    books.is_sound().await;
    books.open(&gate).await;
    let number = books.number().await;
    let backend =
        format!("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = {number}");
    while books.sql.number(&backend).await > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!((books.count("outbox").await, books.count("archived").await), (3, 0));
    let page = books.page(0, 9).await;
    assert_eq!(books.bury(page.entries).await, [true; 3]);
    books.is_sound().await;
}
