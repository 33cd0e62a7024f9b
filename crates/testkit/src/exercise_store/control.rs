//! What a control question may ask about, what is stored of contracts, and pauses.
//!
//! Guarantees: only what a receiver is known to have completed is named; a pause is obeyed and
//! recorded. Does not: ask.

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{CommandId, Outcome, ReceiptOutcome};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Declared, Reported};

use super::Hands;
use super::scene::{
    SHOP, Scene, askable, completed, destination, forever, keyless, report, window,
};

impl<H: Hands> Scene<H> {
    async fn newest_but(&self, except: &str, to: &str) -> Option<String> {
        let except = CommandId::new(except).unwrap();
        let newest = self.store.newest_completed(&destination(to), &except).await.unwrap();
        newest.map(|id| id.to_string())
    }

    pub(super) async fn pause(&self, why: &str) -> bool {
        self.store.pause(&destination(SHOP), "ada", why).await.unwrap()
    }
}

pub(super) async fn the_newest_completed_command_is_named<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    assert_eq!(scene.newest_but("none", SHOP).await, None, "before the first completion");
    for id in ["a", "b", "c"] {
        scene.sent(id, completed()).await;
        scene.advance(1);
    }
    scene.enqueue("open").await;
    assert_eq!(scene.newest_but("open", SHOP).await.as_deref(), Some("c"));
    assert_eq!(scene.newest_but("c", SHOP).await.as_deref(), Some("b"), "not the one in question");
    assert_eq!(scene.newest_but("a", SHOP).await.as_deref(), Some("c"));
    scene.enqueue_to("d", "bank").await;
    assert_eq!(scene.newest_but("x", "bank").await, None, "of another destination");
    scene.report("d", ReceiptOutcome::Completed).await;
    assert_eq!(scene.newest_but("x", "bank").await.as_deref(), Some("d"));
    assert_eq!(scene.newest_but("x", SHOP).await.as_deref(), Some("c"));
}

pub(super) async fn what_was_not_completed_is_no_control<H: Hands>(hands: H) {
    let mut terms = forever();
    terms.contract.completion = counterfoil_core::domain::Completion::Accepted;
    let scene = Scene::new(hands, terms).await;
    scene.sent("accepted", Outcome::Accepted { evidence: "the broker said so".into() }).await;
    scene.enqueue("rejected").await;
    scene.report("rejected", ReceiptOutcome::Rejected).await;
    scene.enqueue_expiring("expired", SHOP).await;
    scene.advance(4000);
    assert_eq!(scene.store.sweep(1, None).await.unwrap().expired.len(), 1);
    assert_eq!(scene.newest_but("x", SHOP).await, None);
}

pub(super) async fn a_persons_word_is_no_control<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("a", completed()).await;
    scene.advance(1);
    scene.enqueue("resolved").await;
    let said = report(ReceiptOutcome::Completed, None);
    let word = Report { source: "operator ada".into(), ..said };
    let id = CommandId::new("resolved").unwrap();
    assert_eq!(scene.store.report(&id, word).await.unwrap(), Reported::Recorded);
    assert_eq!(scene.newest_but("x", SHOP).await.as_deref(), Some("a"));
    assert_eq!(scene.newest_but("a", SHOP).await, None);
}

pub(super) async fn a_pause_is_obeyed_and_recorded_once<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    assert!(scene.pause("410 from the receiver").await);
    assert_eq!(scene.look().await.claimed, []);
    let other = scene.hands.reopen().await;
    assert_eq!(other.exchange(scene.claims(10)).await.unwrap().claimed, [], "all relays obey");
    let before = scene.hands.commits().await;
    assert!(!scene.pause("again").await, "it was paused already");
    assert_eq!(scene.hands.commits().await, before, "nothing changed");
    let paused = scene.store.status().await.unwrap().paused;
    assert_eq!(paused.get(SHOP).map(String::as_str), Some("410 from the receiver"));
    assert_eq!(scene.hands.acts().await, ["pause shop by ada: 410 from the receiver"]);
}

pub(super) async fn pausers_at_once_pause_once<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let (other, shop) = (scene.hands.reopen().await, destination(SHOP));
    let (one, two, three) = tokio::join!(
        scene.store.pause(&shop, "ada", "first"),
        scene.store.pause(&shop, "bob", "second"),
        other.pause(&shop, "eve", "third"),
    );
    let paused = [one.unwrap(), two.unwrap(), three.unwrap()];
    assert_eq!(paused.iter().filter(|paused| **paused).count(), 1, "{paused:?}");
    assert_eq!(scene.hands.acts().await.len(), 1);
}

pub(super) async fn a_pause_needs_no_contract_and_outlives_its_declaring<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let bank = destination("bank");
    assert!(scene.store.pause(&bank, "ada", "not yet").await.unwrap());
    assert_eq!(scene.store.status().await.unwrap().declared, [SHOP]);
    scene.enqueue_to("a", "bank").await;
    scene.declare("bank", false).await;
    let exchange = scene.claims_from(vec![scene.claim_from("bank", 1)], 1);
    let done = scene.exchange(exchange).await;
    assert_eq!((done.claimed, done.differing, done.more), (vec![], vec![], false));
    assert!(!scene.store.pause(&bank, "bob", "again").await.unwrap());
}

pub(super) async fn a_pause_is_no_act_about_a_command_of_that_name<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue(SHOP).await;
    scene.enqueue("store").await;
    scene.pause("maintenance").await;
    scene.store.restored(scene.store.now().unwrap(), "ada").await.unwrap();
    for id in [SHOP, "store"] {
        let acts: Vec<_> = scene.story(id).await.actions.into_iter().map(|act| act.what).collect();
        assert_eq!(acts, ["restored"], "{id}: which every open command is told of, once");
    }
    assert_eq!(scene.hands.acts().await.len(), 2);
}

pub(super) async fn contracts_are_told_as_they_are_stored<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    let bank = destination("bank");
    let windowed = window().contract;
    scene.store.declare(&bank, &windowed, false).await.unwrap();
    scene.store.pause(&destination("desk"), "ada", "no contract yet").await.unwrap();
    let told = scene.store.contracts().await.unwrap();
    let shop = scene.terms.contract.clone();
    let expected = [("bank".to_owned(), Some(windowed)), (SHOP.to_owned(), Some(shop))];
    assert_eq!(told, expected.into_iter().collect());
    let replaced = keyless().contract;
    scene.store.declare(&bank, &replaced, true).await.unwrap();
    assert_eq!(scene.store.contracts().await.unwrap()["bank"], Some(replaced));
}

pub(super) async fn a_differing_contract_names_all_that_differs<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    let shop = destination(SHOP);
    let mut other = scene.terms.contract.clone();
    other.ask.as_mut().unwrap().max_asks += 1;
    other.habits.answers.insert(500, counterfoil_core::domain::Meaning::Ask);
    other.give_up_after = counterfoil_core::domain::Span::from_secs(60);
    let differs = scene.store.declare(&shop, &other, false).await.unwrap();
    let Declared::Differs(mut names) = differs else { panic!("agreed") };
    names.sort();
    assert_eq!(names, ["answers", "ask.max_asks", "give_up_after"]);
    assert_eq!(scene.store.declare(&shop, &other, true).await.unwrap(), Declared::Agreed);
    assert_eq!(scene.store.declare(&shop, &other, false).await.unwrap(), Declared::Agreed);
}
