//! Delivering everything that is due, in the test itself.

use std::sync::{Arc, Mutex};

use counterfoil::rate::Rate;
use counterfoil::relay::{HandlerError, Limits, Served, handler};
use counterfoil::sqlite::Outbox as _;
use counterfoil::testing::{ManualClock, MemoryStore, TempStore, deliver_all_inline, served};
use counterfoil::{OrderingKey, Span, Store as _};

use crate::command;

/// A destination that writes down the ids as they come.
fn noting(destination: &str) -> (Served, Arc<Mutex<Vec<String>>>) {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let book = Arc::clone(&noted);
    let note = handler(move |attempt| {
        book.lock().unwrap().push(attempt.command.command_id.to_string());
        async { Ok::<_, HandlerError>(()) }
    });
    (served(destination, note), noted)
}

fn failing(destination: &str, error: HandlerError) -> Served {
    served(destination, handler(move |_| std::future::ready(Err::<(), _>(error.clone()))))
}

#[test]
fn all_that_is_due_is_delivered_in_order_and_counted() {
    let store = TempStore::new();
    let mut orders = store.connect();
    let tx = orders.transaction().unwrap();
    for n in 1..=20 {
        tx.enqueue(&command("shipping", "a", n)).unwrap();
        tx.enqueue(&command("mail", "m", n)).unwrap();
    }
    tx.commit().unwrap();
    let ((shipping, shipped), (mail, mailed)) = (noting("shipping"), noting("mail"));
    let delivered = store.deliver_all_inline(vec![mail, shipping]).blocking();
    assert_eq!(delivered.count("completed"), 40);
    assert_eq!(delivered.assert_nothing_left().counts().len(), 1);
    let ids = |kind: &str| (1..=20).map(|n| format!("{kind}:{n}")).collect::<Vec<_>>();
    assert_eq!(*shipped.lock().unwrap(), ids("a"));
    assert_eq!(*mailed.lock().unwrap(), ids("m"));
    let in_order: Vec<_> = delivered.tries.iter().map(|one| one.command_id.clone()).collect();
    assert_eq!(in_order, [ids("m"), ids("a")].concat());
}

#[test]
fn what_a_handler_enqueues_is_delivered_too() {
    let store = TempStore::new();
    store.enqueue_blocking(vec![command("orders", "order", 1)]).unwrap();
    let path = store.path().to_owned();
    let orders = handler(move |_| {
        let path = path.clone();
        async move {
            let mut db = rusqlite::Connection::open(path)?;
            let tx = db.transaction()?;
            tx.enqueue(&command("mail", "mail", 7)).map_err(HandlerError::unknown)?;
            tx.commit()?;
            Ok::<_, HandlerError>(())
        }
    });
    let (mail, mailed) = noting("mail");
    let delivered = store.deliver_all_inline(vec![mail, served("orders", orders)]).blocking();
    delivered.assert_nothing_left();
    assert_eq!(*mailed.lock().unwrap(), ["mail:7"]);
}

/// Five failures of three commands open the relay's breaker; a test means each that is due.
#[test]
fn a_breaker_leaves_nothing_untried_and_a_retry_waits_for_its_time() {
    let store = TempStore::new();
    store.enqueue_blocking((1..=12).map(|n| command("bank", "pay", n)).collect()).unwrap();
    let closed = failing("bank", HandlerError::not_sent("closed"));
    let delivered = store.deliver_all_inline(vec![closed]).blocking();
    assert_eq!(delivered.count("not_sent"), 12, "{delivered}");
    let mut tried: Vec<_> = delivered.tries.iter().map(|one| &one.command_id).collect();
    tried.dedup();
    assert_eq!(tried.len(), 12, "{delivered}");
    assert_eq!(delivered.left.len(), 12);
    let why = &delivered.left[0].why;
    assert!(why.contains("tried again in") && why.contains("closed"), "{why}");
}

