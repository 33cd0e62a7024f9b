//! Claims and looks that wait in the commit queue for something to be due.

use std::sync::Arc;
use std::time::{Duration, Instant};

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::{InputKind, Program};
use counterfoil_core::port::store::{Exchanged, StoreError};
use counterfoil_core::port::workflow::{DueFrom, DueInput, NewInput};
use counterfoil_core::port::{Patience, Store as _, SystemClock, Workflows as _};
use counterfoil_sqlite::{Outbox as _, SqliteStore};
use rusqlite::Connection;
use tokio::task::JoinHandle;

use crate::store::{claim, command, declare, fresh};

/// So that it waits already.
const A_MOMENT: Duration = Duration::from_millis(30);
/// Longer than any machine takes.
const LONG: Duration = Duration::from_secs(30);

fn claiming(store: &SqliteStore) -> (JoinHandle<Result<Exchanged, StoreError>>, Patience) {
    let patience = Patience::new(Arc::new(SystemClock));
    let (own, until) = (store.clone(), patience.clone());
    (tokio::spawn(async move { own.claim_when_due(claim(10), until).await }), patience)
}

async fn claimed(claiming: JoinHandle<Result<Exchanged, StoreError>>) -> Vec<String> {
    let done = tokio::time::timeout(LONG, claiming).await.expect("an answer").unwrap().unwrap();
    done.claimed.into_iter().map(|one| one.command.command_id.to_string()).collect()
}

/// Each answer is given after COMMIT, so whoever reads then sees what was in that transaction.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_waited_for_is_claimed_in_the_transaction_that_records_it() {
    let (folder, store) = fresh();
    declare(&store).await;
    let reader = Connection::open(folder.path().join("s.db")).unwrap();
    for id in (0..20).map(|at| format!("c-{at}")) {
        let (claiming, _patience) = claiming(&store);
        tokio::time::sleep(A_MOMENT).await;
        let own = store.clone();
        let recording = command(&id);
        let recorded = tokio::task::spawn_blocking(move || own.enqueue_blocking(vec![recording]));
        assert!(recorded.await.unwrap().unwrap()[0].is_ok());
        let sql = "SELECT d.state FROM counterfoil_delivery d \
                   JOIN counterfoil_outbox o USING (n) WHERE o.command_id = ?1";
        let state: String = reader.query_row(sql, [&id], |row| row.get(0)).unwrap();
        assert_eq!(state, "sending", "{id}");
        assert_eq!(claimed(claiming).await, [id]);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_stranger_records_is_claimed_at_once() {
    let (folder, store) = fresh();
    declare(&store).await;
    let mut stranger = Connection::open(folder.path().join("s.db")).unwrap();
    for id in ["a", "b", "c"] {
        let (claiming, _patience) = claiming(&store);
        tokio::time::sleep(A_MOMENT).await;
        let order = stranger.transaction().unwrap();
        order.enqueue(&command(id)).unwrap();
        order.commit().unwrap();
        assert_eq!(claimed(claiming).await, [id]);
    }
}

/// A relay that looked again after each commit of its own process would look twice as often.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_commit_of_this_process_is_told_once() {
    let (_folder, store) = fresh();
    let quiet = Duration::from_millis(300);
    loop {
        let begun = Instant::now();
        store.changed(quiet).await;
        if begun.elapsed() >= quiet {
            break;
        }
    }
    for id in ["a", "b", "c"] {
        store.enqueue(vec![command(id)]).await.unwrap()[0].clone().unwrap();
        tokio::time::timeout(LONG, store.changed(LONG)).await.expect("it is told");
        let begun = Instant::now();
        store.changed(quiet).await;
        assert!(begun.elapsed() >= quiet, "{id} was told twice");
    }
}

#[tokio::test]
async fn a_runner_hears_of_an_input_in_the_transaction_that_brings_it() {
    let (_folder, store) = fresh();
    let program = Program::new("trip", 1).unwrap();
    let from = DueFrom { programs: vec![program], owner: "me".into(), limit: 10 };
    let patience = Patience::new(Arc::new(SystemClock));
    let (own, until, at) = (store.clone(), patience.clone(), from.clone());
    let waiting = tokio::spawn(async move { own.when_due(at, until).await });
    tokio::time::sleep(A_MOMENT).await;
    assert!(!waiting.is_finished());
    let start = NewInput {
        stream: Stream::new("t").unwrap(),
        id: "start".into(),
        kind: InputKind::Start,
        name: "trip".into(),
        body: None,
    };
    store.send_inputs(vec![start]).await.unwrap().remove(0).unwrap();
    let due: Vec<DueInput> =
        tokio::time::timeout(LONG, waiting).await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!(due, store.due_inputs(from.clone()).await.unwrap());
    assert_eq!(due.len(), 1);
    patience.end();
    // It is due already, and nobody waits any more: nothing is told.
    assert_eq!(store.when_due(from, patience).await.unwrap(), None);
}
