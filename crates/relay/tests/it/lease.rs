//! Leases: what happens when one runs out, is renewed, or goes to another.
//!
//! Guarantees: only the newest token changes a delivery. Does not: use two processes; the command
//! line's tests do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use counterfoil_core::domain::{Idempotent, Outcome, ResultBody, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Notice, Store, Transport};
use counterfoil_relay::transport::handler::{HandlerError, handler};
use counterfoil_testkit::{Receiver, Script};

use crate::scene::{SHIPPING, Scene, parks, pass, secs};

/// A relay that dies between the receiver's act and the settle: the next one sends again, and the
/// receiver folds it.
#[tokio::test(start_paused = true)]
async fn a_lease_that_ran_out_is_taken_over_and_the_repeat_folds() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().after(Duration::from_secs(3600)));
    let relay = scene.start(scene.options());
    pass(1.0).await;
    relay.kill().await;
    assert_eq!(scene.state("A").await, "sending");
    let before = scene.clock_now();
    scene.start(scene.options().until_idle(true)).end().await.unwrap();
    assert!(scene.clock_now().since(before) >= secs(28), "not before the lease ran out");
    assert_eq!(scene.state("A").await, "completed");
    assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (2, 1));
    let taken = |notice: &Notice| matches!(notice, Notice::Claimed { taken_over: 1, .. });
    assert_eq!(scene.heard.count(taken), 1);
}

/// The same without keys: nobody knows, so nobody sends again.
#[tokio::test(start_paused = true)]
async fn without_keys_a_lease_that_ran_out_is_uncertain() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().after(Duration::from_secs(3600)));
    let relay = scene.start(scene.options());
    pass(1.0).await;
    relay.kill().await;
    let end = scene.run_until_idle().await;
    assert_eq!(end.remaining.parked, 1);
    assert_eq!(scene.state("A").await, "uncertain");
    assert_eq!(scene.receiver.effects("A"), 1);
    assert_eq!(scene.heard.count(parks("A")), 1);
}

/// A relay that slept through its lease: another has taken over, its own settle changes nothing
/// but its `Completed` is the receiver's own word and ends what is uncertain.
#[tokio::test(start_paused = true)]
async fn a_late_completed_changes_no_lease_but_ends_what_is_uncertain() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    let first = scene.watched();
    let relay = scene.start_on(&first, scene.served(), scene.options());
    // Its store answers the settle only after the lease has gone.
    scene.transport.script("A", Script::receive().after(Duration::from_secs(5)));
    pass(1.0).await;
    first.trouble().before = Duration::from_secs(60);
    let second = scene.store.reopen(scene.clock.clone());
    let other = scene.start_on(&second, scene.served(), scene.options().owner("relay-2"));
    scene.reach("A", "uncertain").await;
    scene.reach("A", "completed").await;
    let story = scene.story("A").await;
    assert_eq!(story.receipts[0].source.as_deref(), Some("late attempt"));
    assert_eq!(scene.receiver.effects("A"), 1);
    relay.stop().await;
    other.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_late_settle_that_does_not_know_changes_nothing_and_is_told() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    let first = scene.watched();
    scene.transport.script("A", Script::hang().after(Duration::from_secs(5)));
    scene.transport.script("A", Script::receive().after(Duration::from_secs(9)));
    let relay = scene.start_on(&first, scene.served(), scene.options());
    pass(1.0).await;
    first.trouble().before = Duration::from_secs(35);
    let second = scene.store.reopen(scene.clock.clone());
    let other = scene.start_on(&second, scene.served(), scene.options().owner("relay-2"));
    scene.reach("A", "completed").await;
    pass(60.0).await;
    let late = |notice: &Notice| matches!(notice, Notice::Late { counted: false, .. });
    assert_eq!(scene.heard.count(late), 1, "{:?}", scene.heard.all());
    assert_eq!(scene.state("A").await, "completed");
    relay.stop().await;
    other.stop().await;
}

