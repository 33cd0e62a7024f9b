//! Keys whose retention is over, and what removes them.
//!
//! Guarantees: bounded steps, whether or not requests come. Does not: wait for a retention.

use std::time::{Duration, Instant};

use counterfoil_inbox::receiver::Options;
use counterfoil_sqlite::{InboxBook, InboxTx};
use rusqlite::Connection;

use crate::client::{Serving, count, deliver};
use crate::guard::{connect, shop};

const KEYS: &str = "SELECT count(*) FROM counterfoil_inbox";

/// So many keys of the year 2017, and one of today.
fn fill(db: &Connection, old: usize) {
    let sql = format!(
        "INSERT INTO counterfoil_inbox(source, key, digest, outcome, result, expires_at)
         WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {old})
         SELECT 'unnamed', 'old-' || n, x'00', 'completed', 'old', 1500000000000000 FROM n;
         INSERT INTO counterfoil_inbox(source, key, digest, outcome, result, expires_at)
         VALUES ('unnamed', 'kept', x'00', 'completed', 'new', 9000000000000000);"
    );
    db.execute_batch(&sql).unwrap();
}

/// It purged 500 in ten seconds, and only while requests came: a receiver of more than fifty keys
/// a second grew for ever.
#[test]
fn an_idle_receiver_removes_more_expired_keys_than_one_step_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    drop(InboxBook::open(&path).unwrap());
    fill(&connect(&path), 20_000);
    let mut options = Options::default();
    // Forty steps of 500: with one step each time it would take longer than the test waits.
    options.purge_every = Duration::from_secs(2);
    let serving = Serving::start(&path, options);
    let end = Instant::now() + Duration::from_secs(30);
    while count(&path, KEYS) > 1 {
        assert!(Instant::now() < end, "{} keys are left", count(&path, KEYS));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(deliver(serving.at, "old-1", b"{}").text(), r#"{"job":1}"#);
    serving.stop();
    assert_eq!(count(&path, KEYS), 2);
}

#[test]
fn a_user_s_own_purge_is_bounded_oldest_first_and_leaves_what_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let db = connect(&path);
    fill(&db, 1200);
    let mut removed = Vec::new();
    loop {
        let step = InboxTx::new(&db).purge(500).unwrap();
        removed.push(step);
        if step < 500 {
            break;
        }
    }
    assert_eq!(removed, [500, 500, 200]);
    assert_eq!(count(&path, KEYS), 1);
}
