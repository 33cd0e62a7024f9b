//! When a relay stops claiming at a destination that does not work, and how it comes back.
//!
//! Guarantees: the probes come on time, by the relay's own clock, and burn nothing. Does not:
//! repeat the breaker's own cases, which stand beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use counterfoil_core::domain::{Idempotent, Judge, Outcome};
use counterfoil_core::port::Notice;
use counterfoil_relay::{Board, BreakerStatus, Limits};

use crate::scene::{SHIPPING, Scene, askable, parks, pass, secs};
use crate::wire::{Wire, busy, done, down, not_found};

pub(crate) fn opened(scene: &Scene) -> usize {
    scene.heard.count(|notice| matches!(notice, Notice::BreakerOpened { .. }))
}

pub(crate) fn closed(scene: &Scene) -> usize {
    scene.heard.count(|notice| matches!(notice, Notice::BreakerClosed { .. }))
}

async fn attempts(scene: &Scene, id: &str) -> u32 {
    scene.story(id).await.delivery.map_or(0, |delivery| delivery.attempts)
}

/// Nothing is heard, and the poll is an hour: the relay's own clock wakes it.
#[tokio::test(start_paused = true)]
async fn an_open_breaker_probes_on_time_and_asks_the_store_nothing_meanwhile() {
    let scene = Scene::new();
    for number in 0..30 {
        scene.enqueue(&format!("A-{number:02}")).await;
    }
    let wire = Wire::new(|_, _| down());
    let (store, board) = (scene.watched(), Arc::new(Board::default()));
    let options = scene.options().workers(5).poll(Duration::from_secs(3600));
    let options = options.board(Arc::clone(&board));
    let relay = scene.start_on(&store, vec![scene.serving(SHIPPING, wire.clone())], options);
    pass(0.5).await;
    assert_eq!((wire.sends().len(), opened(&scene)), (5, 1), "the five that opened it");
    let (_, standing) = board.standings().remove(0);
    let BreakerStatus::Open { probes_in } = standing.breaker else { panic!("{standing:?}") };
    assert!(probes_in > secs(0) && probes_in < secs(1), "{probes_in:?}");
    assert_eq!((standing.running, standing.begun, standing.opened), (0, 5, 1));
    pass(300.0).await;
    let mut last = wire.sends()[4].at;
    let probes = wire.sends().split_off(5);
    for (probe, pause) in probes.iter().zip([1, 2, 4, 8, 16, 30, 30, 30, 30]) {
        let (gap, pause) = (probe.at.saturating_sub(last), Duration::from_secs(pause));
        assert!(gap >= pause && gap < pause + Duration::from_millis(10), "{gap:?}, not {pause:?}");
        last = probe.at;
    }
    assert!((13..=14).contains(&probes.len()), "{}", probes.len());
    let mut ids: Vec<_> = probes.iter().map(|probe| &probe.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), probes.len(), "another each time");
    for probe in &probes {
        assert_eq!(attempts(&scene, &probe.id).await, 0, "a probe burns no attempt");
    }
    let calls = store.made().len() + store.trouble().reads;
    assert!(calls <= 4 * probes.len() + 8, "{calls} calls for {} probes", probes.len());
    relay.stop().await;
}

