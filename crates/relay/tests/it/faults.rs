//! Faults of one command or one destination, and what the others notice of them.
//!
//! Guarantees: each test is named after its fault and compares with a run without it, in virtual
//! time. Does not: need a fast machine.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{Destination, Outcome};
use counterfoil_core::port::{Notice, Store};

use crate::scene::{AtWork, SHIPPING, Scene, paid, pass, secs};
use crate::wire::{Wire, done, down, not_found};

async fn enqueue_all(scene: &Scene, ids: Vec<String>, destination: &str) {
    let commands = ids.iter().map(|id| paid(destination, id)).collect();
    let recorded = scene.store.enqueue(commands).await.unwrap();
    assert!(recorded.iter().all(Result::is_ok));
}

/// One poison command among 10,000: the others end in the time that they take without it.
#[tokio::test(start_paused = true)]
async fn one_poison_command_among_ten_thousand() {
    let mut took = Vec::new();
    for poison in [false, true] {
        let scene = Scene::new();
        if poison {
            scene.enqueue("poison").await;
        }
        let ids = (0..10_000).map(|number| format!("A-{number}")).collect();
        enqueue_all(&scene, ids, SHIPPING).await;
        let wire = Wire::new(|id, _| {
            let fails = (Duration::from_secs(9), Outcome::unknown("HTTP 500"));
            if id == "poison" { fails } else { done(20) }
        });
        let served = vec![scene.serving(SHIPPING, wire.clone())];
        let relay = scene.start_on(&scene.store, served, scene.options());
        while wire.sends().iter().filter(|send| send.id != "poison").count() < 10_000 {
            pass(0.1).await;
        }
        let good = wire.sends().into_iter().rfind(|send| send.id != "poison");
        took.push(good.unwrap().at);
        pass(120.0).await;
        assert!(!scene.heard.has(|it| matches!(it, Notice::BreakerOpened { .. })), "by one");
        let sends = wire.sends().iter().filter(|send| send.id == "poison").count();
        assert!(!poison || sends > 3, "{sends}");
        relay.stop().await;
    }
    assert!(took[1] <= took[0].mul_f64(1.05), "{took:?}");
}

/// A destination that is down, then slow, then wrongly addressed, for two minutes each.
fn ill(at: Duration) -> crate::wire::Said {
    match at.as_secs() {
        0..120 => down(),
        120..240 => (Duration::from_secs(10), Outcome::unknown("no answer")),
        240..360 => not_found(),
        _ => done(10),
    }
}

const NAMES: [&str; 3] = ["shipping", "billing", "mail"];

/// Two commands a second to each of three destinations for six minutes; how long each took.
async fn three_destinations(is_ill: bool) -> (Scene, Arc<Wire>, AtWork, Vec<Duration>) {
    let mut scene = Scene::new();
    scene.terms.pace.max = secs(60);
    let mail = Wire::new(move |_, at| if is_ill { ill(at) } else { done(10) });
    let others = Wire::new(|_, _| done(10));
    let served = vec![
        scene.serving(NAMES[0], others.clone()),
        scene.serving(NAMES[1], others.clone()),
        scene.serving(NAMES[2], mail.clone()),
    ];
    let relay = scene.start_on(&scene.store, served, scene.options());
    let began = tokio::time::Instant::now();
    let mut due = std::collections::HashMap::new();
    for number in 0..720 {
        for name in NAMES {
            let id = format!("{name}-{number}");
            due.insert(id.clone(), began.elapsed());
            enqueue_all(&scene, vec![id], name).await;
        }
        pass(0.5).await;
    }
    let waits = others.sends().iter().map(|send| send.at - due[&send.id]).collect();
    (scene, mail, relay, waits)
}

#[tokio::test(start_paused = true)]
async fn one_of_three_destinations_down_then_slow_then_misrouted() {
    let (_, _, relay, healthy) = three_destinations(false).await;
    relay.stop().await;
    let (scene, mail, relay, waits) = three_destinations(true).await;
    assert_eq!((healthy.len(), waits.len()), (1440, 1440));
    let worst = |waits: &[Duration]| waits.iter().max().copied().unwrap();
    let mean = |waits: &[Duration]| waits.iter().sum::<Duration>() / 1440;
    let (before, now) = (worst(&healthy), worst(&waits));
    assert!(
        now <= before + Duration::from_millis(20),
        "the worst wait: {now:?}, {before:?} before"
    );
    let (before, now) = (mean(&healthy), mean(&waits));
    assert!(now <= before.mul_f64(1.05) + Duration::from_millis(1), "{now:?}, {before:?} before");
    let sends = mail.between(0.0, 360.0);
    assert!(sends.len() < 200, "{} sends to a destination that does not work", sends.len());
    let mut burnt = 0;
    for number in 0..720 {
        let story = scene.story(&format!("mail-{number}")).await;
        burnt += story.delivery.map_or(0, |delivery| delivery.attempts);
    }
    assert!(burnt <= 100, "{burnt} attempts burnt of 720 commands");
    // Alone, within one pause of the breaker and one backoff.
    pass(100.0).await;
    let status = scene.store.status().await.unwrap();
    let states: Vec<_> = status.destinations["mail"].iter().collect();
    assert_eq!(states, [(&"completed".to_owned(), &720)]);
    assert!(!scene.heard.has(|notice| matches!(notice, Notice::Parked { .. })));
    relay.stop().await;
}

/// A pause of two days, far over `give_up_after`: nothing dies of it.
#[tokio::test(start_paused = true)]
async fn two_days_of_pause() {
    let scene = Scene::new();
    let wire = Wire::new(|_, at| if at < Duration::from_secs(300) { down() } else { done(10) });
    let ids = (0..100).map(|number| format!("A-{number}")).collect();
    enqueue_all(&scene, ids, SHIPPING).await;
    let served = vec![scene.serving(SHIPPING, wire.clone())];
    let options = scene.options().poll(Duration::from_secs(60));
    let relay = scene.start_on(&scene.store, served, options);
    pass(200.0).await;
    let shipping = Destination::new(SHIPPING).unwrap();
    assert!(scene.store.pause(&shipping, "ann", "their holidays").await.unwrap());
    pass(60.0).await;
    let before = wire.sends().len();
    pass(2.0 * 86_400.0).await;
    assert_eq!(wire.sends().len(), before, "nothing is sent while it is paused");
    assert!(scene.store.resume(&shipping, "ann", "").await.unwrap());
    pass(120.0).await;
    for number in 0..100 {
        assert_eq!(scene.state(&format!("A-{number}")).await, "completed");
    }
    assert!(!scene.heard.has(|notice| matches!(notice, Notice::Parked { .. })));
    relay.stop().await;
}
