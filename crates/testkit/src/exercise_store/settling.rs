//! What each outcome does under each contract: the table of the design, row by row.
//!
//! Guarantees: every row and column is a case. Does not: judge answers; transports do.

use counterfoil_core::domain::{
    Completion, Judge, OnRefusal, Outcome, Reason, ReceiptOutcome, Span, State, Terms,
};
use counterfoil_core::port::store::{Ended, Exchange, Reported, Settled};

use super::Hands;
use super::scene::{
    SHOP, Scene, askable, completed, completed_with, destination, forever, keyless, window,
};

const DEAD: Settled = Settled::Open(State::Dead);
const PENDING: Settled = Settled::Open(State::Pending);
const UNCERTAIN: Settled = Settled::Open(State::Uncertain);

fn conflict() -> Outcome {
    Outcome::Conflict { reason: "422".into() }
}

fn accepted() -> Outcome {
    Outcome::Accepted { evidence: "HTTP 202".into() }
}

fn refused(by: Judge) -> Outcome {
    Outcome::Rejected { reason: "HTTP 400".into(), by }
}

fn not_sent() -> Outcome {
    Outcome::not_sent("connection refused")
}

fn spent(mut terms: Terms) -> Terms {
    terms.pace.max_attempts = 1;
    terms
}

/// A command in doubt that was claimed again.
async fn doubted<H: Hands>(scene: &Scene<H>) -> counterfoil_core::port::store::Claimed {
    let (_, settled) = scene.sent("a", Outcome::unknown("500")).await;
    assert_eq!(settled, PENDING);
    scene.advance(700);
    let claimed = scene.claim().await;
    assert!(claimed.delivery.in_doubt);
    claimed
}

pub(super) async fn completed_ends_with_a_receipt<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let (claimed, settled) = scene.sent("a", completed_with("job 7")).await;
    assert_eq!(settled, Settled::Ended("completed"));
    let story = scene.story("a").await;
    assert_eq!((story.listed.state.as_str(), story.listed.available_at), ("completed", None));
    assert_eq!(story.tries, [], "the common path writes no attempt row");
    let receipt = &story.receipts[0];
    assert_eq!((receipt.round, receipt.outcome.as_str(), receipt.attempts), (1, "completed", 1));
    assert_eq!(receipt.result.as_deref(), Some(b"job 7".as_slice()));
    assert_eq!(receipt.evidence.as_deref(), Some("HTTP 200"));
    assert_eq!(receipt.source.as_deref(), Some("relay"));
    assert_eq!(receipt.token, claimed.delivery.token.get());
    assert_eq!(receipt.digest, Some(claimed.digest.to_hex()));
    assert_eq!(story.first_sent_at, claimed.delivery.first_sent_at);
}

pub(super) async fn accepted_waits_for_a_receipt<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let (_, settled) = scene.sent("a", accepted()).await;
    assert_eq!(settled, Settled::Open(State::Published));
    let listed = scene.listed("a").await;
    let due = scene.store_now().plus(scene.terms.contract.receipt_timeout);
    assert_eq!((listed.available_at, listed.in_doubt), (Some(due), false));
    assert_eq!(scene.report("a", ReceiptOutcome::Completed).await, Reported::Recorded);
    assert_eq!(scene.state("a").await, "completed");
}

pub(super) async fn accepted_ends_where_that_is_completion<H: Hands>(hands: H) {
    let mut terms = forever();
    terms.contract.completion = Completion::Accepted;
    let scene = Scene::new(hands, terms).await;
    assert_eq!(scene.sent("a", accepted()).await.1, Settled::Ended("accepted"));
    assert_eq!(scene.report("a", ReceiptOutcome::Completed).await, Reported::Repeated);
}

pub(super) async fn a_receipt_that_does_not_come_is_unknown<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("a", accepted()).await;
    scene.advance(7199);
    assert_eq!(scene.look().await.claimed, []);
    scene.advance(2);
    assert_eq!(scene.look().await.claimed, [], "sent again after a backoff");
    let listed = scene.listed("a").await;
    assert_eq!((listed.state.as_str(), listed.in_doubt), ("pending", true));
    assert_eq!(scene.tries("a").await, ["receipt unknown"]);
    scene.advance(600);
    assert_eq!(scene.claim().await.delivery.attempts, 2);
}

pub(super) async fn a_keyless_receipt_that_does_not_come_is_uncertain<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.sent("a", accepted()).await;
    scene.advance(7201);
    let done = scene.look().await;
    assert_eq!((done.claimed.len(), done.parked.len()), (0, 1));
    assert_eq!(scene.state("a").await, "uncertain");
}

pub(super) async fn not_sent_waits_and_is_not_in_doubt<H: Hands>(hands: H) {
    for_each(hands, [forever(), window(), keyless(), askable()], not_sent(), PENDING).await;
}