/// The deadline is counted from before the claim was issued: a claim whose answer took most of
/// the lease is handed back unsent, and is not in doubt.
#[tokio::test(start_paused = true)]
async fn a_claim_that_came_too_late_is_handed_back_unsent() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    let store = scene.watched();
    store.trouble().after = Duration::from_secs(19);
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(19.5).await;
    assert_eq!(scene.transport.sends("A"), 0, "of 30 s, 10 + 2 must be left, and 11 are");
    store.trouble().after = Duration::ZERO;
    scene.reach("A", "completed").await;
    relay.stop().await;
    assert_eq!(scene.transport.sends("A"), 1);
    let back = |notice: &Notice| matches!(notice, Notice::HandedBack { .. });
    assert_eq!(scene.heard.count(back), 1);
    assert_eq!(scene.story("A").await.receipts[0].attempts, 1, "it burnt no attempt");
}

/// A store that is always that slow: the relay does not spin.
#[tokio::test(start_paused = true)]
async fn a_destination_whose_claims_always_come_too_late_rests_between() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    let store = scene.watched();
    let served = scene.served();
    let mut options = scene.options();
    // A deadline clock that is far ahead of each claim.
    options.clock = Arc::new(Racing(AtomicUsize::new(0)));
    let relay = scene.start_on(&store, served, options);
    pass(60.0).await;
    relay.stop().await;
    let claims = store.made().iter().filter(|made| made.claimed > 0).count();
    assert!((5..30).contains(&claims), "{claims} claims in a minute");
    assert_eq!(scene.transport.sends("A"), 0);
}

/// Each reading is an hour after the one before.
struct Racing(AtomicUsize);

impl counterfoil_core::port::Clock for Racing {
    fn machine(&self) -> counterfoil_core::domain::Micros {
        self.boot()
    }

    fn boot(&self) -> counterfoil_core::domain::Micros {
        let hours = i64::try_from(self.0.fetch_add(1, Ordering::Relaxed)).unwrap();
        counterfoil_core::domain::Micros::new(0).plus(Span::from_secs(3600 * hours))
    }
}

/// Long send outlives the lease (durabletask-go#136): here the lease is renewed.
#[tokio::test(start_paused = true)]
async fn a_handler_of_three_leases_length_runs_once() {
    let mut scene = Scene::with(Receiver::without_keys(), Idempotent::No, |transport| {
        transport.request_timeout(Some(secs(1)))
    });
    scene.terms.pace.lease = secs(6);
    scene.enqueue("A").await;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let long = handler(move |_: Attempt| {
        counted.fetch_add(1, Ordering::Relaxed);
        async {
            tokio::time::sleep(Duration::from_secs(18)).await;
            Ok::<_, HandlerError>(())
        }
    });
    let store = scene.watched();
    let served = vec![scene.serving(SHIPPING, Arc::new(long))];
    let relay = scene.start_on(&store, served, scene.options());
    // Another relay looks for leases that ran out all the while.
    let other_store = scene.store.reopen(scene.clock.clone());
    let other = scene.start_on(&other_store, scene.served(), scene.options().owner("other"));
    scene.reach("A", "completed").await;
    relay.stop().await;
    other.stop().await;
    assert_eq!((runs.load(Ordering::Relaxed), scene.transport.sends("A")), (1, 0));
    let renewals: usize = store.made().iter().map(|made| made.renewals).sum();
    assert!((8..=9).contains(&renewals), "a third of a lease apart: {renewals}");
}

/// Two renewals fail in a store that is down for a moment each: they are made up for at once, not
/// a third of a lease later, when it would be too late.
#[tokio::test(start_paused = true)]
async fn a_renewal_that_failed_is_made_up_for_at_once() {
    let mut scene = Scene::with(Receiver::without_keys(), Idempotent::No, |transport| {
        transport.request_timeout(Some(secs(1)))
    });
    scene.terms.pace.lease = secs(6);
    scene.enqueue("A").await;
    let long = handler(|_: Attempt| async {
        tokio::time::sleep(Duration::from_secs(8)).await;
        Ok::<_, HandlerError>("done")
    });
    let store = scene.watched();
    let served = vec![scene.serving(SHIPPING, Arc::new(long))];
    let relay = scene.start_on(&store, served, scene.options());
    let other_store = scene.store.reopen(scene.clock.clone());
    let other = scene.start_on(&other_store, scene.served(), scene.options().owner("other"));
    for _ in 0..2 {
        pass(1.9).await;
        store.trouble().down = true;
        pass(0.2).await;
        store.trouble().down = false;
    }
    pass(5.0).await;
    relay.stop().await;
    other.stop().await;
    assert!(!scene.heard.has(|notice| matches!(notice, Notice::LeaseLost { .. })));
    assert!(!scene.heard.has(|notice| matches!(notice, Notice::Parked { .. })));
    let source = scene.story("A").await.receipts[0].source.clone();
    assert_eq!(source.as_deref(), Some("relay"));
}

