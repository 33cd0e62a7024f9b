//! Asking what became of a command: when, how often, and by whom.
//!
//! Guarantees: a question never acts, is bounded, and comes only once it is quiet. Does not: say
//! which "not there" is believed; see `control`.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{Answer, Idempotent, Span};
use counterfoil_core::port::Notice;
use counterfoil_testkit::{Receiver, Script, ScriptedTransport};

use crate::answering::Answering;
use crate::scene::{AtWork, SHIPPING, Scene, askable, parks, pass, secs};

/// A receiver without keys that can be asked at a plain web address.
pub(crate) fn asked() -> (Scene, Arc<Answering>) {
    let mut scene = Scene::keyless();
    askable(&mut scene.terms.contract);
    let answering = Answering::new(&scene.transport);
    (scene, answering)
}

pub(crate) fn start(scene: &Scene, answering: &Arc<Answering>) -> AtWork {
    let served = vec![scene.serving(SHIPPING, answering.clone())];
    scene.start_on(&scene.store, served, scene.options().poll(Duration::from_secs(1)))
}

/// Completes a command that a control question can be about.
pub(crate) async fn complete(scene: &Scene, id: &str) {
    scene.enqueue(id).await;
    scene.reach(id, "completed").await;
}

/// All reasons that stand about a command.
pub(crate) async fn reasons(scene: &Scene, id: &str) -> String {
    let tries = scene.story(id).await.tries;
    tries.into_iter().map(|told| told.reason + "\n").collect()
}

#[tokio::test(start_paused = true)]
async fn what_was_done_is_found_out_and_not_done_again() {
    let (scene, answering) = asked();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    let relay = start(&scene, &answering);
    scene.reach("A", "asking").await;
    let lease_until = scene.transport.sent()[0].now.plus(secs(30));
    scene.reach("A", "completed").await;
    assert!(scene.clock_now() >= lease_until.plus(secs(60)), "not before it is quiet");
    relay.stop().await;
    let receipt = scene.story("A").await.receipts.remove(0);
    assert_eq!(receipt.source.as_deref(), Some("question"));
    assert_eq!(receipt.result.as_deref(), Some(b"job 7".as_slice()));
    assert_eq!(receipt.attempts, 1, "a question is no attempt");
    assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (1, 1));
    assert_eq!(answering.asked(), ["A"], "what needs no control question gets none");
}

/// A request may be on its way until its lease ends, and longer in a queue.
#[tokio::test(start_paused = true)]
async fn not_there_before_quiet_is_not_believed() {
    let mut scene = Scene::keyless();
    askable(&mut scene.terms.contract).quiet = secs(600);
    scene.enqueue("A").await;
    scene.transport.script("A", Script::hang());
    let relay = scene.start(scene.options());
    scene.reach("A", "asking").await;
    let now = scene.clock_now();
    // Something wants to know early: a person, a shorter contract of before.
    scene.store.with_rows(|rows| {
        let entry = rows.deliveries.values_mut().next().unwrap();
        entry.delivery.available_at = Some(entry.delivery.available_at.unwrap().min(now));
    });
    pass(5.0).await;
    assert!(scene.settled("A").contains(&("not_there", "asking")), "{:?}", scene.settled("A"));
    scene.reach("A", "completed").await;
    relay.stop().await;
    let sends: Vec<_> = scene.transport.sent().into_iter().filter(|sent| !sent.asked).collect();
    assert!(sends[1].now.since(sends[0].now) >= secs(30 + 600), "{sends:?}");
}

/// A transport without a request timeout of its own: its question ends within the lease.
#[tokio::test(start_paused = true)]
async fn a_question_without_a_request_timeout_ends_within_its_lease() {
    let mut scene = Scene::with(Receiver::without_keys(), Idempotent::No, |transport| {
        transport.request_timeout(None)
    });
    askable(&mut scene.terms.contract).max_asks = 2;
    let answering = Answering::new(&scene.transport);
    answering.slow("*", Duration::from_secs(3600));
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    let relay = start(&scene, &answering);
    scene.reach("A", "uncertain").await;
    relay.stop().await;
    assert_eq!(answering.asks("A"), 2);
    let told = reasons(&scene, "A").await;
    assert!(!told.contains("lease of the question"), "{told}");
}

