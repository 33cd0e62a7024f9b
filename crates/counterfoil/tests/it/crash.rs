//! Crash points: a right handler survives them all, and each point catches a wrong one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use counterfoil::relay::{HandlerError, Served, handler};
use counterfoil::testing::{Crash, CrashPoint, TempStore, every_crash_point, served};
use counterfoil::{Attempt, Contract, Destination, Idempotent, Terms};
use futures_util::FutureExt as _;
use rusqlite::Connection;

use crate::command;

/// A label for each command, and how a handler may go about it.
fn labels(path: &Path, print: fn(&Connection, &Attempt) -> rusqlite::Result<()>) -> Vec<Served> {
    let path = path.to_owned();
    let print = handler(move |attempt| {
        let path: PathBuf = path.clone();
        async move { print(&Connection::open(path)?, &attempt).map_err(HandlerError::unknown) }
    });
    vec![served("labels", print)]
}

fn print_once(db: &Connection, attempt: &Attempt) -> rusqlite::Result<()> {
    let id = attempt.command.command_id.as_str();
    db.execute("INSERT OR IGNORE INTO label VALUES (?1)", [id]).map(drop)
}

fn site(commands: u32) -> (TempStore, Connection) {
    let store = TempStore::new();
    let db = store.connect();
    db.execute_batch("CREATE TABLE label(id TEXT); CREATE UNIQUE INDEX one ON label(id)").unwrap();
    store
        .enqueue_blocking((1..=commands).map(|n| command("labels", "label", n)).collect())
        .unwrap();
    (store, db)
}

fn count(db: &Connection) -> i64 {
    db.query_row("SELECT count(*) FROM label", [], |row| row.get(0)).unwrap()
}

/// What `every_crash_point` says about a scenario that some crash breaks.
async fn broken<Fut: Future<Output = ()>>(scenario: impl Fn(Crash) -> Fut) -> String {
    let ran = std::panic::AssertUnwindSafe(every_crash_point(scenario)).catch_unwind().await;
    *ran.expect_err("it should have broken").downcast::<String>().unwrap()
}

#[tokio::test]
async fn a_right_handler_survives_every_point_of_every_attempt() {
    let report = every_crash_point(|crash| async move {
        let (store, db) = site(3);
        let delivered = crash.deliver(&store, || labels(store.path(), print_once)).await;
        delivered.assert_nothing_left();
        assert_eq!(count(&db), 3);
    })
    .await;
    assert_eq!(report.attempts, 3);
    assert_eq!(report.survived.len(), 9, "{report:?}");
}

#[tokio::test]
async fn before_the_handler_catches_one_that_takes_a_second_attempt_for_a_repeat() {
    let said = broken(|crash| async move {
        let (store, db) = site(1);
        let served =
            || {
                labels(store.path(), |db, attempt| {
                    if attempt.number == 1 { print_once(db, attempt) } else { Ok(()) }
                })
            };
        crash.deliver(&store, served).await.assert_nothing_left();
        assert_eq!(count(&db), 1, "printed");
    })
    .await;
    assert!(said.starts_with("1 of 3 crashes break the scenario:"), "{said}");
    assert!(said.contains("a crash before the handler runs (attempt 1 of the run): "), "{said}");
    assert!(said.contains("printed"), "{said}");
}

#[tokio::test]
async fn after_the_handler_catches_one_that_acts_again() {
    let said = broken(|crash| async move {
        let (store, db) = site(1);
        db.execute_batch("DROP INDEX one").unwrap();
        crash.deliver(&store, || labels(store.path(), print_once)).await.assert_nothing_left();
        assert_eq!(count(&db), 1, "printed");
    })
    .await;
    assert!(said.starts_with("1 of 3 crashes break the scenario:"), "{said}");
    assert!(said.contains("a crash after the handler, before its settle"), "{said}");
}

#[tokio::test]
async fn one_that_acts_after_it_said_so_breaks_without_a_crash() {
    let said = broken(|crash| async move {
        let (store, db) = site(1);
        let path = store.path().to_owned();
        let served = || {
            let path = path.clone();
            let later = handler(move |attempt| {
                let path = path.clone();
                // It says that it is done, and has only promised to do it.
                tokio::spawn(async move {
                    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
                    print_once(&Connection::open(path).unwrap(), &attempt).unwrap();
                });
                async { Ok::<_, HandlerError>(()) }
            });
            vec![served("labels", later)]
        };
        crash.deliver(&store, served).await.assert_nothing_left();
        assert_eq!(count(&db), 1, "printed");
    })
    .await;
    assert!(said.starts_with("the scenario breaks without any crash: "), "{said}");
}

