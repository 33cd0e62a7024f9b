//! How many attempts a relay has under way at a destination, and how many it begins in a time.
//!
//! Guarantees: both are exact, cost the store nothing while they hold back, and concern one
//! destination only. Does not: test other relays' limits; each relay has its own.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::breaker::LONGEST;
use counterfoil_core::domain::rate::Rate;
use counterfoil_relay::{Board, Limits};

use crate::scene::{SHIPPING, Scene, pass, secs};
use crate::wire::{Wire, done};

async fn enqueue(scene: &Scene, destination: &str, count: usize) {
    for number in 0..count {
        scene.enqueue_to(destination, &format!("{destination}-{number}")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn never_more_are_under_way_than_its_concurrency_and_others_have_the_rest() {
    let scene = Scene::new();
    enqueue(&scene, SHIPPING, 100).await;
    enqueue(&scene, "billing", 100).await;
    let (shipping, billing) = (Wire::new(|_, _| done(50)), Wire::new(|_, _| done(50)));
    let (store, board) = (scene.watched(), Arc::new(Board::default()));
    let served = vec![
        scene.serving(SHIPPING, shipping.clone()).limits(Limits::default().concurrency(3)),
        scene.serving("billing", billing.clone()),
    ];
    let options = scene.options().workers(32).until_idle(true).board(Arc::clone(&board));
    let relay = scene.start_on(&store, served, options);
    pass(0.51).await;
    assert_eq!(billing.sends().len(), 100, "as if it were alone");
    let running: Vec<_> = board.standings().into_iter().map(|(_, it)| it.running).collect();
    assert_eq!(running, [0, 3], "billing, shipping");
    relay.end().await.unwrap();
    assert_eq!((shipping.most(), shipping.sends().len()), (3, 100));
    assert!(billing.most() >= 28, "{}", billing.most());
    let took = shipping.sends()[99].at;
    assert!(took < Duration::from_millis(34 * 50 + 100), "no worker of the three idles: {took:?}");
    let calls = store.made().len() + store.trouble().reads;
    assert!(calls < 260, "{calls} calls for 34 turns of three and 4 of many");
}

#[tokio::test(start_paused = true)]
async fn in_no_second_begin_more_than_its_rate_and_others_are_not_held_up() {
    let scene = Scene::new();
    enqueue(&scene, SHIPPING, 300).await;
    enqueue(&scene, "billing", 300).await;
    let (shipping, billing) = (Wire::new(|_, _| done(3)), Wire::new(|_, _| done(3)));
    let store = scene.watched();
    let rate = Rate { count: 50, per: secs(1) };
    let served = vec![
        scene.serving(SHIPPING, shipping.clone()).limits(Limits::default().rate(rate)),
        scene.serving("billing", billing.clone()),
    ];
    let options = scene.options().workers(32).until_idle(true);
    scene.start_on(&store, served, options).end().await.unwrap();
    assert!(billing.sends()[299].at < Duration::from_millis(150), "{:?}", billing.sends()[299]);
    assert_eq!((shipping.sends().len(), shipping.most_within(Duration::from_secs(1))), (300, 50));
    let took = shipping.sends()[299].at.as_secs_f64();
    assert!((5.0..5.5).contains(&took), "nothing of the rate is lost: {took}");
    let calls = store.made().len() + store.trouble().reads;
    assert!(calls < 500, "{calls} calls in {took} s");
}

/// A rate so slow that its relay has nothing to do but wait: it reads once a poll, writes nothing.
#[tokio::test(start_paused = true)]
async fn a_slow_rate_waits_without_a_busy_loop_and_until_idle_ends() {
    let scene = Scene::new();
    enqueue(&scene, SHIPPING, 6).await;
    let wire = Wire::new(|_, _| done(1));
    let store = scene.watched();
    let limits = Limits::default().rate(Rate { count: 2, per: secs(600) });
    let served = vec![scene.serving(SHIPPING, wire.clone()).limits(limits)];
    let options = scene.options().poll(Duration::from_secs(7200)).until_idle(true);
    let end = scene.start_on(&store, served, options).end().await.unwrap();
    assert_eq!((end.remaining.busy, wire.sends().len()), (0, 6));
    let began: Vec<_> = wire.sends().iter().map(|send| send.at.as_secs()).collect();
    let on_time = [0, 0, 600, 600, 1200, 1200];
    for (at, due) in began.iter().zip(on_time) {
        assert!((due..due + 10).contains(at), "{began:?}, not {on_time:?}");
    }
    assert!(store.made().len() <= 10, "{:?}", store.made());
}

/// What runs under two limits and a breaker keeps all three.
#[tokio::test(start_paused = true)]
async fn a_rate_also_holds_for_probes_and_a_burst_after_an_outage() {
    let scene = Scene::new();
    enqueue(&scene, SHIPPING, 200).await;
    let wire =
        Wire::new(
            |_, at| {
                if at < Duration::from_secs(100) { crate::wire::down() } else { done(20) }
            },
        );
    let limits = Limits::default().rate(Rate { count: 20, per: secs(1) }).concurrency(4);
    let served = vec![scene.serving(SHIPPING, wire.clone()).limits(limits)];
    let options = scene.options().until_idle(true);
    scene.start_on(&scene.store, served, options).end().await.unwrap();
    assert_eq!(wire.most(), 4);
    assert_eq!(wire.most_within(Duration::from_secs(1)), 20);
    let back = wire.sends().iter().find(|send| send.at >= Duration::from_secs(100)).unwrap().at;
    assert!(back <= Duration::from_secs(101) + LONGEST.to_std(), "{back:?}");
}
