//! Inputs as strangers write them by SQL, and how they come to a runner.

use counterfoil_core::domain::Span;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::workflow::{Aside, Dropped, DueFrom, Quarantine, WorkflowFilter};
use counterfoil_core::port::{Actor, Workflows as _};
use counterfoil_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::store::fresh;
use crate::workflow::{decision, due, start, step, stream, trip};

const INSERT: &str = "INSERT INTO counterfoil_input(stream, id, kind, name, body) VALUES ";

async fn ids(store: &SqliteStore) -> Vec<String> {
    due(store).await.into_iter().map(|input| input.id).collect()
}

#[tokio::test]
async fn a_signal_before_its_start_waits_for_it() {
    let (folder, store) = fresh();
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    let write = |values: &str| stranger.execute(&format!("{INSERT}{values}"), []).unwrap();
    write("('t', 'early', 'signal', 'early', 'b')");
    assert_eq!(ids(&store).await.len(), 0);
    let orphans = store.waiting_inputs(None, None, 10).await.unwrap();
    assert_eq!((orphans.len(), orphans[0].is_served), (1, false));
    write("('t', 'start', 'start', 'trip', NULL)");
    assert_eq!(ids(&store).await, ["start"]);
    assert_eq!(store.waiting_inputs(None, None, 10).await.unwrap(), [], "its start waits");
    let none = store.workflow("t").await.unwrap().unwrap();
    assert_eq!((none.program.as_str(), none.status), ("trip", None));
    assert_eq!(store.steps(vec![start("t", 0)]).await.unwrap(), [Ok(())]);
    assert_eq!(ids(&store).await, ["early"]);
    write("('t', 'again', 'start', 'trip', NULL)");
    write("('t', 'stop', 'cancel', 'enough', NULL)");
    assert_eq!(ids(&store).await, ["early", "again", "stop"]);
    let all = vec![
        decision("early", "signal:early", 0),
        decision("again", "start:trip", 0),
        decision("stop", "cancel:enough", 0),
    ];
    assert_eq!(store.steps(vec![step("t", 2, all)]).await.unwrap(), [Ok(())]);
    // As it stands in the event.
    assert_eq!(write("('t', 'early', 'signal', 'early', 'b')"), 0);
}

#[tokio::test]
async fn what_waits_for_a_quarantined_workflow_is_not_met() {
    let (folder, store) = fresh();
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    let write = |values: &str| stranger.execute(&format!("{INSERT}{values}"), []).unwrap();
    let aside = |of: &str, expected_seq| Quarantine {
        stream: stream(of),
        program: trip(),
        expected_seq,
        reason: "it panicked".into(),
        input: "go".into(),
    };
    let actor = || Actor { name: "ann".into(), reason: "mended".into() };
    write("('t', 'start', 'start', 'trip', NULL), ('n', 'start', 'start', 'trip', NULL)");
    assert_eq!(store.steps(vec![start("t", 0)]).await.unwrap(), [Ok(())]);
    write("('t', 'go', 'signal', 'go', NULL)");
    assert_eq!(store.quarantine(aside("t", 1)).await.unwrap(), Aside::Moved);
    assert_eq!(store.quarantine(aside("t", 2)).await.unwrap(), Aside::Workflow);
    assert_eq!(store.quarantine(aside("t", 2)).await.unwrap(), Aside::Moved);
    // One that never began.
    assert_eq!(store.quarantine(aside("n", 0)).await.unwrap(), Aside::Workflow);
    write("('t', 'more', 'signal', 'more', NULL)");
    assert_eq!(ids(&store).await.len(), 0);
    // Not even by who sets out to adopt it, nor does it grow too old.
    let kept = store.keep_inputs(10, Span::ZERO).await.unwrap();
    assert_eq!((kept.adopted, kept.expired), (0, 0));
    let refused = step("t", 2, vec![decision("go", "signal:go", 0)]);
    assert!(store.steps(vec![refused]).await.unwrap()[0].is_err());
    let filter = WorkflowFilter {
        status: Some(Status::Quarantined),
        limit: 10,
        ..WorkflowFilter::default()
    };
    let listed = store.workflows(filter).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|one| (one.stream.as_str(), one.head)).collect();
    assert_eq!(listed, [("n", 0), ("t", 2)]);
    for of in ["t", "n"] {
        assert!(store.retry_workflow(&stream(of), actor()).await.unwrap(), "{of}");
        assert!(!store.retry_workflow(&stream(of), actor()).await.unwrap(), "{of}");
    }
    assert_eq!(ids(&store).await, ["start", "go", "more"]);
    assert_eq!(store.steps(vec![start("n", 0)]).await.unwrap(), [Ok(())]);
}

