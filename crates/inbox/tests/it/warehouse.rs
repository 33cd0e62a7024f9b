//! The example `warehouse`, run as it stands: a service on axum with the guard in its middle.
//!
//! Guarantees: the example's own code answers, over real connections. Does not: start its `main`,
//! whose address nobody outside could name.

use std::net::SocketAddr;
use std::path::PathBuf;

use counterfoil_inbox::Source;
use counterfoil_inbox::receiver::Callers;
use rusqlite::Connection;

use crate::client::{Answered, count, post};
use crate::guard::connect;

#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../examples/warehouse.rs"]
mod example;

struct Warehouse {
    at: SocketAddr,
    path: PathBuf,
    _dir: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

fn warehouse() -> Warehouse {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("warehouse.db");
    let mut db = connect(&path);
    counterfoil_sqlite::migrate(&mut db, None).unwrap();
    db.execute_batch("CREATE TABLE stock(sku, n); INSERT INTO stock VALUES ('lamp', 2)").unwrap();
    db.busy_timeout(std::time::Duration::from_millis(50)).unwrap();
    let source = |name| Source::new(name).unwrap();
    let callers = Callers::by_token([("ta", source("urn:a")), ("tb", source("urn:b"))]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let at = listener.local_addr().unwrap();
    runtime.spawn(async { axum::serve(listener, example::app(db, callers)).await });
    Warehouse { at, path, _dir: dir, _runtime: runtime }
}

impl Warehouse {
    fn order(&self, token: &str, key: &str, body: &str) -> Answered {
        let headers = format!("Idempotency-Key: \"{key}\"\nAuthorization: Bearer {token}");
        post(self.at, &headers, body.as_bytes())
    }

    fn left(&self) -> i64 {
        count(&self.path, "SELECT n FROM stock")
    }
}

fn word(answered: &Answered) -> (u16, Option<&str>) {
    (answered.status, answered.header("counterfoil-outcome"))
}

#[test]
fn each_intent_takes_from_the_stock_once_and_hears_the_same_again() {
    let shop = warehouse();
    let lamp = |order: &str, at: &str| format!(r#"{{"order":"{order}","sku":"lamp","at":"{at}"}}"#);
    let first = shop.order("ta", "a", &lamp("a", "09:00"));
    assert_eq!((word(&first), first.text()), ((200, Some("completed")), "\"shipped\""));
    // A repeat with another time is the same intent, by its core fields; another order is none.
    let again = shop.order("ta", "a", &lamp("a", "09:01"));
    assert_eq!((word(&again), &again.body), (word(&first), &first.body));
    assert_eq!(word(&shop.order("ta", "a", &lamp("b", "09:00"))), (422, Some("conflict")));
    assert_eq!(shop.left(), 1);
    // The same key of another caller is another intent, whatever the request says of itself.
    assert_eq!(shop.order("tb", "a", &lamp("a", "09:00")).status, 200);
    assert_eq!(shop.left(), 0);
}

#[test]
fn a_refusal_stands_although_the_stock_comes_back() {
    let shop = warehouse();
    let body = r#"{"order":"a","sku":"chair"}"#;
    let first = shop.order("ta", "a", body);
    assert_eq!(word(&first), (400, Some("rejected")));
    assert!(first.text().contains("sold out"), "{}", first.text());
    connect(&shop.path).execute("INSERT INTO stock VALUES ('chair', 1)", []).unwrap();
    let again = shop.order("ta", "a", body);
    assert_eq!((word(&again), &again.body), (word(&first), &first.body));
}

#[test]
fn strangers_and_bodies_without_a_core_take_nothing() {
    let shop = warehouse();
    assert_eq!(shop.order("tc", "a", "{}").status, 401);
    for (key, body, status, code) in [
        ("a", r#"{"order":"a"}"#, 400, "CF0725"),
        ("a", "rubbish", 400, "CF0725"),
        ("a b%", "{}", 400, "CF0703"),
    ] {
        let answered = shop.order("ta", key, body);
        assert_eq!(answered.status, status, "{}", answered.text());
        assert!(answered.text().contains(code), "{}", answered.text());
    }
    assert_eq!((shop.left(), count(&shop.path, "SELECT count(*) FROM counterfoil_inbox")), (2, 0));
}

#[test]
fn while_a_twin_holds_the_database_it_is_409_and_takes_nothing() {
    let shop = warehouse();
    let held = Connection::open(&shop.path).unwrap();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let body = r#"{"order":"a","sku":"lamp"}"#;
    let answered = shop.order("ta", "a", body);
    assert_eq!((answered.status, answered.header("retry-after")), (409, Some("1")));
    held.execute_batch("COMMIT").unwrap();
    assert_eq!(shop.order("ta", "a", body).status, 200);
    assert_eq!(shop.left(), 1);
}
