//! What an inline delivery does not put up with.

use std::time::Duration;

use counterfoil::relay::{HandlerError, Served, handler};
use counterfoil::sqlite::SqliteStore;
use counterfoil::testing::{TempStore, VirtualClock, deliver_all_inline, served};
use counterfoil::{Command, Contract, Destination, Idempotent, Span, Terms};

use crate::{command, words};

fn with_one_command() -> TempStore {
    let store = TempStore::new();
    store.enqueue_blocking(vec![command("bank", "pay", 1)]).unwrap();
    store
}

#[test]
fn a_handler_that_never_returns_is_named() {
    let store = with_one_command();
    let stuck = handler(|_| std::future::pending::<Result<(), HandlerError>>());
    let delivery = store.deliver_all_inline(vec![served("bank", stuck)]);
    let said = words(|| drop(delivery.within(Duration::from_millis(300)).blocking()));
    assert!(said.contains("attempt 1 at pay:1 to bank"), "{said}");
}

#[test]
fn attempts_without_end_are_ended() {
    let store = with_one_command();
    let path = store.path().to_owned();
    let endless = handler(move |attempt| {
        let store = SqliteStore::open(&path, counterfoil::sqlite::Options::default());
        let next = attempt.command.n + 1;
        async move {
            let next = Command::json(format!("pay:{next}"), "bank", "pay", &next)?;
            store?.enqueue_blocking(vec![next])?[0].clone()?;
            Ok::<_, HandlerError>(())
        }
    });
    let delivery = store.deliver_all_inline(vec![served("bank", endless)]).attempts_max(10);
    let said = words(|| drop(delivery.blocking()));
    assert!(said.contains("10 attempts, and there is no end"), "{said}");
}

#[test]
fn a_clock_that_the_store_does_not_know_is_told() {
    let store = with_one_command();
    let later = command("bank", "pay", 2);
    let at = counterfoil::Store::now(&*store).unwrap().plus(Span::from_secs(60));
    store.enqueue_blocking(vec![later.not_before(at)]).unwrap();
    let done = handler(|_| async { Ok::<_, HandlerError>(()) });
    let delivery = deliver_all_inline(&*store, vec![served("bank", done)]);
    let another = delivery.advancing_time(&VirtualClock::new(), Span::from_secs(3600));
    let said = words(|| drop(another.blocking()));
    assert!(said.contains("time was advanced, and the store does not know"), "{said}");
}

#[test]
fn the_relays_own_refusal_is_passed_on() {
    let store = with_one_command();
    let key_ttl = Span::from_secs(60);
    let terms = Terms::new(Contract::new(Idempotent::Window { key_ttl }));
    let done = handler(|_| async { Ok::<_, HandlerError>(()) });
    let bank = Served::new(Destination::new("bank").unwrap(), terms, std::sync::Arc::new(done));
    let said = words(|| drop(store.deliver_all_inline(vec![bank]).blocking()));
    assert!(said.contains("give_up_after + lease"), "{said}");
}

#[test]
fn what_is_left_ends_a_test_that_wants_nothing_left() {
    let store = with_one_command();
    let delivered = store.deliver_all_inline(Vec::new()).blocking();
    let said = words(|| drop(delivered.assert_nothing_left().clone()));
    assert!(said.contains("no attempt; 1 left"), "{said}");
    assert!(said.contains("- pay:1 to bank is pending after 0 attempts: nothing serves"), "{said}");
    let said = words(|| drop(served("", handler(|_| async { Ok::<_, HandlerError>(()) }))));
    assert!(said.starts_with("naming a destination: "), "{said}");
}
