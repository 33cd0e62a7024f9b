//! The guard inside a plain rusqlite transaction, beside business rows of the same file.
//!
//! Guarantees: each word of `Begun`, and what a transaction leaves after it. Does not: use HTTP.

use std::path::{Path, PathBuf};
use std::time::Duration;

use counterfoil_core::domain::{Digest, Span};
use counterfoil_inbox::{Begun, InboxError, RESULT_BYTES_LIMIT, RETENTION, begin};
use counterfoil_sqlite::{InboxTx, InboxTxError, migrate};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::client::count;

/// A user's own file: triggers on, the user's own settings, a business table.
pub(crate) fn shop(dir: &Path) -> PathBuf {
    let path = dir.join("shop.db");
    let mut db = connect(&path);
    migrate(&mut db, None).unwrap();
    db.execute_batch("CREATE TABLE shipment(note TEXT NOT NULL)").unwrap();
    path
}

pub(crate) fn connect(path: &Path) -> Connection {
    let db = Connection::open(path).unwrap();
    db.pragma_update(None, "journal_mode", "wal").unwrap();
    db.busy_timeout(Duration::from_secs(20)).unwrap();
    db
}

pub(crate) fn immediate(db: &mut Connection) -> Transaction<'_> {
    db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap()
}

type Word<'t> = Begun<InboxTx<Transaction<'t>>>;

fn word<'t>(db: &'t mut Connection, source: &str, key: &str, body: &[u8]) -> Word<'t> {
    begin(InboxTx::new(immediate(db)), source, key, Digest::of(body), RETENTION).unwrap()
}

/// Ships once and says what the guard said.
fn ship(db: &mut Connection, source: &str, key: &str, body: &[u8]) -> &'static str {
    match word(db, source, key, body) {
        Begun::First(mut first) => {
            first.rows().execute("INSERT INTO shipment VALUES (?1)", [key]).unwrap();
            first.finish(b"shipped").unwrap().into_inner().commit().unwrap();
            "first"
        }
        Begun::Repeat(stored) if stored.is_refusal => "refused before",
        Begun::Repeat(stored) => {
            assert_eq!(stored.result, b"shipped");
            "repeat"
        }
        Begun::Unfinished { .. } => "unfinished",
        Begun::Conflict => "conflict",
        Begun::Busy => "busy",
    }
}

const SHIPPED: &str = "SELECT count(*) FROM shipment";
const KEYS: &str = "SELECT count(*) FROM counterfoil_inbox";

#[test]
fn one_effect_a_key_and_other_content_is_a_conflict() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    assert_eq!(ship(&mut db, "urn:a", "k", b"{}"), "first");
    assert_eq!(ship(&mut db, "urn:a", "k", b"{}"), "repeat");
    assert_eq!(ship(&mut db, "urn:a", "k", b"{1}"), "conflict");
    assert_eq!(ship(&mut db, "urn:a", "k", b"{}"), "repeat");
    assert_eq!(count(&path, SHIPPED), 1);
}

#[test]
fn one_key_of_two_sources_is_two_intents() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    assert_eq!(ship(&mut db, "urn:a", "k", b"{}"), "first");
    assert_eq!(ship(&mut db, "urn:b", "k", b"{1}"), "first");
    assert_eq!(ship(&mut db, "urn:订单", "k", b"{1}"), "first");
    assert_eq!(count(&path, SHIPPED), 3);
}

#[test]
fn a_refusal_is_remembered_and_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    let Begun::First(first) = word(&mut db, "s", "k", b"{}") else { panic!("not first") };
    first.finish_rejected(b"no such address").unwrap().into_inner().commit().unwrap();
    assert_eq!(ship(&mut db, "s", "k", b"{}"), "refused before");
    assert_eq!(ship(&mut db, "s", "k", b"other"), "conflict");
    let Begun::Repeat(stored) = word(&mut db, "s", "k", b"{}") else { panic!("no repeat") };
    assert_eq!((stored.is_refusal, stored.result), (true, b"no such address".to_vec()));
    assert_eq!(count(&path, SHIPPED), 0);
}

