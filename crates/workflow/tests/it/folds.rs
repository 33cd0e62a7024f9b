//! What a runner does when a history cannot be folded: one workflow is set aside, and no runner
//! spins on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::Actor;
use counterfoil_workflow::runner::{Options, RunnerEnd};
use counterfoil_workflow::{Decision, Input, Workflow};

use super::programs::{Happened, Tally};
use super::scene::{Scene, Whole, stream};
use super::sites::{Site, on_every_store};

on_every_store! {
    a_fold_that_panics_sets_its_workflow_aside_and_no_runner_spins
    a_fold_that_never_answers_sets_its_workflow_aside_and_no_runner_spins
    a_nul_in_a_panic_stands_in_the_way_of_no_quarantine
}

/// A tally that cannot fold its event of this number, until it is mended.
struct Unfolding {
    number: u64,
    is_endless: bool,
    says: &'static str,
    is_mended: Arc<AtomicBool>,
}

impl Workflow for Unfolding {
    type State = u64;
    type Event = Happened;

    fn name(&self) -> &str {
        "tally"
    }

    fn evolve(&self, count: u64, event: &Happened) -> u64 {
        let is_bad = matches!(event, Happened::Added { number } if *number == self.number);
        while is_bad && !self.is_mended.load(Ordering::Acquire) {
            assert!(self.is_endless, "{}", self.says);
            std::thread::sleep(Duration::from_millis(5));
        }
        Tally::new().evolve(count, event)
    }

    fn decide(&self, count: &u64, input: &Input) -> Decision<Happened> {
        Tally { asks: false, ..Tally::new() }.decide(count, input)
    }
}

/// No state is kept, in memory or saved: each look folds from the first event.
fn forgetful() -> Options {
    Options::default().cache(0).snapshot_every(1_000_000)
}

/// Ends the test where the runner spins.
async fn idle<S: Whole>(scene: &Scene<S>, workflow: Unfolding) -> RunnerEnd {
    // A panic is not slow, but telling where it came from is.
    let decide_max = Duration::from_millis(if workflow.is_endless { 700 } else { 10_000 });
    let idle = scene.idle_with(workflow, forgetful().decide_max(decide_max));
    tokio::time::timeout(Duration::from_secs(60), idle).await.expect("the runner spins")
}

/// `long` is read in two pages, of which the first is folded while it is loaded; `short` in one;
/// `sound` has no event that anybody could stumble over.
async fn three_tallies<S: Whole>(scene: &Scene<S>) {
    for (name, events) in [("long", 700), ("short", 3), ("sound", 1)] {
        scene.start(name, "tally").await;
        scene.signal(name, "a", "add").await;
        let tally = Tally { asks: false, events, version: 1 };
        assert_eq!(scene.idle_with(tally, forgetful()).await.inputs, 2);
    }
    for name in ["long", "short", "sound"] {
        scene.signal(name, "b", "add").await;
    }
}

async fn is_set_aside_and_mended<S: Whole>(scene: &Scene<S>, is_endless: bool, reason: &str) {
    three_tallies(scene).await;
    let is_mended = Arc::new(AtomicBool::new(false));
    let says = "no such number";
    let unfolding = || Unfolding { number: 3, is_endless, says, is_mended: is_mended.clone() };
    let end = idle(scene, unfolding()).await;
    assert_eq!(end.quarantined, 2, "{end:?}");
    for (name, head) in [("long", 702), ("short", 5)] {
        let row = scene.store.workflow(name).await.unwrap().unwrap();
        assert_eq!((row.status, row.head), (Some(Status::Quarantined), head));
        assert!(row.reason.as_ref().unwrap().contains(reason), "{row:?}");
    }
    assert_eq!(scene.status("sound").await, Some(Status::Running));
    assert_eq!(scene.events("sound").await.len(), 5, "others go on");

    is_mended.store(true, Ordering::Release);
    for name in ["long", "short"] {
        let actor = Actor { name: "ann".into(), reason: "mended".into() };
        assert!(scene.store.retry_workflow(&stream(name), actor).await.unwrap());
    }
    let end = idle(scene, unfolding()).await;
    assert_eq!((end.inputs, end.quarantined), (2, 0), "{end:?}");
    assert_eq!(scene.events("long").await.len(), 704);
}

async fn a_fold_that_panics_sets_its_workflow_aside_and_no_runner_spins<S: Whole>(site: Site<S>) {
    is_set_aside_and_mended(&site.scene, false, "panic in evolve: no such number").await;
}

/// A page that was folded while it was loaded said that it was at the head of the page, where no
/// workflow stood: the store set nothing aside, and the runner lost a thread every ten seconds for
/// ever.
async fn a_fold_that_never_answers_sets_its_workflow_aside_and_no_runner_spins<S: Whole>(
    site: Site<S>,
) {
    is_set_aside_and_mended(&site.scene, true, "has not answered within 1 s").await;
}

/// PostgreSQL keeps no NUL in a text: the quarantine was refused, and so was every other look.
async fn a_nul_in_a_panic_stands_in_the_way_of_no_quarantine<S: Whole>(site: Site<S>) {
    let scene = &site.scene;
    three_tallies(scene).await;
    let is_mended = Arc::new(AtomicBool::new(false));
    let says = "no \0 here";
    let end = idle(scene, Unfolding { number: 3, is_endless: false, says, is_mended }).await;
    assert_eq!(end.quarantined, 2, "{end:?}");
    let (found, _) = scene.reason("short").await;
    assert!(found.contains("panic in evolve: no \u{fffd} here"), "{found}");
}
