//! Twins: one key at once, from many threads and connections.
//!
//! Guarantees: one effect however they interleave. Does not: time anything.

use std::sync::Barrier;

use counterfoil_core::domain::Digest;
use counterfoil_inbox::receiver::Options;
use counterfoil_inbox::{Begun, RETENTION, begin};
use counterfoil_sqlite::InboxTx;

use crate::client::{Serving, count, deliver};
use crate::guard::{connect, immediate, shop};

const TWINS: usize = 32;

#[test]
fn of_32_twins_over_http_one_acts_and_all_get_its_result() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let serving = Serving::start(&path, Options::default());
    let barrier = Barrier::new(TWINS);
    std::thread::scope(|scope| {
        let twin = || {
            barrier.wait();
            loop {
                let answered = deliver(serving.at, "twin", b"{}");
                match answered.status {
                    409 => assert_eq!(answered.header("retry-after"), Some("1")),
                    _ => break answered,
                }
            }
        };
        let twins: Vec<_> = (0..TWINS).map(|_| scope.spawn(twin)).collect();
        for twin in twins {
            let answered = twin.join().unwrap();
            assert_eq!((answered.status, answered.text()), (200, r#"{"job":1}"#));
        }
    });
    serving.stop();
    assert_eq!(count(&path, "SELECT count(*) FROM jobs"), 1);
    assert_eq!(count(&path, "SELECT count(*) FROM calls WHERE outcome = 'done'"), 1);
    let repeated = "SELECT count(*) FROM calls WHERE outcome = 'repeated'";
    assert_eq!(count(&path, repeated), TWINS as i64 - 1);
}

#[test]
fn of_32_twins_with_connections_of_their_own_one_acts() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let barrier = Barrier::new(TWINS);
    std::thread::scope(|scope| {
        for twin in 0..TWINS {
            let (path, barrier) = (&path, &barrier);
            scope.spawn(move || {
                let mut db = connect(path);
                barrier.wait();
                // Deferred ones too: they wait, since the guard writes before it reads.
                let deferred = twin % 2 == 0;
                let tx = if deferred { db.transaction().unwrap() } else { immediate(&mut db) };
                let rows = InboxTx::new(tx);
                match begin(rows, "s", "twin", Digest::of(b"{}"), RETENTION).unwrap() {
                    Begun::First(mut first) => {
                        let insert = "INSERT INTO shipment VALUES ('twin')";
                        first.rows().execute(insert, []).unwrap();
                        first.finish(b"1").unwrap().into_inner().commit().unwrap();
                    }
                    Begun::Repeat(stored) => assert_eq!(stored.result, b"1"),
                    other => panic!("{other:?}"),
                }
            });
        }
    });
    assert_eq!(count(&path, "SELECT count(*) FROM shipment"), 1);
}
