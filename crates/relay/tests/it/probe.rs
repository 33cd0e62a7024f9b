//! Which command an open breaker probes with.
//!
//! Guarantees: a poison command is neither the only probe nor one for ever, whatever its backoff.
//! Does not: test when probes come; see `breaker`.

use std::time::Duration;

use counterfoil_core::domain::Span;

use crate::breaker::{closed, opened};
use crate::scene::{SHIPPING, Scene, pass, secs};
use crate::wire::{Wire, done, down};

/// The poison's backoff is a millisecond, so it is always due first but for the rule.
#[tokio::test(start_paused = true)]
async fn a_poison_command_is_not_the_only_probe() {
    let mut scene = Scene::new();
    scene.terms.pace.initial = Span::from_millis(1);
    scene.terms.pace.max = secs(60);
    for id in ["poison", "B", "C"] {
        scene.enqueue(id).await;
    }
    let wire =
        Wire::new(
            |id, at| {
                if id == "poison" || at < Duration::from_secs(200) { down() } else { done(1) }
            },
        );
    let relay = scene.start_on(
        &scene.store,
        vec![scene.serving(SHIPPING, wire.clone())],
        scene.options().workers(1),
    );
    pass(199.0).await;
    let probes = wire.between(1.0, 199.0);
    assert!(probes.len() > 8, "{probes:?}");
    for three in probes.windows(3) {
        let mut three = three.to_vec();
        three.sort_unstable();
        assert_eq!(three, ["B", "C", "poison"], "in turns: {probes:?}");
    }
    // Back again: two pauses at most, one for the poison's own turn.
    pass(62.0).await;
    assert_eq!(closed(&scene), 1, "the poison does not hold it open: {:?}", wire.sends());
    pass(62.0).await;
    assert_eq!(scene.state("B").await, "completed");
    assert_eq!(scene.state("C").await, "completed");
    pass(600.0).await;
    assert_eq!(opened(&scene), 1, "alone it opens nothing");
    relay.stop().await;
}

/// A command that came after the poison's probe, and was never probed, comes before it.
#[tokio::test(start_paused = true)]
async fn the_probe_is_the_due_command_probed_least_recently() {
    let mut scene = Scene::new();
    scene.terms.pace.initial = Span::from_millis(1);
    for id in ["A", "B", "poison"] {
        scene.enqueue(id).await;
    }
    let wire = Wire::new(|_, _| down());
    let relay = scene.start_on(
        &scene.store,
        vec![scene.serving(SHIPPING, wire.clone())],
        scene.options().workers(1),
    );
    pass(100.0).await;
    let seen = wire.sends().len();
    while wire.sends().len() == seen {
        pass(0.1).await;
    }
    pass(2.0).await;
    scene.enqueue("new").await;
    pass(160.0).await;
    let probes: Vec<_> = wire.sends()[seen..].iter().map(|send| send.id.clone()).collect();
    // Two others were due before it, and are probed before; the one just probed is not.
    assert!(probes[1..4].contains(&"new".to_owned()), "{probes:?}");
    assert_ne!(probes[0], probes[1]);
    let again = probes[1..].iter().position(|id| *id == probes[0]);
    assert!(again > probes[1..].iter().position(|id| id == "new"), "{probes:?}");
    relay.stop().await;
}

/// The cap of a destination's waits may be shorter than the breaker's pause: what was probed was
/// due again before what came later, and was probed twice while another waited. Found by the
/// simulator.
#[tokio::test(start_paused = true)]
async fn a_short_cap_does_not_bring_a_probed_command_back_before_others() {
    let mut scene = Scene::new();
    scene.terms.pace.initial = Span::from_millis(1);
    scene.terms.pace.max = secs(2);
    for id in ["A", "B", "C"] {
        scene.enqueue(id).await;
    }
    let wire = Wire::new(|_, _| down());
    let relay = scene.start_on(
        &scene.store,
        vec![scene.serving(SHIPPING, wire.clone())],
        scene.options().workers(1),
    );
    pass(100.0).await;
    let seen = wire.sends().len();
    while wire.sends().len() == seen {
        pass(0.1).await;
    }
    pass(5.0).await;
    scene.enqueue("new").await;
    pass(160.0).await;
    let probes: Vec<_> = wire.sends()[seen..].iter().map(|send| send.id.clone()).collect();
    let at = |id: &str| probes[1..].iter().position(|one| one == id);
    assert!(at("new").is_some() && at(&probes[0]) > at("new"), "{probes:?}");
    relay.stop().await;
}

/// A handler without a time-out hangs as the probe.
#[tokio::test(start_paused = true)]
async fn a_probe_that_never_ends_does_not_keep_its_destination() {
    let scene = Scene::new();
    for id in ["A", "B", "C", "D", "E", "F"] {
        scene.enqueue(id).await;
    }
    let wire = Wire::in_process(|_, at| match at.as_millis() {
        0..900 => down(),
        900..3_000 => (Duration::from_secs(1_000_000), down().1),
        _ => done(1),
    });
    let relay = scene.start_on(
        &scene.store,
        vec![scene.serving(SHIPPING, wire.clone())],
        scene.options().workers(5),
    );
    pass(29.0).await;
    assert_eq!((wire.sends().len(), closed(&scene)), (6, 0), "one probe hangs");
    pass(4.0).await;
    assert_eq!((opened(&scene), closed(&scene)), (1, 1));
    relay.kill().await;
}
