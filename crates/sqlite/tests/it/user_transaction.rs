//! Commands and decisions in the user's own transaction.

use counterfoil_core::domain::{Command, CommandId, Digest, Event, Micros, Stream};
use counterfoil_core::port::store::{Append, Recorded, WriteRefused};
use counterfoil_sqlite::{EnqueueError, Outbox as _, migrate, open_own};
use rusqlite::{Connection, TransactionBehavior};
use tempfile::TempDir;

use crate::store::command;

fn fresh() -> (TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = Connection::open(folder.path().join("s.db")).unwrap();
    migrate(&mut connection, None).unwrap();
    connection.execute_batch("CREATE TABLE orders(id TEXT PRIMARY KEY)").unwrap();
    (folder, connection)
}

fn count(connection: &Connection, table: &str) -> i64 {
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

fn decision(expected_seq: i64) -> Append {
    Append {
        stream: Stream::new("order-1").unwrap(),
        expected_seq,
        events: vec![Event::json("paid", &1).unwrap(), Event::json("packed", &2).unwrap()],
        commands: vec![Command::unnamed("shipping", "ship", &3).unwrap(); 2],
    }
}

#[test]
fn recorded_repeated_and_conflict_leave_the_transaction_usable() {
    let (_folder, mut connection) = fresh();
    let order = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    order.execute("INSERT INTO orders VALUES ('a')", []).unwrap();
    assert_eq!(order.enqueue(&command("a")).unwrap(), Recorded::Recorded);
    assert_eq!(order.enqueue(&command("a")).unwrap(), Recorded::Repeated);
    let other = Command::json("a", "shipping", "order.paid", &1).unwrap();
    let refused = order.enqueue(&other).unwrap_err();
    assert!(matches!(&refused, EnqueueError::Refused(WriteRefused::Conflict { id }) if id == "a"));
    assert_eq!(order.enqueue(&command("订单 📦")).unwrap(), Recorded::Recorded);
    order.commit().unwrap();
    let counts = ["orders", "counterfoil_outbox", "counterfoil_delivery"];
    assert_eq!(counts.map(|table| count(&connection, table)), [1, 2, 2]);
}

#[test]
fn what_is_rolled_back_leaves_neither_row_nor_command() {
    let (_folder, mut connection) = fresh();
    let order = connection.transaction().unwrap();
    order.execute("INSERT INTO orders VALUES ('a')", []).unwrap();
    order.enqueue(&command("a")).unwrap();
    order.append(&decision(0)).unwrap();
    drop(order);
    let tables = ["orders", "counterfoil_outbox", "counterfoil_delivery", "counterfoil_event"];
    assert_eq!(tables.map(|table| count(&connection, table)), [0; 4]);
    let order = connection.transaction().unwrap();
    order.append(&decision(0)).unwrap();
}

#[test]
fn an_archived_id_is_compared_by_its_digest() {
    let (folder, connection) = fresh();
    // Our own connections write tombstones; strangers do not.
    let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
    let digest = Digest::of(&command("a").body);
    own.execute(
        "INSERT INTO counterfoil_archived(command_id, destination, kind, ordering_key, \
         digest, outcome, rounds, file) VALUES ('a', 'shipping', 'order.paid', NULL, ?1, \
         'completed', 1, 'f')",
        [digest.as_bytes()],
    )
    .unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(connection.enqueue(&command("a")).unwrap(), Recorded::Repeated);
    let other = Command::json("a", "shipping", "order.paid", &1).unwrap();
    let refused = connection.enqueue(&other).unwrap_err();
    assert!(matches!(refused, EnqueueError::Refused(WriteRefused::Conflict { .. })));
    assert_eq!(count(&connection, "counterfoil_outbox"), 0);
}

#[test]
fn many_are_recorded_whole_or_not_at_all() {
    let (_folder, connection) = fresh();
    connection.execute_batch("BEGIN").unwrap();
    let three = connection.enqueue_all(&["a", "b", "a"].map(command)).unwrap();
    assert_eq!(three, [Recorded::Recorded, Recorded::Recorded, Recorded::Repeated]);
    let other = Command::json("a", "shipping", "order.paid", &1).unwrap();
    connection.enqueue_all(&[command("c"), other]).unwrap_err();
    connection.execute_batch("COMMIT").unwrap();
    assert_eq!(count(&connection, "counterfoil_outbox"), 2);
}

#[test]
fn a_decision_names_its_commands_and_its_version() {
    let (_folder, connection) = fresh();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let appended = connection.append(&decision(0)).unwrap();
    let ids: Vec<_> = appended.command_ids.iter().map(CommandId::as_str).collect();
    assert_eq!((appended.seq, ids), (2, vec!["order-1:2:0", "order-1:2:1"]));
    let refused = connection.append(&decision(0)).unwrap_err();
    let stands = WriteRefused::VersionConflict { stream: "order-1".into(), expected: 0, actual: 2 };
    assert!(matches!(refused, EnqueueError::Refused(refused) if refused == stands));
    connection.enqueue(&command("order-1:4:1")).unwrap();
    let taken = connection.append(&decision(2)).unwrap_err();
    let conflict = WriteRefused::Conflict { id: "order-1:4:1".into() };
    assert!(matches!(taken, EnqueueError::Refused(refused) if refused == conflict));
    let mut twice = decision(2);
    twice.events.iter_mut().for_each(|event| event.cause = Some("signal-1".into()));
    let refused = connection.append(&twice).unwrap_err();
    assert!(matches!(refused, EnqueueError::Refused(WriteRefused::CauseTaken { .. })));
    assert_eq!(count(&connection, "counterfoil_event"), 2);
    connection.execute_batch("COMMIT").unwrap();
}

/// After a decision, after a refused one and after a rollback a stranger's statement on the same
/// connection must meet the guards.
#[test]
fn the_pass_is_spent_on_every_way_out() {
    let (_folder, connection) = fresh();
    let forge = "INSERT INTO counterfoil_event(stream, seq, kind, body, commands, recorded_at) \
                 VALUES ('forged', 1, 'k', 'b', 0, 1764000000000000)";
    connection.execute_batch("BEGIN").unwrap();
    let without = Append { commands: Vec::new(), ..decision(0) };
    connection.append(&without).unwrap();
    assert!(connection.execute(forge, []).unwrap_err().to_string().contains("CF0111"));
    connection.append(&decision(2)).unwrap();
    connection.execute_batch("ROLLBACK").unwrap();
    assert!(connection.execute(forge, []).unwrap_err().to_string().contains("CF0111"));
    // A failure in the middle: the third page limit is reached while the pass is armed.
    let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    connection.execute_batch(&format!("PRAGMA max_page_count = {pages}; BEGIN")).unwrap();
    let body = serde_json::json!("x".repeat(100_000));
    let large = Command::unnamed("shipping", "ship", &body).unwrap();
    let full = connection.append(&Append { commands: vec![large], ..decision(0) }).unwrap_err();
    assert!(matches!(&full, EnqueueError::Sqlite(_)), "{full}");
    assert!(connection.execute(forge, []).unwrap_err().to_string().contains("CF0111"));
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK").unwrap();
    }
    assert_eq!(count(&connection, "counterfoil_event"), 0);
}

