//! Clocks that are wrong, step, or stand still while the machine sleeps.
//!
//! Guarantees: no clock makes a relay send twice what may act twice, or wait for ever. Does not:
//! set the machine's clock.

use std::time::Duration;

use counterfoil_core::domain::Idempotent;
use counterfoil_core::port::{Clock, Notice, Store};
use counterfoil_testkit::{ManualClock, Receiver, Script};

use crate::scene::{Scene, parks, pass, secs};

const HOUR: i64 = 3_600_000_000;

/// A virtual machine is put to sleep between the claim and the first byte, past the lease.
#[tokio::test(start_paused = true)]
async fn a_machine_that_sleeps_through_its_lease_sends_nothing_when_it_wakes() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().before_gate(Duration::from_secs(5)));
    let relay = scene.start(scene.options());
    pass(1.0).await;
    assert_eq!(scene.state("A").await, "sending");
    scene.clock.advance(secs(60));
    scene.reach("A", "completed").await;
    pass(10.0).await;
    relay.stop().await;
    let back = |notice: &Notice| matches!(notice, Notice::HandedBack { .. });
    assert_eq!(scene.heard.count(back), 1, "{:?}", scene.heard.all());
    assert!(!scene.heard.has(parks("A")), "its own relay knows that it never left");
    assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (1, 1));
    let story = scene.story("A").await;
    assert_eq!((story.receipts[0].attempts, story.tries.len()), (1, 0), "as never claimed");
}

/// The same, and another relay has taken over meanwhile: uncertain, but sent by nobody again.
#[tokio::test(start_paused = true)]
async fn a_machine_that_sleeps_is_taken_over_and_its_own_attempt_never_begins() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().before_gate(Duration::from_secs(5)));
    let slow = scene.watched();
    let relay = scene.start_on(&slow, scene.served(), scene.options());
    pass(1.0).await;
    slow.trouble().before = Duration::from_secs(20);
    scene.clock.advance(secs(60));
    let store = scene.store.reopen(scene.clock.clone());
    let other = scene.start_on(&store, scene.served(), scene.options().owner("other"));
    pass(60.0).await;
    relay.stop().await;
    other.stop().await;
    assert_eq!(scene.state("A").await, "uncertain", "nobody else can know that it never left");
    assert_eq!(scene.transport.sends("A"), 0);
}

/// A second relay whose machine is an hour behind: it goes by the time that the store has saved.
#[tokio::test(start_paused = true)]
async fn a_relay_whose_clock_is_an_hour_behind_takes_over_and_rejuvenates_nothing() {
    let window = Idempotent::Window { key_ttl: secs(600) };
    let mut scene = Scene::with(Receiver::with_keys(), window, |transport| transport);
    scene.terms.contract.give_up_after = secs(500);
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer().after(Duration::from_secs(5)));
    let relay = scene.start(scene.options());
    pass(1.0).await;
    relay.kill().await;
    pass(600.0).await;
    // What was committed since keeps the store's time.
    scene.enqueue("B").await;
    let behind = ManualClock::running();
    behind.advance(scene.clock.boot().since(behind.boot()));
    behind.step_machine(-HOUR);
    let store = scene.store.reopen(behind.clone());
    assert!(store.now().unwrap() >= scene.store.now().unwrap());
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(60.0).await;
    relay.stop().await;
    assert_eq!(scene.state("B").await, "completed");
    assert_eq!(scene.state("A").await, "uncertain", "its window is over all the same");
    assert_eq!(scene.transport.sends("A"), 1);
}

/// A second relay whose machine is an hour ahead: it sees every lease as run out. What may act
/// twice is not sent twice, and the first one's own word still counts.
#[tokio::test(start_paused = true)]
async fn a_relay_whose_clock_is_an_hour_ahead_makes_nothing_act_twice() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().after(Duration::from_secs(8)));
    let relay = scene.start(scene.options());
    pass(1.0).await;
    let ahead = scene.clock.clone();
    let other_clock = ManualClock::at(ahead.machine().plus(secs(3600)));
    let store = scene.store.reopen(other_clock);
    let other = scene.start_on(&store, scene.served(), scene.options().owner("other"));
    pass(2.0).await;
    assert_eq!(scene.state("A").await, "uncertain");
    scene.reach("A", "completed").await;
    relay.stop().await;
    other.stop().await;
    assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (1, 1));
}

/// The wall clock steps back a day while a relay runs: retries stay due, the window goes on.
#[tokio::test(start_paused = true)]
async fn a_clock_that_steps_back_a_day_freezes_nothing() {
    let scene = Scene::new();
    for id in ["A", "B"] {
        scene.enqueue(id).await;
    }
    scene.transport.script("A", Script::lose_answer());
    scene.transport.script("A", Script::receive().after(Duration::from_secs(2)));
    let relay = scene.start(scene.options());
    scene.reach("B", "completed").await;
    let before = scene.clock_now();
    scene.clock.step_machine(-24 * HOUR);
    assert!(scene.clock_now() >= before);
    scene.enqueue("C").await;
    pass(30.0).await;
    assert_eq!(scene.state("A").await, "completed");
    assert_eq!(scene.state("C").await, "completed");
    let tokens: Vec<_> = scene.transport.sent().into_iter().filter(|sent| sent.id == "A").collect();
    assert!(tokens.windows(2).all(|two| two[0].token < two[1].token), "{tokens:?}");
    // And after a restart, too.
    relay.stop().await;
    let store = scene.store.reopen(scene.clock.clone());
    scene.enqueue("D").await;
    let options = scene.options().until_idle(true);
    scene.start_on(&store, scene.served(), options).end().await.unwrap();
    assert_eq!(scene.state("D").await, "completed");
}

/// The wall clock jumps a day ahead while a relay runs: it stops by name, and nothing is judged
/// by that time.
#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_ahead_stops_the_relay_by_name() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer().after(Duration::from_secs(5)));
    let relay = scene.start(scene.options());
    pass(1.0).await;
    scene.clock.step_machine(24 * HOUR);
    let error = relay.end().await.unwrap_err();
    assert_eq!(error.code(), "CF0909", "{error}");
    scene.clock.step_machine(-24 * HOUR);
    assert_eq!(scene.transport.sends("A"), 1);
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "uncertain");
    assert_eq!(scene.receiver.effects("A"), 1);
}