/// A handler whose renewals did not arrive: it is announced, left to run, and settles late.
#[tokio::test(start_paused = true)]
async fn a_lost_renewal_is_told_and_the_handler_is_left_to_run() {
    let mut scene = Scene::with(Receiver::without_keys(), Idempotent::No, |transport| {
        transport.request_timeout(Some(secs(1)))
    });
    scene.terms.pace.lease = secs(6);
    scene.enqueue("A").await;
    let long = handler(|_: Attempt| async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        Ok::<_, HandlerError>("done")
    });
    let store = scene.watched();
    let served = vec![scene.serving(SHIPPING, Arc::new(long))];
    let relay = scene.start_on(&store, served, scene.options());
    pass(1.0).await;
    store.trouble().down = true;
    let other_store = scene.store.reopen(scene.clock.clone());
    let other = scene.start_on(&other_store, scene.served(), scene.options().owner("other"));
    scene.reach("A", "uncertain").await;
    store.trouble().down = false;
    scene.reach("A", "completed").await;
    relay.stop().await;
    other.stop().await;
    let lost = |notice: &Notice| matches!(notice, Notice::LeaseLost { .. });
    assert_eq!(scene.heard.count(lost), 1, "{:?}", scene.heard.all());
    let late = |notice: &Notice| matches!(notice, Notice::Late { counted: true, .. });
    assert_eq!(scene.heard.count(late), 1, "{:?}", scene.heard.all());
    let source = scene.store.show("A").await.unwrap().unwrap().receipts[0].source.clone();
    assert_eq!(source.as_deref(), Some("late attempt"));
}

/// Keeps its thread to itself with whatever is called so, and counts what left.
#[derive(Default)]
struct Blocking(Mutex<Vec<String>>);

impl Transport for Blocking {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let id = attempt.command.command_id.as_str();
            if attempt.gate.begin().is_err() {
                return Outcome::not_sent("withdrawn");
            }
            self.0.lock().unwrap().push(id.to_owned());
            if id == "blocks" {
                std::thread::sleep(Duration::from_millis(1_500));
            }
            tokio::time::sleep(Duration::from_millis(if id == "next" { 2_500 } else { 1 })).await;
            Outcome::Completed { result: ResultBody::default(), evidence: "done".into() }
        })
    }

    fn request_timeout(&self) -> Option<Span> {
        Some(secs(5))
    }
}

/// An attempt that came too late to begin is handed back, and its worker goes to the next command.
/// What is told of the late one only then says nothing about the next one, which was sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_late_end_of_an_attempt_is_not_taken_for_that_of_the_next_one() {
    let mut scene = Scene::keyless();
    scene.terms.pace.lease = Span::from_millis(7_300);
    for id in ["blocks", "late"] {
        scene.enqueue(id).await;
    }
    let transport = Arc::new(Blocking::default());
    let served = vec![scene.serving(SHIPPING, Arc::clone(&transport) as Arc<dyn Transport>)];
    let relay = scene.start_on(&scene.store, served, scene.options());
    // Both are claimed together; 300 ms later what waits behind may not begin any more.
    pass(0.7).await;
    scene.enqueue("next").await;
    for id in ["blocks", "late", "next"] {
        scene.reach(id, "completed").await;
    }
    relay.stop().await;
    let mut sent = transport.0.lock().unwrap().clone();
    sent.sort();
    assert_eq!(sent, ["blocks", "late", "next"], "each once: {:?}", scene.heard.all());
}
