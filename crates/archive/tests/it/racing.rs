//! What happens to a command between its line and its burial: it stays, and the manifest says so.

use counterfoil_archive::{
    Erasure, Folder, Seals, Step, Unwatched, Watch, Work, archive, erase, verify, verify_sealed,
};
use counterfoil_core::domain::transition::{Report, Verdict};
use counterfoil_core::domain::{CommandId, ReceiptOutcome, Span};
use counterfoil_core::port::archive::{Archive, Entry, SealChange};
use counterfoil_core::port::store::{Recorded, Reported, StoreError};
use counterfoil_core::port::{Act, BoxFuture, Deed, Store};
use counterfoil_testkit::MemoryStore;

use crate::scene::{At, ann, command, die_after, ids, in_memory};

/// Does `work` in the store once the file is read back, and nothing is buried yet.
fn between<W, F>(store: &MemoryStore, work: W) -> At<impl Fn(Step<'_>) + Sync + use<W, F>>
where
    W: Fn(MemoryStore) -> F + Sync + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let store = store.clone();
    At(move |step: Step<'_>| {
        if matches!(step, Step::ReadBack(_)) {
            let work = work(store.clone());
            let done = std::thread::spawn(move || {
                tokio::runtime::Runtime::new().unwrap().block_on(work);
            });
            done.join().unwrap();
        }
    })
}

fn late(outcome: ReceiptOutcome) -> Report {
    Report {
        outcome,
        result: None,
        evidence: Some("late".into()),
        source: "report".into(),
        token: None,
        equals_earlier: false,
    }
}

#[tokio::test]
async fn a_late_receipt_that_says_otherwise_keeps_its_command() {
    let site = in_memory().with(ids(5)).await;
    let watch = between(&site.store, async |store| {
        let id = CommandId::new("c-0003").unwrap();
        let said = store.report(&id, late(ReceiptOutcome::Rejected)).await.unwrap();
        assert_eq!(said, Reported::Contradiction);
    });
    let report = site.run_watched(&site.options(), &watch).await.unwrap();
    assert_eq!((report.buried(), &report.files[0].left), (4, &vec!["c-0003".to_owned()]));
    assert_eq!(site.manifest(0)["left"], serde_json::json!(["c-0003"]));
    assert!(site.here().await.contains("c-0003"));
    assert_eq!(site.verified().await.findings, []);
    site.act("c-0003", Act::Resolve(Verdict::Completed { result: None })).await;
    let report = site.run().await;
    assert_eq!(report.buried(), 1);
    let tombstone = site.store.tombstones_of(&["c-0003".into()]).await.unwrap().remove(0).unwrap();
    assert_eq!(tombstone.file, report.files[0].name, "of two lines, the one that it names counts");
    site.is_sound().await;
}

#[tokio::test]
async fn a_late_receipt_that_says_the_same_changes_nothing() {
    let site = in_memory().with(ids(2)).await;
    let watch = between(&site.store, async |store| {
        let id = CommandId::new("c-0000").unwrap();
        let said = store.report(&id, late(ReceiptOutcome::Completed)).await.unwrap();
        assert_eq!(said, Reported::Repeated);
    });
    assert_eq!(site.run_watched(&site.options(), &watch).await.unwrap().buried(), 2);
    site.is_sound().await;
}

#[tokio::test]
async fn one_that_is_sent_again_stays_open() {
    let site = in_memory().with(ids(3)).await;
    let watch = between(&site.store, async |store| {
        let act = Act::Redeliver { may_act_twice: false };
        let deed = Deed { command_id: "c-0001".into(), act, by_filter: false };
        store.act(vec![deed], ann("again")).await.unwrap();
    });
    let report = site.run_watched(&site.options(), &watch).await.unwrap();
    assert_eq!((report.buried(), &report.files[0].left), (2, &vec!["c-0001".to_owned()]));
    site.is_sound().await;
    site.deliver().await;
    site.clock.advance(Span::from_secs(60));
    assert_eq!(site.run().await.buried(), 1);
    let tombstone = site.store.tombstones_of(&["c-0001".into()]).await.unwrap().remove(0).unwrap();
    assert_eq!(tombstone.rounds, 2);
    site.is_sound().await;
}

