//! When attempts that ended are settled.
//!
//! Guarantees: by count or by age, never only when it is quiet. Does not: measure speed.

use std::time::Duration;

use counterfoil_testkit::Script;
use tokio::time::Instant;

use crate::scene::{Scene, pass};

/// A settle waits for others a few milliseconds at most, though attempts still run
/// (batching that waits for quiet: Wolverine, 5.8 s).
#[tokio::test(start_paused = true)]
async fn a_settle_is_bounded_by_age_while_others_run() {
    let scene = Scene::new();
    scene.enqueue("slow").await;
    scene.transport.script("slow", Script::receive().after(Duration::from_secs(9)));
    scene.enqueue("quick").await;
    scene.transport.script("quick", Script::receive().after(Duration::from_secs(1)));
    let relay = scene.start(scene.options());
    pass(1.005).await;
    assert_eq!(scene.state("quick").await, "completed");
    assert_eq!(scene.state("slow").await, "sending");
    relay.stop().await;
}

/// What ends together is settled together, with the next claim in the same write.
#[tokio::test(start_paused = true)]
async fn settles_and_claims_share_one_write() {
    let scene = Scene::new();
    for number in 0..100 {
        scene.enqueue(&format!("A-{number}")).await;
    }
    let store = scene.watched();
    let options = scene.options().workers(10).until_idle(true);
    scene.start_on(&store, scene.served(), options).end().await.unwrap();
    let made = store.made();
    let fused = made.iter().filter(|made| made.settles == 10 && made.claimed == 10).count();
    assert_eq!(fused, 9, "{made:?}");
    assert!(made.len() <= 12, "{made:?}");
}

/// Half of the workers ended: they are settled at that very moment, before any timer.
#[tokio::test(start_paused = true)]
async fn half_the_workers_do_not_wait_for_age() {
    for (quick, at_once) in [(3, false), (4, true)] {
        let scene = Scene::new();
        for number in 0..8 {
            let id = format!("A-{number}");
            scene.enqueue(&id).await;
            let wait = if number < quick { 1_000 } else { 9_000 };
            scene.transport.script(&id, Script::receive().after(Duration::from_millis(wait)));
        }
        let relay = scene.start(scene.options().workers(8));
        while scene.receiver.effects("A-7") == 0 {
            tokio::task::yield_now().await;
        }
        let began = Instant::now();
        pass(1.0).await;
        // A task that only yields keeps paused time where it is.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(began.elapsed() < Duration::from_millis(1_001), "{:?}", began.elapsed());
        let state = scene.state("A-0").await;
        assert_eq!(state, if at_once { "completed" } else { "sending" }, "{quick} of 8");
        pass(0.01).await;
        assert_eq!(scene.state("A-0").await, "completed");
        relay.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_exchange_is_under_way_at_a_time() {
    let scene = Scene::new();
    let store = scene.watched();
    store.trouble().before = Duration::from_millis(30);
    let relay = scene.start_on(&store, scene.served(), scene.options());
    for number in 0..50 {
        scene.enqueue(&format!("A-{number}")).await;
        pass(0.007).await;
    }
    pass(2.0).await;
    assert_eq!(store.trouble().most_under_way, 1);
    assert_eq!(scene.state("A-49").await, "completed");
    relay.stop().await;
}

/// An idle relay reads and writes nothing.
#[tokio::test(start_paused = true)]
async fn an_idle_relay_writes_nothing() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    let store = scene.watched();
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(5.0).await;
    let (before, writes) = (store.made().len(), scene.store.commits());
    store.trouble().reads = 0;
    pass(60.0).await;
    assert_eq!(store.made().len(), before, "no exchange");
    assert_eq!(scene.store.commits(), writes);
    let reads = store.trouble().reads;
    assert!((600..=1300).contains(&reads), "it polls each 50 ms: {reads}");
    relay.stop().await;
}

/// A writer of other tables wakes the relay all the time: it comes to read, not to write.
#[tokio::test(start_paused = true)]
async fn hints_that_bear_no_fruit_are_checked_by_reading() {
    let scene = Scene::new();
    let store = scene.watched();
    let relay = scene.start_on(&store, scene.served(), scene.options());
    pass(1.0).await;
    let before = store.made().len();
    for _ in 0..500 {
        scene.store.with_rows(|_| ());
        pass(0.002).await;
    }
    let exchanges = store.made().len() - before;
    assert!(exchanges <= 4, "{exchanges} exchanges for 500 foreign commits");
    scene.enqueue("A").await;
    pass(0.005).await;
    assert_eq!(scene.state("A").await, "completed", "it is found all the same");
    relay.stop().await;
}
