//! Whole audits over a store: the first one full, the next from the seal, and what they find.
//!
//! Guarantees: nothing that a store does by itself breaks a law or a seal. Does not: spoil every
//! row; the audit's own tests do, in memory.

use std::sync::Arc;

use counterfoil_core::audit::seal::Seal;
use counterfoil_core::audit::{
    AuditOptions, AuditReport, How, SealFate, WhyFull, audit_archived, audit_sealed, keep,
};
use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{Event, Kind, Outcome, ReceiptOutcome, Stream};
use counterfoil_core::port::archive::{Buried, Erased};
use counterfoil_core::port::store::Append;
use counterfoil_core::port::{Act, Acted, Archive, Audited, Deed, Store};

use super::Hands;
use super::archiving::{FILE, ann};
use super::scene::{Scene, completed, forever};

impl<H: Hands<Store: Audited + Archive>> Scene<H> {
    pub(super) async fn audited(&self, how: How) -> AuditReport {
        audit_sealed(&self.store, AuditOptions::default().page(3), how).await.unwrap()
    }

    /// Audits by both forms: each holds, and the seal is renewed.
    pub(super) async fn seals(&self) {
        for how in [How::default(), How::default().full()] {
            let report = self.audited(how).await;
            assert!(report.holds, "{:#?}", report.violations);
            let seal = report.pass.unwrap().seal;
            assert!(matches!(seal, SealFate::Renewed(_)), "{seal:?}");
        }
    }

    async fn seal(&self) -> (i64, Seal) {
        let stands = self.store.sealed().await.unwrap().expect("an audit held");
        (stands.version, Seal::read(&stands.seal).unwrap())
    }

    async fn decide(&self, stream: &str, seq: i64) {
        let event = Event { kind: Kind::new("placed").unwrap(), body: b"{}".to_vec(), cause: None };
        let mut command = super::scene::command("x");
        command.id = None;
        let stream = Stream::new(stream).unwrap();
        let append =
            Append { stream, expected_seq: seq, events: vec![event], commands: vec![command] };
        self.store.append(append).await.unwrap().unwrap();
    }

    pub(super) async fn did(&self, id: &str, act: Act) {
        let deed = Deed { command_id: id.into(), act, by_filter: false };
        let acted = self.store.act(vec![deed], ann()).await.unwrap();
        assert!(matches!(acted[0], Acted::Done { .. }), "{acted:?}");
    }
}

/// Buries one, and keeps the seal in step, as an archive does.
pub(super) async fn archive<S: Audited + Archive>(store: &S, id: &str) {
    loop {
        let entry = store.entry(id).await.unwrap().unwrap_or_else(|| panic!("no entry of {id}"));
        let seal = keep::burying(store, std::slice::from_ref(&entry)).await.unwrap();
        match store.bury(FILE, vec![entry], seal).await.unwrap() {
            Buried::Done(done) => return assert_eq!(done, [true], "burying {id}"),
            Buried::SealMoved => {}
        }
    }
}

pub(super) async fn the_first_audit_is_full_and_the_next_goes_on<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for at in 0..8 {
        scene.done(&format!("c-{at}")).await;
    }
    scene.enqueue_to("open", "bank").await;
    scene.advance(1);
    let first = scene.audited(How::default()).await;
    assert!(first.holds, "{:#?}", first.violations);
    assert_eq!(first.checked.commands, 9);
    let pass = first.pass.unwrap();
    assert_eq!((pass.full, pass.from), (Some(WhyFull::First), None));
    let newest = scene.seal().await.1.horizon.n;
    assert_eq!(pass.seal, SealFate::Renewed(newest));
    let second = scene.audited(How::default()).await;
    assert!(second.holds, "{:#?}", second.violations);
    assert_eq!(second.checked.commands, 1, "the open one");
    let pass = second.pass.unwrap();
    assert_eq!((pass.full, pass.from.map(|from| from.n)), (None, Some(newest)));
    scene.done("new").await;
    let third = scene.audited(How::default()).await;
    assert!(third.holds, "{:#?}", third.violations);
    assert_eq!(third.checked.commands, 2, "the new one, and the open one");
    let full = scene.audited(How::default().full()).await;
    assert!(full.holds, "{:#?}", full.violations);
    assert_eq!((full.checked.commands, full.pass.unwrap().full), (10, Some(WhyFull::Asked)));
}

