//! Burials beside everybody else, and cut off in the middle: rows or a tombstone, never neither.

use std::path::Path;
use std::process::Command as Process;
use std::time::Duration;

use counterfoil_core::port::archive::{Archive as _, Buried, Entry, SealChange};
use counterfoil_core::port::store::{Recorded, Reported, StoreError};
use counterfoil_core::port::{Acted, Audited as _, Clock as _, Store as _};
use counterfoil_sqlite::{Options, SqliteStore};
use rusqlite::Connection;

use crate::archive::{REDELIVER, act, broken, bury, completed_shop, end_as, id, page, rejected};
use crate::store::{claim, command, completed, settle_all};

const MANY: usize = 40;

/// A store with many ended commands, and the same file as another process has it.
async fn two() -> (tempfile::TempDir, SqliteStore, SqliteStore) {
    let names: Vec<String> = (0..MANY).map(|i| format!("c{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (folder, store) = completed_shop(&names).await;
    let other = SqliteStore::open(folder.path().join("s.db"), Options::default()).unwrap();
    (folder, store, other)
}

/// Buries one in a task of its own; whether it went.
fn burying(store: &SqliteStore, entry: Entry) -> tokio::task::JoinHandle<bool> {
    let store = store.clone();
    tokio::spawn(async move {
        store.bury("f", vec![entry], None).await.unwrap() == Buried::Done(vec![true])
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redelivery_wins_or_the_archive_does() {
    let (_folder, store, other) = two().await;
    for entry in page(&store).await.entries {
        let id = entry.outbox.command_id.to_string();
        let burying = burying(&store, entry);
        let acted = act(&other, &id, REDELIVER).await;
        match (burying.await.unwrap(), &acted) {
            (true, Acted::Archived) | (false, Acted::Done { .. }) => {}
            both => panic!("{id}: {both:?}"),
        }
    }
    assert_eq!(broken(&store).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_report_is_kept_whoever_comes_first() {
    let (_folder, store, other) = two().await;
    let mut left = 0;
    for entry in page(&store).await.entries {
        let id = id(entry.outbox.command_id.as_str());
        let burying = burying(&store, entry);
        let reported = other.report(&id, rejected("no")).await.unwrap();
        assert_eq!(reported, Reported::Contradiction, "{id}");
        let archived = burying.await.unwrap();
        left += usize::from(!archived);
        let story = store.show(id.as_str()).await.unwrap().unwrap();
        assert_eq!((story.archived, story.contradicted), (archived, true), "{id}");
    }
    assert_eq!(broken(&store).await, vec!["CF0822"; left], "what is contradicted stays");
    assert_eq!(bury(&store).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_of_the_id_is_a_repeat_before_and_after() {
    let (_folder, store, other) = two().await;
    for entry in page(&store).await.entries {
        let id = entry.outbox.command_id.to_string();
        let burying = burying(&store, entry);
        let answer = other.enqueue(vec![command(&id)]).await.unwrap();
        assert_eq!(answer, [Ok(Recorded::Repeated)], "{id}");
        assert!(burying.await.unwrap(), "a repeat changes nothing: {id}");
    }
    assert_eq!(broken(&store).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_goes_on_beside_a_burial() {
    let (_folder, store, relay) = two().await;
    let new = (0..MANY * 4).map(|i| command(&format!("new-{i}"))).collect();
    store.enqueue(new).await.unwrap();
    let relaying = tokio::spawn(async move {
        let mut ended = 0;
        loop {
            let claimed = relay.exchange(claim(3)).await.unwrap().claimed;
            if claimed.is_empty() {
                return ended;
            }
            ended += claimed.len();
            settle_all(&relay, &claimed, completed()).await;
        }
    });
    let mut buried = 0;
    let mut after = 0;
    loop {
        let page = store.ended(crate::archive::later(&store), after, 7).await.unwrap();
        after = page.looked_at;
        let Buried::Done(done) = store.bury("f", page.entries, None).await.unwrap() else {
            panic!("no seal is asked for");
        };
        buried += done.into_iter().filter(|gone| *gone).count();
        if page.last && relaying.is_finished() {
            break;
        }
        if page.last {
            after = 0;
        }
    }
    // The one that was open in the beginning, too.
    assert_eq!(relaying.await.unwrap(), MANY * 4 + 1);
    buried += bury(&store).await;
    assert_eq!(buried, MANY * 5, "all but the newest");
    assert_eq!(broken(&store).await, [""; 0]);
}

/// The machine's clock jumped, so what is old is not known: it stops with the relays.
#[tokio::test]
async fn a_burial_stops_where_a_relay_does() {
    let (folder, store) = completed_shop(&["a"]).await;
    let clock = counterfoil_testkit::ManualClock::default();
    clock.step_machine(store.now().unwrap().since(clock.machine()).as_micros());
    let path = folder.path().join("s.db");
    let own = std::sync::Arc::new(clock.clone());
    let jumped = SqliteStore::open_with_clock(path, Options::default(), own).unwrap();
    let entries = page(&store).await.entries;
    clock.step_machine(7_200_000_000);
    let stopped = jumped.bury("f", entries.clone(), None).await;
    assert!(matches!(stopped, Err(StoreError::Clock(_))), "{stopped:?}");
    assert_eq!(store.bury("f", entries, None).await.unwrap(), Buried::Done(vec![true]));
}

/// Names the file to a child: this same test program, which then plays the part.
const CHILD: &str = "COUNTERFOIL_TEST_GRAVEDIGGER";
/// After how many microseconds it dies.
const DELAY: &str = "COUNTERFOIL_TEST_DELAY";

/// The part: buries all there are in one transaction, and dies wherever it is by then.
#[tokio::test]
async fn plays_a_gravedigger_that_aborts() {
    let Some(file) = std::env::var_os(CHILD) else { return };
    let delay: u64 = std::env::var(DELAY).unwrap().parse().unwrap();
    let store = SqliteStore::open(file, Options::default()).unwrap();
    let entries = page(&store).await.entries;
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_micros(delay));
        std::process::abort();
    });
    let seal = Some(SealChange { version: 0, seal: "buried".into() });
    assert!(matches!(store.bury("f", entries, seal).await.unwrap(), Buried::Done(_)));
}

fn count(file: &Path, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM counterfoil_{table}");
    Connection::open(file).unwrap().query_row(&sql, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn an_abort_in_the_middle_leaves_rows_or_tombstones() {
    let (folder, store, other) = two().await;
    let more = (0..400).map(|i| command(&format!("more-{i}"))).collect();
    store.enqueue(more).await.unwrap();
    end_as(&store, completed()).await;
    store.enqueue(vec![command("newest")]).await.unwrap();
    drop((store, other));
    let file = folder.path().join("s.db");
    let all = count(&file, "outbox");
    let (mut delay, mut cut_off) = (0, 0);
    while count(&file, "archived") == 0 {
        let child = Process::new(std::env::current_exe().unwrap())
            .args(["--exact", "archive_race::plays_a_gravedigger_that_aborts"])
            .env(CHILD, &file)
            .env(DELAY, delay.to_string())
            .output()
            .unwrap();
        let store = SqliteStore::open(&file, Options::default()).unwrap();
        let (rows, tombs) = (count(&file, "outbox"), count(&file, "archived"));
        assert!([(all, 0), (1, all - 1)].contains(&(rows, tombs)), "{rows} rows, {tombs} tombs");
        assert_eq!(store.sealed().await.unwrap().is_some(), tombs > 0, "the seal goes with them");
        assert_eq!(broken(&store).await, [""; 0]);
        cut_off += usize::from(!child.status.success() && tombs == 0);
        delay += 1000 + delay / 4;
    }
    assert!(cut_off > 0, "it was never cut off");
}
