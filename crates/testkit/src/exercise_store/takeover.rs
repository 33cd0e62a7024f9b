//! What becomes of an attempt whose lease ran out, and of a lease that is renewed or given back.
//!
//! Guarantees: an expired lease is an unknown outcome, never a failure. Does not: run relays.

use counterfoil_core::domain::{Outcome, Reason, State, Token};
use counterfoil_core::port::store::{Claimed, Ended, Exchange, Exchanged, Renew, Settled};

use super::Hands;
use super::scene::{Scene, completed, forever, keyless, window};

impl<H: Hands> Scene<H> {
    async fn renew(&self, claimed: &Claimed, token: Token) -> Exchanged {
        let renew = Renew { n: claimed.delivery.n, token, terms: self.terms.clone() };
        self.exchange(Exchange { renewals: vec![renew], ..Exchange::default() }).await
    }
}

pub(super) async fn a_live_lease_is_not_taken_over<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.claimed("a").await;
    scene.advance(29);
    assert_eq!(scene.look().await, Exchanged::default());
}

pub(super) async fn an_expired_lease_is_taken_over_in_doubt<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let first = scene.claimed("a").await;
    scene.advance(31);
    let second = scene.claim().await;
    assert!(second.taken_over && second.delivery.in_doubt);
    assert_eq!(second.delivery.attempts, 2);
    assert_eq!(second.delivery.first_sent_at, first.delivery.first_sent_at, "it may have acted");
    assert_eq!(second.delivery.round_since, first.delivery.round_since);
    assert_eq!(second.command.body, first.command.body, "the same bytes");
    assert_eq!(scene.tries("a").await, ["send expired"]);
    assert_eq!(scene.story("a").await.tries[0].token, first.delivery.token.get());
}

pub(super) async fn a_keyless_takeover_is_uncertain_and_announced<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.claimed("a").await;
    scene.advance(31);
    let done = scene.look().await;
    assert_eq!(done.claimed, [], "sent once");
    let parked: Vec<_> = done.parked.iter().map(|p| (p.command.as_str(), p.state)).collect();
    assert_eq!(parked, [("a", State::Uncertain)]);
    let listed = scene.listed("a").await;
    assert_eq!((listed.state.as_str(), listed.in_doubt), ("uncertain", true));
    assert_eq!(listed.available_at, None, "a person's turn");
    scene.advance(86_400);
    assert_eq!(scene.look().await, Exchanged::default(), "announced once");
}

pub(super) async fn a_takeover_is_safe_only_inside_the_window<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window()).await;
    scene.claimed("a").await;
    scene.advance(2 * 86_400);
    let done = scene.look().await;
    assert_eq!((done.claimed.len(), done.parked.len()), (0, 1));
    assert_eq!(scene.state("a").await, "uncertain");
}

pub(super) async fn the_window_is_tested_at_each_claim<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window()).await;
    let (_, settled) = scene.sent("a", Outcome::unknown("500")).await;
    assert_eq!(settled, Settled::Open(State::Pending));
    scene.advance(82_080 - 29);
    let done = scene.look().await;
    assert_eq!(done.claimed, [], "the key may be forgotten before the lease ends");
    assert_eq!(scene.state("a").await, "uncertain");
    assert_eq!(done.parked.len(), 1);
}

pub(super) async fn a_takeover_counts_against_the_attempts<H: Hands>(hands: H) {
    let mut terms = forever();
    terms.pace.max_attempts = 2;
    let scene = Scene::new(hands, terms).await;
    scene.claimed("a").await;
    scene.advance(31);
    assert_eq!(scene.claim().await.delivery.attempts, 2);
    scene.advance(31);
    assert_eq!(scene.look().await.claimed, []);
    assert_eq!(scene.state("a").await, "uncertain", "spent in doubt is never dead");
}

