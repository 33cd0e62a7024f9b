//! Receipts that a receiver reports by itself, before, after or instead of an answer.
//!
//! Guarantees: the first one ends the command, and an attempt that hears the same is neither late
//! nor a contradiction. Does not: take receipts over HTTP; the API does.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    CommandId, Completion, Judge, Outcome, ReceiptOutcome, ResultBody, Token,
};
use counterfoil_core::port::store::Reported;
use counterfoil_core::port::{Attempt, BoxFuture, Notice, Store, Transport};
use counterfoil_relay::transport::handler::{Accepted, HandlerError, handler};
use counterfoil_testkit::{MemoryStore, Script};

use crate::scene::{SHIPPING, Scene, parks, pass, secs};

fn done(token: Option<Token>) -> Report {
    Report {
        outcome: ReceiptOutcome::Completed,
        result: Some(b"job 7".to_vec()),
        evidence: Some("the worker said so".into()),
        source: "report".into(),
        token,
        equals_earlier: false,
    }
}

async fn report(store: &MemoryStore, id: &str, report: Report) -> Reported {
    store.report(&CommandId::new(id).unwrap(), report).await.unwrap()
}

fn accepted() -> Script {
    Script::answer(Outcome::Accepted { evidence: "HTTP 202".into() }).acting()
}

fn is_late(notice: &Notice) -> bool {
    matches!(notice, Notice::Late { .. })
}

/// One receipt, and nothing that says otherwise.
async fn ended_once(scene: &Scene, id: &str, source: &str) {
    let story = scene.story(id).await;
    assert_eq!(story.receipts.len(), 1, "{story:?}");
    assert_eq!(story.receipts[0].source.as_deref(), Some(source));
    let contradictions = scene.store.with_rows(|rows| rows.contradictions.len());
    assert_eq!(contradictions, 0);
    assert!(!scene.heard.has(is_late), "{:?}", scene.heard.all());
}

/// A receiver that reports before it answers, by whatever answer.
struct Eager {
    store: MemoryStore,
    answer: Outcome,
}

impl Transport for Eager {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(async {
            attempt.gate.begin().unwrap();
            let id = &attempt.command.command_id;
            let reported = self.store.report(id, done(Some(attempt.token))).await.unwrap();
            assert_eq!(reported, Reported::Recorded);
            self.answer.clone()
        })
    }

    fn request_timeout(&self) -> Option<counterfoil_core::domain::Span> {
        Some(secs(10))
    }
}

/// The receipt is there before the settle.
#[tokio::test(start_paused = true)]
async fn a_receipt_before_the_settle_is_one_receipt_and_not_late() {
    let completed =
        Outcome::Completed { result: ResultBody::whole("job 7"), evidence: "HTTP 200".into() };
    let accepted = Outcome::Accepted { evidence: "HTTP 202".into() };
    let refused = Outcome::Rejected { reason: "HTTP 400".into(), by: Judge::Status };
    for (answer, kept) in [
        (completed, 0),
        (accepted, 0),
        (Outcome::unknown("the answer was lost"), 1),
        (refused, 1),
        (Outcome::not_sent("HTTP 404"), 1),
    ] {
        let scene = Scene::keyless();
        scene.enqueue("A").await;
        let eager = Eager { store: scene.store.clone(), answer };
        let served = vec![scene.serving(SHIPPING, Arc::new(eager))];
        let options = scene.options().until_idle(true);
        scene.start_on(&scene.store, served, options).end().await.unwrap();
        assert_eq!(scene.state("A").await, "completed");
        ended_once(&scene, "A", "report").await;
        let story = scene.story("A").await;
        let purposes: Vec<_> = story.tries.iter().map(|told| told.what.as_str()).collect();
        assert_eq!(purposes.len(), kept, "{purposes:?}");
        assert_eq!(story.receipts[0].result.as_deref(), Some(b"job 7".as_slice()));
    }
}

/// The worker's own report, in its own transaction, counts though it comes in the middle.
#[tokio::test(start_paused = true)]
async fn a_receipt_in_the_middle_of_an_attempt_ends_it() {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    scene.transport.script("A", accepted().after(Duration::from_secs(5)));
    let relay = scene.start(scene.options());
    pass(1.0).await;
    assert_eq!(report(&scene.store, "A", done(None)).await, Reported::Recorded);
    pass(10.0).await;
    relay.stop().await;
    assert_eq!(scene.settled("A"), [("accepted", "ignored")]);
    ended_once(&scene, "A", "report").await;
}

