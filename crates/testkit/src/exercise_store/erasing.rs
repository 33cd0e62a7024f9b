//! What an erasure leaves: digests, receipts and the record, and no content.
//!
//! Guarantees: before and after the archive. Does not: rewrite files.

use counterfoil_core::domain::{Digest, Outcome, ReceiptOutcome};
use counterfoil_core::port::Store;
use counterfoil_core::port::archive::{Archive, Erased, SealChange};
use counterfoil_core::port::read::FactsFrom;
use counterfoil_core::port::store::{Recorded, WriteRefused};

use super::Hands;
use super::archiving::{FILE, ann};
use super::scene::{Scene, command, completed, forever};

const WHY: &str = "asked to by letter 12";

impl<H: Hands<Store: Archive>> Scene<H> {
    async fn erase(&self, id: &str) -> Erased {
        self.store.erase(id, ann(), WHY, None).await.unwrap()
    }

    async fn erase_acts(&self) -> usize {
        let acts = self.hands.acts().await;
        let erased = acts.iter().filter(|act| act.starts_with("erase "));
        erased.inspect(|act| assert!(act.ends_with(&format!("by ann: {WHY}")), "{act}")).count()
    }
}

pub(super) async fn content_goes_and_digests_stay<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.store.enqueue(vec![command("a").header("X-Name", "Ann")]).await.unwrap();
    let first = scene.claim().await;
    scene.settle(&first, Outcome::unknown("Ann was out")).await;
    scene.advance(60);
    let again = scene.claim().await;
    scene.settle(&again, completed()).await;
    let before = scene.entry("a").await;
    assert!(before.outbox.headers.is_some() && !before.attempts.is_empty());
    assert_eq!(scene.erase("a").await, Erased::Done);
    let after = scene.entry("a").await;
    assert_eq!((after.outbox.body.len(), &after.outbox.headers), (0, &None));
    assert!(after.erased_at.is_some());
    let (newest, was) = (after.newest().unwrap(), before.newest().unwrap());
    assert_eq!((&newest.receipt.result, &newest.receipt.evidence), (&None, &None));
    assert_eq!((newest.digest, newest.row_digest), (was.digest, was.row_digest));
    assert_eq!(newest.digest, Some(Digest::of(b"body of a")));
    assert_eq!(newest.receipt.outcome, ReceiptOutcome::Completed);
    let no_words = |reason: &Option<String>| reason.as_ref().is_none_or(String::is_empty);
    assert!(after.attempts.iter().all(|attempt| no_words(&attempt.reason)), "{after:?}");
    let story = scene.story("a").await;
    assert!(story.listed.is_erased && story.body.is_none());
    assert_eq!(scene.erase_acts().await, 1);
    scene.is_sound().await;
}

pub(super) async fn what_a_report_ended_gets_its_digests_first<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    scene.report("a", ReceiptOutcome::Completed).await;
    let row = scene.entry("a").await.outbox;
    assert_eq!(scene.erase("a").await, Erased::Done);
    let entry = scene.entry("a").await;
    let newest = entry.newest().unwrap();
    let digest = Digest::of(b"body of a");
    assert_eq!(newest.digest, Some(digest));
    assert_eq!(newest.row_digest, Some(row.row_digest(digest)));
}

pub(super) async fn what_is_open_is_not_erased<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("parked", Outcome::Conflict { reason: "422".into() }).await;
    scene.enqueue("waits").await;
    let stood = scene.store.facts(FactsFrom::default(), 9).await.unwrap().commands;
    for open in ["waits", "parked"] {
        assert_eq!(scene.erase(open).await, Erased::Open, "{open}");
    }
    assert_eq!(scene.erase("never").await, Erased::Unknown);
    assert_eq!(scene.store.facts(FactsFrom::default(), 9).await.unwrap().commands, stood);
    assert_eq!(scene.erase_acts().await, 0);
}

pub(super) async fn a_second_erasure_changes_nothing<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    assert_eq!(scene.erase("a").await, Erased::Done);
    let entry = scene.entry("a").await;
    scene.advance(10);
    assert_eq!(scene.erase("a").await, Erased::Repeated);
    assert_eq!(scene.entry("a").await, entry);
    assert_eq!(scene.erase_acts().await, 1);
}

pub(super) async fn what_was_erased_is_no_repeat<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.erase("a").await;
    let mut empty = command("a");
    empty.body = Vec::new();
    for again in [command("a"), empty] {
        let answers = scene.store.enqueue(vec![again]).await.unwrap();
        assert_eq!(answers, [Err(WriteRefused::Conflict { id: "a".into() })]);
    }
}

pub(super) async fn an_archived_one_names_its_file<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.last().await;
    scene.buried("a").await;
    let tombstone = scene.tombstone("a").await.unwrap();
    assert_eq!(tombstone.file, FILE);
    assert_eq!(scene.erase("a").await, Erased::Archived(tombstone.clone()));
    assert_eq!(scene.erase_acts().await, 1);
    assert_eq!(scene.tombstone("a").await, Some(tombstone), "the digest stays");
}

pub(super) async fn an_archived_one_is_erased_once<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.last().await;
    scene.buried("a").await;
    let asked = ["a", "never", "last"].map(String::from);
    assert_eq!(scene.store.erased(&asked).await.unwrap(), [false; 3]);
    assert!(matches!(scene.erase("a").await, Erased::Archived(_)));
    assert_eq!(scene.store.erased(&asked).await.unwrap(), [true, false, false]);
    scene.advance(10);
    assert_eq!(scene.erase("a").await, Erased::Repeated);
    assert_eq!(scene.erase_acts().await, 1);
    // What a late report says of it is content, too.
    scene.report("a", ReceiptOutcome::Rejected).await;
    assert!(matches!(scene.erase("a").await, Erased::Archived(_)));
    assert_eq!(scene.erase("a").await, Erased::Repeated);
    assert_eq!(scene.erase_acts().await, 2, "why the first was stays, too");
    let tries = scene.story("a").await.tries;
    assert!(tries.iter().all(|told| told.reason.is_empty()), "{tries:?}");
}

pub(super) async fn an_erased_one_is_buried_by_its_digest<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    let stale = scene.entry("a").await;
    scene.last().await;
    scene.erase("a").await;
    assert_eq!(scene.bury(vec![stale]).await, [false], "its content is gone since");
    scene.buried("a").await;
    assert_eq!(scene.tombstone("a").await.unwrap().digest, Digest::of(b"body of a"));
    // So it can be compared again.
    let mut other = command("a");
    other.body = Vec::new();
    let answers = scene.store.enqueue(vec![command("a"), other]).await.unwrap();
    let conflict = WriteRefused::Conflict { id: "a".into() };
    assert_eq!(answers, [Ok(Recorded::Repeated), Err(conflict)]);
    scene.is_sound().await;
}

pub(super) async fn a_seal_that_moved_stops_an_erasure<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    let seal = |version| Some(SealChange { version, seal: "s".into() });
    let erased = scene.store.erase("a", ann(), WHY, seal(3)).await.unwrap();
    assert_eq!(erased, Erased::SealMoved);
    assert_eq!(scene.entry("a").await.erased_at, None);
    assert_eq!(scene.store.erase("a", ann(), WHY, seal(0)).await.unwrap(), Erased::Done);
}
