//! What a claim promises: the right commands, once, durably, under growing tokens.
//!
//! Guarantees: order, limits, pauses, contracts and unreadable rows are covered. Does not: send.

use std::collections::BTreeSet;

use counterfoil_core::domain::{Digest, Outcome, Span, State};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Declared, Exchange, Exchanged};

use super::Hands;
use super::scene::{
    SHOP, Scene, command, command_to, completed, destination, forever, ids, keyless, window,
};

pub(super) async fn claims_by_due_time<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let now = scene.store.now().unwrap();
    let at = |id, secs| command(id).not_before(now.plus(Span::from_secs(secs)));
    let batch = vec![at("third", 30), at("first", 10), at("second", 20)];
    assert!(scene.store.enqueue(batch).await.unwrap().iter().all(Result::is_ok));
    scene.advance(60);
    assert_eq!(ids(&scene.look().await.claimed), ["first", "second", "third"]);
}

pub(super) async fn claims_what_was_recorded_together_in_order<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let names: Vec<_> = (0..9).map(|at| format!("c-{at}")).collect();
    let batch = names.iter().map(|id| command(id)).collect();
    assert!(scene.store.enqueue(batch).await.unwrap().iter().all(Result::is_ok));
    assert_eq!(ids(&scene.look().await.claimed), names);
}

pub(super) async fn claims_no_more_than_asked<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.declare("bank", false).await;
    for at in 0..4 {
        scene.enqueue(&format!("s-{at}")).await;
        scene.enqueue_to(&format!("b-{at}"), "bank").await;
    }
    let from = vec![scene.claim_from("bank", 1), scene.claim_from(SHOP, 9)];
    let done = scene.exchange(scene.claims_from(from.clone(), 3)).await;
    assert_eq!(ids(&done.claimed), ["b-0", "s-0", "s-1"], "per destination, and in all");
    assert!(done.more, "more is due");
    let done = scene.exchange(scene.claims_from(from, 0)).await;
    assert_eq!(done.claimed, []);
    let rest = vec![scene.claim_from("bank", 9), scene.claim_from(SHOP, 9)];
    let done = scene.exchange(scene.claims_from(rest, 99)).await;
    assert_eq!(done.claimed.len(), 5);
    assert!(!done.more, "nothing is left");
}

pub(super) async fn claims_nothing_before_it_is_due<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let due = scene.store.now().unwrap().plus(Span::from_secs(60));
    scene.store.enqueue(vec![command("a").not_before(due)]).await.unwrap();
    assert_eq!(scene.look().await, Exchanged::default());
    let shop = [destination(SHOP)];
    assert_eq!(scene.store.next_due(&shop).await.unwrap(), Some(due));
    assert_eq!(scene.store.next_due(&[destination("bank")]).await.unwrap(), None);
    scene.advance(60);
    let claimed = scene.claim().await;
    assert_eq!(scene.store.next_due(&shop).await.unwrap(), claimed.delivery.lease_until);
}

pub(super) async fn a_claim_carries_all_that_an_attempt_needs<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let now = scene.store.now().unwrap();
    let full = command("a").header("X-Shop", "7").content_type("text/plain").not_before(now);
    let full = full.core(&[serde_json::json!("a")]).unwrap();
    let core = full.core_digest.unwrap().to_hex();
    scene.store.enqueue(vec![full]).await.unwrap();
    let claimed = scene.claim().await;
    let row = &claimed.command;
    assert_eq!((row.destination.as_str(), row.kind.as_str()), (SHOP, "order.paid"));
    assert_eq!((row.body.as_slice(), row.content_type.as_str()), (&b"body of a"[..], "text/plain"));
    assert_eq!(row.headers.as_deref(), Some(r#"{"X-Shop":"7"}"#));
    assert_eq!((row.core_digest.as_deref(), row.not_before), (Some(core.as_str()), Some(now)));
    assert_eq!(claimed.digest, Digest::of(b"body of a"));
    assert_eq!(claimed.row_digest, row.row_digest(claimed.digest));
    let delivery = &claimed.delivery;
    assert_eq!((delivery.n, delivery.state, delivery.attempts), (row.n, State::Sending, 1));
    let now = scene.store.now().unwrap();
    let until = delivery.lease_until.unwrap();
    assert!(until.since(now) <= scene.terms.pace.lease, "no longer than a lease");
    assert_eq!(delivery.available_at, Some(until), "looked at again when the lease ends");
    assert_eq!(delivery.first_sent_at, delivery.round_since);
    assert!(!claimed.taken_over && !delivery.in_doubt);
    let story = scene.story("a").await;
    assert_eq!(story.lease, Some((until, "relay-1".into())));
    assert_eq!(story.listed.token, delivery.token.get());
}

pub(super) async fn what_is_claimed_is_not_claimed_again<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.claimed("a").await;
    assert_eq!(scene.look().await, Exchanged::default());
    let other = Exchange { owner: "relay-2".into(), ..scene.claims(10) };
    assert_eq!(scene.exchange(other).await.claimed, []);
}

