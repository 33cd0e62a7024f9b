//! What happens to a command between its line and its burial: it stays, and the manifest says so.

use counterfoil_archive::Step;
use counterfoil_core::domain::transition::{Report, Verdict};
use counterfoil_core::domain::{CommandId, ReceiptOutcome, Span};
use counterfoil_core::port::archive::Archive;
use counterfoil_core::port::store::{Recorded, Reported};
use counterfoil_core::port::{Act, Deed, Store};
use counterfoil_testkit::MemoryStore;

use crate::scene::{At, ann, command, ids, in_memory};

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