#[test]
fn a_result_comes_back_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    let results: [&[u8]; 5] = [b"", b"\0", b"a\0b", b"\xff\xfe", "订单 📦".as_bytes()];
    for (at, result) in results.into_iter().enumerate() {
        let key = format!("k-{at}");
        let Begun::First(first) = word(&mut db, "s", &key, b"") else { panic!("not first") };
        first.finish(result).unwrap().into_inner().commit().unwrap();
        let Begun::Repeat(stored) = word(&mut db, "s", &key, b"") else { panic!("no repeat") };
        assert_eq!((stored.is_refusal, stored.result.as_slice()), (false, result));
    }
}

#[test]
fn what_is_dropped_or_rolled_back_leaves_neither_key_nor_business_row() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    // An owned transaction goes with the guard that is dropped unfinished.
    let Begun::First(mut first) = word(&mut db, "s", "k", b"{}") else { panic!("not first") };
    first.rows().execute("INSERT INTO shipment VALUES ('half')", []).unwrap();
    drop(first);
    assert_eq!((count(&path, KEYS), count(&path, SHIPPED)), (0, 0));
    // One that was finished but not committed, too.
    let Begun::First(first) = word(&mut db, "s", "k", b"{}") else { panic!("not first") };
    drop(first.finish(b"done").unwrap());
    assert_eq!((count(&path, KEYS), count(&path, SHIPPED)), (0, 0));
    // A lent one is the user's to roll back.
    let tx = immediate(&mut db);
    let begun = begin(InboxTx::new(&tx), "s", "k", Digest::of(b"{}"), RETENTION).unwrap();
    assert!(matches!(begun, Begun::First(_)));
    drop(begun);
    tx.execute("INSERT INTO shipment VALUES ('half')", []).unwrap();
    tx.rollback().unwrap();
    assert_eq!((count(&path, KEYS), count(&path, SHIPPED)), (0, 0));
    assert_eq!(ship(&mut db, "s", "k", b"{}"), "first");
}

#[test]
fn a_lent_transaction_commits_key_and_business_row_together() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    let tx = immediate(&mut db);
    let begun = begin(InboxTx::new(&tx), "s", "k", Digest::of(b"{}"), RETENTION).unwrap();
    let Begun::First(first) = begun else { panic!("not first") };
    tx.execute("INSERT INTO shipment VALUES ('k')", []).unwrap();
    first.finish(b"shipped").unwrap();
    assert_eq!((count(&path, KEYS), count(&path, SHIPPED)), (0, 0));
    tx.commit().unwrap();
    assert_eq!((count(&path, KEYS), count(&path, SHIPPED)), (1, 1));
    assert_eq!(ship(&mut db, "s", "k", b"{}"), "repeat");
}

#[test]
fn what_was_committed_unfinished_is_never_done_again_nor_called_done() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    let tx = immediate(&mut db);
    let begun = begin(InboxTx::new(&tx), "s", "k", Digest::of(b"{}"), RETENTION).unwrap();
    assert!(matches!(begun, Begun::First(_)));
    drop(begun);
    tx.commit().unwrap();
    for _ in 0..2 {
        assert_eq!(ship(&mut db, "s", "k", b"{}"), "unfinished");
    }
    // Other content is a conflict even so.
    assert_eq!(ship(&mut db, "s", "k", b"other"), "conflict");
    // The way out: whoever knows stores the outcome.
    let store = "UPDATE counterfoil_inbox SET outcome = 'completed', result = 'shipped'";
    db.execute(store, []).unwrap();
    assert_eq!(ship(&mut db, "s", "k", b"{}"), "repeat");
}

#[test]
fn an_expired_key_counts_as_absent_and_is_taken_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    let old = "INSERT INTO counterfoil_inbox(source, key, digest, outcome, result, expires_at)
               VALUES ('s', 'k', x'00', 'completed', 'old', 1500000000000000)";
    db.execute(old, []).unwrap();
    assert_eq!(ship(&mut db, "s", "k", b"{}"), "first");
    assert_eq!(ship(&mut db, "s", "k", b"{}"), "repeat");
    assert_eq!(count(&path, KEYS), 1);
    let kept = "SELECT expires_at - received_at FROM counterfoil_inbox";
    let week = RETENTION.as_micros();
    assert!((week - 1_000_000..=week + 1_000_000).contains(&count(&path, kept)));
    // One that is kept for ever is never absent.
    let forever = "INSERT INTO counterfoil_inbox(source, key, digest) VALUES ('s', 'f', x'00')";
    let error = db.execute(forever, []).map(|_| begin_on(&mut db, "f"));
    assert!(matches!(error, Ok(Err(InboxError::Rows(InboxTxError::ForeignDigest { .. })))));
}

