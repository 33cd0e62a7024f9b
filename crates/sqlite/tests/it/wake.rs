//! The hint that something was committed, within a process and across.

use std::time::{Duration, Instant};

use counterfoil_core::port::Store;
use counterfoil_sqlite::{Options, Outbox as _, SqliteStore};
use rusqlite::Connection;

use crate::store::{command, fresh};

/// Longer than any machine takes, and shorter than the test's patience.
const LONG: Duration = Duration::from_secs(60);

async fn woken(store: &SqliteStore) {
    tokio::time::timeout(LONG / 2, store.changed(LONG)).await.expect("nobody woke it");
}

#[tokio::test]
async fn a_commit_between_look_and_wait_ends_the_wait() {
    let (_folder, store) = fresh();
    woken(&store).await;
    store.changed(Duration::from_millis(20)).await;
    store.enqueue(vec![command("a")]).await.unwrap()[0].clone().unwrap();
    woken(&store).await;
}

#[tokio::test]
async fn each_clone_hears_of_a_commit_for_itself() {
    let (_folder, one) = fresh();
    let other = one.clone();
    store_quiet(&one).await;
    store_quiet(&other).await;
    one.enqueue(vec![command("a")]).await.unwrap()[0].clone().unwrap();
    woken(&one).await;
    woken(&other).await;
}

/// Waits until what the start of the watch hints at is over.
async fn store_quiet(store: &SqliteStore) {
    loop {
        let begun = Instant::now();
        store.changed(Duration::from_millis(200)).await;
        if begun.elapsed() >= Duration::from_millis(200) {
            return;
        }
    }
}

/// A stranger's connection stands for another process: only the file tells of it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_strangers_commit_ends_the_wait_once_it_can_be_seen() {
    let (folder, store) = fresh();
    let mut stranger = Connection::open(folder.path().join("s.db")).unwrap();
    for id in ["a", "b", "c"] {
        store_quiet(&store).await;
        let waiting = store.clone();
        let woken = tokio::spawn(async move { woken(&waiting).await });
        tokio::time::sleep(Duration::from_millis(20)).await;
        let order = stranger.transaction().unwrap();
        order.enqueue(&command(id)).unwrap();
        order.commit().unwrap();
        woken.await.unwrap();
        assert_eq!(store.known(&[id.into()]).await.unwrap(), [true]);
    }
}

#[tokio::test]
async fn a_store_that_waited_can_be_closed_and_opened_again() {
    let (folder, store) = fresh();
    store.changed(Duration::from_millis(20)).await;
    store.enqueue(vec![command("a")]).await.unwrap()[0].clone().unwrap();
    drop(store);
    // The last connection is gone, so the log is folded into the file.
    assert!(!folder.path().join("s.db-wal").exists());
    let again = SqliteStore::open(folder.path().join("s.db"), Options::default()).unwrap();
    assert_eq!(again.known(&["a".into()]).await.unwrap(), [true]);
}
