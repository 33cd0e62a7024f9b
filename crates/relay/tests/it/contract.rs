//! Contracts and terms: what a relay refuses before it claims, and what stops it while it runs.
//!
//! Guarantees: each refusal names the destination and the way out, and nothing was claimed. Does
//! not: read configuration files.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{Contract, Idempotent};
use counterfoil_core::port::{Notice, Store};
use counterfoil_relay::{Options, RelayError, Served, WORKERS_MAX};
use counterfoil_testkit::{Script, ScriptedTransport};

use crate::scene::{SHIPPING, Scene, askable, pass, secs};

async fn refusal(scene: &Scene, served: Vec<Served>, options: Options) -> (String, String) {
    scene.enqueue("A").await;
    let error = scene.start_on(&scene.store, served, options).end().await.unwrap_err();
    assert_eq!(scene.state("A").await, "pending", "nothing was claimed");
    assert!(scene.heard.all().is_empty(), "and nothing begun");
    (error.code().into(), error.to_string())
}

#[tokio::test(start_paused = true)]
async fn what_cannot_work_is_refused_by_name() {
    let scene = Scene::new();
    let (code, words) = refusal(&scene, Vec::new(), scene.options()).await;
    assert!(code == "CF0901" && words.contains("no destination"), "{words}");

    for workers in [0, WORKERS_MAX + 1, usize::MAX] {
        let scene = Scene::new();
        let options = scene.options().workers(workers);
        let (code, words) = refusal(&scene, scene.served(), options).await;
        assert!(code == "CF0902" && words.contains("at least 1 and at most 65536"), "{words}");
    }

    let scene = Scene::new();
    let twice = [scene.served(), scene.served()].concat();
    let (code, words) = refusal(&scene, twice, scene.options()).await;
    assert!(code == "CF0903" && words.contains("shipping is given twice"), "{words}");

    let mut scene = Scene::new();
    scene.terms.contract.idempotent = Idempotent::Window { key_ttl: secs(3600) };
    let (code, words) = refusal(&scene, scene.served(), scene.options()).await;
    assert!(code == "CF0904" && words.contains("shipping: give_up_after"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_must_be_longer_than_a_send_and_two_seconds() {
    for (lease, is_refused) in [(9, true), (12, true), (13, false)] {
        let mut scene = Scene::new();
        scene.terms.pace.lease = secs(lease);
        scene.enqueue("A").await;
        let ended = scene.start(scene.options().until_idle(true)).end().await;
        match ended {
            Err(error) if is_refused => {
                assert_eq!(error.code(), "CF0905");
                let words = error.to_string();
                assert!(words.contains("shipping") && words.contains("10000 ms"), "{words}");
            }
            ended => assert!(!is_refused && ended.is_ok(), "{lease}: {ended:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_contract_that_differs_is_refused_until_it_is_replaced_once() {
    let mut scene = Scene::new();
    scene.run_until_idle().await;
    let old = scene.served();
    scene.terms.contract.give_up_after = secs(60);
    askable(&mut scene.terms.contract);
    scene.enqueue("A").await;
    let error = scene.start(scene.options()).end().await.unwrap_err();
    assert_eq!(error.code(), "CF0906");
    let words = error.to_string();
    assert!(words.contains("shipping") && words.contains("--replace-contract"), "{words}");
    let values = "it says otherwise about ask (stored: none, here: max_asks 20, quiet 1m), \
                  give_up_after (stored: 20h, here: 1m): restore the old values";
    assert!(words.contains(values), "{words}");
    let RelayError::ContractDiffers { names, .. } = error else { panic!("{error}") };
    assert_eq!(names, ["ask", "give_up_after"]);
    assert_eq!(scene.state("A").await, "pending");
    let options = scene.options().replace_contract(true).until_idle(true);
    scene.start(options).end().await.unwrap();
    assert_eq!(scene.state("A").await, "completed");
    let error = scene.start_on(&scene.store, old, scene.options()).end().await.unwrap_err();
    assert_eq!(error.code(), "CF0906", "the new one is stored now");
}

/// Another relay replaced one contract: this one stops claiming there, says so once, and serves
/// the rest.
#[tokio::test(start_paused = true)]
async fn a_replaced_contract_stops_only_its_own_destination() {
    let scene = Scene::new();
    let billing = Arc::new(ScriptedTransport::new(scene.receiver.clone()));
    let mut served = scene.served();
    served.push(scene.serving("billing", billing));
    let store = scene.watched();
    // `replace` acts once: the relay must not write its own contract over the newer one.
    let options = scene.options().replace_contract(true);
    let relay = scene.start_on(&store, served, options);
    pass(1.0).await;
    let (shipping, mut newer) =
        (scene.served().remove(0).destination, Contract::clone(&scene.terms.contract));
    newer.give_up_after = secs(60);
    scene.store.declare(&shipping, &newer, true).await.unwrap();
    scene.enqueue("A").await;
    scene.enqueue_to("billing", "B").await;
    pass(5.0).await;
    assert_eq!(scene.state("A").await, "pending");
    assert_eq!(scene.state("B").await, "completed");
    let told = |notice: &Notice| {
        matches!(notice, Notice::ContractDiffers { destination }
        if destination.as_str() == SHIPPING)
    };
    assert_eq!(scene.heard.count(told), 1);
    let before = store.made().len();
    pass(60.0).await;
    assert_eq!(store.made().len(), before, "it does not spin on what it may not claim");
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_relay_whose_every_contract_was_replaced_ends_by_name() {
    let scene = Scene::new();
    let relay = scene.start(scene.options());
    pass(1.0).await;
    let mut newer = scene.terms.contract.clone();
    newer.give_up_after = secs(60);
    let shipping = scene.served().remove(0).destination;
    scene.store.declare(&shipping, &newer, true).await.unwrap();
    scene.enqueue("A").await;
    let error = relay.end().await.unwrap_err();
    assert_eq!(error.code(), "CF0907", "{error}");
    assert_eq!(scene.state("A").await, "pending");
}

/// A rolling deployment: what the older relay has under way when its contract is replaced is
/// settled by the older one all the same, and the newer one goes on.
#[tokio::test(start_paused = true)]
async fn what_is_under_way_when_a_contract_is_replaced_is_settled() {
    let mut scene = Scene::new();
    let old = scene.served();
    let billing = scene.serving("billing", scene.transport.clone());
    scene.enqueue("A").await;
    scene.transport.script("A", Script::receive().after(Duration::from_secs(5)));
    let older = scene.start_on(&scene.store, [old, vec![billing]].concat(), scene.options());
    pass(1.0).await;
    scene.terms.contract.give_up_after = secs(60);
    let options = scene.options().replace_contract(true).owner("relay-2");
    let newer = scene.start(options);
    pass(1.0).await;
    scene.enqueue("B").await;
    pass(10.0).await;
    assert_eq!(scene.state("A").await, "completed");
    assert_eq!(scene.state("B").await, "completed");
    assert_eq!((scene.transport.sends("A"), scene.transport.sends("B")), (1, 1));
    older.stop().await;
    newer.stop().await;
}

/// An application is deployed before the relay that knows its destination: its commands wait, are
/// shown, and go out with the newer relay, while the older one serves what it knows.
#[tokio::test(start_paused = true)]
async fn a_destination_deployed_before_its_relay_waits_unserved() {
    let scene = Scene::new();
    let older = scene.start(scene.options());
    scene.enqueue_to("billing", "B").await;
    pass(3600.0).await;
    let unserved = |notice: &Notice| match notice {
        Notice::Unserved { destination, open: 1 } => destination == "billing",
        _ => false,
    };
    assert_eq!(scene.heard.count(unserved), 1);
    assert_eq!(scene.state("B").await, "pending", "it parks nothing");
    let mut served = scene.served();
    served.push(scene.serving("billing", scene.transport.clone()));
    let store = scene.store.reopen(scene.clock.clone());
    let newer = scene.start_on(&store, served, scene.options().owner("relay-2"));
    scene.reach("B", "completed").await;
    scene.enqueue("A").await;
    scene.reach("A", "completed").await;
    assert_eq!(scene.story("B").await.receipts[0].attempts, 1);
    older.stop().await;
    newer.stop().await;
}
