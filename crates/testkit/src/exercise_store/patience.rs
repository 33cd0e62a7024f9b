//! A claim that waits in the store for something to be due.
//!
//! Guarantees: it hears of what is committed while it waits, and takes nothing once its caller has
//! gone. Does not: ask a store that cannot wait for more than an answer at once.

use std::time::Duration;

use counterfoil_core::domain::{Contract, Idempotent, Terms};
use counterfoil_core::port::store::{Exchange, Exchanged, StoreError};
use counterfoil_core::port::{Patience, Store, SystemClock};
use tokio::task::JoinHandle;

use super::Hands;
use super::scene::{SHOP, Scene, destination, forever, ids};

/// So that it waits already; if it does not yet, a case is easier, not wrong.
const A_MOMENT: Duration = Duration::from_millis(50);

type Claiming = JoinHandle<Result<Exchanged, StoreError>>;

fn patience() -> Patience {
    Patience::new(std::sync::Arc::new(SystemClock))
}

impl<H: Hands> Scene<H> {
    /// A claim that waits, by a relay of its own.
    async fn wait(&self, patience: &Patience) -> Claiming {
        let (store, exchange, own) = (self.store.clone(), self.claims(10), patience.clone());
        let claiming = tokio::spawn(async move { store.claim_when_due(exchange, own).await });
        tokio::time::sleep(A_MOMENT).await;
        claiming
    }
}

async fn end(claiming: Claiming) -> Exchanged {
    let within = Duration::from_secs(10);
    tokio::time::timeout(within, claiming).await.expect("an answer").unwrap().unwrap()
}

pub(super) async fn a_patient_claim_takes_what_is_due<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    let patience = patience();
    let done = scene.store.claim_when_due(scene.claims(10), patience.clone()).await.unwrap();
    assert_eq!(ids(&done.claimed), ["a"]);
    assert_eq!(patience.claimed_at().is_some(), scene.store.is_patient());
}

pub(super) async fn a_patient_claim_takes_what_comes<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let patience = patience();
    let claiming = scene.wait(&patience).await;
    if !scene.store.is_patient() {
        return assert_eq!(end(claiming).await, Exchanged::default());
    }
    assert!(!claiming.is_finished(), "nothing is due");
    // What is for others ends no wait.
    scene.declare("bank", false).await;
    scene.enqueue_to("other", "bank").await;
    tokio::time::sleep(A_MOMENT).await;
    assert!(!claiming.is_finished(), "nothing is due here");
    scene.enqueue("a").await;
    assert_eq!(ids(&end(claiming).await.claimed), ["a"]);
    assert_eq!(scene.look().await.claimed, [], "it is claimed");
}

pub(super) async fn an_ended_patience_takes_nothing<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let patience = patience();
    let claiming = scene.wait(&patience).await;
    patience.end();
    assert_eq!(end(claiming).await, Exchanged::default());
    scene.claimed("a").await;
    // It may have ended before it began.
    let claiming = scene.wait(&patience).await;
    assert_eq!(end(claiming).await, Exchanged::default());
}

pub(super) async fn a_claim_that_was_dropped_takes_nothing<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let claiming = scene.wait(&patience()).await;
    claiming.abort();
    let _ended = claiming.await;
    scene.claimed("a").await;
}

pub(super) async fn of_two_patient_claims_each_takes_its_own<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    if !scene.store.is_patient() {
        return;
    }
    let (one, other) = (patience(), patience());
    let both = [scene.wait(&one).await, scene.wait(&other).await];
    scene.enqueue("a").await;
    tokio::time::sleep(A_MOMENT).await;
    assert_eq!(both.iter().filter(|claiming| claiming.is_finished()).count(), 1);
    scene.enqueue("b").await;
    let mut claimed = Vec::new();
    for claiming in both {
        claimed.extend(end(claiming).await.claimed);
    }
    claimed.sort_by_key(|claimed| claimed.command.n);
    assert_eq!(ids(&claimed), ["a", "b"]);
}

pub(super) async fn a_patient_claim_hears_of_another_contract<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let contract = Contract { idempotent: Idempotent::No, ..forever().contract };
    let scene = scene.with_terms(Terms { contract, ..forever() });
    let done = scene.store.claim_when_due(scene.claims(10), patience()).await.unwrap();
    let differing = vec![destination(SHOP)];
    assert_eq!(done, Exchanged { differing, ..Exchanged::default() });
}

pub(super) async fn a_patient_claim_of_nothing_is_no_write<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let patience = patience();
    patience.end();
    let nothing = Exchange { claim_limit: 0, ..scene.claims(0) };
    let done = scene.store.claim_when_due(nothing, patience).await.unwrap();
    assert_eq!(done, Exchanged::default());
}
