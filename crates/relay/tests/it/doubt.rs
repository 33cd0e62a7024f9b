//! Faults after which nobody knows whether an attempt acted, each by its name.
//!
//! Guarantees: the doubt outlives retries, restarts and takeovers, and only evidence clears it; no
//! such command ends rejected or dead by a status alone. Does not: use real time.

use std::time::Duration;

use counterfoil_core::domain::{Idempotent, Judge, Outcome};
use counterfoil_core::port::{Notice, Store};
use counterfoil_testkit::{Receiver, Script};

use crate::answering::Answering;
use crate::scene::{SHIPPING, Scene, askable, parks, pass, secs};

/// What a gateway answers for a backend that it cannot find.
fn misconfigured(status: u16) -> Script {
    let reason = format!("HTTP {status}");
    Script::answer(Outcome::NotSent { reason, retry_after: None, misconfigured: true })
}

/// A refusal that is read from a status.
fn refused(status: u16) -> Script {
    let reason = format!("HTTP {status}");
    Script::answer(Outcome::Rejected { reason, by: Judge::Status })
}

/// The states and receipts that a command came to, one after the other.
fn came_to(scene: &Scene, id: &str) -> Vec<&'static str> {
    scene.settled(id).into_iter().map(|(_, now)| now).collect()
}

/// The charge was made, its answer lost, and then a gateway cannot find the service.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_and_then_a_misconfigured_gateway_ends_completed() {
    for status in [404, 401, 403, 308] {
        let scene = Scene::new();
        scene.enqueue("A").await;
        scene.transport.script("A", Script::lose_answer());
        scene.transport.script("A", misconfigured(status));
        scene.run_until_idle().await;
        assert_eq!(came_to(&scene, "A"), ["pending", "pending", "completed"], "{status}");
        assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (3, 1));
    }
}

/// The same, and the gateway stays so until all attempts are spent: never dead.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_and_then_only_a_misconfigured_gateway_ends_uncertain() {
    for can_be_asked in [false, true] {
        let mut scene = Scene::new();
        if can_be_asked {
            askable(&mut scene.terms.contract);
        }
        scene.terms.pace.max_attempts = 5;
        scene.enqueue("A").await;
        scene.transport.script("A", Script::lose_answer());
        for status in [404, 401, 403, 308] {
            scene.transport.script("A", misconfigured(status));
        }
        let relay = scene.start(scene.options());
        scene.reach("A", if can_be_asked { "completed" } else { "uncertain" }).await;
        relay.stop().await;
        let came_to = came_to(&scene, "A");
        assert!(!came_to.contains(&"dead") && !came_to.contains(&"rejected"), "{came_to:?}");
        assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (5, 1));
    }
}

/// The charge was made, its answer lost, and then a status says that it was refused.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_and_then_a_refusal_by_status_refuses_nothing() {
    for (status, can_be_asked) in [(400, false), (413, false), (400, true), (413, true)] {
        for ends in [false, true] {
            let mut scene = Scene::new();
            let contract = &mut scene.terms.contract;
            if can_be_asked {
                askable(contract);
            }
            if ends {
                contract.on_refusal = counterfoil_core::domain::OnRefusal::Reject;
            }
            scene.enqueue("A").await;
            scene.transport.script("A", Script::lose_answer());
            scene.transport.script("A", refused(status));
            let relay = scene.start(scene.options());
            scene.reach("A", if can_be_asked { "completed" } else { "uncertain" }).await;
            relay.stop().await;
            let expected: &[_] = if can_be_asked {
                &["pending", "asking", "completed"]
            } else {
                &["pending", "uncertain"]
            };
            assert_eq!(came_to(&scene, "A"), expected, "{status}");
            assert_eq!(scene.receiver.effects("A"), 1);
        }
    }
}

/// Without keys the first lost answer is the last send.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_without_keys_is_asked_about_and_never_sent_again() {
    let mut scene = Scene::keyless();
    askable(&mut scene.terms.contract);
    let answering = Answering::new(&scene.transport);
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    scene.transport.script("A", refused(400));
    let served = vec![scene.serving(SHIPPING, answering)];
    let relay = scene.start_on(&scene.store, served, scene.options());
    scene.reach("A", "completed").await;
    relay.stop().await;
    assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (1, 1));
}

/// The receiver's own word counts, in doubt or not.
#[tokio::test(start_paused = true)]
async fn a_refusal_in_the_receivers_own_word_ends_what_is_in_doubt() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::hang());
    let own = Outcome::Rejected { reason: "no such order".into(), by: Judge::Receiver };
    scene.transport.script("A", Script::answer(own));
    scene.run_until_idle().await;
    assert_eq!(came_to(&scene, "A"), ["pending", "rejected"]);
}

/// Switched off in the middle, and on again a week later: the receiver has forgotten the key.
#[tokio::test(start_paused = true)]
async fn off_for_a_week_nothing_is_sent_again_outside_the_window() {
    for (can_be_asked, killed_while_sending) in
        [(false, false), (false, true), (true, false), (true, true)]
    {
        let window = Idempotent::Window { key_ttl: secs(86_400) };
        let mut scene = Scene::with(Receiver::with_keys(), window, |transport| transport);
        if can_be_asked {
            askable(&mut scene.terms.contract);
        }
        (scene.terms.pace.initial, scene.terms.pace.max) = (secs(60), secs(60));
        scene.enqueue("A").await;
        let lost = Script::lose_answer();
        let wait = Duration::from_secs(if killed_while_sending { 5 } else { 0 });
        scene.transport.script("A", lost.after(wait));
        let relay = scene.start(scene.options());
        pass(1.0).await;
        let before = if killed_while_sending { "sending" } else { "pending" };
        assert_eq!(scene.state("A").await, before);
        relay.kill().await;
        pass(7.0 * 86_400.0).await;
        let store = scene.store.reopen(scene.clock.clone());
        let relay = scene.start_on(&store, scene.served(), scene.options());
        pass(3600.0).await;
        relay.stop().await;
        let end = if can_be_asked { "completed" } else { "uncertain" };
        assert_eq!(scene.state("A").await, end);
        assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (1, 1));
        assert_eq!(scene.heard.count(parks("A")), usize::from(!can_be_asked));
    }
}

