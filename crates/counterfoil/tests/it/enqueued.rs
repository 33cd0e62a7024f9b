//! Asserting on the outbox in an open transaction.

use counterfoil::sqlite::Outbox as _;
use counterfoil::testing::{
    TempStore, Wanted, all_enqueued, assert_enqueued, assert_enqueued_once, refute_enqueued,
};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{command, words};

#[test]
fn a_command_is_seen_before_its_commit_and_not_after_its_rollback() {
    let store = TempStore::new();
    let (mut orders, other) = (store.connect(), store.connect());
    let tx = orders.transaction().unwrap();
    tx.enqueue(&command("shipping", "order.paid", 1)).unwrap();
    let found = assert_enqueued(&tx, "order.paid:1");
    assert_eq!(found.json::<Value>(), json!({"n": 1}));
    assert_eq!((found.destination.as_str(), found.state.as_str()), ("shipping", "pending"));
    refute_enqueued(&other, "order.paid:1");
    drop(tx);
    refute_enqueued(&orders, "order.paid:1");
}

#[test]
fn plain_sql_is_seen_too() {
    let store = TempStore::new();
    let orders = store.connect();
    let sql = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body)
               VALUES ('a:1', 'shipping', 'a', '{\"n\":1}'), ('b:1', 'shipping', 'b', x'ff00')";
    orders.execute_batch(sql).unwrap();
    assert_enqueued_once(&orders, Wanted::any().kind("a").body(json!({"n": 1})));
    assert_eq!(assert_enqueued(&orders, "b:1").body, [0xff, 0]);
    let ids: Vec<_> = all_enqueued(&orders, Wanted::to("shipping")).into_iter().collect();
    assert_eq!(ids.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["a:1", "b:1"]);
}

#[test]
fn a_failure_names_what_came_nearest_and_what_differs() {
    let store = TempStore::new();
    let orders = store.connect();
    let words_of = |id: &str| words(|| drop(assert_enqueued(&orders, id)));
    assert!(words_of("order.paid:1").contains("the outbox is empty"));
    store
        .enqueue_blocking((1..=9).map(|n| command("shipping", "order.paid", n)).collect())
        .unwrap();
    let said = words_of("order.payed:7");
    let nearest = said.lines().nth(2).unwrap();
    assert!(nearest.contains("order.paid:7 (order.paid to shipping, pending)"), "{said}");
    assert!(said.contains("id is order.paid:7, not order.payed:7"), "{said}");
    assert!(said.contains("and 4 more stand there"), "{said}");
    let wanted = Wanted::to("shipping").kind("order.paid").body(json!({"n": 11}));
    let said = words(|| drop(assert_enqueued(&orders, wanted)));
    assert!(said.starts_with("a command of kind order.paid to shipping with body"), "{said}");
    assert!(said.contains("body.n is 1, not 11"), "{said}");
}

#[test]
fn what_should_not_stand_and_what_stands_twice_is_named() {
    let store = TempStore::new();
    let orders = store.connect();
    store.enqueue_blocking(vec![command("shipping", "a", 1), command("shipping", "a", 2)]).unwrap();
    let said = words(|| refute_enqueued(&orders, Wanted::to("shipping").kind("a")));
    assert!(said.contains("should not be enqueued, and 2 is:") && said.contains("a:2"), "{said}");
    refute_enqueued(&orders, Wanted::to("mail"));
    let said = words(|| drop(assert_enqueued_once(&orders, Wanted::any().kind("a"))));
    assert!(said.contains("is enqueued 2 times:\n  - a:1"), "{said}");
}

#[test]
fn the_end_of_a_command_is_seen_as_its_state() {
    use counterfoil::relay::{HandlerError, handler};
    let store = TempStore::new();
    store.enqueue_blocking(vec![command("shipping", "a", 1)]).unwrap();
    let done = handler(|_| async { Ok::<_, HandlerError>(()) });
    let _ =
        store.deliver_all_inline(vec![counterfoil::testing::served("shipping", done)]).blocking();
    let orders = store.connect();
    assert_eq!(assert_enqueued(&orders, "a:1").state, "completed");
    refute_enqueued(&orders, Wanted::id("a:1").state("pending"));
}

#[test]
fn a_file_without_a_store_and_a_body_that_is_no_json_are_told() {
    let nothing = Connection::open_in_memory().unwrap();
    let said = words(|| drop(assert_enqueued(&nothing, "a:1")));
    assert!(said.contains("counterfoil init"), "{said}");
    let store = TempStore::new();
    let bytes = counterfoil::Command::bytes("a:1", "shipping", "a", vec![1, 2]).unwrap();
    store.enqueue_blocking(vec![bytes]).unwrap();
    let found = assert_enqueued(&store.connect(), "a:1");
    let said = words(|| drop(found.json::<Value>()));
    assert!(said.starts_with("the body of command a:1: "), "{said}");
}
