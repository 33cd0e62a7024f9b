//! Full disks and killed processes: nothing half done, and every answer true.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command as Process, Output};

use counterfoil_core::domain::Command;
use counterfoil_core::port::store::{Recorded, StoreError};
use counterfoil_sqlite::{Options, Outbox as _, SqliteStore};
use rusqlite::Connection;

use crate::store::{command, fresh};

/// Names the file to a child: this same test program, which then plays the part.
const CHILD: &str = "COUNTERFOIL_TEST_CHILD";

fn child_file() -> Option<std::path::PathBuf> {
    std::env::var_os(CHILD).map(Into::into)
}

/// Runs one test of this program as a child, under `limits`, shell words before it.
fn child(limits: &str, test: &str, file: &Path) -> Output {
    let program = std::env::current_exe().unwrap();
    Process::new("sh")
        .args(["-c", &format!("{limits} exec \"$0\" --exact --nocapture \"$1\"")])
        .arg(program)
        .arg(test)
        .env(CHILD, file)
        .output()
        .unwrap()
}

fn count(file: &Path, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM counterfoil_{table}");
    Connection::open(file).unwrap().query_row(&sql, [], |row| row.get(0)).unwrap()
}

/// The part: records until the file may grow no more, and then some, and says what it heard.
#[test]
fn plays_a_writer_on_a_full_disk() {
    let Some(file) = child_file() else { return };
    let store = SqliteStore::open(file, Options::default()).unwrap();
    let mut heard = String::from("\n");
    for i in 0..60 {
        let body = serde_json::json!("x".repeat(20_000));
        let large = Command::json(format!("c{i}"), "shipping", "k", &body).unwrap();
        let word = match store.enqueue_blocking(vec![large]) {
            Ok(answers) => {
                assert_eq!(answers, [Ok(Recorded::Recorded)]);
                "recorded"
            }
            Err(StoreError::Unavailable(_)) => "unavailable",
            Err(StoreError::NotKnown(_)) => "not_known",
            Err(other) => panic!("{other}"),
        };
        writeln!(heard, "heard c{i} {word}").unwrap();
    }
    println!("{heard}");
}

/// A limit on file size stands for the full disk: the log cannot grow, so COMMIT itself fails.
#[test]
fn on_a_full_disk_every_answer_is_true() {
    let (folder, store) = fresh();
    drop(store);
    let file = folder.path().join("s.db");
    // 512-byte blocks in some shells, 1,024 in others: half a MiB or one.
    let limits = "trap '' XFSZ; ulimit -f 1024;";
    let output = child(limits, "fault::plays_a_writer_on_a_full_disk", &file);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let connection = Connection::open(&file).unwrap();
    let (mut recorded, mut refused) = (0, 0);
    for line in said.lines().filter_map(|line| line.strip_prefix("heard ")) {
        let (id, word) = line.split_once(' ').unwrap();
        let sql = "SELECT count(*) FROM counterfoil_outbox WHERE command_id = ?1";
        let stands: i64 = connection.query_row(sql, [id], |row| row.get(0)).unwrap();
        match word {
            "recorded" => {
                assert_eq!(stands, 1, "{id} was called recorded");
                recorded += 1;
            }
            "unavailable" => {
                assert_eq!(stands, 0, "{id} was called not written");
                refused += 1;
            }
            _ => {}
        }
    }
    assert!(recorded > 3 && refused > 3, "{recorded} recorded, {refused} refused:\n{said}");
    assert_eq!(count(&file, "outbox"), count(&file, "delivery"));
    // With room again the same file goes on.
    let store = SqliteStore::open(&file, Options::default()).unwrap();
    assert_eq!(store.enqueue_blocking(vec![command("after")]).unwrap(), [Ok(Recorded::Recorded)]);
}

/// The part: dies between its writes and COMMIT.
#[test]
fn plays_a_writer_that_aborts() {
    let Some(file) = child_file() else { return };
    let mut connection = Connection::open(file).unwrap();
    let order = connection.transaction().unwrap();
    order.execute("CREATE TABLE orders(id TEXT)", []).unwrap();
    for i in 0..500 {
        order.enqueue(&command(&format!("c{i}"))).unwrap();
    }
    std::process::abort();
}

#[test]
fn an_abort_before_commit_leaves_nothing() {
    let (folder, store) = fresh();
    drop(store);
    let file = folder.path().join("s.db");
    let output = child("", "fault::plays_a_writer_that_aborts", &file);
    assert!(!output.status.success());
    assert_eq!((count(&file, "outbox"), count(&file, "delivery")), (0, 0));
    let orders = "SELECT count(*) FROM sqlite_schema WHERE name = 'orders'";
    let orders: i64 =
        Connection::open(&file).unwrap().query_row(orders, [], |row| row.get(0)).unwrap();
    assert_eq!(orders, 0);
}

/// The part: commits through the store, is heard, and dies at once.
#[test]
fn plays_a_store_that_is_killed() {
    let Some(file) = child_file() else { return };
    let store = SqliteStore::open(file, Options::default()).unwrap();
    let commands = (0..500).map(|i| command(&format!("c{i}"))).collect();
    assert_eq!(store.enqueue_blocking(commands).unwrap().len(), 500);
    println!("\nheard");
    std::process::abort();
}

#[test]
fn what_was_answered_stands_after_a_kill() {
    let (folder, store) = fresh();
    drop(store);
    let file = folder.path().join("s.db");
    let output = child("", "fault::plays_a_store_that_is_killed", &file);
    assert!(String::from_utf8_lossy(&output.stdout).contains("heard"));
    assert_eq!((count(&file, "outbox"), count(&file, "delivery")), (500, 500));
}