pub(super) async fn an_audit_goes_on_over_everything_that_happens<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    scene.seals().await;
    scene.done("a").await;
    scene.sent("doubt", Outcome::unknown("reset")).await;
    scene.sent("dead", Outcome::Conflict { reason: "422".into() }).await;
    scene.decide("o-1", 0).await;
    scene.advance(7200);
    scene.seals().await;
    scene.did("a", Act::Redeliver { may_act_twice: true }).await;
    scene.did("dead", Act::Retry { may_act_twice: true }).await;
    scene.decide("o-1", 1).await;
    scene.advance(7200);
    scene.seals().await;
    // A late settle of a sealed command leaves an attempt behind its end.
    scene.enqueue("late").await;
    let mut claimed = scene.look().await.claimed;
    let at = claimed.iter().position(|one| one.command.command_id.as_str() == "late");
    let late = claimed.remove(at.expect("it is claimed with the others"));
    scene.report("late", ReceiptOutcome::Completed).await;
    scene.advance(7200);
    scene.seals().await;
    scene.settle(&late, Outcome::unknown("a late word")).await;
    scene.advance(7200);
    scene.seals().await;
    for claimed in claimed {
        scene.settle(&claimed, completed()).await;
        scene.advance(7200);
    }
    scene.seals().await;
    scene.seals().await;
}

pub(super) async fn a_removed_row_breaks_the_seal<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for id in ["a", "b", "c"] {
        scene.done(id).await;
    }
    scene.seals().await;
    scene.hands.lose_outbox_row("b").await;
    let report = scene.audited(How::default().full()).await;
    let sealed: Vec<_> = report.violations.iter().filter(|found| found.code == "CF0851").collect();
    assert_eq!(sealed.len(), 1, "{:#?}", report.violations);
    assert_eq!(sealed[0].ids, ["outbox"]);
    assert!(sealed[0].text.contains("3 rows were sealed, and 2"), "{}", sealed[0].text);
    assert_eq!(report.pass.unwrap().seal, SealFate::Violated);
    // What a full one found, the next one looks for again.
    let again = scene.audited(How::default()).await;
    assert!(!again.holds);
    assert_eq!(again.pass.unwrap().full, Some(WhyFull::Broken));
}

pub(super) async fn who_gives_a_seal_up_is_recorded<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for id in ["a", "store"] {
        scene.done(id).await;
    }
    scene.seals().await;
    let (version, seal) = scene.seal().await;
    assert!(!scene.store.reseal(version + 1, "x", ann(), false).await.unwrap(), "another stands");
    assert_eq!(scene.hands.acts().await, [""; 0]);
    assert!(scene.store.reseal(version, &seal.write(), ann(), false).await.unwrap());
    assert_eq!(scene.hands.acts().await, ["reseal store by ann: looked"]);
    assert_eq!(scene.seal().await, (version + 1, seal));
    assert_eq!(scene.story("store").await.actions, [], "a command of that name has none of it");
    assert_eq!(scene.entry("store").await.actions, []);
    scene.last().await;
    let change = keep::erasing(&scene.store, "store").await.unwrap();
    scene.store.erase("store", ann(), "asked", change).await.unwrap();
    let acts = ["reseal store by ann: looked", "erase store by ann: asked"];
    assert_eq!(scene.hands.acts().await, acts, "an erasure clears no other's reason");
    scene.advance(1);
    scene.seals().await;
    let report = scene.audited(How::default().reseal(ann())).await;
    assert!(report.holds && matches!(report.pass.unwrap().seal, SealFate::Renewed(_)));
    assert_eq!(scene.hands.acts().await.len(), 3);
    scene.seals().await;
}

