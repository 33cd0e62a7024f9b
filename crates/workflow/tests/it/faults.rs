//! What a runner does when a program, the store or another writer is at fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{Command, Event, ReceiptOutcome};
use counterfoil_core::port::Actor;
use counterfoil_core::port::store::Append;
use counterfoil_core::port::workflow::{Dropped, EndedByHand};
use counterfoil_testkit::{Fault, MemoryStore, StepsFault};
use counterfoil_workflow::Programs;
use counterfoil_workflow::runner::Options;

use super::programs::{Fragile, Order, Tally};
use super::scene::{Scene, Whole, stream};
use super::sites::{Site, on_every_store};

on_every_store! {
    a_panic_sets_one_workflow_aside_and_retry_takes_it_up_again
    one_that_a_person_ends_hears_no_more_and_replays
    one_whose_input_a_person_takes_away_goes_on
    a_decide_that_never_answers_sets_one_workflow_aside_and_freezes_nothing
    a_generated_id_that_stands_sets_the_workflow_aside_on_that_very_input
    a_start_in_a_services_own_stream_is_taken_away_and_the_stream_left_as_it_is
}

async fn retry<S: Whole>(scene: &Scene<S>, of: &str) {
    let actor = Actor { name: "ann".into(), reason: "mended".into() };
    assert!(scene.store.retry_workflow(&stream(of), actor).await.unwrap());
}

async fn three_of_which_the_second_is_bad<S: Whole>(scene: &Scene<S>) {
    for name in ["f-1", "f-2", "f-3"] {
        scene.start(name, "fragile").await;
        scene.signal(name, "a", "good").await;
        scene.signal(name, "b", if name == "f-2" { "bad" } else { "good" }).await;
        scene.signal(name, "c", "good").await;
    }
}

async fn a_panic_sets_one_workflow_aside_and_retry_takes_it_up_again<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    let is_mended = Arc::new(AtomicBool::new(false));
    let fragile = || Fragile { is_mended: Arc::clone(&is_mended), is_endless: false };
    three_of_which_the_second_is_bad(&scene).await;
    let end = scene.idle(fragile()).await;
    assert_eq!((end.inputs, end.quarantined), (10, 1), "{end:?}");
    let (reason, input) = scene.reason("f-2").await;
    assert!(reason.contains("panic in decide: bad luck"), "{reason}");
    assert_eq!(input, "b");
    assert_eq!(scene.events("f-2").await.len(), 4, "what came before is written");
    assert_eq!(scene.events("f-3").await.len(), 8);

    // Not mended: it is set aside again, and nothing else comes of it.
    retry(&scene, "f-2").await;
    assert_eq!(scene.idle(fragile()).await.quarantined, 1);
    is_mended.store(true, Ordering::Release);
    retry(&scene, "f-2").await;
    assert_eq!(scene.idle(fragile()).await.inputs, 2);
    assert_eq!(scene.events("f-2").await.len(), 8);
    scene.must_hold(fragile()).await;
}

async fn one_that_a_person_ends_hears_no_more_and_replays<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    let fragile = || Fragile { is_mended: Arc::default(), is_endless: false };
    three_of_which_the_second_is_bad(&scene).await;
    assert_eq!(scene.idle(fragile()).await.quarantined, 1);
    let actor = Actor { name: "ann".into(), reason: "given up".into() };
    let ended = scene.store.end_workflow(&stream("f-2"), actor).await.unwrap();
    assert_eq!(ended, EndedByHand::Done);
    let end = scene.idle(fragile()).await;
    assert_eq!((end.inputs, end.quarantined, end.loads), (2, 0, 0), "{end:?}");
    let row = scene.store.workflow("f-2").await.unwrap().unwrap();
    assert_eq!((row.status, row.head), (Some(Status::Failed), 7));
    let kinds: Vec<_> =
        scene.events("f-2").await.iter().map(|event| event.kind.to_string()).collect();
    assert_eq!(kinds[4..], ["cancel:by hand", "signal:bad", "signal:good"]);
    scene.must_hold(fragile()).await;
}

