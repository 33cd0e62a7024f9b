//! Workers: how many attempts run, and what one of them can do to the others.
//!
//! Guarantees: the bound holds at every moment of the run, in the store too. Does not: measure
//! speed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use counterfoil_core::domain::Outcome;
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::{Attempt, BoxFuture, Store, Transport};
use counterfoil_relay::transport::handler::{HandlerError, handler};
use counterfoil_testkit::Script;
use tokio::time::Instant;

use crate::scene::{SHIPPING, Scene, pass};

#[tokio::test(start_paused = true)]
async fn no_more_attempts_run_or_are_claimed_than_there_are_workers() {
    let scene = Scene::new();
    for number in 0..200 {
        scene.enqueue(&format!("A-{number}")).await;
    }
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, peak) = (Arc::clone(&now), Arc::clone(&most));
    let busy = handler(move |attempt: Attempt| {
        let (counted, peak) = (Arc::clone(&counted), Arc::clone(&peak));
        async move {
            peak.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let wait = 3 + attempt.command.n.unsigned_abs() % 11;
            tokio::time::sleep(Duration::from_millis(wait)).await;
            counted.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, HandlerError>(())
        }
    });
    let served = vec![scene.serving(SHIPPING, Arc::new(busy))];
    let store = scene.watched();
    let options = scene.options().workers(7).until_idle(true);
    let relay = scene.start_on(&store, served, options);
    let mut sending_at_most = 0;
    while scene.state("A-199").await != "completed" {
        let state = Some("sending".to_owned());
        let filter = Filter { state, ..Filter::default() };
        sending_at_most = sending_at_most.max(scene.store.list(filter).await.unwrap().len());
        pass(0.001).await;
    }
    relay.end().await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 7);
    assert!(sending_at_most <= 7, "a crash could put {sending_at_most} in doubt");
    assert!(store.made().iter().all(|made| made.claimed <= made.claim_limit));
}

/// All workers hang: nothing is claimed that could not begin.
#[tokio::test(start_paused = true)]
async fn nothing_is_claimed_without_a_free_worker() {
    let scene = Scene::new();
    for number in 0..10 {
        let id = format!("A-{number}");
        scene.enqueue(&id).await;
        scene.transport.script(&id, Script::receive().after(Duration::from_secs(8)));
    }
    let store = scene.watched();
    let relay = scene.start_on(&store, scene.served(), scene.options().workers(4));
    pass(5.0).await;
    let claimed: usize = store.made().iter().map(|made| made.claimed).sum();
    assert_eq!(claimed, 4);
    let pending = Filter { state: Some("pending".into()), ..Filter::default() };
    assert_eq!(scene.store.list(pending).await.unwrap().len(), 6);
    relay.stop().await;
}

/// One poison command among many good ones: their time is as without it.
#[tokio::test(start_paused = true)]
async fn a_poison_command_delays_nobody() {
    let mut took = Vec::new();
    for poison in [false, true] {
        let scene = Scene::new();
        if poison {
            scene.enqueue("poison").await;
            for _ in 0..300 {
                scene.transport.script("poison", Script::answer(Outcome::unknown("HTTP 500")));
            }
        }
        let began = Instant::now();
        for number in 0..500 {
            let id = format!("A-{number}");
            scene.enqueue(&id).await;
            scene.transport.script(&id, Script::receive().after(Duration::from_millis(10)));
        }
        let relay = scene.start(scene.options().workers(8));
        for number in 0..500 {
            scene.reach(&format!("A-{number}"), "completed").await;
        }
        took.push(began.elapsed());
        relay.stop().await;
    }
    assert!(took[1] <= took[0] * 11 / 10, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_an_unknown_outcome_of_one_command() {
    let scene = Scene::keyless();
    for id in ["A", "bad", "B"] {
        scene.enqueue(id).await;
    }
    scene.transport.script("bad", Script::panic());
    let end = scene.run_until_idle().await;
    assert_eq!(end.remaining.parked, 1);
    assert_eq!(scene.state("bad").await, "uncertain");
    assert!(scene.story("bad").await.tries[0].reason.contains("panicked"));
    assert_eq!(scene.state("A").await, "completed");
    assert_eq!(scene.state("B").await, "completed");
}

/// A transport that never ends, against the port's rule: the relay ends it.
#[tokio::test(start_paused = true)]
async fn a_stuck_send_is_unknown_at_its_request_timeout() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::stuck());
    let began = Instant::now();
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "uncertain");
    assert_eq!(began.elapsed().as_secs(), 10);
}

/// Stuck before the gate: nothing left, so it is no doubt even without keys.
#[tokio::test(start_paused = true)]
async fn a_send_that_is_stuck_before_its_gate_was_not_sent() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", Script::stuck().without_gate());
    scene.run_until_idle().await;
    assert_eq!(scene.state("A").await, "completed");
    assert_eq!(scene.receiver.effects("A"), 1);
    assert_eq!(scene.story("A").await.tries[0].outcome, "not_sent");
}

/// Backoff stands in the store: no attempt comes before its due time.
#[tokio::test(start_paused = true)]
async fn what_was_not_sent_is_tried_again_at_its_due_time() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    let no_route = Outcome::NotSent {
        reason: "503".into(),
        retry_after: Some(counterfoil_core::domain::Span::from_secs(40)),
        misconfigured: false,
    };
    scene.transport.script("A", Script::answer(no_route));
    scene.run_until_idle().await;
    let sent = scene.transport.sent();
    let gap = sent[1].at - sent[0].at;
    assert!(gap >= Duration::from_secs(40) && gap < Duration::from_millis(40_100), "{gap:?}");
    assert_eq!(scene.state("A").await, "completed");
}

/// A handler that blocks its thread, against all advice: it holds up those beside it once.
struct Blocking(AtomicUsize);

impl Transport for Blocking {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if attempt.gate.begin().is_err() {
                return Outcome::not_sent("withdrawn");
            }
            self.0.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            Outcome::Completed {
                result: counterfoil_core::domain::ResultBody::default(),
                evidence: "done".into(),
            }
        })
    }

    fn request_timeout(&self) -> Option<counterfoil_core::domain::Span> {
        None
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_handlers_all_end() {
    let scene = Scene::new();
    for number in 0..60 {
        scene.enqueue(&format!("A-{number}")).await;
    }
    let blocking = Arc::new(Blocking(AtomicUsize::new(0)));
    let served = vec![scene.serving(SHIPPING, blocking.clone())];
    let options = scene.options().until_idle(true);
    scene.start_on(&scene.store, served, options).end().await.unwrap();
    assert_eq!(blocking.0.load(Ordering::SeqCst), 60);
}
