//! What a receiver's report does, fenced or not.
//!
//! Guarantees: from every open state, for every repeat. Does not: cover plain SQL or HTTP.

use counterfoil_core::domain::{CommandId, Outcome, Reason, ReceiptOutcome, Token};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Exchanged, Reported};

use super::Hands;
use super::scene::{Scene, askable, completed, forever, keyless};

const COMPLETED: ReceiptOutcome = ReceiptOutcome::Completed;
const REJECTED: ReceiptOutcome = ReceiptOutcome::Rejected;

async fn ends<H: Hands>(scene: &Scene<H>, id: &str, state: &str) {
    assert_eq!(scene.state(id).await, state);
    assert_eq!(scene.report(id, COMPLETED).await, Reported::Recorded, "from {state}");
    let story = scene.story(id).await;
    assert_eq!((story.listed.state.as_str(), story.receipts.len()), ("completed", 1));
    assert_eq!(story.receipts[0].result.as_deref(), Some(b"job 7".as_slice()));
    assert_eq!(story.receipts[0].source.as_deref(), Some("report"));
}

pub(super) async fn a_report_ends_a_machine_owned_command<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("pending").await;
    ends(&scene, "pending", "pending").await;
    scene.claimed("sending").await;
    ends(&scene, "sending", "sending").await;
    let accepted = Outcome::Accepted { evidence: "HTTP 202".into() };
    scene.sent("published", accepted).await;
    ends(&scene, "published", "published").await;
    let scene = scene.with_terms(askable());
    scene.declare(super::scene::SHOP, true).await;
    scene.sent("asking", Outcome::unknown("reset")).await;
    ends(&scene, "asking", "asking").await;
    scene.advance(86_400);
    assert_eq!(scene.look().await, Exchanged::default());
}

pub(super) async fn a_report_ends_a_parked_command<H: Hands>(hands: H) {
    let mut terms = keyless();
    terms.pace.max_attempts = 1;
    let scene = Scene::new(hands, terms).await;
    scene.sent("dead", Outcome::not_sent("refused")).await;
    ends(&scene, "dead", "dead").await;
    scene.sent("uncertain", Outcome::unknown("reset")).await;
    ends(&scene, "uncertain", "uncertain").await;
    scene.sent("conflict", Outcome::Conflict { reason: "422".into() }).await;
    ends(&scene, "conflict", "conflict").await;
}

pub(super) async fn a_report_may_reject<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.claimed("a").await;
    assert_eq!(scene.report("a", REJECTED).await, Reported::Recorded);
    assert_eq!(scene.state("a").await, "rejected");
}

pub(super) async fn the_same_report_again_is_repeated<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    scene.report("a", COMPLETED).await;
    let before = scene.story("a").await;
    scene.advance(5);
    assert_eq!(scene.report("a", COMPLETED).await, Reported::Repeated);
    assert_eq!(scene.story("a").await, before);
}

pub(super) async fn another_report_is_a_contradiction_and_kept<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    scene.report("a", COMPLETED).await;
    assert_eq!(scene.report("a", REJECTED).await, Reported::Contradiction);
    assert_eq!(scene.report("a", REJECTED).await, Reported::Contradiction);
    let story = scene.story("a").await;
    assert_eq!((story.listed.state.as_str(), story.receipts.len()), ("completed", 1));
    assert_eq!(scene.tries("a").await, ["contradiction rejected"], "kept once");
    assert_eq!(story.tries[0].reason, "the worker said so");
}

pub(super) async fn a_report_after_a_settle_is_judged_alike<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("a", completed()).await;
    assert_eq!(scene.report("a", COMPLETED).await, Reported::Repeated);
    assert_eq!(scene.report("a", REJECTED).await, Reported::Contradiction);
}

pub(super) async fn the_newest_token_reports<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let claimed = scene.claimed("a").await;
    assert_eq!(scene.fenced("a", claimed.delivery.token).await, Reported::Recorded);
    assert_eq!(scene.state("a").await, "completed");
}

pub(super) async fn an_older_token_is_fenced_off<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let first = scene.claimed("a").await.delivery.token;
    scene.advance(31);
    let second = scene.claim().await.delivery.token;
    let refused = Reported::Refused(Reason::StaleToken);
    assert_eq!(scene.fenced("a", first).await, refused);
    assert_eq!(scene.fenced("a", Token::new(second.get() + 1)).await, refused);
    assert_eq!(scene.state("a").await, "sending");
    assert_eq!(scene.fenced("a", second).await, Reported::Recorded);
}

pub(super) async fn a_fenced_report_after_the_end_is_refused<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let (claimed, _) = scene.sent("a", completed()).await;
    let token = claimed.delivery.token;
    assert_eq!(scene.fenced("a", token).await, Reported::Refused(Reason::Ended));
    assert_eq!(scene.story("a").await.tries, []);
}

pub(super) async fn a_command_never_claimed_has_no_token<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    let refused = Reported::Refused(Reason::StaleToken);
    assert_eq!(scene.fenced("a", Token::NONE).await, refused);
    assert_eq!(scene.state("a").await, "pending");
}

pub(super) async fn a_report_about_nothing_is_unknown<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let before = scene.hands.commits().await;
    assert_eq!(scene.report("never", COMPLETED).await, Reported::Unknown);
    assert_eq!(scene.fenced("never", Token::new(7)).await, Reported::Unknown);
    assert_eq!(scene.hands.commits().await, before);
}

pub(super) async fn a_report_says_completed_or_rejected_only<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    let refused = Reported::Refused(Reason::NotReportable);
    for outcome in [ReceiptOutcome::Accepted, ReceiptOutcome::Cancelled, ReceiptOutcome::Expired] {
        assert_eq!(scene.report("a", outcome).await, refused);
    }
    assert_eq!(scene.state("a").await, "pending");
}

pub(super) async fn reporters_at_once_end_it_once<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    let reporters: Vec<_> = (0..6)
        .map(|_| {
            let store = scene.store.clone();
            let report = super::scene::report(COMPLETED, None);
            let id = CommandId::new("a").unwrap();
            tokio::spawn(async move { store.report(&id, report).await.unwrap() })
        })
        .collect();
    let mut recorded = 0;
    for reporter in reporters {
        match reporter.await.unwrap() {
            Reported::Recorded => recorded += 1,
            other => assert_eq!(other, Reported::Repeated),
        }
    }
    assert_eq!((recorded, scene.story("a").await.receipts.len()), (1, 1));
}