/// Bytes that are no UTF-8, as text: what a C program writes. One costs nobody a place.
#[tokio::test]
async fn what_cannot_be_read_is_left_out_and_set_aside() {
    let (folder, store) = fresh();
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    for i in 0..5 {
        let bad = format!("(CAST(x'74ff0{i}' AS TEXT), 's', 'start', 'trip', NULL)");
        let bad = bad.replace("ff0", "ff4");
        stranger.execute(&format!("{INSERT}{bad}"), []).unwrap();
    }
    stranger.execute(&format!("{INSERT}('t', 's', 'start', 'trip', NULL)"), []).unwrap();
    let from = DueFrom { programs: vec![trip()], owner: "me".into(), limit: 2 };
    assert_eq!(store.due_inputs(from).await.unwrap().len(), 1);
    let served = "SELECT count(*) FROM counterfoil_input WHERE workflow IS NOT NULL";
    let served = || stranger.query_row(served, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(served(), 6);
    store.keep_inputs(3, Span::from_secs(60)).await.unwrap();
    assert_eq!(served(), 3);
    let kept = store.keep_inputs(3, Span::from_secs(60)).await.unwrap();
    assert_eq!((served(), kept.adopted), (1, 0));
    assert_eq!(ids(&store).await, ["s"]);
}

/// The story: a start whose id was no UTF-8 stood in no list, and could not be taken away; a signal
/// of such a name was shown as set aside, and `drop` said that a runner decided it.
#[tokio::test]
async fn what_cannot_be_read_is_listed_and_taken_away() {
    let (folder, store) = fresh();
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    let write = |values: &str| stranger.execute(&format!("{INSERT}{values}"), []).unwrap();
    let actor = || Actor { name: "ann".into(), reason: "nobody can read it".into() };
    write("('t', 'start', 'start', 'trip', NULL)");
    assert_eq!(store.steps(vec![start("t", 0)]).await.unwrap(), [Ok(())]);
    write("('t', 'go', 'signal', CAST(x'fe' AS TEXT), NULL), ('t', 'fine', 'signal', 'go', NULL)");
    write("('a', CAST(x'fe' AS TEXT), 'start', 'trip', NULL)");
    write("('b', CAST(x'61ff' AS TEXT), 'start', 'trip', NULL)");
    write("(CAST(x'63fe' AS TEXT), 'start', 'start', 'trip', NULL)");
    assert_eq!(ids(&store).await, ["fine"]);
    store.keep_inputs(10, Span::from_secs(60)).await.unwrap();
    let orphans = store.waiting_inputs(None, None, 10).await.unwrap();
    let told: Vec<_> = orphans.iter().map(|one| (one.stream.as_str(), one.id.as_str())).collect();
    assert_eq!(told, [("a", "\u{fffd}"), ("b", "a\u{fffd}"), ("c\u{fffd}", "start")]);
    let waiting = WorkflowFilter { is_waiting: true, limit: 10, ..WorkflowFilter::default() };
    assert_eq!(store.workflows(waiting).await.unwrap(), []);
    let drop = async |of: &str, id: &str| store.drop_input(&stream(of), id, actor()).await.unwrap();
    assert_eq!(drop("t", "fine").await, Dropped::Served);
    assert_eq!(drop("t", "go").await, Dropped::Done);
    assert_eq!(drop("a", "b\u{fffd}").await, Dropped::Unknown);
    assert_eq!(drop("a", "\u{fffd}").await, Dropped::Done);
    assert_eq!(drop("c\u{fffd}", "start").await, Dropped::Done);
    // What is left grows too old; it never was a start.
    std::thread::sleep(std::time::Duration::from_millis(3));
    let kept = store.keep_inputs(10, Span::ZERO).await.unwrap();
    assert_eq!((kept.adopted, kept.expired), (0, 1));
    assert_eq!(store.waiting_inputs(None, None, 10).await.unwrap(), []);
    let acts = "SELECT group_concat(verb || ' ' || about, ', ') FROM counterfoil_operator_action";
    let acts: String = stranger.query_row(acts, [], |row| row.get(0)).unwrap();
    let all = "input drop t, input drop a, input drop c\u{fffd}, input expire b";
    assert_eq!(acts, all);
}

#[tokio::test]
async fn orphans_are_adopted_or_expire_a_few_at_a_time() {
    let (folder, store) = fresh();
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    let write = |values: &str| stranger.execute(&format!("{INSERT}{values}"), []).unwrap();
    for i in 0..5 {
        write(&format!("('o{i}', 's', 'signal', 'go', NULL)"));
    }
    // Two that wait for a start, which does not grow too old.
    write("('p', 's', 'signal', 'go', NULL), ('p', 'start', 'start', 'trip', NULL)");
    let long = Span::from_secs(3600);
    let kept = store.keep_inputs(100, long).await.unwrap();
    assert_eq!((kept.adopted, kept.expired, kept.more), (0, 0, false));
    std::thread::sleep(std::time::Duration::from_millis(3));
    let kept = store.keep_inputs(4, Span::ZERO).await.unwrap();
    assert_eq!((kept.expired, kept.more), (4, true));
    let kept = store.keep_inputs(4, Span::ZERO).await.unwrap();
    assert_eq!((kept.expired, kept.more), (1, false));
    let acts = "SELECT count(*) FROM counterfoil_operator_action WHERE verb = 'input expire'";
    let acts: i64 = stranger.query_row(acts, [], |row| row.get(0)).unwrap();
    assert_eq!(acts, 5);
    // One that was written beside a start in another transaction is adopted.
    assert_eq!(store.steps(vec![start("p", 0)]).await.unwrap(), [Ok(())]);
    let own = counterfoil_sqlite::open_own(&folder.path().join("s.db")).unwrap().0;
    own.execute("UPDATE counterfoil_input SET workflow = NULL", []).unwrap();
    assert_eq!(ids(&store).await.len(), 0);
    let kept = store.keep_inputs(4, Span::ZERO).await.unwrap();
    assert_eq!((kept.adopted, kept.expired), (1, 0));
    assert_eq!(ids(&store).await, ["s"]);
    let all = store.waiting_inputs(Some("p"), None, 10).await.unwrap();
    assert!(all.len() == 1 && all[0].is_served, "{all:?}");
}

/// No pointer but our own is followed: a forged one has no receipt, and a look-alike is none.
#[tokio::test]
async fn a_pointer_to_nothing_has_no_receipt() {
    let (folder, store) = fresh();
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    stranger
        .execute_batch(&format!(
            "{INSERT}('t', 'start', 'start', 'trip', NULL);
             INSERT INTO counterfoil_outbox(command_id, destination, kind, body)
               VALUES ('t:1:0', 'd', 'k', 'b');
             INSERT INTO counterfoil_report(command_id, outcome) VALUES ('t:1:0', 'completed');"
        ))
        .unwrap();
    assert_eq!(store.steps(vec![start("t", 0)]).await.unwrap(), [Ok(())]);
    let own = counterfoil_sqlite::open_own(&folder.path().join("s.db")).unwrap().0;
    for id in ["receipt:1:0", "receipt:9:0", "receipt:x"] {
        let sql = "INSERT INTO counterfoil_input(stream, id, kind, name, workflow) \
                   VALUES ('t', ?1, 'receipt', 'completed', 'trip/1')";
        own.execute(sql, [id]).unwrap();
    }
    let due = due(&store).await;
    assert_eq!(due.len(), 3);
    assert!(due.iter().all(|input| input.receipt.is_none()));
}