/// What was never sent has no window: it waits behind a pause for a week and goes out.
#[tokio::test(start_paused = true)]
async fn off_for_a_week_what_never_left_is_sent_all_the_same() {
    let window = Idempotent::Window { key_ttl: secs(86_400) };
    let scene = Scene::with(Receiver::with_keys(), window, |transport| transport);
    scene.enqueue("A").await;
    scene.transport.script("A", Script::answer(Outcome::not_sent("no route")).without_gate());
    let relay = scene.start(scene.options());
    pass(0.001).await;
    relay.kill().await;
    pass(7.0 * 86_400.0).await;
    let store = scene.store.reopen(scene.clock.clone());
    let relay = scene.start_on(&store, scene.served(), scene.options());
    scene.reach("A", "completed").await;
    relay.stop().await;
    assert_eq!(scene.receiver.effects("A"), 1);
}

/// A receiver that is broken all night: the attempts are counted, and one person is woken once.
#[tokio::test(start_paused = true)]
async fn eleven_hours_of_unknown_are_a_bounded_number_of_attempts_and_one_parking() {
    let window = Idempotent::Window { key_ttl: secs(86_400) };
    let mut scene = Scene::with(Receiver::with_keys(), window, |transport| {
        transport.by_default(Script::lose_answer())
    });
    scene.terms.contract.give_up_after = secs(11 * 3600);
    scene.enqueue("A").await;
    let relay = scene.start(scene.options().poll(Duration::from_secs(10)));
    for _ in 0..13 {
        pass(3600.0).await;
    }
    relay.stop().await;
    assert_eq!(scene.state("A").await, "uncertain");
    let attempts = scene.transport.sends("A");
    assert!((66..=250).contains(&attempts), "{attempts} attempts");
    assert_eq!((scene.receiver.effects("A"), scene.heard.count(parks("A"))), (1, 1));
    let last = scene.transport.sent().last().unwrap().at;
    assert!(last <= Duration::from_secs(11 * 3600 + 600), "{last:?}");
}

/// One relay after another, each for a moment: the doubt of the first attempt is still there.
#[tokio::test(start_paused = true)]
async fn the_doubt_outlives_restarts_and_takeovers() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    scene.transport.script("A", misconfigured(404));
    scene.transport.script("A", Script::hang().after(Duration::from_secs(9)));
    scene.transport.script("A", Script::answer(Outcome::not_sent("no route")).without_gate());
    scene.transport.script("A", Script::receive().before_gate(Duration::from_secs(5)));
    scene.transport.script("A", refused(400));
    for (attempt, killed_while_sending) in [(1, false), (2, false), (3, true), (4, false)] {
        let store = scene.store.reopen(scene.clock.clone());
        let relay = scene.start_on(&store, scene.served(), scene.options());
        while scene.transport.sent().len() < attempt {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if !killed_while_sending {
            let settled = if attempt == 4 { 3 } else { attempt };
            while scene.settled("A").len() < settled {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        relay.kill().await;
        let story = scene.story("A").await;
        let in_doubt = story.listed.in_doubt;
        assert!(in_doubt && story.first_sent_at.is_some(), "attempt {attempt}: {story:?}");
    }
    // The fifth is stopped before its first byte: handed back, and in doubt as before.
    let relay = scene.start(scene.options());
    while scene.transport.sent().len() < 5 {
        pass(0.1).await;
    }
    relay.stop().await;
    let listed = scene.story("A").await.listed;
    assert_eq!((listed.state.as_str(), listed.in_doubt), ("pending", true));
    // The sixth hears a status that refuses: nothing is refused.
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "uncertain");
    assert_eq!((scene.receiver.effects("A"), scene.heard.count(parks("A"))), (1, 1));
}

/// The other way round: nothing ever left, so nothing is in doubt, whoever died in between.
#[tokio::test(start_paused = true)]
async fn what_provably_never_left_ends_dead_and_not_uncertain() {
    let mut scene = Scene::keyless();
    scene.terms.pace.max_attempts = 3;
    scene.enqueue("A").await;
    for _ in 0..3 {
        scene.transport.script("A", misconfigured(404));
    }
    scene.run_until_idle().await;
    let story = scene.story("A").await;
    assert_eq!((story.listed.state.as_str(), story.listed.in_doubt), ("dead", false));
    assert_eq!(story.first_sent_at, None);
}

/// After a restore nothing is known, and so nothing is sent to a receiver without keys.
#[tokio::test(start_paused = true)]
async fn a_restored_store_sends_nothing_that_may_have_been_sent() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    let (at, store) = (scene.clock_now(), scene.store.clone());
    pass(60.0).await;
    assert_eq!(store.restored(at, "ops").await.unwrap(), 1);
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "uncertain");
    assert_eq!(scene.transport.sent().len(), 0);
    assert!(scene.heard.has(|notice| matches!(notice, Notice::Parked { .. })));
}
