//! The inbox's rows through the library: on a user's connection, whose guards are on, and on ours.
//!
//! Guarantees: what is taken, found, finished, forgotten, and by which index. Does not: judge
//! repeats; the guard of the inbox does.

use std::path::PathBuf;

use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome, Span};
use counterfoil_core::port::{Book, Call, InboxEntry, InboxRows, Job, Page};
use counterfoil_sqlite::{InboxBook, InboxTx, InboxTxError, init, migrate};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tempfile::TempDir;

const DAY: Span = Span::from_secs(86_400);
const PAST: i64 = 1_500_000_000_000_000;

/// A file, seen by a connection with the guards on, then by one of our own.
fn both() -> [(TempDir, PathBuf, Connection); 2] {
    [true, false].map(|guarded| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shop.db");
        let connection = if guarded {
            let mut connection = Connection::open(&path).unwrap();
            migrate(&mut connection, None).unwrap();
            connection
        } else {
            init(&path, None).unwrap().0
        };
        (dir, path, connection)
    })
}

fn immediate(connection: &mut Connection) -> Transaction<'_> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap()
}

fn take<R: InboxRows>(rows: &mut R, key: &str) -> Result<Option<InboxEntry>, R::Error> {
    let until = rows.now()?.plus(DAY);
    rows.insert("s", key, Digest::of(b"{}"), until)
}

fn old(connection: &Connection, key: &str) {
    let insert = "INSERT INTO counterfoil_inbox(source, key, digest, expires_at)
                  VALUES ('s', ?1, x'00', ?2)";
    connection.execute(insert, rusqlite::params![key, PAST]).unwrap();
}