/// With a short poll, an open breaker costs the store nothing but its probes either.
#[tokio::test(start_paused = true)]
async fn an_open_breaker_does_not_spin() {
    let scene = Scene::new();
    for number in 0..100 {
        scene.enqueue(&format!("A-{number}")).await;
    }
    let (down_wire, up) = (Wire::new(|_, _| down()), Wire::new(|_, _| done(5)));
    let store = scene.watched();
    let served = vec![scene.serving(SHIPPING, down_wire), scene.serving("billing", up.clone())];
    let relay = scene.start_on(&store, served, scene.options());
    pass(100.0).await;
    let before = (store.made().len(), store.trouble().reads);
    pass(300.0).await;
    let (made, reads) = (store.made().len() - before.0, store.trouble().reads - before.1);
    assert!(made <= 60, "{made} exchanges in 300 s, for 10 probes");
    assert!(reads <= 6_100, "{reads} readings, one a poll of 50 ms");
    for number in 0..50 {
        scene.enqueue_to("billing", &format!("B-{number}")).await;
    }
    pass(0.2).await;
    assert_eq!(up.sends().len(), 50, "the other destination is served as ever");
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_and_refusals_open_no_breaker() {
    for refused in [false, true] {
        let scene = Scene::new();
        for number in 0..20 {
            scene.enqueue(&format!("A-{number}")).await;
        }
        let wire = Wire::new(move |_, _| {
            let by = Judge::Status;
            let said = (Duration::ZERO, Outcome::Rejected { reason: "HTTP 400".into(), by });
            if refused { said } else { busy() }
        });
        let served = vec![scene.serving(SHIPPING, wire.clone())];
        let relay = scene.start_on(&scene.store, served, scene.options().workers(4));
        pass(2.0).await;
        relay.stop().await;
        assert!(wire.sends().len() >= 20);
        assert_eq!(opened(&scene), 0);
    }
}

/// A wrong address: two commands pay an attempt, whoever else was under way pays none.
#[tokio::test(start_paused = true)]
async fn misconfigured_answers_burn_two_attempts_in_all() {
    let scene = Scene::new();
    for number in 0..200 {
        scene.enqueue(&format!("A-{number}")).await;
    }
    let wire = Wire::new(|_, _| not_found());
    let relay = scene.start_on(
        &scene.store,
        vec![scene.serving(SHIPPING, wire.clone())],
        scene.options().workers(64),
    );
    pass(600.0).await;
    assert_eq!((opened(&scene), closed(&scene)), (1, 0));
    let mut burnt = 0;
    for number in 0..200 {
        burnt += attempts(&scene, &format!("A-{number}")).await;
    }
    assert_eq!(burnt, 2);
    assert!((64 + 20..64 + 30).contains(&wire.sends().len()), "{}", wire.sends().len());
    relay.stop().await;
}

/// Only the address of sends is broken: answers to questions do not close the breaker.
#[tokio::test(start_paused = true)]
async fn an_address_of_questions_that_works_does_not_close_the_breaker() {
    let mut scene = Scene::new();
    scene.terms = counterfoil_core::domain::Terms::new(counterfoil_core::domain::Contract::new(
        Idempotent::No,
    ));
    askable(&mut scene.terms.contract).max_asks = 1_000;
    for number in 0..10 {
        scene.enqueue(&format!("A-{number}")).await;
    }
    let wire = Wire::new(|_, at| {
        let broken = (Duration::from_millis(1), Outcome::unknown("HTTP 500"));
        if at < Duration::from_secs(1800) { broken } else { done(1) }
    });
    let relay = scene.start_on(
        &scene.store,
        vec![scene.serving(SHIPPING, wire.clone())],
        scene.options().workers(5),
    );
    pass(1799.0).await;
    assert!(!wire.questions().is_empty(), "they are asked while it is open, one by one");
    assert_eq!((opened(&scene), closed(&scene)), (1, 0));
    for number in 0..10 {
        assert!(attempts(&scene, &format!("A-{number}")).await <= 1);
    }
    // Every state keeps its bound: all come to their end once it works.
    pass(600.0).await;
    for number in 0..10 {
        let id = format!("A-{number}");
        assert_eq!(scene.state(&id).await, "completed", "{id}");
        assert!(!scene.heard.has(parks(&id)));
    }
    relay.stop().await;
}

/// Leases that ran out and receipts that did not come wait behind it, and no longer.
#[tokio::test(start_paused = true)]
async fn what_waits_behind_an_open_breaker_is_taken_up_after_it() {
    let mut scene = Scene::new();
    scene.terms.contract.receipt_timeout = secs(60);
    let out = Arc::new(AtomicBool::new(true));
    let is_out = Arc::clone(&out);
    let wire = Wire::new(move |id, at| match id {
        "taken" if at < Duration::from_secs(1) => (Duration::from_secs(9), down().1),
        "overdue" if at < Duration::from_secs(1) => {
            (Duration::ZERO, Outcome::Accepted { evidence: "HTTP 202".into() })
        }
        _ if is_out.load(Ordering::SeqCst) => down(),
        _ => done(1),
    });
    let served = || vec![scene.serving(SHIPPING, wire.clone())];
    scene.enqueue("taken").await;
    scene.enqueue("overdue").await;
    let first = scene.start_on(&scene.store, served(), scene.options().owner("relay-0"));
    pass(0.5).await;
    first.kill().await;
    assert_eq!(scene.state("taken").await, "sending");
    assert_eq!(scene.state("overdue").await, "published");
    for number in 0..5 {
        scene.enqueue(&format!("A-{number}")).await;
    }
    let relay = scene.start_on(&scene.store, served(), scene.options().workers(5));
    pass(900.0).await;
    assert_eq!(closed(&scene), 0);
    out.store(false, Ordering::SeqCst);
    pass(120.0).await;
    for id in ["taken", "overdue", "A-0", "A-4"] {
        assert_eq!(scene.state(id).await, "completed", "{id}");
    }
    assert_eq!(closed(&scene), 1);
    relay.stop().await;
}

/// It was under way when the breaker opened, and ends well long before the next probe.
#[tokio::test(start_paused = true)]
async fn a_success_of_an_older_attempt_closes_it_without_a_probe() {
    let scene = Scene::new();
    for number in 0..20 {
        scene.enqueue(&format!("A-{number:02}")).await;
    }
    let wire = Wire::new(|id, at| match (id, at < Duration::from_secs(5)) {
        ("A-00", true) => done(5_000),
        (_, true) => down(),
        (_, false) => done(1),
    });
    let served = vec![scene.serving(SHIPPING, wire.clone())];
    let relay = scene.start_on(&scene.store, served, scene.options().workers(6));
    pass(4.9).await;
    assert_eq!((opened(&scene), closed(&scene)), (1, 0));
    assert_eq!(wire.between(0.5, 4.9).len(), 2, "the probes after 1 s and 2 s more");
    pass(1.0).await;
    assert_eq!(closed(&scene), 1, "the next probe would be at 7 s");
    assert!(wire.between(5.0, 5.9).len() >= 12, "all that are due go on");
    relay.stop().await;
}

/// `--until-idle` waits for what an open breaker holds back, and ends when that ends.
#[tokio::test(start_paused = true)]
async fn until_idle_waits_out_an_open_breaker() {
    let scene = Scene::new();
    for number in 0..20 {
        scene.enqueue(&format!("A-{number}")).await;
    }
    let wire = Wire::new(|_, at| if at < Duration::from_secs(20) { down() } else { done(1) });
    let served = scene.serving(SHIPPING, wire.clone()).limits(Limits::default().concurrency(3));
    let options = scene.options().workers(8).until_idle(true);
    let end = scene.start_on(&scene.store, vec![served], options).end().await.unwrap();
    assert_eq!((end.remaining.busy, end.remaining.parked), (0, 0));
    assert_eq!(scene.state("A-19").await, "completed");
    assert_eq!((opened(&scene), closed(&scene)), (1, 1));
    assert!(wire.sends().last().unwrap().at < Duration::from_secs(62));
}