#[test]
fn refusals_name_the_rule_and_the_way_out() {
    let (folder, connection) = fresh();
    let outside = connection.enqueue(&command("a")).unwrap_err();
    assert!(outside.to_string().contains("BEGIN IMMEDIATE"), "{outside}");
    connection.execute_batch("BEGIN").unwrap();
    let refused = |command: Command| connection.enqueue(&command).unwrap_err().to_string();
    let mut expiring = command("a");
    expiring.expires_at = Some(Micros::new(1_764_421_200));
    assert!(refused(expiring).contains("expires_at"), "seconds are no microseconds");
    let unnamed = Command::unnamed("shipping", "ship", &1).unwrap();
    assert!(refused(unnamed).contains("business id"));
    let large = Command::bytes("a", "shipping", "ship", vec![0; 1_048_577]).unwrap();
    assert!(refused(large).contains("body_bytes_max"));
    let long_type = command("a").content_type("t".repeat(256));
    assert!(refused(long_type).contains("content_type"));
    assert_eq!(count(&connection, "counterfoil_outbox"), 0);
    connection.execute_batch("ROLLBACK").unwrap();
    let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
    own.execute_batch("BEGIN").unwrap();
    assert!(matches!(own.enqueue(&command("a")), Err(EnqueueError::TriggersOff)));
}

#[test]
fn bytes_come_back_as_they_were() {
    let (_folder, connection) = fresh();
    connection.execute_batch("BEGIN").unwrap();
    let body = vec![0, 0xff, b'{', 0, 10];
    let bytes = Command::bytes("a", "shipping", "ship", body.clone()).unwrap();
    connection.enqueue(&bytes).unwrap();
    assert_eq!(connection.enqueue(&bytes).unwrap(), Recorded::Repeated);
    let stored: Vec<u8> =
        connection.query_row("SELECT body FROM counterfoil_outbox", [], |row| row.get(0)).unwrap();
    assert_eq!(stored, body);
}

/// The story: a newcomer began with `transaction()`, which is deferred, or forgot `init`, and
/// heard only what SQLite calls it.
#[test]
fn a_deferred_transaction_and_a_file_without_schema_are_told_the_way_out() {
    let (folder, mut connection) = fresh();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    let late = connection.transaction().unwrap();
    assert_eq!(count(&late, "orders"), 0);
    let other = Connection::open(folder.path().join("s.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other.enqueue(&command("a")).unwrap();
    other.execute_batch("COMMIT").unwrap();
    let refused = late.enqueue(&command("b")).unwrap_err().to_string();
    assert!(refused.contains("begin with BEGIN IMMEDIATE"), "{refused}");
    let bare = Connection::open(folder.path().join("bare.db")).unwrap();
    bare.execute_batch("BEGIN").unwrap();
    let refused = bare.enqueue(&command("a")).unwrap_err().to_string();
    assert!(refused.contains("run `counterfoil init`"), "{refused}");
}
