//! A relay whose claims wait in the store for something to be due.
//!
//! Guarantees: it looks no more often than its poll, which is an hour here, so whatever it takes
//! was waited for. Does not: say in which transaction; the stores' tests do.

use std::time::Duration;

use counterfoil_core::port::Notice;
use counterfoil_testkit::Script;

use crate::scene::{AtWork, Scene, pass};

fn start(scene: &Scene) -> AtWork {
    let store = scene.store.clone().patient();
    let options = scene.options().poll(Duration::from_secs(3600));
    scene.start_on(&store, scene.served(), options)
}

/// Its deadline counts from the claim, not from when it began to wait.
#[tokio::test(start_paused = true)]
async fn what_is_waited_for_is_sent_however_long_it_was() {
    let scene = Scene::new();
    let relay = start(&scene);
    for id in ["A", "B"] {
        // Ten leases.
        pass(300.0).await;
        scene.enqueue(id).await;
        pass(0.1).await;
        assert_eq!(scene.state(id).await, "completed", "{id}");
    }
    let back = |notice: &Notice| matches!(notice, Notice::HandedBack { .. });
    assert_eq!(scene.heard.count(back), 0);
    assert_eq!(relay.stop().await.remaining.busy, 0);
}

/// While attempts run, and while others are settled, too.
#[tokio::test(start_paused = true)]
async fn it_waits_beside_attempts_that_run() {
    let scene = Scene::new();
    scene.transport.script("slow", Script::receive().after(Duration::from_secs(8)));
    let relay = start(&scene);
    scene.enqueue("slow").await;
    for at in 0..3 {
        pass(2.0).await;
        let id = format!("quick-{at}");
        scene.enqueue(&id).await;
        pass(0.1).await;
        assert_eq!(scene.state(&id).await, "completed");
    }
    assert_eq!(scene.state("slow").await, "sending");
    pass(8.0).await;
    assert_eq!(scene.state("slow").await, "completed");
    relay.stop().await;
}

/// A wait holds up no end.
#[tokio::test(start_paused = true)]
async fn a_relay_that_waits_stops_at_once_and_ends_when_idle() {
    let scene = Scene::new();
    let relay = start(&scene);
    pass(10.0).await;
    let before = scene.clock_now();
    relay.stop().await;
    assert!(scene.clock_now().since(before).to_std() < Duration::from_secs(1));
    scene.enqueue("A").await;
    let store = scene.store.clone().patient();
    let options = scene.options().until_idle(true);
    let end = scene.start_on(&store, scene.served(), options).end().await.unwrap();
    assert_eq!((end.remaining.busy, scene.state("A").await.as_str()), (0, "completed"));
}
