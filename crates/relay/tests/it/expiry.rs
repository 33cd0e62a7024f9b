//! Commands past their expiry.
//!
//! Guarantees: they end wherever they are bound for, served, paused or not; what may have acted
//! waits for an answer or a person instead. Does not: test the stores' sweeps; their suite does.

use std::time::Duration;

use counterfoil_core::domain::{Outcome, Span};
use counterfoil_core::port::{Notice, Store};
use counterfoil_testkit::Script;

use crate::scene::{SHIPPING, Scene, askable, paid, parks, pass, secs};

async fn enqueue(scene: &Scene, destination: &str, id: &str, expires_in: Span) {
    let mut command = paid(destination, id);
    command.expires_at = Some(scene.clock_now().plus(expires_in));
    scene.enqueue_command(command).await;
}

/// Whether a notice says that `id` expired.
fn expires(id: &str) -> impl Fn(&Notice) -> bool + '_ {
    move |notice| matches!(notice, Notice::Expired { command, .. } if command == id)
}

async fn source(scene: &Scene, id: &str) -> Option<String> {
    scene.story(id).await.receipts[0].source.clone()
}

#[tokio::test(start_paused = true)]
async fn paused_and_unserved_commands_expire_and_are_told_once() {
    let scene = Scene::new();
    scene.store.set_paused("billing", Some("stocktaking"));
    enqueue(&scene, "billing", "paused", secs(10)).await;
    enqueue(&scene, "unknown-place", "stray", secs(10)).await;
    enqueue(&scene, "unknown-place", "later", secs(86_400)).await;
    let mut served = scene.served();
    served.push(scene.serving("billing", scene.transport.clone()));
    let relay = scene.start_on(&scene.store, served, scene.options());
    // Another relay sweeps the same store.
    let other_store = scene.store.reopen(scene.clock.clone());
    let other = scene.start_on(&other_store, scene.served(), scene.options().owner("other"));
    pass(9.5).await;
    assert_eq!(scene.state("paused").await, "pending");
    pass(2.0).await;
    for id in ["paused", "stray"] {
        assert_eq!(scene.state(id).await, "expired", "within a second or so");
        assert_eq!(source(&scene, id).await.as_deref(), Some("sweep"));
        assert_eq!(scene.heard.count(expires(id)), 1);
    }
    relay.stop().await;
    other.stop().await;
    assert_eq!(scene.state("later").await, "pending");
    assert_eq!(scene.transport.sent().len(), 0);
}

/// The claim that comes upon it first ends it alike, and tells of it alike.
#[tokio::test(start_paused = true)]
async fn what_a_claim_finds_past_its_expiry_is_told_too() {
    let scene = Scene::new();
    enqueue(&scene, SHIPPING, "A", secs(1)).await;
    pass(5.0).await;
    let store = scene.watched();
    store.trouble().no_sweeps = true;
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(5.0).await;
    relay.stop().await;
    assert_eq!(scene.state("A").await, "expired");
    assert_eq!((scene.heard.count(expires("A")), scene.transport.sent().len()), (1, 0));
}

