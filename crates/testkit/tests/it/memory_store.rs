//! The store in memory under the store suite.
//!
//! Guarantees: each case is a test of its own. Does not: touch a disk.

use std::collections::BTreeSet;

use counterfoil_testkit::exercise_store;
use counterfoil_testkit::exercise_store::{MemoryHands, cases};

async fn make() -> MemoryHands {
    MemoryHands::default()
}

counterfoil_testkit::store_suite!(make);

#[tokio::test]
async fn the_whole_suite_at_once() {
    exercise_store(make).await;
}

#[test]
fn every_case_has_a_name_of_its_own() {
    let names: BTreeSet<_> = cases::<MemoryHands>().iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases::<MemoryHands>().len());
    assert!(names.len() >= 60, "{} cases", names.len());
}
