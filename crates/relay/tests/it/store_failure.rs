//! A store that fails for a while, for one row, or for good.
//!
//! Guarantees: an outcome that a relay has heard of is not lost while the relay lives. Does not:
//! break files; the stores' own tests do.

use std::time::Duration;

use counterfoil_core::port::Notice;
use counterfoil_relay::RelayError;
use counterfoil_testkit::{Fault, Script};

use crate::scene::{Scene, pass};

fn failed(notice: &Notice) -> bool {
    matches!(notice, Notice::StoreFailed { .. })
}

#[tokio::test(start_paused = true)]
async fn outcomes_heard_while_the_store_is_down_are_settled_when_it_is_back() {
    for number in [1, 20] {
        let scene = Scene::keyless();
        for number in 0..number {
            let id = format!("A-{number}");
            scene.enqueue(&id).await;
            scene.transport.script(&id, Script::receive().after(Duration::from_secs(2)));
        }
        let store = scene.watched();
        let relay = scene.start_on(&store, scene.served(), scene.options());
        pass(1.0).await;
        store.trouble().down = true;
        // Longer than five tries, shorter than a lease: nobody may take over.
        pass(24.0).await;
        store.trouble().down = false;
        pass(5.5).await;
        for number in 0..number {
            assert_eq!(scene.state(&format!("A-{number}")).await, "completed");
            assert_eq!(scene.receiver.effects(&format!("A-{number}")), 1);
        }
        let told = scene.heard.count(failed);
        assert!((4..=16).contains(&told), "it backs off: {told} tries in 24 s");
        relay.stop().await;
    }
}

/// Longer than the lease: the settle is late, and its `Completed` still counts.
#[tokio::test(start_paused = true)]
async fn an_outcome_outlives_an_outage_that_outlives_the_lease() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().after(Duration::from_secs(2)));
    let store = scene.watched();
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(1.0).await;
    store.trouble().down = true;
    pass(600.0).await;
    store.trouble().down = false;
    scene.reach("A", "completed").await;
    assert_eq!(scene.receiver.effects("A"), 1);
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_took_effect_unknown_to_the_relay_is_repeated_without_harm() {
    for fault in [Fault::NotKnownApplied, Fault::NotKnownLost, Fault::Unavailable] {
        let scene = Scene::new();
        scene.enqueue("A").await;
        scene.enqueue("B").await;
        scene.transport.script("A", Script::receive().after(Duration::from_secs(1)));
        let relay = scene.start(scene.options());
        pass(0.5).await;
        scene.store.fail_exchange(fault);
        scene.reach("A", "completed").await;
        scene.reach("B", "completed").await;
        relay.stop().await;
        let story = scene.story("A").await;
        assert_eq!(story.receipts.len(), 1, "{fault:?}");
        assert!(story.tries.iter().all(|told| told.what == "late"), "{fault:?}: {story:?}");
        assert_eq!(scene.receiver.effects("A"), 1);
    }
}

/// A claim that took effect unknown to the relay runs out by itself, and is taken over.
#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_taken_over_after_its_lease() {
    let scene = Scene::new();
    scene.store.fail_exchange(Fault::NotKnownApplied);
    scene.enqueue("A").await;
    let relay = scene.start(scene.options());
    scene.reach("A", "completed").await;
    relay.stop().await;
    assert_eq!(scene.receiver.effects("A"), 1);
}