fn begin_on(db: &mut Connection, key: &str) -> Result<(), InboxError<InboxTxError>> {
    begin(InboxTx::new(immediate(db)), "s", key, Digest::of(b"{}"), RETENTION).map(drop)
}

#[test]
fn a_retention_beyond_all_time_is_until_the_latest_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    let rows = InboxTx::new(immediate(&mut db));
    let begun = begin(rows, "s", "k", Digest::of(b"{}"), Span::from_micros(i64::MAX)).unwrap();
    let Begun::First(first) = begun else { panic!("not first") };
    first.finish(b"shipped").unwrap().into_inner().commit().unwrap();
    assert_eq!(count(&path, "SELECT expires_at FROM counterfoil_inbox"), 9_999_999_999_999_999);
}

#[test]
fn a_twin_that_holds_the_lock_is_busy_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let (mut one, mut other) = (connect(&path), connect(&path));
    let held = word(&mut one, "s", "k", b"{}");
    other.busy_timeout(Duration::from_millis(20)).unwrap();
    // Deferred, so that the guard's own insert meets the lock.
    let deferred = other.transaction().unwrap();
    let begun = begin(InboxTx::new(deferred), "s", "k", Digest::of(b"{}"), RETENTION).unwrap();
    assert!(matches!(begun, Begun::Busy));
    drop(begun);
    let Begun::First(first) = held else { panic!("not first") };
    first.finish(b"shipped").unwrap().into_inner().commit().unwrap();
    assert_eq!(ship(&mut other, "s", "k", b"{}"), "repeat");
}

#[test]
fn a_deferred_transaction_works_too_because_the_insert_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let (mut one, mut other) = (connect(&path), connect(&path));
    let deferred = other.transaction().unwrap();
    assert_eq!(ship(&mut one, "s", "k", b"{}"), "first");
    let begun = begin(InboxTx::new(deferred), "s", "k", Digest::of(b"{}"), RETENTION).unwrap();
    assert!(matches!(begun, Begun::Repeat(_)));
}

#[test]
fn bad_names_no_retention_and_no_transaction_are_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    let long = "é".repeat(128);
    for (source, key, code) in [
        ("", "k", "CF0707"),
        ("a\nb", "k", "CF0707"),
        (&long, "k", "CF0707"),
        ("s", "", "CF0704"),
        ("s", "a\0b", "CF0704"),
        ("s", &long, "CF0704"),
    ] {
        let rows = InboxTx::new(immediate(&mut db));
        let refused = begin(rows, source, key, Digest::of(b""), RETENTION).map(drop).unwrap_err();
        assert_eq!(refused.code(), code, "{source:?} {key:?}: {refused}");
    }
    let rows = InboxTx::new(immediate(&mut db));
    let refused = begin(rows, "s", "k", Digest::of(b""), Span::ZERO).map(drop).unwrap_err();
    assert_eq!(refused.code(), "CF0717");
    // Outside a transaction the key would commit by itself, before the work.
    let refused = begin(InboxTx::new(&db), "s", "k", Digest::of(b""), RETENTION).map(drop);
    let refused = refused.unwrap_err();
    assert!(matches!(refused, InboxError::Rows(InboxTxError::NoTransaction { .. })), "{refused}");
    // After BEGIN by hand it is inside one.
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = begin(InboxTx::new(&db), "s", "k", Digest::of(b""), RETENTION).unwrap();
    assert!(matches!(begun, Begun::First(_)));
    drop(begun);
    db.execute_batch("ROLLBACK").unwrap();
    assert_eq!(count(&path, KEYS), 0);
}

#[test]
fn a_result_over_the_limit_is_refused_and_the_transaction_goes() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut db = connect(&path);
    let Begun::First(first) = word(&mut db, "s", "k", b"{}") else { panic!("not first") };
    let refused = first.finish(&vec![b'x'; RESULT_BYTES_LIMIT + 1]).map(drop).unwrap_err();
    assert_eq!(refused.code(), "CF0718");
    assert_eq!(count(&path, KEYS), 0);
}