async fn one_whose_input_a_person_takes_away_goes_on<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    let fragile = || Fragile { is_mended: Arc::default(), is_endless: false };
    three_of_which_the_second_is_bad(&scene).await;
    assert_eq!(scene.idle(fragile()).await.quarantined, 1);
    let actor = Actor { name: "ann".into(), reason: "sent by mistake".into() };
    let gone = scene.store.drop_input(&stream("f-2"), "b", actor).await.unwrap();
    assert_eq!(gone, Dropped::Done);
    retry(&scene, "f-2").await;
    let end = scene.idle(fragile()).await;
    assert_eq!((end.inputs, end.quarantined), (1, 0), "{end:?}");
    assert_eq!(scene.events("f-2").await.len(), 6);
    scene.must_hold(fragile()).await;
}

async fn a_decide_that_never_answers_sets_one_workflow_aside_and_freezes_nothing<S: Whole>(
    site: Site<S>,
) {
    let scene = site.scene.clone();
    let is_mended = Arc::new(AtomicBool::new(false));
    let fragile = || Fragile { is_mended: Arc::clone(&is_mended), is_endless: true };
    three_of_which_the_second_is_bad(&scene).await;
    let options = Options::default().decide_max(Duration::from_millis(700));
    // What ticks beside shows that the runner's tasks are not frozen.
    let ticks = async {
        let mut ticks = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(10)).await;
            ticks += 1;
            if scene.status("f-2").await == Some(Status::Quarantined) {
                return ticks;
            }
        }
    };
    let (end, ticks) = tokio::join!(scene.idle_with(fragile(), options), ticks);
    assert!(ticks >= 5, "{ticks}");
    assert_eq!(end.quarantined, 1);
    let (reason, input) = scene.reason("f-2").await;
    assert!(reason.contains("decide has not answered within 1 s"), "{reason}");
    assert_eq!(input, "b");
    assert_eq!(scene.events("f-3").await.len(), 8);
    is_mended.store(true, Ordering::Release);
    retry(&scene, "f-2").await;
    scene.idle(fragile()).await;
    assert_eq!(scene.events("f-2").await.len(), 8);
}

async fn a_generated_id_that_stands_sets_the_workflow_aside_on_that_very_input<S: Whole>(
    site: Site<S>,
) {
    let scene = site.scene.clone();
    let squatter = Command::json("t-1:5:0", "bank", "pay", &1).unwrap();
    scene.store.enqueue(vec![squatter]).await.unwrap();
    scene.start("t-1", "tally").await;
    scene.signals("t-1", (0..4).map(|n| format!("s{n}"))).await;
    scene.start("t-2", "tally").await;
    let end = scene.idle(Tally::new()).await;
    assert_eq!(end.quarantined, 1);
    let (reason, input) = scene.reason("t-1").await;
    assert!(reason.contains("id_taken: command t-1:5:0"), "{reason}");
    assert_eq!(input, "s1");
    assert_eq!(scene.events("t-1").await.len(), 3, "what came before is written");
    assert_eq!(scene.status("t-2").await, Some(Status::Running));

    // A retry alone meets it again; the way out is the one that the reason names.
    retry(&scene, "t-1").await;
    assert_eq!(scene.idle(Tally::new()).await.quarantined, 1);
    assert!(reason.contains("`counterfoil show t-1:5:0`"), "{reason}");
    assert!(reason.contains("send an input that issues nothing"), "{reason}");
    for input in ["s1", "s2", "s3"] {
        let actor = Actor { name: "ann".into(), reason: "its id is taken".into() };
        let gone = scene.store.drop_input(&stream("t-1"), input, actor).await.unwrap();
        assert_eq!(gone, Dropped::Done);
    }
    scene.send("t-1", "nudge", InputKind::Cancel, "cancel", "").await;
    scene.signals("t-1", (1..4).map(|n| format!("s{n}"))).await;
    retry(&scene, "t-1").await;
    let end = scene.idle(Tally::new()).await;
    assert_eq!((end.inputs, end.quarantined), (4, 0), "{end:?}");
    let issued: Vec<_> = scene.issued("t-1").await.iter().map(|one| one.seq).collect();
    assert_eq!(issued, [3, 6, 8, 10]);
}