#[tokio::test]
async fn a_repeat_of_the_id_is_a_repeat_before_and_after() {
    let site = in_memory().with(ids(2)).await;
    let watch = between(&site.store, async |store| {
        let answers = store.enqueue(vec![command("c-0000")]).await.unwrap();
        assert_eq!(answers, [Ok(Recorded::Repeated)]);
    });
    assert_eq!(site.run_watched(&site.options(), &watch).await.unwrap().buried(), 2);
    let answers = site.store.enqueue(vec![command("c-0000")]).await.unwrap();
    assert_eq!(answers, [Ok(Recorded::Repeated)]);
    site.is_sound().await;
}

#[tokio::test]
async fn one_that_is_erased_meanwhile_keeps_no_content_anywhere() {
    let site = in_memory().with(ids(3)).await;
    let watch = between(&site.store, async |store| {
        store.erase("c-0001", ann("asked"), "asked", None).await.unwrap();
    });
    let report = site.run_watched(&site.options(), &watch).await.unwrap();
    assert_eq!(report.files[0].left, ["c-0001"]);
    let erased = site.erase("c-0001", &counterfoil_archive::Unwatched).await.unwrap();
    let file = report.files[0].name.clone();
    assert_eq!(erased, counterfoil_archive::Erasure::Repeated(vec![file]));
    assert!(
        site.lines()
            .iter()
            .all(|entry| entry.outbox.command_id.as_str() != "c-0001"
                || entry.outbox.body.is_empty())
    );
    assert_eq!(site.run().await.buried(), 1);
    site.is_sound().await;
}

/// Keeps a seal whose text is how many commands it has seen leave.
struct Counting(MemoryStore);

impl Seals for Counting {
    fn burying<'a>(
        &'a self,
        _: &'a str,
        entries: &'a [Entry],
    ) -> BoxFuture<'a, Result<Option<SealChange>, StoreError>> {
        let (version, count) = self.stands();
        let seal = (count + entries.len()).to_string();
        Box::pin(async move { Ok(Some(SealChange { version, seal })) })
    }

    fn erasing<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<SealChange>, StoreError>> {
        let (version, count) = self.stands();
        // Once, another writes a seal first.
        if version % 2 == 0 {
            self.0.with_rows(|rows| rows.seal = Some((version + 1, count.to_string())));
        }
        Box::pin(async move { Ok(Some(SealChange { version, seal: count.to_string() })) })
    }
}

impl Counting {
    fn stands(&self) -> (i64, usize) {
        let seal = self.0.look(|rows| rows.seal.clone());
        seal.map_or((0, 0), |(version, count)| (version, count.parse().unwrap()))
    }
}

#[tokio::test]
async fn the_seal_follows_what_leaves_and_what_is_left() {
    let site = in_memory().with(ids(600)).await;
    let seals = Counting(site.store.clone());
    let watch = between(&site.store, async |store| {
        let act = Act::Redeliver { may_act_twice: false };
        let deed = Deed { command_id: "c-0300".into(), act, by_filter: false };
        store.act(vec![deed], ann("again")).await.unwrap();
    });
    let lock = site.lock();
    let work = Work::new(&site.store, &lock).watched(&watch).sealed(&seals);
    let report = archive(&work, &site.options()).await.unwrap();
    assert_eq!((report.buried(), seals.stands().1), (599, 599));
    let erased = erase(&work, "c-0001", ann("letter 12")).await.unwrap();
    assert!(matches!(erased, Erasure::Done(_)), "a seal that moved is read again: {erased:?}");
}