/// One row whose settle always fails: the others are settled at once, and it is left to its lease.
#[tokio::test(start_paused = true)]
async fn one_bad_row_holds_up_no_other() {
    for broken in [false, true] {
        let scene = Scene::new();
        for number in 0..10 {
            scene.enqueue(&format!("A-{number}")).await;
        }
        let store = scene.watched();
        store.trouble().poison = Some("A-3".into());
        store.trouble().broken = broken;
        let relay = scene.start_on(&store, scene.served(), scene.options());
        pass(2.0).await;
        for number in (0..10).filter(|number| *number != 3) {
            assert_eq!(scene.state(&format!("A-{number}")).await, "completed", "{number}");
        }
        assert_eq!(scene.state("A-3").await, "sending");
        for number in 10..20 {
            scene.enqueue(&format!("A-{number}")).await;
            pass(1.0).await;
            assert_eq!(scene.state(&format!("A-{number}")).await, "completed", "{number}");
        }
        let given_up = |notice: &Notice| {
            matches!(notice, Notice::StoreFailed { reason, .. }
            if reason.contains("A-3") && reason.contains("left to its lease"))
        };
        assert_eq!(scene.heard.count(given_up), 1, "{:?}", scene.heard.all());
        store.trouble().poison = None;
        scene.reach("A-3", "completed").await;
        relay.stop().await;
    }
}

/// A worker's open transaction holds one delivery: the others are settled at once, new ones go
/// on, and the held one is settled when it is let go, without a second send.
#[tokio::test(start_paused = true)]
async fn what_another_transaction_holds_is_settled_when_it_is_let_go() {
    let scene = Scene::new();
    for number in 0..4 {
        scene.enqueue(&format!("A-{number}")).await;
    }
    let store = scene.watched();
    store.trouble().held = Some("A-2".into());
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(2.0).await;
    scene.enqueue("A-4").await;
    pass(1.0).await;
    for number in [0, 1, 3, 4] {
        assert_eq!(scene.state(&format!("A-{number}")).await, "completed", "{number}");
    }
    assert_eq!(scene.state("A-2").await, "sending");
    let told = |notice: &Notice| {
        matches!(notice, Notice::Settled { command, .. }
        if command.as_str() == "A-2")
    };
    assert_eq!(scene.heard.count(told), 0);
    // Soon at first, then every 50 ms.
    let times = store.trouble().times_held;
    assert!((50..80).contains(&times), "tried {times} times in 3 s");
    store.trouble().held = None;
    pass(1.0).await;
    assert_eq!(scene.state("A-2").await, "completed");
    assert_eq!((scene.heard.count(told), scene.receiver.effects("A-2")), (1, 1));
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_store_ends_the_relay_by_name() {
    for commands in [0, 1, 5] {
        let scene = Scene::new();
        for number in 0..commands {
            let id = format!("A-{number}");
            scene.enqueue(&id).await;
            scene.transport.script(&id, Script::receive().after(Duration::from_secs(1)));
        }
        let store = scene.watched();
        let relay = scene.start_on(&store, scene.served(), scene.options());
        pass(0.5).await;
        store.trouble().broken = true;
        store.trouble().down = true;
        let error = relay.end().await.unwrap_err();
        assert_eq!(error.code(), "CF0908", "{error}");
        assert!(error.to_string().contains("broken: on purpose"), "{error}");
    }
}

/// A clock that jumped: no lease can be judged, so the relay ends, and what has not begun is
/// not sent.
#[tokio::test(start_paused = true)]
async fn a_clock_that_jumped_ends_the_relay_by_name() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().before_gate(Duration::from_secs(3)));
    let store = scene.watched();
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(1.0).await;
    store.trouble().clock = true;
    let error = relay.end().await.unwrap_err();
    assert_eq!(
        error,
        RelayError::Clock(counterfoil_core::domain::store_clock::ClockJumped { ahead_secs: 7200 })
    );
    pass(60.0).await;
    assert_eq!(scene.receiver.effects("A"), 0);
}

/// The story: the count at the end of `relay --until-idle` failed, and its exit said that nothing
/// remained.
#[tokio::test(start_paused = true)]
async fn what_could_not_be_counted_is_not_called_nothing() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    let store = scene.watched();
    let relay = scene.start_on(&store, scene.served(), scene.options());
    scene.reach("A", "uncertain").await;
    store.trouble().down = true;
    let end = relay.stop().await;
    assert_eq!((end.is_counted, end.remaining.parked), (false, 0));
    let end = scene.run_until_idle().await;
    assert_eq!((end.is_counted, end.remaining.parked), (true, 1));
}