#[tokio::test(start_paused = true)]
async fn what_is_accepted_waits_for_its_receipt() {
    let mut scene = Scene::keyless();
    scene.terms.contract.completion = Completion::Receipt;
    scene.enqueue("A").await;
    scene.transport.script("A", accepted());
    let relay = scene.start(scene.options());
    scene.reach("A", "published").await;
    pass(3600.0).await;
    assert_eq!(report(&scene.store, "A", done(None)).await, Reported::Recorded);
    assert_eq!(report(&scene.store, "A", done(None)).await, Reported::Repeated);
    relay.stop().await;
    assert_eq!(scene.state("A").await, "completed");
    ended_once(&scene, "A", "report").await;
}

/// Published, and the receipt is lost on its way: the repeat makes the receiver send it again.
#[tokio::test(start_paused = true)]
async fn a_lost_receipt_is_got_back_by_the_repeat() {
    let mut scene = Scene::new();
    scene.terms.contract.completion = Completion::Receipt;
    scene.terms.contract.receipt_timeout = secs(600);
    scene.enqueue("A").await;
    scene.transport.script("A", accepted());
    scene.transport.script("A", accepted());
    let relay = scene.start(scene.options());
    scene.reach("A", "published").await;
    let published = scene.clock_now();
    while scene.transport.sends("A") < 2 {
        pass(0.5).await;
    }
    assert!(scene.clock_now().since(published) >= secs(599));
    pass(1.0).await;
    assert_eq!(scene.state("A").await, "published");
    assert!(scene.story("A").await.listed.in_doubt, "the first send may have acted");
    assert_eq!(report(&scene.store, "A", done(None)).await, Reported::Recorded);
    pass(3600.0).await;
    relay.stop().await;
    ended_once(&scene, "A", "report").await;
    assert_eq!((scene.transport.sends("A"), scene.receiver.effects("A")), (2, 1));
}

/// Without keys a receipt that does not come is a person's.
#[tokio::test(start_paused = true)]
async fn a_lost_receipt_without_keys_is_uncertain_until_it_comes_after_all() {
    let mut scene = Scene::keyless();
    scene.terms.contract.completion = Completion::Receipt;
    scene.terms.contract.receipt_timeout = secs(600);
    scene.enqueue("A").await;
    scene.transport.script("A", accepted());
    let relay = scene.start(scene.options());
    scene.reach("A", "uncertain").await;
    assert_eq!(scene.heard.count(parks("A")), 1);
    assert_eq!(report(&scene.store, "A", done(None)).await, Reported::Recorded);
    relay.stop().await;
    ended_once(&scene, "A", "report").await;
    assert_eq!(scene.transport.sends("A"), 1);
}

/// A handler that only takes work on.
#[tokio::test(start_paused = true)]
async fn a_handler_that_accepts_is_published_or_done_as_the_contract_says() {
    for (completion, state) in [
        (Completion::Response, "published"),
        (Completion::Receipt, "published"),
        (Completion::Accepted, "accepted"),
    ] {
        let mut scene = Scene::keyless();
        scene.terms.contract.completion = completion;
        scene.enqueue("A").await;
        let taking =
            handler(|_: Attempt| async { Ok::<_, HandlerError>(Accepted("queued as 7".into())) });
        let served = vec![scene.serving(SHIPPING, Arc::new(taking))];
        let options = scene.options().until_idle(true);
        scene.start_on(&scene.store, served, options).end().await.unwrap();
        assert_eq!(scene.state("A").await, state, "{completion:?}");
        if completion == Completion::Accepted {
            let receipt = scene.story("A").await.receipts.remove(0);
            assert_eq!(receipt.evidence.as_deref(), Some("queued as 7"));
        }
        let said = report(&scene.store, "A", done(None)).await;
        let repeats = completion == Completion::Accepted;
        assert_eq!(said, if repeats { Reported::Repeated } else { Reported::Recorded });
    }
}

/// A handler's own `Ok` is its word that the work is done, whatever the contract waits for.
#[tokio::test(start_paused = true)]
async fn a_handler_that_returns_has_completed_whatever_the_contract_waits_for() {
    for completion in [Completion::Receipt, Completion::Accepted] {
        let mut scene = Scene::keyless();
        scene.terms.contract.completion = completion;
        scene.enqueue("A").await;
        let doing = handler(|_: Attempt| async { Ok::<_, HandlerError>("done") });
        let served = vec![scene.serving(SHIPPING, Arc::new(doing))];
        let options = scene.options().until_idle(true);
        scene.start_on(&scene.store, served, options).end().await.unwrap();
        assert_eq!(scene.state("A").await, "completed");
    }
}
