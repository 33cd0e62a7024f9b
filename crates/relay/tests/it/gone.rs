//! A destination that says it is gone.
//!
//! Guarantees: it is paused for all relays and nothing more is sent there until a person ends the
//! pause; nothing is lost. Does not: read a status; the transport says what 410 means.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::Outcome;
use counterfoil_core::port::Notice;
use counterfoil_testkit::{Script, ScriptedTransport};

use crate::scene::{SHIPPING, Scene, pass};

fn gone() -> Script {
    Script::answer(Outcome::Gone { reason: "HTTP 410".into() })
}

fn paused(notice: &Notice) -> bool {
    matches!(notice, Notice::Paused { destination, reason }
        if destination.as_str() == SHIPPING && reason == "HTTP 410")
}

/// Ten are under way at once and all hear the same.
#[tokio::test(start_paused = true)]
async fn a_destination_that_is_gone_is_paused_once_for_all_relays() {
    let scene = Scene::new();
    for number in 0..30 {
        let id = format!("A-{number}");
        scene.enqueue(&id).await;
        // One of twenty workers is kept for billing.
        if number < 19 {
            scene.transport.script(&id, gone().after(Duration::from_secs(1)));
        }
    }
    let billing = Arc::new(ScriptedTransport::new(scene.receiver.clone()));
    let mut served = scene.served();
    served.push(scene.serving("billing", billing));
    let store = scene.watched();
    let relay = scene.start_on(&store, served, scene.options().workers(10));
    let other_store = scene.store.reopen(scene.clock.clone());
    let other_options = scene.options().workers(10).owner("relay-2");
    let other = scene.start_on(&other_store, scene.served(), other_options);
    pass(60.0).await;
    scene.enqueue_to("billing", "B").await;
    pass(1.0).await;
    assert_eq!(scene.state("B").await, "completed", "others are served");
    let sent = scene.transport.sent().len();
    assert_eq!(sent, 19, "what was under way, and nothing more");
    assert_eq!(scene.heard.count(paused), 1, "{:?}", scene.heard.all());
    let acts = scene.store.with_rows(|rows| rows.actions.clone());
    assert_eq!(acts.len(), 1, "{acts:?}");
    assert_eq!((acts[0].verb.as_str(), acts[0].reason.as_str()), ("pause", "HTTP 410"));
    assert!(acts[0].actor.starts_with("relay relay-"), "{acts:?}");
    let listed = scene.story("A-0").await.listed;
    assert_eq!((listed.state.as_str(), listed.in_doubt), ("pending", false), "as not sent");
    scene.store.set_paused(SHIPPING, None);
    for number in 0..30 {
        scene.reach(&format!("A-{number}"), "completed").await;
    }
    relay.stop().await;
    other.stop().await;
}

/// The store is away at that moment: the pause is made up for, and nothing is sent meanwhile.
#[tokio::test(start_paused = true)]
async fn a_pause_that_fails_is_tried_until_the_store_takes_it() {
    let scene = Scene::new();
    for id in ["A", "B"] {
        scene.enqueue(id).await;
        scene.transport.script(id, gone().after(Duration::from_secs(1)));
    }
    let store = scene.watched();
    let relay = scene.start_on(&store, scene.served(), scene.options().workers(1));
    pass(0.5).await;
    store.trouble().no_pauses = true;
    pass(30.0).await;
    assert!(store.trouble().pauses > 3);
    assert_eq!(scene.transport.sent().len(), 1, "held here, though the store knows of no pause");
    assert!(!scene.heard.has(paused));
    store.trouble().no_pauses = false;
    pass(10.0).await;
    assert_eq!((scene.heard.count(paused), scene.transport.sent().len()), (1, 1));
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn until_idle_ends_with_what_is_paused_counted() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.transport.script("A", gone());
    let end = scene.run_until_idle().await;
    assert_eq!((end.remaining.busy, end.remaining.paused), (0, 1));
    assert_eq!((scene.heard.count(paused), scene.transport.sends("A")), (1, 1));
}

/// A pause that the store never takes does not hold up a stop for ever.
#[tokio::test(start_paused = true)]
async fn a_stop_ends_though_a_pause_cannot_be_written() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.transport.script("A", gone());
    let store = scene.watched();
    store.trouble().no_pauses = true;
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(1.0).await;
    let asked = tokio::time::Instant::now();
    relay.stop().await;
    assert!(asked.elapsed() <= Duration::from_secs(20), "{:?}", asked.elapsed());
    assert_eq!(scene.state("A").await, "pending");
}

/// It burns an attempt, as any answer that nothing was done.
#[tokio::test(start_paused = true)]
async fn the_last_attempt_that_hears_gone_is_dead() {
    let mut scene = Scene::new();
    scene.terms.pace.max_attempts = 1;
    scene.enqueue("A").await;
    scene.transport.script("A", gone());
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "dead");
    assert_eq!(scene.heard.count(paused), 1);
}