pub(super) async fn not_sent_takes_the_first_send_back<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.sent("a", not_sent()).await;
    let story = scene.story("a").await;
    assert_eq!((story.first_sent_at, story.listed.attempts), (None, 1));
    assert_eq!(story.listed.last_outcome.as_deref(), Some("not_sent: connection refused"));
    assert_eq!(scene.tries("a").await, ["send not_sent"]);
    let wait = story.listed.available_at.unwrap().since(scene.store_now());
    assert!(wait > Span::ZERO && wait <= scene.terms.pace.initial, "jitter within the first step");
    scene.advance(1);
    let again = scene.claim().await;
    assert_eq!((again.delivery.attempts, again.delivery.in_doubt), (2, false));
}

pub(super) async fn not_sent_waits_as_the_receiver_asks<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let asked = Some(Span::from_secs(120));
    let outcome =
        Outcome::NotSent { reason: "429".into(), retry_after: asked, misconfigured: false };
    scene.sent("a", outcome).await;
    scene.advance(119);
    assert_eq!(scene.look().await.claimed, []);
    scene.advance(2);
    scene.claim().await;
}

pub(super) async fn not_sent_at_the_last_attempt_is_dead<H: Hands>(hands: H) {
    for_each(hands, [spent(forever()), spent(keyless())], not_sent(), DEAD).await;
}

pub(super) async fn not_sent_at_the_last_attempt_in_doubt_is_uncertain<H: Hands>(hands: H) {
    let mut terms = forever();
    terms.pace.max_attempts = 2;
    let scene = Scene::new(hands, terms).await;
    let claimed = doubted(&scene).await;
    assert_eq!(scene.settle(&claimed, not_sent()).await, UNCERTAIN);
    assert!(scene.story("a").await.first_sent_at.is_some(), "the first send stays in doubt");
}

pub(super) async fn unknown_is_repeated_where_that_is_safe<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window()).await;
    let (first, settled) = scene.sent("a", Outcome::unknown("500")).await;
    assert_eq!(settled, PENDING);
    let listed = scene.listed("a").await;
    assert_eq!((listed.in_doubt, listed.attempts), (true, 1));
    assert_eq!(scene.tries("a").await, ["send unknown"]);
    scene.advance(60);
    let second = scene.claim().await;
    assert_eq!(second.command, first.command, "same id, same bytes");
    assert_eq!(second.delivery.first_sent_at, first.delivery.first_sent_at);
    assert_eq!(scene.settle(&second, completed()).await, Settled::Ended("completed"));
}

pub(super) async fn unknown_without_keys_is_uncertain<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    assert_eq!(scene.sent("a", Outcome::unknown("reset")).await.1, UNCERTAIN);
    let listed = scene.listed("a").await;
    assert_eq!((listed.in_doubt, listed.available_at), (true, None));
    scene.advance(86_400);
    assert_eq!(scene.look().await.claimed, []);
}

pub(super) async fn unknown_at_the_last_attempt_is_uncertain_never_dead<H: Hands>(hands: H) {
    let scene = Scene::new(hands, spent(forever())).await;
    assert_eq!(scene.sent("a", Outcome::unknown("500")).await.1, UNCERTAIN);
}

pub(super) async fn conflict_parks_under_every_contract<H: Hands>(hands: H) {
    let expected = Settled::Open(State::Conflict);
    for_each(hands, [forever(), window(), keyless(), askable()], conflict(), expected).await;
}

pub(super) async fn a_refusal_by_the_receiver_ends<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let claimed = doubted(&scene).await;
    let settled = scene.settle(&claimed, refused(Judge::Receiver)).await;
    assert_eq!(settled, Settled::Ended("rejected"), "its own word counts, in doubt or not");
    let story = scene.story("a").await;
    assert_eq!(story.receipts[0].evidence.as_deref(), Some("HTTP 400"));
}

pub(super) async fn a_refusal_by_status_parks_as_dead<H: Hands>(hands: H) {
    for_each(hands, [forever(), keyless()], refused(Judge::Status), DEAD).await;
}

pub(super) async fn a_refusal_by_status_ends_where_the_contract_says_so<H: Hands>(hands: H) {
    let mut terms = keyless();
    terms.contract.on_refusal = OnRefusal::Reject;
    let scene = Scene::new(hands, terms).await;
    assert_eq!(scene.sent("a", refused(Judge::Status)).await.1, Settled::Ended("rejected"));
}

pub(super) async fn a_refusal_by_status_in_doubt_is_uncertain<H: Hands>(hands: H) {
    let mut terms = forever();
    terms.contract.on_refusal = OnRefusal::Reject;
    let scene = Scene::new(hands, terms).await;
    let claimed = doubted(&scene).await;
    let settled = scene.settle(&claimed, refused(Judge::Status)).await;
    assert_eq!(settled, UNCERTAIN, "a gateway cannot undo what may exist");
}

pub(super) async fn a_settle_counts_after_its_lease_until_taken_over<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let claimed = scene.claimed("a").await;
    scene.advance(3600);
    assert_eq!(scene.settle(&claimed, completed()).await, Settled::Ended("completed"));
}

