//! Several destinations: turns, and what one that hangs leaves to the others.
//!
//! Guarantees: a destination always has its share of the workers. Does not: open breakers or
//! limit concurrency by name.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::port::Notice;
use counterfoil_relay::Served;
use counterfoil_testkit::{Script, ScriptedTransport};

use crate::scene::{SHIPPING, Scene, pass};

const BILLING: &str = "billing";

fn both(scene: &Scene, billing: ScriptedTransport) -> Vec<Served> {
    let mut served = scene.served();
    served.push(scene.serving(BILLING, Arc::new(billing)));
    served
}

/// All of shipping hangs to its request timeout, with a long queue: billing keeps its share.
#[tokio::test(start_paused = true)]
async fn a_destination_that_hangs_leaves_the_others_their_share() {
    let scene = Scene::new();
    for number in 0..100 {
        let id = format!("A-{number}");
        scene.enqueue(&id).await;
        scene.transport.script(&id, Script::hang());
    }
    let billing = ScriptedTransport::new(scene.receiver.clone())
        .by_default(Script::receive().after(Duration::from_millis(5)));
    let served = both(&scene, billing);
    let relay = scene.start_on(&scene.store, served, scene.options().workers(8));
    pass(1.0).await;
    for number in 0..100 {
        scene.enqueue_to(BILLING, &format!("B-{number}")).await;
    }
    // One worker of eight is billing's own: 100 commands of 5 ms and their settles.
    pass(1.0).await;
    assert_eq!(scene.state("B-99").await, "completed");
    let hanging = scene.transport.sent().len();
    assert_eq!(hanging, 7, "and the rest is not wasted");
    relay.stop().await;
}

/// Two long queues: neither waits until the other is empty.
#[tokio::test(start_paused = true)]
async fn destinations_take_turns() {
    let scene = Scene::new();
    for number in 0..200 {
        scene.enqueue(&format!("A-{number}")).await;
    }
    for number in 0..200 {
        scene.enqueue_to(BILLING, &format!("B-{number}")).await;
    }
    let billing = Arc::new(ScriptedTransport::new(scene.receiver.clone()));
    let mut served = scene.served();
    served.push(scene.serving(BILLING, billing.clone()));
    let store = scene.watched();
    store.trouble().after = Duration::from_millis(10);
    let relay = scene.start_on(&store, served, scene.options().workers(16));
    while scene.transport.sent().len() + billing.sent().len() < 200 {
        pass(0.001).await;
    }
    let (shipped, billed) = (scene.transport.sent().len(), billing.sent().len());
    assert!(shipped.abs_diff(billed) <= 32, "{shipped} and {billed}");
    relay.stop().await;
}

/// With one destination nothing is kept free for others.
#[tokio::test(start_paused = true)]
async fn a_lone_destination_has_all_workers() {
    let scene = Scene::new();
    for number in 0..20 {
        let id = format!("A-{number}");
        scene.enqueue(&id).await;
        scene.transport.script(&id, Script::hang());
    }
    let relay = scene.start(scene.options().workers(8));
    pass(1.0).await;
    assert_eq!(scene.transport.sent().len(), 8);
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_destination_that_is_set_up_wrongly_is_told_once() {
    let scene = Scene::new();
    let gone = || {
        Script::answer(counterfoil_core::domain::Outcome::NotSent {
            reason: "HTTP 404".into(),
            retry_after: None,
            misconfigured: true,
        })
    };
    for number in 0..5 {
        let id = format!("A-{number}");
        scene.enqueue(&id).await;
        scene.transport.script(&id, gone());
    }
    let relay = scene.start(scene.options());
    for number in 0..5 {
        scene.reach(&format!("A-{number}"), "completed").await;
    }
    relay.stop().await;
    let told = |notice: &Notice| {
        matches!(notice, Notice::Misconfigured { destination, reason }
        if destination.as_str() == SHIPPING && reason == "HTTP 404")
    };
    assert_eq!(scene.heard.count(told), 1, "{:?}", scene.heard.all());
}
