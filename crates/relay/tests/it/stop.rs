//! The end of a relay: hand back what has not begun, wait a bounded while for what has.
//!
//! Guarantees: a stop puts nothing in doubt that has not left. Does not: send signals; the
//! command line's tests do.

use std::time::Duration;

use counterfoil_core::port::Notice;
use counterfoil_testkit::Script;
use tokio::time::Instant;

use crate::scene::{Scene, pass};

#[tokio::test(start_paused = true)]
async fn a_stop_hands_back_what_has_not_begun_with_none_in_doubt() {
    let scene = Scene::keyless();
    for number in 0..10 {
        let id = format!("A-{number}");
        scene.enqueue(&id).await;
        scene.transport.script(&id, Script::receive().before_gate(Duration::from_secs(5)));
    }
    let relay = scene.start(scene.options());
    pass(1.0).await;
    let asked = Instant::now();
    let end = relay.stop().await;
    assert!(asked.elapsed() < Duration::from_millis(100), "nothing to wait for");
    assert_eq!(end.abandoned, 0);
    for number in 0..10 {
        let story = scene.story(&format!("A-{number}")).await;
        assert_eq!((story.listed.state.as_str(), story.listed.in_doubt), ("pending", false));
        assert_eq!((story.listed.attempts, story.first_sent_at), (0, None), "as never claimed");
    }
    let back = |notice: &Notice| matches!(notice, Notice::HandedBack { .. });
    assert_eq!(scene.heard.count(back), 10);
    pass(60.0).await;
    assert_eq!(scene.receiver.effects("A-1"), 0, "what was withdrawn does not act later");
    scene.run_until_idle().await;
    assert_eq!(scene.receiver.effects("A-1"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_what_has_begun_and_settles_it() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().after(Duration::from_secs(8)));
    let relay = scene.start(scene.options());
    pass(1.0).await;
    let mut relay = relay;
    relay.ask_to_stop();
    pass(0.1).await;
    scene.enqueue("C").await;
    let end = relay.end().await.unwrap();
    assert_eq!((end.abandoned, end.remaining.busy), (0, 1), "C was not claimed any more");
    assert_eq!(scene.state("A").await, "completed");
    assert_eq!(scene.state("C").await, "pending");
}

#[tokio::test(start_paused = true)]
async fn the_drain_is_bounded_and_what_is_left_stays_under_its_lease() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().after(Duration::from_secs(9)));
    let relay = scene.start(scene.options().drain(Duration::from_secs(3)));
    pass(1.0).await;
    let asked = Instant::now();
    let end = relay.stop().await;
    assert_eq!(asked.elapsed().as_secs(), 3);
    assert_eq!(end.abandoned, 1);
    assert!(scene.heard.has(|notice| matches!(notice, Notice::Stopped { abandoned: 1, .. })));
    assert_eq!(scene.state("A").await, "sending", "its lease runs out by itself");
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "uncertain");
}

/// The claim was issued before the stop and answered after it.
#[tokio::test(start_paused = true)]
async fn what_is_claimed_while_stopping_is_handed_back() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    let store = scene.watched();
    store.trouble().after = Duration::from_secs(1);
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(0.5).await;
    let end = relay.stop().await;
    assert_eq!(end.abandoned, 0);
    let story = scene.story("A").await;
    assert_eq!((story.listed.state.as_str(), story.listed.in_doubt), ("pending", false));
    assert_eq!(scene.transport.sent().len(), 0);
}

/// A store that hangs while the relay stops: the stop ends all the same.
#[tokio::test(start_paused = true)]
async fn a_stop_ends_though_the_store_does_not_answer() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    let store = scene.watched();
    scene.transport.script("A", Script::receive().after(Duration::from_secs(1)));
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(0.5).await;
    store.trouble().before = Duration::from_secs(86_400);
    let asked = Instant::now();
    relay.stop().await;
    assert!(asked.elapsed() <= Duration::from_secs(20), "{:?}", asked.elapsed());
    assert_eq!(scene.state("A").await, "sending");
}

/// A future that is dropped leaves nothing behind that still sends.
#[tokio::test(start_paused = true)]
async fn a_relay_that_is_dropped_begins_nothing_more() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().before_gate(Duration::from_secs(5)));
    let relay = scene.start(scene.options());
    pass(1.0).await;
    relay.kill().await;
    pass(60.0).await;
    assert_eq!(scene.receiver.effects("A"), 0);
}

#[tokio::test(start_paused = true)]
async fn until_idle_waits_for_retries_and_says_what_waits_for_a_person() {
    let scene = Scene::keyless();
    for id in ["good", "later", "lost"] {
        scene.enqueue(id).await;
    }
    scene.enqueue_to("unknown-place", "stray").await;
    let no_route = || Script::answer(counterfoil_core::domain::Outcome::not_sent("no route"));
    for _ in 0..5 {
        scene.transport.script("later", no_route().without_gate());
    }
    scene.transport.script("lost", Script::lose_answer());
    let end = scene.run_until_idle().await;
    assert_eq!(scene.state("later").await, "completed");
    let left = end.remaining;
    assert_eq!((left.busy, left.parked, left.unserved, left.paused), (0, 1, 1, 0));
    assert_eq!(scene.state("stray").await, "pending", "it is unserved, no error");
    let stray = |notice: &Notice| {
        matches!(notice, Notice::Unserved { destination, open: 1 }
        if destination == "unknown-place")
    };
    assert_eq!(scene.heard.count(stray), 1);
}

#[tokio::test(start_paused = true)]
async fn until_idle_does_not_wait_for_a_paused_destination() {
    let scene = Scene::new();
    scene.store.set_paused("shipping", Some("stocktaking"));
    scene.enqueue("A").await;
    let end = scene.run_until_idle().await;
    assert_eq!((end.remaining.busy, end.remaining.paused), (0, 1));
    assert_eq!(scene.transport.sent().len(), 0);
    scene.store.set_paused("shipping", None);
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "completed");
}