#[tokio::test]
async fn a_retry_comes_about_by_advancing_and_the_horizon_ends_it() {
    let store = TempStore::new();
    store.enqueue(vec![command("bank", "pay", 1)]).await.unwrap();
    let at_third = handler(|attempt| async move {
        if attempt.number < 3 { Err(HandlerError::not_sent("closed")) } else { Ok(()) }
    });
    let day = Span::from_secs(86_400);
    let delivery = store.deliver_all_inline(vec![served("bank", at_third)]);
    let delivered = delivery.advancing_time(store.clock(), day).await;
    assert_eq!((delivered.count("not_sent"), delivered.count("completed")), (2, 1));
    delivered.assert_nothing_left();

    store.enqueue(vec![command("bank", "pay", 2)]).await.unwrap();
    let never = failing("bank", HandlerError::not_sent("closed"));
    let delivery = store.deliver_all_inline(vec![never]).advancing_time(store.clock(), day);
    let delivered = delivery.await;
    assert_eq!(delivered.left.len(), 1, "{delivered}");
    assert_eq!(delivered.left[0].state, "dead");
    assert!(delivered.left[0].why.starts_with("it waits for a person: "), "{delivered}");
    assert!(delivered.advanced > Span::from_secs(20 * 3600 - 600), "{:?}", delivered.advanced);
    assert!(delivered.advanced <= day, "{:?}", delivered.advanced);
}

#[test]
fn the_same_run_gives_the_same_waits() {
    let waits = |seed| {
        let store = TempStore::new();
        store.enqueue_blocking(vec![command("bank", "pay", 1)]).unwrap();
        let never = failing("bank", HandlerError::not_sent("closed"));
        let hour = Span::from_secs(3600);
        let delivery = store.deliver_all_inline(vec![never]).seed(seed);
        delivery.advancing_time(store.clock(), hour).blocking().tries.len()
    };
    assert_eq!(waits(1), waits(1));
}

#[test]
fn each_command_that_is_left_says_why() {
    let store = TempStore::new();
    let later = store.now().unwrap().plus(Span::from_secs(3600));
    let lane = |n| command("shipping", "lane", n).ordering_key(OrderingKey::new("k").unwrap());
    store
        .enqueue_blocking(vec![
            command("shipping", "later", 1).not_before(later),
            command("nobody", "x", 1),
            lane(1),
            lane(2),
            command("doubt", "d", 1),
        ])
        .unwrap();
    let no_keys = counterfoil::Terms::new(counterfoil::Contract::new(counterfoil::Idempotent::No));
    let doubt = failing("doubt", HandlerError::unknown("it broke off"));
    let doubt = Served::new(doubt.destination, no_keys, doubt.transport);
    let refused = failing("shipping", HandlerError::not_sent("closed"));
    let delivered = store.deliver_all_inline(vec![refused, doubt]).blocking();
    let why = |id: &str| {
        let left = delivered.left.iter().find(|left| left.command_id == id);
        left.unwrap_or_else(|| panic!("{id}: {delivered}")).why.clone()
    };
    assert!(why("later:1").starts_with("it is not due before 3"), "{}", why("later:1"));
    assert_eq!(why("x:1"), "nothing serves nobody here: name it in the list");
    assert!(why("lane:1").contains("closed"), "{}", why("lane:1"));
    assert_eq!(why("lane:2"), "it waits behind another command of its lane");
    assert!(why("d:1").contains("waits for a person") && why("d:1").contains("broke off"));
}

#[test]
fn a_rate_does_not_hold_a_test_up_and_a_store_in_memory_will_do() {
    let (shipping, shipped) = noting("shipping");
    let rate = Rate { count: 1, per: Span::from_secs(3600) };
    let shipping = shipping.limits(Limits::default().rate(rate));
    let store = MemoryStore::new(ManualClock::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let commands = (1..=3).map(|n| command("shipping", "a", n)).collect();
        store.enqueue(commands).await.unwrap();
        deliver_all_inline(&store, vec![shipping]).await.assert_nothing_left();
    });
    assert_eq!(shipped.lock().unwrap().len(), 3);
}