/// Questions are bounded and keep the pace of retries.
#[tokio::test(start_paused = true)]
async fn a_receiver_that_never_answers_is_asked_twenty_times_and_then_a_person() {
    let (scene, answering) = asked();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    answering.slow("*", Duration::from_secs(3600));
    let relay = start(&scene, &answering);
    scene.reach("A", "uncertain").await;
    pass(3600.0).await;
    relay.stop().await;
    assert_eq!((answering.asks("A"), scene.transport.sends("A")), (20, 1));
    assert_eq!(scene.heard.count(parks("A")), 1);
    let told = reasons(&scene, "A").await;
    assert!(told.contains("no answer within the request timeout of 10s"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_panics_is_unclear_and_ends_nothing_else() {
    let (mut scene, answering) = asked();
    askable(&mut scene.terms.contract).max_asks = 1;
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    answering.panicking();
    let relay = start(&scene, &answering);
    scene.reach("A", "uncertain").await;
    complete(&scene, "B").await;
    relay.stop().await;
    assert!(reasons(&scene, "A").await.contains("panicked: asked too much"));
}

/// A receiver that does not answer questions holds up its own destination only.
#[tokio::test(start_paused = true)]
async fn questions_that_hang_leave_the_others_their_share() {
    let (scene, answering) = asked();
    for number in 0..50 {
        let id = format!("A-{number}");
        scene.enqueue(&id).await;
        scene.transport.script(&id, Script::lose_answer());
    }
    answering.slow("*", Duration::from_secs(3600));
    let billing = ScriptedTransport::new(scene.receiver.clone())
        .by_default(Script::receive().after(Duration::from_millis(5)));
    let served = vec![
        scene.serving(SHIPPING, answering.clone()),
        scene.serving("billing", Arc::new(billing)),
    ];
    let relay = scene.start_on(&scene.store, served, scene.options().workers(8));
    while answering.asked().len() < 7 {
        pass(0.1).await;
    }
    for number in 0..100 {
        scene.enqueue_to("billing", &format!("B-{number}")).await;
    }
    pass(1.0).await;
    assert_eq!(scene.state("B-99").await, "completed");
    assert_eq!(answering.asked().len(), 7, "each question takes a worker");
    relay.stop().await;
}

/// The machine slept between the claim of a question and its first byte.
#[tokio::test(start_paused = true)]
async fn a_question_that_comes_too_late_is_handed_back_unasked() {
    let (scene, answering) = asked();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    let store = scene.watched();
    let served = vec![scene.serving(SHIPPING, answering.clone())];
    let relay = scene.start_on(&store, served, scene.options());
    scene.reach("A", "asking").await;
    pass(60.0).await;
    store.trouble().after = Duration::from_secs(19);
    let back = |notice: &Notice| matches!(notice, Notice::HandedBack { .. });
    while !scene.heard.has(back) {
        pass(0.5).await;
    }
    assert_eq!(answering.asked(), Vec::<String>::new());
    let listed = scene.story("A").await.listed;
    assert_eq!((listed.state.as_str(), listed.in_doubt), ("asking", true));
    store.trouble().after = Duration::ZERO;
    scene.reach("A", "completed").await;
    relay.stop().await;
    assert_eq!(answering.asks("A"), 1);
}

/// A relay that dies while it asks: the next one asks again, and the doubt stays.
#[tokio::test(start_paused = true)]
async fn a_question_whose_lease_ran_out_is_asked_again() {
    let (scene, answering) = asked();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    answering.slow("*", Duration::from_secs(9));
    let relay = start(&scene, &answering);
    while answering.asked().is_empty() {
        pass(0.1).await;
    }
    relay.kill().await;
    answering.slow("*", Duration::ZERO);
    let relay = start(&scene, &answering);
    pass(10.0).await;
    let listed = scene.story("A").await.listed;
    assert_eq!((listed.state.as_str(), listed.in_doubt), ("asking", true));
    scene.reach("A", "completed").await;
    relay.stop().await;
    assert_eq!((answering.asks("A"), scene.receiver.effects("A")), (2, 1));
    assert!(reasons(&scene, "A").await.contains("the lease of the question ran out"));
}

/// An answer that a repeat would only hear again is asked about, though the receiver knows keys.
#[tokio::test(start_paused = true)]
async fn an_answer_that_means_ask_is_not_repeated() {
    let mut scene = Scene::new();
    askable(&mut scene.terms.contract);
    scene.enqueue("A").await;
    let ask = counterfoil_core::domain::Outcome::Ask { reason: "HTTP 500, replayed".into() };
    scene.transport.script("A", Script::answer(ask).acting());
    let in_progress = Answer::InProgress { retry_after: Some(Span::from_secs(120)) };
    scene.transport.script_answer("A", in_progress);
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "completed");
    assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (1, 1));
    let asked: Vec<_> = scene.transport.sent().into_iter().filter(|sent| sent.asked).collect();
    assert!(asked[1].now.since(asked[0].now) >= secs(120), "as long as it asks to wait");
}