pub(super) async fn owners_at_once_never_share<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let batch = (0..200).map(|at| command(&format!("c-{at}"))).collect();
    assert!(scene.store.enqueue(batch).await.unwrap().iter().all(Result::is_ok));
    let owners: Vec<_> = (0..4)
        .map(|owner| {
            let store = scene.store.clone();
            let exchange = Exchange { owner: format!("relay-{owner}"), ..scene.claims(7) };
            tokio::spawn(async move {
                let mut own = Vec::new();
                loop {
                    let claimed = store.exchange(exchange.clone()).await.unwrap().claimed;
                    if claimed.is_empty() {
                        return own;
                    }
                    own.extend(claimed.into_iter().map(|claimed| claimed.delivery.n));
                    assert!(own.len() <= 200, "claimed again and again");
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for owner in owners {
        all.extend(owner.await.unwrap());
    }
    let distinct: BTreeSet<_> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (200, 200), "each command has one owner");
}

pub(super) async fn a_claim_survives_a_crash<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let claimed = scene.claimed("a").await;
    let reopened = scene.hands.reopen().await;
    let story = reopened.show("a").await.unwrap().unwrap();
    assert_eq!(story.listed.state, "sending");
    assert_eq!(story.listed.token, claimed.delivery.token.get());
    let done = reopened.exchange(scene.claims(10)).await.unwrap();
    assert_eq!(done.claimed, [], "the lease outlives its owner's crash");
}

pub(super) async fn tokens_only_grow<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let mut token = scene.claimed("a").await.delivery.token;
    assert!(token.get() > 0);
    for round in 0..3 {
        if round == 1 {
            scene.hands.step_machine(-3_600_000_000);
        }
        let store = scene.hands.reopen().await;
        scene.advance(31);
        let claimed = store.exchange(scene.claims(10)).await.unwrap().claimed;
        assert_eq!(claimed.len(), 1, "taken over in round {round}");
        assert!(claimed[0].delivery.token > token, "a newer lease has a larger token");
        token = claimed[0].delivery.token;
    }
}

pub(super) async fn a_clock_step_back_freezes_nothing<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let before = scene.store.now().unwrap();
    if !scene.hands.step_machine(-86_400_000_000) {
        return;
    }
    assert!(scene.store.now().unwrap() >= before, "the store's time never goes back");
    let claimed = scene.claimed("a").await;
    scene.advance(31);
    assert!(scene.claim().await.delivery.token > claimed.delivery.token, "leases still run out");
}

pub(super) async fn a_paused_destination_is_not_claimed<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.declare("bank", false).await;
    scene.enqueue("a").await;
    scene.enqueue_to("b", "bank").await;
    scene.pause("maintenance").await;
    let from = vec![scene.claim_from(SHOP, 9), scene.claim_from("bank", 9)];
    let done = scene.exchange(scene.claims_from(from, 9)).await;
    assert_eq!(ids(&done.claimed), ["b"]);
    assert!(!done.more, "what is paused is not due");
    assert_eq!(scene.store.next_due(&[destination(SHOP)]).await.unwrap(), None);
    let status = scene.store.status().await.unwrap();
    assert_eq!(status.paused.get(SHOP).map(String::as_str), Some("maintenance"));
}

pub(super) async fn a_differing_contract_is_refused_and_claims_nothing<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    let other = window();
    let shop = destination(SHOP);
    let differs = scene.store.declare(&shop, &other.contract, false).await.unwrap();
    assert_eq!(differs, Declared::Differs(vec!["idempotent".into()]));
    let scene = scene.with_terms(other);
    let done = scene.look().await;
    assert_eq!((done.claimed.len(), done.differing.as_slice()), (0, [shop].as_slice()));
    assert_eq!(scene.state("a").await, "pending");
    scene.declare(SHOP, true).await;
    assert_eq!(scene.look().await.claimed.len(), 1, "replaced, it is the stored one");
    let before = scene.with_terms(forever());
    assert_eq!(before.look().await.differing.len(), 1, "the relay of before claims no more");
}

pub(super) async fn terms_of_one_relay_are_not_the_contract<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let mut slower = keyless();
    slower.pace.max_attempts = 3;
    slower.pace.lease = Span::from_secs(90);
    let scene = scene.with_terms(slower);
    scene.declare(SHOP, false).await;
    scene.claimed("a").await;
}

pub(super) async fn an_exchange_with_nothing_to_do_writes_nothing<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let due = scene.store.now().unwrap().plus(Span::from_secs(60));
    scene.store.enqueue(vec![command("a").not_before(due)]).await.unwrap();
    let before = scene.hands.commits().await;
    assert_eq!(scene.exchange(Exchange::default()).await, Exchanged::default());
    assert_eq!(scene.look().await, Exchanged::default());
    assert_eq!(scene.hands.commits().await, before);
}

pub(super) async fn an_unreadable_row_parks_alone<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("before").await;
    let Some(bad) = scene.hands.put_unreadable(SHOP).await else { return };
    scene.enqueue("after").await;
    scene.advance(1);
    let done = scene.look().await;
    assert_eq!(ids(&done.claimed), ["before", "after"]);
    assert_eq!(done.parked.len(), 1, "it is announced");
    let parked = &done.parked[0];
    assert_eq!((parked.command.as_str(), parked.state), (bad.as_str(), State::Dead));
    assert_eq!(parked.destination, SHOP);
    assert!(parked.reason.contains("unreadable"), "{}", parked.reason);
    let listed = scene.store.list(super::view::all()).await.unwrap();
    let states: Vec<_> = listed.iter().map(|listed| listed.state.as_str()).collect();
    assert_eq!(states, ["sending", "dead", "sending"]);
    for claimed in done.claimed {
        scene.settle(&claimed, completed()).await;
    }
    assert_eq!(scene.look().await, Exchanged::default(), "announced once");
}

pub(super) async fn other_destinations_are_left_alone<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let batch = vec![command_to("b", "bank"), command("a")];
    scene.store.enqueue(batch).await.unwrap();
    assert_eq!(ids(&scene.look().await.claimed), ["a"]);
    let unserved = scene.listed("b").await;
    assert_eq!((unserved.state.as_str(), unserved.attempts), ("pending", 0));
}

pub(super) async fn a_due_retry_does_not_starve_new_work<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("poison", Outcome::not_sent("refused")).await;
    scene.enqueue("good").await;
    assert_eq!(ids(&scene.look().await.claimed), ["good"], "the retry waits for its due time");
}
