//! Time in a test's hand, with a real store.

use counterfoil::relay::{Accepted, HandlerError, Served, handler};
use counterfoil::sqlite::Outbox as _;
use counterfoil::testing::{TempStore, TestClock as _, assert_enqueued, served};
use counterfoil::{
    Clock as _, Completion, Contract, Destination, Idempotent, Span, Store as _, Terms,
};

use crate::command;

#[test]
fn what_plain_sql_enqueues_is_due_at_once_although_the_clock_is_held() {
    let store = TempStore::new();
    let mut orders = store.connect();
    for n in 1..=5 {
        let tx = orders.transaction().unwrap();
        tx.enqueue(&command("bank", "pay", n)).unwrap();
        tx.commit().unwrap();
        let done = handler(|_| async { Ok::<_, HandlerError>(()) });
        let delivered = store.deliver_all_inline(vec![served("bank", done)]).blocking();
        assert_eq!(delivered.count("completed"), 1, "{delivered}");
    }
}

#[test]
fn a_command_for_later_comes_when_time_has_passed() {
    let store = TempStore::new();
    let due = store.now().unwrap().plus(Span::from_secs(7 * 86_400));
    store.enqueue_blocking(vec![command("bank", "pay", 1).not_before(due)]).unwrap();
    let done = || handler(|_| async { Ok::<_, HandlerError>(()) });
    let early = store.deliver_all_inline(vec![served("bank", done())]).blocking();
    assert_eq!((early.tries.len(), early.left.len()), (0, 1));
    store.clock().advance_to(due);
    let late = store.deliver_all_inline(vec![served("bank", done())]).blocking();
    assert_eq!(late.assert_nothing_left().count("completed"), 1);
}

#[test]
fn what_is_past_its_expiry_ends_unsent() {
    let store = TempStore::new();
    let mut gone = command("bank", "pay", 1);
    gone.expires_at = Some(store.now().unwrap().plus(Span::from_secs(60)));
    store.enqueue_blocking(vec![gone]).unwrap();
    store.clock().advance(Span::from_secs(61));
    let done = handler(|_| async { Ok::<_, HandlerError>(()) });
    let delivered = store.deliver_all_inline(vec![served("bank", done)]).blocking();
    assert_eq!((delivered.count("expired"), delivered.tries.len()), (1, 0), "{delivered}");
    assert_eq!(assert_enqueued(&store.connect(), "pay:1").state, "expired");
}

#[test]
fn a_receipt_that_does_not_come_is_overdue_in_its_time() {
    let store = TempStore::new();
    store.enqueue_blocking(vec![command("bank", "pay", 1)]).unwrap();
    let accepts = || handler(|_| async { Ok::<_, HandlerError>(Accepted("job 7".into())) });
    let bank = || {
        let mut contract = Contract::new(Idempotent::Forever);
        contract.completion = Completion::Receipt;
        contract.receipt_timeout = Span::from_secs(600);
        let name = Destination::new("bank").unwrap();
        Served::new(name, Terms::new(contract), std::sync::Arc::new(accepts()))
    };
    let first = store.deliver_all_inline(vec![bank()]).blocking();
    assert_eq!((first.count("accepted"), first.left[0].state.as_str()), (1, "published"));
    assert!(first.left[0].why.starts_with("its receipt is overdue in "), "{first}");
    let delivery = store.deliver_all_inline(vec![bank()]);
    let again = delivery.advancing_time(store.clock(), Span::from_secs(700)).blocking();
    assert_eq!(again.count("accepted"), 1, "it is sent again: {again}");
}

#[test]
fn a_store_opened_again_goes_on_with_the_same_time() {
    let store = TempStore::new();
    store.clock().advance(Span::from_secs(86_400));
    let before = store.clock().machine();
    assert!(store.reopen().now().unwrap() >= before);
}
