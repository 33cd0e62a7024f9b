//! The way of a command through a relay.
//!
//! Guarantees: each test names the rule that it holds. Does not: repeat what the state machine's
//! own tests say.

use counterfoil_core::domain::Outcome;
use counterfoil_core::port::Notice;
use counterfoil_testkit::Script;

use crate::scene::{Scene, parks, pass};

#[tokio::test(start_paused = true)]
async fn a_command_is_sent_once_and_completed_by_its_receipt() {
    let scene = Scene::new();
    scene.enqueue("order.paid:A-001").await;
    let end = scene.run_until_idle().await;
    assert_eq!((end.remaining.busy, end.abandoned), (0, 0));
    assert_eq!(scene.receiver.effects("order.paid:A-001"), 1);
    assert_eq!(scene.state("order.paid:A-001").await, "completed");
}

#[tokio::test(start_paused = true)]
async fn a_retry_carries_the_same_bytes_under_the_same_id_and_a_new_token() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    scene.transport.script("A", Script::answer(Outcome::not_sent("no route")).without_gate());
    scene.run_until_idle().await;
    let sent = scene.transport.sent();
    assert_eq!(sent.len(), 3);
    assert!(sent.windows(2).all(|two| two[0].body == two[1].body && two[0].id == two[1].id));
    assert!(sent.windows(2).all(|two| two[0].token < two[1].token));
    assert_eq!(sent.iter().map(|sent| sent.number).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(scene.receiver.effects("A"), 1, "the repeat folds into the first effect");
    assert_eq!(scene.state("A").await, "completed");
}

#[tokio::test(start_paused = true)]
async fn without_keys_an_unknown_outcome_is_uncertain_sent_once_and_announced_once() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    let relay = scene.start(scene.options());
    scene.reach("A", "uncertain").await;
    pass(3600.0).await;
    relay.stop().await;
    assert_eq!(scene.receiver.effects("A"), 1);
    assert_eq!(scene.heard.count(parks("A")), 1, "{:?}", scene.heard.all());
    let idle = scene.heard.count(|notice| matches!(notice, Notice::Idle { .. }));
    assert_eq!(idle, 1, "idle is told when it begins, not all along");
}