/// A retry that waits for its time does not outlive its expiry, and is not sent after it.
#[tokio::test(start_paused = true)]
async fn a_command_that_waits_for_its_next_try_expires_meanwhile() {
    let mut scene = Scene::new();
    (scene.terms.pace.initial, scene.terms.pace.max) = (secs(3600), secs(3600));
    enqueue(&scene, SHIPPING, "A", secs(60)).await;
    let wait = Outcome::NotSent {
        reason: "HTTP 429".into(),
        retry_after: Some(secs(3600)),
        misconfigured: false,
    };
    scene.transport.script("A", Script::answer(wait));
    let before = scene.clock_now();
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "expired");
    let waited = scene.clock_now().since(before);
    assert!(waited >= secs(60) && waited < secs(63), "{waited:?}");
    assert_eq!((scene.transport.sends("A"), scene.heard.count(expires("A"))), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn until_idle_does_not_wait_for_an_expiry_ahead() {
    let scene = Scene::new();
    scene.store.set_paused(SHIPPING, Some("stocktaking"));
    enqueue(&scene, SHIPPING, "paused", secs(86_400)).await;
    enqueue(&scene, "unknown-place", "stray", secs(86_400)).await;
    let before = scene.clock_now();
    let end = scene.run_until_idle().await;
    assert!(scene.clock_now().since(before) < secs(2));
    assert_eq!((end.remaining.busy, end.remaining.paused, end.remaining.unserved), (0, 1, 1));
}

/// It has swept once before it ends, however little there was to do.
#[tokio::test(start_paused = true)]
async fn the_shortest_run_sweeps_once() {
    let scene = Scene::new();
    scene.store.set_paused(SHIPPING, Some("stocktaking"));
    enqueue(&scene, SHIPPING, "paused", secs(1)).await;
    enqueue(&scene, "unknown-place", "stray", secs(1)).await;
    pass(5.0).await;
    let end = scene.run_until_idle().await;
    assert_eq!((end.remaining.paused, end.remaining.unserved), (0, 0));
    assert_eq!(scene.state("paused").await, "expired");
    assert!(scene.heard.has(expires("stray")) && scene.heard.has(expires("paused")));
}

/// In doubt is never called expired.
#[tokio::test(start_paused = true)]
async fn what_may_have_acted_does_not_expire() {
    for can_be_asked in [false, true] {
        let mut scene = Scene::new();
        if can_be_asked {
            askable(&mut scene.terms.contract);
        }
        (scene.terms.pace.initial, scene.terms.pace.max) = (secs(3600), secs(3600));
        enqueue(&scene, SHIPPING, "A", secs(60)).await;
        scene.transport.script("A", Script::lose_answer());
        let relay = scene.start(scene.options());
        scene.reach("A", "pending").await;
        while scene.settled("A").is_empty() {
            pass(0.1).await;
        }
        scene.store.set_paused(SHIPPING, Some("stocktaking"));
        pass(62.0).await;
        let state = scene.state("A").await;
        assert_eq!(state, if can_be_asked { "asking" } else { "uncertain" });
        assert_eq!(scene.heard.count(parks("A")), usize::from(!can_be_asked));
        scene.store.set_paused(SHIPPING, None);
        pass(200.0).await;
        relay.stop().await;
        let end = if can_be_asked { "completed" } else { "uncertain" };
        assert_eq!((scene.state("A").await.as_str(), scene.transport.sends("A")), (end, 1));
        assert!(!scene.heard.has(expires("A")));
    }
}

/// What is being sent goes on.
#[tokio::test(start_paused = true)]
async fn what_is_under_way_at_its_expiry_is_left_alone() {
    let scene = Scene::new();
    enqueue(&scene, SHIPPING, "A", secs(3)).await;
    scene.transport.script("A", Script::receive().after(Duration::from_secs(9)));
    let relay = scene.start(scene.options());
    pass(6.0).await;
    assert_eq!(scene.state("A").await, "sending");
    scene.reach("A", "completed").await;
    relay.stop().await;
}

/// A thousand at once: short writes, one after the other, without a second between them.
#[tokio::test(start_paused = true)]
async fn many_are_swept_in_short_writes_without_a_pause() {
    let scene = Scene::new();
    for number in 0..1000 {
        enqueue(&scene, "unknown-place", &format!("A-{number}"), secs(5)).await;
    }
    let store = scene.watched();
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(4.5).await;
    let before = store.trouble().sweeps;
    pass(1.6).await;
    assert_eq!(scene.heard.count(|notice| matches!(notice, Notice::Expired { .. })), 1000);
    let (sweeps, most) = {
        let trouble = store.trouble();
        (trouble.sweeps - before, trouble.swept_most)
    };
    assert!((4..=8).contains(&sweeps) && most <= 256, "{sweeps} sweeps of {most}");
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_relay_sweeps_once_a_second_without_a_write_and_stops_with_it() {
    let scene = Scene::new();
    enqueue(&scene, "unknown-place", "later", secs(86_400)).await;
    let store = scene.watched();
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(5.0).await;
    let (writes, before) = (scene.store.commits(), store.trouble().sweeps);
    pass(60.0).await;
    let sweeps = store.trouble().sweeps - before;
    assert!((55..=61).contains(&sweeps), "{sweeps} in a minute");
    assert_eq!(scene.store.commits(), writes, "reading only");
    relay.stop().await;
    let at_the_end = store.trouble().sweeps;
    pass(60.0).await;
    assert_eq!(store.trouble().sweeps, at_the_end);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_swept_when_it_is_back() {
    let scene = Scene::new();
    enqueue(&scene, "unknown-place", "stray", secs(5)).await;
    let store = scene.watched();
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(1.0).await;
    store.trouble().down = true;
    pass(30.0).await;
    assert_eq!(scene.state("stray").await, "pending");
    store.trouble().down = false;
    pass(2.0).await;
    assert_eq!(scene.state("stray").await, "expired");
    relay.stop().await;
    assert_eq!(scene.store.status().await.unwrap().destinations["unknown-place"]["expired"], 1);
}