#[tokio::test]
async fn at_a_wait_catches_one_that_does_two_things_one_after_the_other() {
    let said = broken(|crash| async move {
        let (store, db) = site(1);
        db.execute_batch("CREATE TABLE parcel(id TEXT PRIMARY KEY)").unwrap();
        let path = store.path().to_owned();
        let served = || {
            let path = path.clone();
            let both = handler(move |attempt: Attempt| {
                let path = path.clone();
                async move {
                    let id = attempt.command.command_id.as_str();
                    let new = "INSERT OR IGNORE INTO label VALUES (?1)";
                    if Connection::open(&path)?.execute(new, [id])? == 0 {
                        return Ok(()); // "a repeat": the other half is forgotten
                    }
                    tokio::task::yield_now().await;
                    Connection::open(&path)?.execute("INSERT INTO parcel VALUES (?1)", [id])?;
                    Ok::<_, rusqlite::Error>(())
                }
            });
            vec![served("labels", both)]
        };
        crash.deliver(&store, served).await.assert_nothing_left();
        let parcels = db.query_row("SELECT count(*) FROM parcel", [], |row| row.get::<_, i64>(0));
        assert_eq!(parcels, Ok(1), "parcels");
    })
    .await;
    assert!(said.contains("a crash at wait 1 of the handler"), "{said}");
    assert!(!said.contains("before its settle") && !said.contains("commit"), "{said}");
}

#[tokio::test]
async fn after_the_settle_catches_one_that_keeps_in_memory_what_it_said_is_done() {
    let said = broken(|crash| async move {
        let (store, db) = site(2);
        let path = store.path().to_owned();
        // It writes in batches of two, and says of the first that it is done.
        let served = || {
            let (path, batch) = (path.clone(), Arc::new(Mutex::new(Vec::new())));
            let batched = handler(move |attempt: Attempt| {
                let (path, batch) = (path.clone(), Arc::clone(&batch));
                async move {
                    let mut batch = batch.lock().unwrap();
                    batch.push(attempt);
                    if batch.len() == 2 {
                        let db = Connection::open(path)?;
                        for one in batch.drain(..) {
                            print_once(&db, &one)?;
                        }
                    }
                    Ok::<_, rusqlite::Error>(())
                }
            });
            vec![served("labels", batched)]
        };
        crash.deliver(&store, served).await.assert_nothing_left();
        assert_eq!(count(&db), 2, "printed");
    })
    .await;
    assert!(said.contains("a crash after the settle's commit (attempt 1 of the run)"), "{said}");
}

/// Without keys nothing is resent: it acts at most once, and a person is asked.
#[tokio::test]
async fn a_receiver_without_keys_never_acts_twice_and_is_left_uncertain() {
    every_crash_point(|crash| async move {
        let (store, db) = site(1);
        db.execute_batch("DROP INDEX one").unwrap();
        let served = || {
            let handler = labels(store.path(), print_once).remove(0).transport;
            let terms = Terms::new(Contract::new(Idempotent::No));
            vec![Served::new(Destination::new("labels").unwrap(), terms, handler)]
        };
        let delivered = crash.deliver(&store, served).await;
        let states: Vec<_> = delivered.left.iter().map(|left| left.state.as_str()).collect();
        match crash.point() {
            None | Some(CrashPoint::AfterSettle) => assert_eq!((count(&db), states.len()), (1, 0)),
            Some(CrashPoint::BeforeHandler) => {
                assert_eq!((count(&db), states), (0, vec!["uncertain"]));
            }
            _ => assert_eq!((count(&db), states), (1, vec!["uncertain"])),
        }
    })
    .await;
}

#[tokio::test]
async fn a_scenario_that_breaks_by_itself_or_delivers_nothing_is_told() {
    let said = broken(|crash| async move {
        let (store, db) = site(1);
        crash.deliver(&store, || labels(store.path(), |_, _| Ok(()))).await;
        assert_eq!(count(&db), 1, "printed");
    })
    .await;
    assert!(said.starts_with("the scenario breaks without any crash: "), "{said}");
    let said = broken(|_| async {}).await;
    assert!(said.contains("delivers nothing"), "{said}");
    let asked = Mutex::new(0);
    let said = broken(|crash| {
        *asked.lock().unwrap() += 1;
        let commands = if *asked.lock().unwrap() == 1 { 1 } else { 0 };
        async move {
            let (store, _db) = site(commands);
            crash.deliver(&store, || labels(store.path(), print_once)).await;
        }
    })
    .await;
    assert!(said.contains("never came: the runs differ"), "{said}");
}