pub(super) async fn what_is_archived_and_erased_keeps_the_seal<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for id in ["a", "b"] {
        scene.done(id).await;
    }
    scene.sent("u", Outcome::unknown("reset by peer")).await;
    scene.did("u", Act::Resolve(Verdict::Completed { result: Some(b"r".to_vec()) })).await;
    scene.done("known").await;
    scene.report("known", ReceiptOutcome::Rejected).await;
    scene.advance(1);
    scene.did("known", Act::Resolve(Verdict::Completed { result: None })).await;
    scene.advance(7200);
    scene.seals().await;
    // Above the horizon, too: an audit has not counted them yet.
    scene.done("young").await;
    scene.last().await;
    for id in ["a", "young"] {
        archive(&scene.store, id).await;
    }
    scene.seals().await;
    let change = keep::erasing(&scene.store, "u").await.unwrap();
    assert_eq!(scene.store.erase("u", ann(), "asked", change).await.unwrap(), Erased::Done);
    scene.seals().await;
    archive(&scene.store, "u").await;
    scene.seals().await;
    // What was done to an archived one is cleared, too.
    archive(&scene.store, "known").await;
    scene.seals().await;
    let change = keep::erasing(&scene.store, "known").await.unwrap();
    let erased = scene.store.erase("known", ann(), "asked", change).await.unwrap();
    assert!(matches!(erased, Erased::Archived(_)), "{erased:?}");
    scene.seals().await;
    // What is said of it afterwards, too; why it was erased the first time stays.
    scene.report("known", ReceiptOutcome::Rejected).await;
    scene.advance(1);
    scene.did("known", Act::Resolve(Verdict::Completed { result: None })).await;
    scene.seals().await;
    let change = keep::erasing(&scene.store, "known").await.unwrap();
    let erased = scene.store.erase("known", ann(), "asked again", change).await.unwrap();
    assert!(matches!(erased, Erased::Archived(_)), "{erased:?}");
    scene.seals().await;
    let report = scene.audited(How::default().full()).await;
    assert_eq!(report.checked.archived, 4);
}

pub(super) async fn a_removed_tombstone_is_missed_at_once<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for id in ["a", "b", "c"] {
        scene.done(id).await;
    }
    scene.last().await;
    scene.seals().await;
    for id in ["a", "b"] {
        archive(&scene.store, id).await;
    }
    scene.seals().await;
    scene.hands.lose_tombstone("a").await;
    archive(&scene.store, "c").await;
    for _ in 0..2 {
        let report = scene.audited(How::default()).await;
        let told: Vec<_> = report.violations.iter().map(|it| (it.code, &*it.ids[0])).collect();
        assert_eq!(told, [("CF0851", "archived")], "{:#?}", report.violations);
        let text = &report.violations[0].text;
        assert!(text.contains("3 rows were sealed, and 2"), "{text}");
        let pass = report.pass.unwrap();
        assert_eq!((pass.full, pass.seal), (None, SealFate::Violated));
    }
}

pub(super) async fn a_seal_says_when_its_audit_held<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.enqueue("open").await;
    scene.last().await;
    scene.seals().await;
    let held_at = scene.seal().await.1.held_at.unwrap();
    scene.advance(60);
    archive(&scene.store, "a").await;
    scene.advance(60);
    scene.hands.lose_delivery("open").await;
    for how in [How::default(), How::default().full(), How::default()] {
        let report = scene.audited(how).await;
        assert!(!report.holds);
        assert_eq!(report.pass.unwrap().from.map(|from| from.sealed_at), Some(held_at));
        scene.advance(60);
    }
}

pub(super) async fn a_seal_stays_while_a_book_beside_it_does_not_agree<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.seals().await;
    let before = scene.seal().await;
    scene.done("b").await;
    for how in [How::default(), How::default().full()] {
        let report = scene.audited(how.seal_stays(true)).await;
        assert!(report.holds, "{:#?}", report.violations);
        assert_eq!(report.pass.unwrap().seal, SealFate::Violated);
        assert_eq!(scene.seal().await, before);
    }
    scene.seals().await;
}

pub(super) async fn an_archive_beside_an_audit_is_no_violation<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for at in 0..20 {
        scene.done(&format!("c-{at}")).await;
    }
    scene.last().await;
    let store = Arc::new(scene.hands.store());
    let archiver = Arc::clone(&store);
    let archiving = tokio::spawn(async move {
        for at in 0..20 {
            archive(&*archiver, &format!("c-{at}")).await;
            tokio::task::yield_now().await;
        }
    });
    loop {
        let is_over = archiving.is_finished();
        for how in [How::default(), How::default().full()] {
            let report = scene.audited(how).await;
            assert!(report.holds, "{:#?}", report.violations);
        }
        if is_over {
            break;
        }
    }
    archiving.await.unwrap();
    scene.seals().await;
}

