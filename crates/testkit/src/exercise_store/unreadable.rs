//! Rows that cannot be decoded: those that a relay has read were changed since.
//!
//! Guarantees: an audit needs no seal to tell them apart. Does not: spoil every column; `corrupted`
//! does.

use std::collections::BTreeSet;

use counterfoil_core::audit::{AuditOptions, How, audit_sealed};
use counterfoil_core::domain::Outcome;
use counterfoil_core::port::{Archive, Audited};

use super::Hands;
use super::scene::{SHOP, Scene, forever};

async fn codes<S: Audited + Archive>(store: &S) -> BTreeSet<&'static str> {
    let report = audit_sealed(store, AuditOptions::default(), How::default().full()).await;
    report.unwrap().violations.iter().map(|found| found.code).collect()
}

/// Such a row escaped every law of digests, and the audit held.
pub(super) async fn what_a_relay_has_read_is_found_when_it_is_unreadable<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    scene.done("ended").await;
    scene.sent("parked", Outcome::Conflict { reason: "422".into() }).await;
    scene.hands.hide_outbox_row("ended").await;
    assert_eq!(codes(&scene.store).await, BTreeSet::from(["CF0808", "CF0817"]));
    scene.hands.hide_outbox_row("parked").await;
    assert_eq!(codes(&scene.store).await, BTreeSet::from(["CF0808", "CF0817"]));
}

pub(super) async fn what_no_relay_could_read_breaks_no_law<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    let Some(_) = scene.hands.put_unreadable(SHOP).await else { return };
    assert_eq!(codes(&scene.store).await, BTreeSet::new());
    assert_eq!(scene.look().await.claimed.len(), 0, "it parks");
    assert_eq!(codes(&scene.store).await, BTreeSet::new());
}