fn keys(connection: &Connection) -> i64 {
    let count = "SELECT count(*) FROM counterfoil_inbox";
    connection.query_row(count, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_key_is_taken_found_and_finished_once() {
    for (_dir, _, mut connection) in both() {
        let mut rows = InboxTx::new(immediate(&mut connection));
        assert_eq!(take(&mut rows, "k").unwrap(), None);
        let standing = take(&mut rows, "k").unwrap().unwrap();
        assert_eq!((standing.digest, standing.outcome), (Digest::of(b"{}"), None));
        assert_eq!(rows.look("s", "k").unwrap(), Some(standing));
        assert_eq!(rows.look("t", "k").unwrap(), None);
        rows.finish("s", "k", ReceiptOutcome::Rejected, b"no").unwrap();
        let again = rows.finish("s", "k", ReceiptOutcome::Completed, b"yes");
        assert!(matches!(again, Err(InboxTxError::NotHeld { .. })));
        let never = rows.finish("s", "l", ReceiptOutcome::Completed, b"yes");
        assert!(matches!(never, Err(InboxTxError::NotHeld { .. })));
        rows.into_inner().commit().unwrap();
        let mut rows = InboxTx::new(immediate(&mut connection));
        let standing = take(&mut rows, "k").unwrap().unwrap();
        assert_eq!(standing.outcome, Some(ReceiptOutcome::Rejected));
        assert_eq!(standing.result.as_deref(), Some(b"no".as_slice()));
        let age = rows.now().unwrap().since(standing.received_at);
        assert!(age < Span::from_secs(60), "{age:?}");
    }
}

#[test]
fn it_works_through_every_kind_of_transaction_and_through_none_not_at_all() {
    for (_dir, _, mut connection) in both() {
        let refused = take(&mut InboxTx::new(&connection), "a").unwrap_err();
        assert!(matches!(refused, InboxTxError::NoTransaction { .. }), "{refused}");
        let mut transaction = immediate(&mut connection);
        assert_eq!(take(&mut InboxTx::new(&transaction), "a").unwrap(), None);
        let savepoint = transaction.savepoint().unwrap();
        assert_eq!(take(&mut InboxTx::new(&savepoint), "b").unwrap(), None);
        drop(savepoint);
        let mut owned = InboxTx::new(transaction.savepoint().unwrap());
        assert_eq!(take(&mut owned, "c").unwrap(), None);
        owned.into_inner().commit().unwrap();
        transaction.commit().unwrap();
        assert_eq!(keys(&connection), 2);
    }
}

#[test]
fn an_expired_key_is_absent_and_replaced_and_a_purge_is_bounded() {
    for (_dir, _, mut connection) in both() {
        ["a", "b", "c", "d"].into_iter().for_each(|key| old(&connection, key));
        let kept = "INSERT INTO counterfoil_inbox(source, key, digest) VALUES ('s', 'z', x'00')";
        connection.execute(kept, []).unwrap();
        let mut rows = InboxTx::new(immediate(&mut connection));
        assert_eq!(rows.look("s", "a").unwrap(), None);
        assert_eq!(take(&mut rows, "a").unwrap(), None);
        assert_eq!(take(&mut rows, "a").unwrap().unwrap().digest, Digest::of(b"{}"));
        assert_eq!((rows.purge(2).unwrap(), rows.purge(2).unwrap()), (2, 1));
        assert_eq!(rows.purge(2).unwrap(), 0);
        rows.into_inner().commit().unwrap();
        assert_eq!(keys(&connection), 2);
    }
}

#[test]
fn a_digest_of_another_form_is_named_and_taken_for_nothing() {
    let blob = Digest::of(b"{}").as_bytes().to_vec();
    let hex = Digest::of(b"{}").to_hex();
    for (_dir, _, mut connection) in both() {
        let insert = "INSERT INTO counterfoil_inbox(source, key, digest) VALUES ('s', ?1, ?2)";
        connection.execute(insert, rusqlite::params!["blob", blob]).unwrap();
        connection.execute(insert, ["text", &hex]).unwrap();
        connection.execute(insert, ["upper", &hex.to_uppercase()]).unwrap();
        connection.execute(insert, rusqlite::params!["bytes", hex.as_bytes()]).unwrap();
        connection.execute(insert, ["odd", "sha256:00"]).unwrap();
        let mut rows = InboxTx::new(immediate(&mut connection));
        for key in ["blob", "text", "upper", "bytes"] {
            assert_eq!(take(&mut rows, key).unwrap().unwrap().digest, Digest::of(b"{}"), "{key}");
        }
        let refused = take(&mut rows, "odd").unwrap_err();
        assert!(matches!(refused, InboxTxError::ForeignDigest { .. }), "{refused}");
        assert!(refused.to_string().contains("odd"), "{refused}");
    }
}

#[test]
fn a_page_that_is_undone_or_dropped_leaves_nothing_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let mut book = InboxBook::open(&path).unwrap();
    let job = |key| Job { source: "s", key, kind: None, body: b"\xff" };
    let call = Call { key: "a", attempt: None, token: None, outcome: "done" };
    let mut page = book.page().unwrap();
    page.mark().unwrap();
    assert_eq!(page.job(&job("a")).unwrap(), br#"{"job":1}"#);
    page.call(&call).unwrap();
    page.keep().unwrap();
    page.mark().unwrap();
    assert_eq!(take(&mut page, "b").unwrap(), None);
    assert_eq!(page.job(&job("b")).unwrap(), br#"{"job":2}"#);
    page.undo().unwrap();
    page.commit().unwrap();
    let mut page = book.page().unwrap();
    assert_eq!(page.job(&job("c")).unwrap(), br#"{"job":2}"#);
    drop(page);
    let reader = Connection::open(&path).unwrap();
    let jobs = "SELECT group_concat(key) FROM jobs";
    assert_eq!(reader.query_row(jobs, [], |row| row.get(0)), Ok("a".to_owned()));
    assert_eq!(keys(&reader), 0);
    // The same file opens again, and counts on.
    let mut book = InboxBook::open(&path).unwrap();
    assert_eq!(book.page().unwrap().job(&job("d")).unwrap(), br#"{"job":2}"#);
}

#[test]
fn every_statement_is_served_by_the_index_that_it_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    drop(InboxBook::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    let key = "USING PRIMARY KEY (source=? AND key=?)";
    let statements = [
        (include_str!("../../../../sql/sqlite/inbox/standing.sql"), key),
        (include_str!("../../../../sql/sqlite/inbox/forget.sql"), key),
        (include_str!("../../../../sql/sqlite/inbox/finish.sql"), key),
        (
            include_str!("../../../../sql/sqlite/inbox/purge.sql"),
            "USING COVERING INDEX counterfoil_inbox_expiry (expires_at>? AND expires_at<?)",
        ),
        (include_str!("../../../../sql/sqlite/inbox/last_job.sql"), "SEARCH jobs"),
        (
            include_str!("../../../../sql/sqlite/inbox/first_job.sql"),
            "USING INDEX jobs_key (key=? AND source=?)",
        ),
    ];
    for (statement, index) in statements {
        let mut query = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
        let nulls = vec![rusqlite::types::Null; query.parameter_count()];
        let lines = query.query_map(rusqlite::params_from_iter(nulls), |row| row.get(3)).unwrap();
        let plan: Vec<String> = lines.collect::<Result<_, _>>().unwrap();
        let plan = plan.join("\n");
        assert!(plan.contains(index), "{statement}: {plan}");
        assert!(!plan.contains("SCAN counterfoil"), "{statement}: {plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{statement}: {plan}");
    }
}

#[test]
fn the_database_s_time_is_the_guards_time() {
    for (_dir, _, mut connection) in both() {
        let now = InboxTx::new(immediate(&mut connection)).now().unwrap();
        assert!(now.is_plausible() && now > Micros::new(PAST));
    }
}
