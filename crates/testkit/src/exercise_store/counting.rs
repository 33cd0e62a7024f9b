//! Tallies that say otherwise than the rows: what takes them back, and what does not.
//!
//! Guarantees: a store that was mended holds again. Does not: spoil every row; `corrupted` does.

use std::collections::BTreeSet;

use counterfoil_core::audit::{AuditReport, How, SealFate};
use counterfoil_core::domain::ReceiptOutcome;
use counterfoil_core::domain::laws::Violation;
use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::port::{Act, Archive, Audited};

use super::Hands;
use super::archiving::ann;
use super::scene::{Scene, forever};
use super::sealing::archive;

fn told(report: &AuditReport) -> Vec<&'static str> {
    let codes: BTreeSet<_> = report.violations.iter().map(|found| found.code).collect();
    codes.into_iter().collect()
}

/// A tally had counted what a lost receipt said, and no verb took it back.
pub(super) async fn a_reseal_counts_a_tally_anew<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for id in ["a", "b", "c"] {
        scene.done(id).await;
    }
    scene.last().await;
    archive(&scene.store, "a").await;
    scene.advance(7200);
    scene.seals().await;
    scene.hands.lose_receipt("b").await;
    let mended = scene.audited(How::default().mend(ann())).await;
    assert_eq!(mended.mended, ["b"]);
    assert_eq!(told(&mended), ["CF0820", "CF0821", "CF0851"], "{:#?}", mended.violations);
    let miscounted = |found: &&Violation| found.code != "CF0851";
    for found in mended.violations.iter().filter(miscounted) {
        assert!(found.text.contains("audit --reseal"), "{}", found.text);
    }
    scene.did("b", Act::Resolve(Verdict::Completed { result: None })).await;
    scene.advance(7200);
    scene.enqueue("d").await;
    let anew = scene.audited(How::default().reseal(ann())).await;
    assert_eq!(told(&anew), ["CF0820", "CF0821", "CF0851"], "{:#?}", anew.violations);
    assert!(matches!(anew.pass.unwrap().seal, SealFate::Renewed(_)));
    scene.seals().await;
    scene.report("d", ReceiptOutcome::Completed).await;
    scene.is_sound().await;
    assert!(scene.hands.acts().await.contains(&"reseal store by ann: looked".to_owned()));
}

/// Where more is wrong, a wrong tally is a trace of it.
pub(super) async fn a_tally_stays_while_more_is_wrong<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for id in ["a", "b"] {
        scene.done(id).await;
    }
    scene.hands.lose_receipt("b").await;
    for _ in 0..2 {
        let report = scene.audited(How::default().reseal(ann())).await;
        assert_eq!(told(&report), ["CF0804", "CF0821"], "{:#?}", report.violations);
    }
}