pub(super) async fn a_stale_settle_changes_nothing_and_is_kept<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let first = scene.claimed("a").await;
    scene.advance(31);
    let second = scene.claim().await;
    for outcome in [not_sent(), Outcome::unknown("reset"), refused(Judge::Receiver), conflict()] {
        let settled = scene.settle(&first, outcome).await;
        assert_eq!(settled, Settled::Ignored(Reason::StaleToken));
    }
    let listed = scene.listed("a").await;
    assert_eq!((listed.state.as_str(), listed.token), ("sending", second.delivery.token.get()));
    let late = ["late not_sent", "late unknown", "late rejected", "late conflict"];
    assert_eq!(scene.tries("a").await[1..], late);
    assert_eq!(scene.settle(&second, completed()).await, Settled::Ended("completed"));
}

pub(super) async fn a_late_completed_ends_what_is_uncertain<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let claimed = scene.claimed("a").await;
    scene.advance(31);
    assert_eq!(scene.look().await.parked.len(), 1);
    let settled = scene.settle(&claimed, completed_with("job 7")).await;
    assert_eq!(settled, Settled::Ended("completed"), "it is the receiver's own word");
    let story = scene.story("a").await;
    assert_eq!(story.receipts[0].result.as_deref(), Some(b"job 7".as_slice()));
    assert_eq!(story.listed.state, "completed");
}

pub(super) async fn a_late_completed_after_the_end_repeats_or_contradicts<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let first = scene.claimed("a").await;
    scene.report("a", ReceiptOutcome::Completed).await;
    assert_eq!(scene.settle(&first, completed()).await, Settled::Ignored(Reason::Repeated));
    let second = scene.claimed("b").await;
    scene.report("b", ReceiptOutcome::Rejected).await;
    assert_eq!(scene.settle(&second, completed()).await, Settled::Contradicted);
    assert_eq!(scene.state("b").await, "rejected", "the first wins");
}

pub(super) async fn settles_of_a_batch_are_answered_in_order<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let mut claimed = Vec::new();
    for id in ["a", "b", "c"] {
        claimed.push(scene.claimed(id).await);
    }
    let gone = scene.claimed("gone").await;
    scene.report("gone", ReceiptOutcome::Completed).await;
    let ends = [completed(), not_sent(), Outcome::unknown("500")].map(Ended::Outcome);
    let mut settles: Vec<_> =
        claimed.iter().zip(ends).map(|(claimed, end)| scene.settling(claimed, end)).collect();
    settles.insert(1, scene.settling(&gone, Ended::HandedBack));
    let done = scene.exchange(Exchange { settles, ..scene.claims(10) }).await;
    let ended = Settled::Ignored(Reason::Ended);
    assert_eq!(done.settled, [Settled::Ended("completed"), ended, PENDING, PENDING]);
    assert_eq!(done.claimed, [], "settled first, then claimed: both wait for their backoff");
}

pub(super) async fn a_repeated_settle_changes_nothing_more<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let (claimed, _) = scene.sent("a", completed()).await;
    assert_eq!(scene.settle(&claimed, completed()).await, Settled::Ignored(Reason::Repeated));
    let (claimed, _) = scene.sent("b", Outcome::unknown("500")).await;
    let before = scene.listed("b").await;
    let settled = scene.settle(&claimed, Outcome::unknown("500")).await;
    assert_eq!(settled, Settled::Ignored(Reason::StaleToken));
    assert_eq!(scene.listed("b").await, before);
    assert_eq!(scene.story("a").await.receipts.len(), 1);
}

/// Sends one command to a destination of its own under each of the terms.
async fn for_each<H: Hands, const N: usize>(
    hands: H,
    all: [Terms; N],
    outcome: Outcome,
    expected: Settled,
) {
    let mut scene = Scene::new(hands, forever()).await;
    for (at, terms) in all.into_iter().enumerate() {
        scene = scene.with_terms(terms);
        scene.store_declare(at).await;
        scene.enqueue_to(&format!("c-{at}"), &format!("{SHOP}-{at}")).await;
        let from = vec![scene.claim_from(&format!("{SHOP}-{at}"), 1)];
        let claimed = scene.exchange(scene.claims_from(from, 1)).await.claimed.remove(0);
        let settled = scene.settle(&claimed, outcome.clone()).await;
        assert_eq!(settled, expected, "under {:?}", scene.terms);
        let in_doubt = scene.listed(&format!("c-{at}")).await.in_doubt;
        assert!(!in_doubt, "{} is no doubt", outcome.name());
    }
}

impl<H: Hands> Scene<H> {
    async fn store_declare(&self, at: usize) {
        self.declare(destination(&format!("{SHOP}-{at}")).as_str(), false).await;
    }

    fn store_now(&self) -> counterfoil_core::domain::Micros {
        use counterfoil_core::port::Store;
        self.store.now().unwrap()
    }
}
