//! What is parked becomes a command to where alerts are sent.
//!
//! Guarantees: settles, claims and sweeps of a relay announce alike, once a round, and an alert
//! that fails announces nothing. Does not: test how a store names alerts; its suite does.

use counterfoil_core::domain::id::Kind;
use counterfoil_core::domain::{Destination, Judge, Outcome};
use counterfoil_core::port::{Announce, Notice};
use counterfoil_testkit::Script;

use crate::scene::{AtWork, SHIPPING, Scene, paid, parks, pass, secs};

fn refused() -> Script {
    Script::answer(Outcome::Rejected { reason: "HTTP 400".into(), by: Judge::Status })
}

fn start(scene: &Scene) -> AtWork {
    let destination = Destination::new("ops").unwrap();
    let announce = Announce { destination, kind: Kind::new("counterfoil.parked").unwrap() };
    let served = vec![
        scene.serving(SHIPPING, scene.transport.clone()),
        scene.serving("ops", scene.transport.clone()),
    ];
    scene.start_on(&scene.store, served, scene.options().announce(announce))
}

#[tokio::test(start_paused = true)]
async fn what_a_settle_parks_is_announced_at_once() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.transport.script("A", refused());
    let relay = start(&scene);
    pass(1.0).await;
    assert_eq!(scene.state("A").await, "dead");
    assert_eq!(scene.state("counterfoil.parked:A:1").await, "completed");
    let sent = scene.transport.sent();
    let alert = sent.iter().find(|sent| sent.id == "counterfoil.parked:A:1").unwrap();
    let body: serde_json::Value = serde_json::from_slice(&alert.body).unwrap();
    assert_eq!(body["command_id"], "A");
    assert_eq!(body["state"], "dead");
    relay.stop().await;
}

/// A sweep parks what is past its expiry and in doubt.
#[tokio::test(start_paused = true)]
async fn what_a_sweep_parks_is_announced_too() {
    let mut scene = Scene::keyless();
    scene.terms.pace.initial = secs(60);
    let mut command = paid(SHIPPING, "A");
    command.expires_at = Some(scene.clock_now().plus(secs(20)));
    scene.enqueue_command(command).await;
    let later = scene.clock_now().plus(secs(3600));
    scene.store.with_rows(|rows| {
        let n = rows.ids[b"A".as_slice()];
        let delivery = &mut rows.deliveries.get_mut(&n).unwrap().delivery;
        (delivery.in_doubt, delivery.available_at) = (true, Some(later));
    });
    let relay = start(&scene);
    pass(30.0).await;
    assert_eq!(scene.state("A").await, "uncertain");
    assert_eq!(scene.state("counterfoil.parked:A:1").await, "completed");
    assert_eq!(scene.heard.count(parks("A")), 1, "and told to the observer");
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_alert_that_fails_is_parked_and_announces_nothing() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.transport.script("A", refused());
    scene.transport.script("counterfoil.parked:A:1", refused());
    let relay = start(&scene);
    pass(60.0).await;
    relay.stop().await;
    assert_eq!(scene.state("counterfoil.parked:A:1").await, "dead");
    assert_eq!(scene.heard.count(|notice| matches!(notice, Notice::Parked { .. })), 2);
    assert_eq!(scene.transport.sent().len(), 2, "no alert about an alert");
}