pub(super) async fn a_contradiction_is_found_until_it_is_looked_into<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.advance(1);
    scene.seals().await;
    scene.report("a", ReceiptOutcome::Rejected).await;
    for _ in 0..2 {
        let report = scene.audited(How::default()).await;
        let codes: Vec<_> = report.violations.iter().map(|found| found.code).collect();
        assert_eq!(codes, ["CF0822"], "{:#?}", report.violations);
        assert_eq!(report.violations[0].ids, ["a"]);
        assert_eq!(report.pass.unwrap().full, None);
    }
    scene.advance(1);
    scene.did("a", Act::Resolve(Verdict::Completed { result: None })).await;
    scene.seals().await;
}

pub(super) async fn a_late_contradiction_is_found_until_it_is_looked_into<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for id in ["a", "b", "c", "d", "e"] {
        scene.done(id).await;
    }
    scene.last().await;
    scene.advance(7200);
    scene.seals().await;
    for id in ["a", "b", "c", "d", "e"] {
        archive(&scene.store, id).await;
    }
    scene.seals().await;
    // More than a page of three.
    for id in ["a", "b", "d", "c", "a"] {
        scene.report(id, ReceiptOutcome::Rejected).await;
    }
    scene.advance(1);
    for id in ["b", "c", "d"] {
        scene.did(id, Act::Resolve(Verdict::Completed { result: None })).await;
    }
    scene.advance(1);
    scene.report("b", ReceiptOutcome::Cancelled).await;
    let options = || AuditOptions::default().page(3);
    let alone = audit_archived(&scene.store, &options()).await.unwrap();
    let forms = [How::default(), How::default(), How::default().full(), How::default()];
    let mut reports = vec![alone];
    for how in forms {
        reports.push(scene.audited(how).await);
    }
    for report in reports {
        let told: Vec<_> = report.violations.iter().map(|it| (it.code, &*it.ids[0])).collect();
        assert_eq!(told, [("CF0822", "a"), ("CF0822", "b")], "{:#?}", report.violations);
        let text = &report.violations[0].text;
        assert!(text.starts_with("command a: it is archived as completed, and a report"), "{text}");
        assert_eq!(report.checked.acknowledged, 2, "those of c and d");
    }
    scene.advance(1);
    for id in ["a", "b"] {
        scene.did(id, Act::Resolve(Verdict::Rejected)).await;
    }
    assert!(audit_archived(&scene.store, &options()).await.unwrap().holds);
    scene.seals().await;
    let full = scene.audited(How::default().full()).await;
    assert_eq!(full.checked.acknowledged, 5);
}

pub(super) async fn a_forgotten_receipt_shows_in_the_totals<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for id in ["a", "b"] {
        scene.enqueue(id).await;
    }
    scene.seals().await;
    scene.hands.lose_delivery("a").await;
    let report = scene.audited(How::default()).await;
    let codes: Vec<_> = report.violations.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["CF0820"], "{:#?}", report.violations);
    assert!(report.violations[0].text.contains("1 open"), "{}", report.violations[0].text);
    let full = scene.audited(How::default().full()).await;
    let codes: Vec<_> = full.violations.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["CF0804", "CF0820"], "{:#?}", full.violations);
}

pub(super) async fn an_audit_mends_what_was_lost<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for at in 0..8 {
        scene.enqueue(&format!("c-{at}")).await;
    }
    scene.seals().await;
    for at in [1, 2, 6] {
        scene.hands.lose_delivery(&format!("c-{at}")).await;
    }
    let report = scene.audited(How::default().mend(ann())).await;
    assert_eq!(report.mended, ["c-1", "c-2", "c-6"]);
    assert!(report.holds, "{:#?}", report.violations);
    assert_eq!(scene.state("c-6").await, "uncertain");
    scene.advance(1);
    let again = scene.audited(How::default().mend(ann())).await;
    assert_eq!((again.holds, again.mended.len()), (true, 0));
}
