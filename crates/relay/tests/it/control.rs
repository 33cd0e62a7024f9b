//! The control question: which "not there" is believed.
//!
//! Guarantees: a bare "not there" leads to a second send only where the same address has answered
//! "done" about a command that is known to be. Does not: speak HTTP; the transport's tests do.

use std::time::Duration;

use counterfoil_core::port::Notice;
use counterfoil_testkit::Script;

use crate::asking::{asked, complete, reasons, start};
use crate::scene::{SHIPPING, Scene, askable, parks, pass, secs};

#[tokio::test(start_paused = true)]
async fn a_bare_not_there_is_believed_after_the_control_question() {
    let (scene, answering) = asked();
    let relay = start(&scene, &answering);
    complete(&scene, "K-1").await;
    complete(&scene, "K-2").await;
    scene.enqueue("A").await;
    scene.transport.script("A", Script::hang());
    scene.reach("A", "completed").await;
    relay.stop().await;
    assert_eq!(answering.asked(), ["A", "K-2"], "the newest is the one to ask about");
    assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (2, 1));
    let sent = scene.transport.sent();
    let (first, second) = (sent[2].now, sent[3].now);
    assert!(second.since(first) >= secs(30 + 60), "the last lease, and quiet");
    let reasons = reasons(&scene, "A").await;
    let said = "control question about K-2: done; asked about this one: HTTP 404";
    assert!(reasons.contains(said), "{reasons}");
}

/// A destination's very first command: its 404 may be the wrong address as well.
#[tokio::test(start_paused = true)]
async fn before_the_first_completion_no_bare_not_there_is_believed() {
    let (mut scene, answering) = asked();
    askable(&mut scene.terms.contract).max_asks = 3;
    scene.enqueue("A").await;
    scene.transport.script("A", Script::hang());
    let relay = start(&scene, &answering);
    // Another destination's completion proves nothing about this one's address.
    scene.enqueue_to("billing", "B").await;
    let billing = vec![scene.serving("billing", scene.transport.clone())];
    let other = scene.start_on(&scene.store, billing, scene.options().owner("relay-2"));
    scene.reach("A", "uncertain").await;
    pass(3600.0).await;
    relay.stop().await;
    other.stop().await;
    assert_eq!(scene.state("B").await, "completed");
    assert_eq!(answering.asked(), ["A", "A", "A"]);
    assert_eq!((scene.transport.sends("A"), scene.heard.count(parks("A"))), (1, 1));
    let reasons = reasons(&scene, "A").await;
    assert!(reasons.contains("before the destination's first completion"), "{reasons}");
}

/// The receiver acted, and its answer was lost; the address of questions is wrong.
#[tokio::test(start_paused = true)]
async fn a_misrouted_address_that_knows_nothing_is_not_believed() {
    let (mut scene, answering) = asked();
    askable(&mut scene.terms.contract).max_asks = 4;
    let relay = start(&scene, &answering);
    complete(&scene, "K").await;
    answering.misrouted(true);
    for id in ["A", "B"] {
        scene.enqueue(id).await;
        scene.transport.script(id, Script::lose_answer());
    }
    scene.reach("A", "uncertain").await;
    pass(3600.0).await;
    assert_eq!(scene.transport.sends("A"), 1, "a charge that exists is not made again");
    assert_eq!((answering.asks("A"), answering.asks("K")), (4, 8), "asked about both in vain");
    let reasons = reasons(&scene, "A").await;
    assert!(reasons.contains("control question about K: not_there"), "{reasons}");
    // Set right while others still ask, it is believed again.
    scene.enqueue("C").await;
    scene.transport.script("C", Script::lose_answer());
    answering.misrouted(false);
    scene.reach("C", "completed").await;
    relay.stop().await;
    assert_eq!(scene.receiver.effects_in_all(), 4, "K, A, B, C, once each");
}

/// What the contract says in so many words needs no control question.
#[tokio::test(start_paused = true)]
async fn a_predicate_that_matched_is_believed_at_once() {
    let mut scene = Scene::keyless();
    askable(&mut scene.terms.contract);
    scene.enqueue("A").await;
    scene.transport.script("A", Script::hang());
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "completed");
    let asked = scene.transport.sent().iter().filter(|sent| sent.asked).count();
    assert_eq!((scene.transport.sends("A"), asked), (2, 1));
}

/// The control question shares the time of its question.
#[tokio::test(start_paused = true)]
async fn a_control_question_that_hangs_is_bounded_by_the_request_timeout() {
    let (scene, answering) = asked();
    let relay = start(&scene, &answering);
    complete(&scene, "K").await;
    answering.slow("K", Duration::from_secs(3600));
    scene.enqueue("A").await;
    scene.transport.script("A", Script::hang());
    scene.reach("A", "asking").await;
    while scene.settled("A").len() < 2 {
        pass(0.1).await;
    }
    assert_eq!(scene.settled("A")[1], ("not_there", "asking"));
    let took = scene.heard.all().into_iter().rev().find_map(|notice| match notice {
        Notice::Settled { outcome: "not_there", took, .. } => Some(took),
        _ => None,
    });
    assert!(took.is_some_and(|took| took <= secs(10)), "{took:?}");
    let reasons = reasons(&scene, "A").await;
    assert!(reasons.contains("no answer to the control question"), "{reasons}");
    assert!(!reasons.contains("lease of the question"), "{reasons}");
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_name_the_newest_completion_lets_nothing_be_believed() {
    let (scene, answering) = asked();
    let store = scene.watched();
    let served = vec![scene.serving(SHIPPING, answering.clone())];
    let relay = scene.start_on(&store, served, scene.options());
    complete(&scene, "K").await;
    scene.enqueue("A").await;
    scene.transport.script("A", Script::hang());
    store.trouble().forgets_newest = true;
    scene.reach("A", "asking").await;
    while scene.settled("A").len() < 2 {
        pass(0.1).await;
    }
    assert_eq!(scene.transport.sends("A"), 1);
    let told = reasons(&scene, "A").await;
    assert!(told.contains("no control question could be asked"), "{told}");
    store.trouble().forgets_newest = false;
    scene.reach("A", "completed").await;
    relay.stop().await;
}