/// Two folders: a run in one is cut short before it removes anything, and one in the other moves
/// the same commands.
#[tokio::test]
async fn what_a_run_that_was_cut_short_holds_may_be_moved_by_another() {
    let site = in_memory().with(ids(3)).await;
    let lock = site.lock();
    let cut = die_after(9, async |watch: &dyn Watch| {
        archive(&Work::new(&site.store, &lock).watched(watch), &site.options()).await
    });
    assert!(cut.await.is_none());
    drop(lock);
    site.clock.advance(Span::from_secs(1));
    let other = tempfile::tempdir().unwrap();
    let folder = || Folder::new(other.path()).unwrap();
    let lock = folder().lock().unwrap();
    let moved = archive(&Work::new(&site.store, &lock), &site.options()).await.unwrap();
    assert_eq!(moved.buried(), 3);
    drop(lock);
    let folders = [site.folder(), folder()];
    let report = verify(&site.store, &folders, 100).await.unwrap();
    let found: Vec<_> = report.findings.iter().map(|finding| finding.code).collect();
    assert!(!found.contains(&"CF1132"), "{:#?}", report.findings);
    let file = site.run().await.files.remove(0);
    assert_eq!((file.left.len(), file.elsewhere.len()), (0, 3), "none of them is in the store");
    assert_eq!(site.manifest(0)["left"].as_array().unwrap().len(), 3);
    assert!(verify(&site.store, &folders, 100).await.unwrap().holds);
}

/// The same, and the content of one is erased: it is found in both folders.
#[tokio::test]
async fn what_was_left_in_another_folder_is_found_and_taken_out() {
    let site = in_memory().with(ids(3)).await;
    let lock = site.lock();
    let cut = die_after(9, async |watch: &dyn Watch| {
        archive(&Work::new(&site.store, &lock).watched(watch), &site.options()).await
    });
    assert!(cut.await.is_none());
    drop(lock);
    site.clock.advance(Span::from_secs(1));
    let other = tempfile::tempdir().unwrap();
    let folder = || Folder::new(other.path()).unwrap();
    let lock = folder().lock().unwrap();
    archive(&Work::new(&site.store, &lock), &site.options()).await.unwrap();
    let here = site.erase("c-0001", &Unwatched).await.unwrap_err();
    assert_eq!(here.code(), "CF1108", "first where its line counts: {here}");
    let there = erase(&Work::new(&site.store, &lock), "c-0001", ann("asked")).await.unwrap();
    assert!(matches!(&there, Erasure::Done(files) if files.len() == 1), "{there:?}");
    drop(lock);
    let folders = [site.folder(), folder()];
    // Before the run that was cut short is ended, and after.
    for is_ended in [false, true] {
        if is_ended {
            site.run().await;
        }
        let report = verify(&site.store, &folders, 100).await.unwrap();
        let erased: Vec<_> = report.findings.iter().filter(|it| it.code == "CF1134").collect();
        assert_eq!(erased.len(), 1, "{:#?}", report.findings);
        assert_eq!(erased[0].ids, ["c-0001"]);
    }
    let here = site.erase("c-0001", &Unwatched).await.unwrap();
    assert!(matches!(&here, Erasure::Repeated(files) if files.len() == 1), "{here:?}");
    assert!(verify(&site.store, &folders, 100).await.unwrap().holds);
    let lines = site.lines().into_iter().filter(|it| it.outbox.body.is_empty());
    assert_eq!(lines.count(), 1);
    let acts = site.store.show("c-0001").await.unwrap().unwrap().actions;
    assert_eq!(acts.len(), 1, "{acts:?}");
}

#[tokio::test]
async fn a_verification_ends_an_erasure_with_the_seal() {
    let site = in_memory().with(ids(3)).await;
    assert_eq!(site.run().await.buried(), 3);
    let seals = Counting(site.store.clone());
    site.store.with_rows(|rows| rows.seal = Some((1, "0".into())));
    let lock = site.lock();
    // What was asked stands in the folder, and the store has not heard of it.
    let cut = die_after(2, async |watch: &dyn Watch| {
        erase(&Work::new(&site.store, &lock).watched(watch).sealed(&seals), "c-0001", ann("asked"))
            .await
    });
    assert!(cut.await.is_none());
    drop(lock);
    assert_eq!(site.files(".erase.json").len(), 1);
    let report = verify_sealed(&site.store, &seals, &[site.folder()], 100).await.unwrap();
    assert!(report.holds, "{:#?}", report.findings);
    assert_eq!(site.files(".erase.json"), [""; 0]);
    let erased = site.lines().into_iter().find(|it| it.outbox.command_id.as_str() == "c-0001");
    assert!(erased.unwrap().outbox.body.is_empty());
    site.is_sound().await;
}
