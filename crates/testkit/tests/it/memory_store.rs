//! The store in memory under the store suite.
//!
//! Guarantees: each case is a test of its own. Does not: touch a disk.

use std::collections::BTreeSet;

use counterfoil_core::domain::Digest;
use counterfoil_core::port::Store;
use counterfoil_testkit::exercise_store::{MemoryHands, cases};
use counterfoil_testkit::memory_store::rows::Tombstone;
use counterfoil_testkit::random_history::{History, first_seed, random_workflows};
use counterfoil_testkit::{MemoryStore, exercise_store};

async fn make() -> MemoryHands {
    MemoryHands::default()
}

counterfoil_testkit::store_suite!(make);
counterfoil_testkit::archive_suite!(make);
counterfoil_testkit::audit_suite!(make);
counterfoil_testkit::workflow_suite!(make);

#[tokio::test]
async fn the_whole_suite_at_once() {
    exercise_store(make).await;
}

/// Two of them tell alike, and keep the laws; stores with a disk are held to this one.
#[tokio::test]
async fn random_workflows_keep_the_laws() {
    for seed in (0..20).map(|at| first_seed() + at) {
        let history = History { seed, steps: 300, settles_apart: false };
        Box::pin(random_workflows(make().await, history)).await;
    }
}

#[test]
fn every_case_has_a_name_of_its_own() {
    let names: BTreeSet<_> = cases::<MemoryHands>().iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases::<MemoryHands>().len());
    assert!(names.len() >= 60, "{} cases", names.len());
}

/// It said that there was none, and the store with a disk told the tombstone.
#[tokio::test]
async fn of_an_archived_command_the_tombstone_is_shown() {
    let store = MemoryStore::default();
    let digest = Digest::of(b"{}");
    let tombstone = Tombstone {
        destination: "shop".into(),
        kind: "order.paid".into(),
        ordering_key: None,
        digest,
        outcome: "completed".into(),
        rounds: 2,
        file: "a.jsonl.zst".into(),
    };
    store.with_rows(|rows| rows.archived.insert("a".into(), tombstone));
    let story = store.show("a").await.unwrap().unwrap();
    let listed = &story.listed;
    assert!(story.archived && story.body.is_none());
    assert_eq!((listed.state.as_str(), listed.round), ("completed", 2));
    assert_eq!(store.show("b").await.unwrap(), None);
}
