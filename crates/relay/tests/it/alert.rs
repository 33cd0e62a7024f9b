//! Alerts on a real file: what is parked and the alert about it are one commit.
//!
//! Guarantees: a reader on a connection of its own looks all the time, one statement a look, which
//! is one snapshot. Does not: test when a store alerts; its suite does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use counterfoil_core::domain::id::Kind;
use counterfoil_core::domain::{Contract, Destination, Idempotent, Judge, Outcome, Terms};
use counterfoil_core::port::{Announce, Notice, Store};
use counterfoil_relay::{Options, Relay, Served};
use counterfoil_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::scene::{Heard, SHIPPING, paid};
use crate::wire::Wire;

const COMMANDS: i64 = 400;

/// Looks until it is told to stop; the numbers that it saw, of parked ones and of alerts.
fn looks(path: std::path::PathBuf, stop: Arc<AtomicBool>) -> JoinHandle<Vec<(i64, i64)>> {
    std::thread::spawn(move || {
        let reader = Connection::open(path).unwrap();
        let sql = "SELECT (SELECT count(*) FROM counterfoil_delivery WHERE state = 'dead'),
                     (SELECT count(*) FROM counterfoil_outbox WHERE kind = 'alert')";
        let mut look = reader.prepare(sql).unwrap();
        let mut seen = Vec::new();
        loop {
            let is_last = stop.load(Ordering::SeqCst);
            let both = look.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            if seen.last() != Some(&both) {
                seen.push(both);
            }
            if is_last {
                return seen;
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_snapshot_shows_a_parked_command_without_its_alert() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = SqliteStore::init(&path, None).unwrap();
    let ids = (0..COMMANDS).map(|n| paid(SHIPPING, &format!("A-{n}"))).collect();
    assert!(store.enqueue(ids).await.unwrap().iter().all(Result::is_ok));
    let stop = Arc::new(AtomicBool::new(false));
    let reader = looks(path, Arc::clone(&stop));
    let wire = Wire::new(|_, _| {
        let by = Judge::Status;
        (std::time::Duration::ZERO, Outcome::Rejected { reason: "HTTP 400".into(), by })
    });
    let terms = Terms::new(Contract::new(Idempotent::No));
    let served = Served::new(Destination::new(SHIPPING).unwrap(), terms, wire);
    let announce = Announce {
        destination: Destination::new("ops").unwrap(),
        kind: Kind::new("alert").unwrap(),
    };
    let options = Options::default().until_idle(true).workers(8).announce(announce);
    let heard = Heard::default();
    let relay = Relay::new(store, vec![served], options, heard.clone());
    let end = relay.run(std::future::pending()).await.unwrap();
    stop.store(true, Ordering::SeqCst);
    let seen = reader.join().unwrap();
    assert_eq!(i64::try_from(end.remaining.parked), Ok(COMMANDS));
    assert_eq!(seen.last(), Some(&(COMMANDS, COMMANDS)));
    let torn = seen.iter().find(|(parked, alerts)| parked != alerts);
    assert_eq!(torn, None, "parked, and alerts: {seen:?}");
    assert!(seen.len() > 2, "nobody looked while it worked: {seen:?}");
    let told = heard.count(|notice| matches!(notice, Notice::Parked { .. }));
    assert_eq!(i64::try_from(told), Ok(COMMANDS), "and each is told to the observer");
}