async fn a_start_in_a_services_own_stream_is_taken_away_and_the_stream_left_as_it_is<S: Whole>(
    site: Site<S>,
) {
    let scene = site.scene.clone();
    let append = async |expected_seq| {
        let events = vec![Event::json("mine", &1).unwrap()];
        let append = Append { stream: stream("t-2"), expected_seq, events, commands: Vec::new() };
        scene.store.append(append).await.unwrap().unwrap();
    };
    append(0).await;
    scene.start("t-1", "tally").await;
    scene.start("t-2", "tally").await;
    scene.start("f-2", "fragile").await;
    let end = scene.idle(Tally::new()).await;
    assert_eq!((end.inputs, end.quarantined, end.set_aside), (1, 0, 1), "{end:?}");
    assert_eq!(scene.status("t-1").await, Some(Status::Running));
    append(1).await;
    assert!(scene.store.workflow("t-2").await.unwrap().is_none(), "it is no workflow");
    // It may be sent again under the same id, with the same fate.
    scene.start("t-2", "tally").await;
    assert_eq!(scene.idle(Tally::new()).await.set_aside, 1);
    append(2).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_tried_again_and_nothing_is_lost_or_done_twice() {
    for fault in [Fault::Unavailable, Fault::NotKnownLost, Fault::NotKnownApplied] {
        let scene = Scene::new(MemoryStore::default());
        scene.start("t-1", "tally").await;
        scene.idle(Tally::new()).await;
        for _ in 0..3 {
            scene.store.fail_steps(StepsFault::Fails(fault));
        }
        scene.signals("t-1", (0..20).map(|n| format!("s{n}"))).await;
        let options = Options::default().decide_max(Duration::ZERO).batch(6);
        scene.idle_with(Tally::new(), options).await;
        assert_eq!(scene.events("t-1").await.len(), 41, "{fault:?}");
        assert_eq!(scene.issued("t-1").await.len(), 20, "{fault:?}");
        scene.must_hold(Tally::new()).await;
    }
}

/// A runner ends between decide and commit: nothing of the decision is anywhere, and the next one
/// decides it.
#[tokio::test(start_paused = true)]
async fn a_runner_that_is_stopped_between_decide_and_commit_leaves_nothing_behind() {
    let scene = Scene::new(MemoryStore::default());
    scene.start("o-1", "order").await;
    scene.store.fail_steps(StepsFault::Hangs);
    let runner = scene.runner().workflow(Order);
    let options = Options::default().decide_max(Duration::ZERO).drain(Duration::from_secs(3));
    let stop = tokio::time::sleep(Duration::from_secs(1));
    let begun = tokio::time::Instant::now();
    let end = runner.options(options).build().unwrap().run(stop).await.unwrap();
    assert_eq!(end.inputs, 0);
    assert_eq!(begun.elapsed(), Duration::from_secs(4), "a stop waits for the drain, not longer");
    assert!(scene.events("o-1").await.is_empty());
    scene.idle(Order).await;
    scene.report("o-1:2:0", ReceiptOutcome::Completed).await;
    scene.idle(Order).await;
    assert_eq!(scene.issued("o-1").await.len(), 1);
    assert_eq!(scene.status("o-1").await, Some(Status::Completed));
}

#[tokio::test]
async fn options_and_programs_that_break_a_rule_are_refused_by_name() {
    let scene = Scene::new(MemoryStore::default());
    let refused = |builder: counterfoil_workflow::runner::Builder<MemoryStore>| {
        let error = builder.build().err().unwrap();
        (error.code(), error.to_string())
    };
    assert_eq!(refused(scene.runner()).0, "CF1201");
    let twice = refused(scene.runner().workflow(Order).workflow(Order));
    assert_eq!(twice.0, "CF1202");
    assert!(twice.1.contains("order/1 is given twice"), "{}", twice.1);
    // What takes the place of all takes that of what was refused, but not of what follows.
    let twice = || scene.runner().workflow(Order).workflow(Order);
    let one = || Programs::new().with(Order).unwrap();
    assert!(twice().programs(one()).build().is_ok());
    assert_eq!(refused(twice().programs(one()).workflow(Order)).0, "CF1202");
    let options = [
        Options::default().batch(0),
        Options::default().batch(10_001),
        Options::default().owner(""),
        Options::default().snapshot_every(0),
        Options::default().loads(0),
        Options::default().decide_max(Duration::from_millis(9)),
    ];
    for options in options {
        assert_eq!(refused(scene.runner().workflow(Order).options(options)).0, "CF1203");
    }
}
