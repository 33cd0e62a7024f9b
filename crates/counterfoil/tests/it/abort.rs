//! Crash points with a real death of a child process.

use counterfoil::relay::{HandlerError, Served, handler};
use counterfoil::testing::{
    AbortScenario, Delivered, TempStore, abort_at_every_crash_point, served,
};
use rusqlite::Connection;

use crate::{command, words};

/// Prints a label for each of two commands; once, where the table says so.
struct Labels {
    table: &'static str,
}

impl AbortScenario for Labels {
    fn set_up(&self, store: &TempStore) {
        store.connect().execute_batch(self.table).unwrap();
        let commands = (1..=2).map(|n| command("labels", "label", n)).collect();
        store.enqueue_blocking(commands).unwrap();
    }

    fn served(&self, store: &TempStore) -> Vec<Served> {
        let path = store.path().to_owned();
        let print = handler(move |attempt| {
            let path = path.clone();
            async move {
                tokio::task::yield_now().await;
                let id = attempt.command.command_id.as_str();
                let db = Connection::open(path)?;
                db.execute("INSERT OR IGNORE INTO label VALUES (?1)", [id])?;
                Ok::<_, HandlerError>(())
            }
        });
        vec![served("labels", print)]
    }

    fn check(&self, store: &TempStore, delivered: &Delivered) {
        delivered.assert_nothing_left();
        let count = "SELECT count(*) FROM label";
        let count: i64 = store.connect().query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 2, "printed");
    }
}

#[test]
fn a_right_handler_survives_an_abort_at_every_point() {
    let table = "CREATE TABLE label(id TEXT PRIMARY KEY)";
    let test = "abort::a_right_handler_survives_an_abort_at_every_point";
    let report = abort_at_every_crash_point(test, &Labels { table });
    assert_eq!(report.attempts, 2);
    for point in ["before the handler", "at wait 1", "before its settle", "settle's commit"] {
        let survived = report.survived.iter().filter(|one| one.contains(point)).count();
        assert_eq!(survived, 2, "{point}: {report:?}");
    }
}

#[test]
fn an_abort_before_the_settle_catches_a_handler_that_acts_again() {
    let test = "abort::an_abort_before_the_settle_catches_a_handler_that_acts_again";
    let labels = Labels { table: "CREATE TABLE label(id TEXT)" };
    // Not in `words`: a child process must come by here before anything else.
    let run = || drop(abort_at_every_crash_point(test, &labels));
    let said = words(run);
    assert!(said.starts_with("2 of "), "{said}");
    assert_eq!(said.matches("a crash after the handler, before its settle").count(), 2, "{said}");
}

#[test]
fn a_test_of_another_name_is_told() {
    let labels = Labels { table: "CREATE TABLE label(id TEXT PRIMARY KEY)" };
    let said = words(|| drop(abort_at_every_crash_point("abort::nowhere", &labels)));
    assert!(said.contains("no test is called abort::nowhere"), "{said}");
}
