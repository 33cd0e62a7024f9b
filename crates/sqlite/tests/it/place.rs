//! A file that is moved, removed or replaced while a store has it open.
//!
//! The story: an operator put a backup back by `mv` while a relay ran. The relay kept the old file
//! open, looked healthy, and delivered nothing of what was written to the new one, for ever.

use std::path::Path;

use counterfoil_core::domain::Destination;
use counterfoil_core::port::Store as _;
use counterfoil_core::port::store::{Exchange, StoreError};
use counterfoil_sqlite::SqliteStore;

use crate::store::{command, fresh};

async fn says_gone(store: &SqliteStore, name: &str) {
    let shipping = [Destination::new("shipping").unwrap()];
    // A writer without a relay looks now and then, every 20 ms.
    tokio::time::sleep(std::time::Duration::from_millis(40)).await;
    let heard = [
        store.next_due(&shipping).await.map(drop),
        store.exchange(Exchange::default()).await.map(drop),
        store.enqueue(vec![command("late")]).await.map(drop),
        store.status().await.map(drop),
    ];
    for heard in heard {
        let Err(StoreError::Broken(why)) = heard else { panic!("{heard:?}") };
        assert!(why.contains(name) && why.contains("start again"), "{why}");
    }
}

async fn works(store: &SqliteStore, id: &str) {
    store.enqueue(vec![command(id)]).await.unwrap()[0].clone().unwrap();
    store.next_due(&[Destination::new("shipping").unwrap()]).await.unwrap();
}

fn other_store(folder: &Path) -> std::path::PathBuf {
    let other = folder.join("other.db");
    drop(SqliteStore::init(&other, None).unwrap());
    other
}

#[tokio::test]
async fn a_file_replaced_under_a_relay_stops_it() {
    let (folder, store) = fresh();
    works(&store, "early").await;
    let other = other_store(folder.path());
    std::fs::rename(other, folder.path().join("s.db")).unwrap();
    says_gone(&store, "s.db: this file").await;
}

#[tokio::test]
async fn a_file_removed_under_a_relay_stops_it() {
    let (folder, store) = fresh();
    works(&store, "early").await;
    std::fs::remove_file(folder.path().join("s.db")).unwrap();
    says_gone(&store, "s.db: this file").await;
}

#[tokio::test]
async fn a_log_removed_under_a_relay_stops_it() {
    let (folder, store) = fresh();
    works(&store, "early").await;
    std::fs::remove_file(folder.path().join("s.db-wal")).unwrap();
    says_gone(&store, "s.db-wal: this write-ahead log").await;
}

/// Another program's checkpoints and vacuums change bytes, not files.
#[tokio::test]
async fn what_other_programs_may_do_stops_nobody() {
    let (folder, store) = fresh();
    works(&store, "early").await;
    for (id, sql) in [
        ("a", "PRAGMA wal_checkpoint(TRUNCATE)"),
        ("b", "VACUUM"),
        ("c", "PRAGMA wal_checkpoint(RESTART)"),
    ] {
        let stranger = rusqlite::Connection::open(folder.path().join("s.db")).unwrap();
        stranger.execute_batch(sql).unwrap();
        drop(stranger);
        works(&store, id).await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_store_behind_a_link_works_until_the_link_points_elsewhere() {
    let (folder, store) = fresh();
    drop(store);
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(folder.path().join("s.db"), &link).unwrap();
    let store = SqliteStore::open(&link, counterfoil_sqlite::Options::default()).unwrap();
    works(&store, "early").await;
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(other_store(folder.path()), &link).unwrap();
    says_gone(&store, "link.db: this file").await;
}