pub(super) async fn a_renewed_lease_is_not_taken_over<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let claimed = scene.claimed("a").await;
    scene.advance(20);
    assert_eq!(scene.renew(&claimed, claimed.delivery.token).await.lost, [] as [i64; 0]);
    scene.advance(20);
    assert_eq!(scene.look().await, Exchanged::default());
    scene.advance(11);
    assert!(scene.claim().await.taken_over);
}

pub(super) async fn a_lost_lease_is_told_at_renewal<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let first = scene.claimed("a").await;
    scene.advance(31);
    let second = scene.claim().await;
    let n = first.delivery.n;
    assert_eq!(scene.renew(&first, first.delivery.token).await.lost, [n]);
    let lease = |story: counterfoil_core::port::read::Story| story.lease.unwrap().0;
    assert_eq!(lease(scene.story("a").await), second.delivery.lease_until.unwrap());
    assert_eq!(scene.settle(&second, completed()).await, Settled::Ended("completed"));
    assert_eq!(scene.renew(&second, second.delivery.token).await.lost, [n], "ended is lost, too");
}

pub(super) async fn what_is_handed_back_is_as_before<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let first = scene.claimed("a").await;
    let settled = scene.end(&first, Ended::HandedBack).await;
    assert_eq!(settled, Settled::Open(State::Pending));
    let story = scene.story("a").await;
    assert_eq!((story.listed.attempts, story.listed.in_doubt), (0, false));
    assert_eq!((story.first_sent_at, story.lease, story.tries.len()), (None, None, 0));
    scene.advance(40 * 3600);
    let second = scene.claim().await;
    assert_eq!((second.delivery.attempts, second.taken_over), (1, false));
    assert!(second.delivery.token > first.delivery.token);
    assert_eq!(second.delivery.round_since, second.delivery.first_sent_at, "the horizon restarts");
}

pub(super) async fn handing_back_keeps_what_was_sent_before<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let (first, _) = scene.sent("a", Outcome::unknown("500")).await;
    scene.advance(60);
    let second = scene.claim().await;
    scene.end(&second, Ended::HandedBack).await;
    let story = scene.story("a").await;
    assert_eq!((story.listed.attempts, story.listed.in_doubt), (1, true));
    assert_eq!(story.first_sent_at, first.delivery.first_sent_at);
}

pub(super) async fn handing_back_a_lost_lease_changes_nothing<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let first = scene.claimed("a").await;
    scene.advance(31);
    let second = scene.claim().await;
    let settled = scene.end(&first, Ended::HandedBack).await;
    assert_eq!(settled, Settled::Ignored(Reason::StaleToken));
    assert_eq!(scene.settle(&second, completed()).await, Settled::Ended("completed"));
}

pub(super) async fn a_late_completed_beside_a_newer_lease_is_told_as_late<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let first = scene.claimed("a").await;
    scene.advance(31);
    let second = scene.claim().await;
    assert_eq!(scene.settle(&first, completed()).await, Settled::Ended("completed"));
    assert_eq!(scene.tries("a").await, ["send expired", "late completed"]);
    let receipt = scene.story("a").await.receipts.remove(0);
    let newest = (2, second.delivery.token.get());
    assert_eq!((receipt.attempts, receipt.token), newest, "it knows of the attempt at work");
}

pub(super) async fn a_pause_lets_what_is_in_flight_end<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let claimed = scene.claimed("a").await;
    scene.pause("maintenance").await;
    scene.advance(20);
    assert_eq!(scene.renew(&claimed, claimed.delivery.token).await.lost, [] as [i64; 0]);
    assert_eq!(scene.settle(&claimed, completed()).await, Settled::Ended("completed"));
}

pub(super) async fn behind_a_pause_nothing_dies<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("a", Outcome::not_sent("refused")).await;
    scene.advance(30 * 86_400);
    let claimed = scene.claim().await;
    assert_eq!(claimed.delivery.attempts, 2, "the horizon is judged when an attempt ends");
    let settled = scene.settle(&claimed, Outcome::not_sent("refused")).await;
    assert_eq!(settled, Settled::Open(State::Dead));
    assert_eq!(scene.look().await, Exchanged::default());
}
