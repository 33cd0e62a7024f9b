//! What a runner does with what is due.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use counterfoil_core::domain::workflow::{Decided, InputKind, Status};
use counterfoil_core::domain::{ReceiptOutcome, Span};
use counterfoil_core::port::store::Recorded;
use counterfoil_workflow::runner::Options;

use super::programs::{Alarm, Forgetful, Order, Tally};
use super::scene::Whole;
use super::sites::{Site, on_every_store};

on_every_store! {
    a_workflow_is_started_asks_and_ends_with_the_receipt
    a_running_runner_hears_and_stops_when_told
    signals_before_the_start_wait_for_it_and_old_orphans_go
    each_of_ten_thousand_signals_has_its_effect_once
    the_timers_that_a_runner_sets_are_those_that_an_audit_expects
    a_hundred_thousand_timers_that_are_due_at_once_ring_once_each
    two_runners_share_many_workflows_and_each_input_has_its_effect_once
    what_comes_after_the_end_is_consumed_and_says_why
    what_has_ended_hears_without_its_events
    a_clock_that_steps_back_holds_nothing_up
    a_lease_keeps_other_runners_away_until_it_is_over
    a_clean_stop_lets_go_of_what_it_holds
}

async fn a_workflow_is_started_asks_and_ends_with_the_receipt<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    scene.start("o-1", "order").await;
    let sent = scene.try_send("o-1", "start", InputKind::Start, "order", "7").await;
    assert_eq!(sent, Recorded::Repeated);
    scene.idle(Order).await;
    assert_eq!(scene.status("o-1").await, Some(Status::Running));
    let issued = scene.issued("o-1").await;
    assert_eq!((issued.len(), issued[0].seq, issued[0].idx), (1, 2, 0));
    scene.report("o-1:2:0", ReceiptOutcome::Completed).await;
    scene.idle(Order).await;
    assert_eq!(scene.status("o-1").await, Some(Status::Completed));
    let kinds: Vec<_> =
        scene.events("o-1").await.iter().map(|event| event.kind.to_string()).collect();
    assert_eq!(kinds, ["start:order", "Asked", "receipt:completed"]);
    scene.must_hold(Order).await;
}

async fn a_running_runner_hears_and_stops_when_told<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let runner = scene.runner().workflow(Order).build().unwrap();
    let running = tokio::spawn(runner.run(async move {
        stopped.await.unwrap();
    }));
    scene.start("o-1", "order").await;
    while scene.issued("o-1").await.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    scene.report("o-1:2:0", ReceiptOutcome::Rejected).await;
    while scene.status("o-1").await != Some(Status::Failed) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stop.send(()).unwrap();
    let end = running.await.unwrap().unwrap();
    assert_eq!((end.inputs, end.loads, end.refused), (2, 0, 0), "{end:?}");
}

async fn signals_before_the_start_wait_for_it_and_old_orphans_go<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    scene.signal("t-1", "early", "add").await;
    scene.signal("t-2", "lost", "add").await;
    let end = scene.idle(Tally::new()).await;
    assert_eq!(end.inputs, 0);
    scene.start("t-1", "tally").await;
    let end = scene.idle(Tally::new()).await;
    assert_eq!(end.inputs, 2, "{end:?}");
    let causes: Vec<_> =
        scene.events("t-1").await.into_iter().filter_map(|event| event.cause).collect();
    assert_eq!(causes, ["start", "early"]);
    site.advance(Span::from_secs(7 * 86_400)).await;
    scene.idle(Tally::new()).await;
    assert!(scene.store.workflow_inputs("t-2").await.is_empty());
}

trait WorkflowInputs {
    async fn workflow_inputs(&self, of: &str) -> Vec<String>;
}

impl<S: counterfoil_core::port::Workflows> WorkflowInputs for S {
    async fn workflow_inputs(&self, of: &str) -> Vec<String> {
        let waiting = self.waiting_inputs(Some(of), None, 100).await.unwrap();
        waiting.into_iter().map(|input| input.id).collect()
    }
}

/// Ten thousand signals to one workflow, half of them while two runners are at work: each has its
/// effect once.
async fn each_of_ten_thousand_signals_has_its_effect_once<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    const SIGNALS: usize = 10_000;
    scene.start("t-1", "tally").await;
    scene.signals("t-1", (0..SIGNALS / 2).map(|n| format!("s{n}"))).await;
    let tally = || Tally { events: 0, ..Tally::new() };
    // Until idle there is no lease: they get into each other's way as often as they can.
    let options = |owner: &str| Options::default().batch(2_500).owner(owner);
    let runner = |owner: &str| {
        let runner = scene.runner().workflow(tally()).options(options(owner));
        tokio::spawn(runner.build().unwrap().run_until_idle())
    };
    let (one, other) = (runner("one"), runner("other"));
    scene.signals("t-1", (SIGNALS / 2..SIGNALS).map(|n| format!("s{n}"))).await;
    let (one, other) = (one.await.unwrap().unwrap(), other.await.unwrap().unwrap());
    let end = scene.idle(tally()).await;
    assert_eq!(
        one.inputs + other.inputs + end.inputs,
        1 + SIGNALS as u64,
        "{one:?} {other:?} {:?}",
        scene.store.workflow("t-1").await
    );
    assert_eq!(scene.status("t-1").await, Some(Status::Running));
    let events = scene.events("t-1").await;
    let causes: BTreeSet<_> = events.iter().filter_map(|event| event.cause.clone()).collect();
    assert_eq!((events.len(), causes.len()), (1 + SIGNALS, 1 + SIGNALS));
    let issued = scene.issued("t-1").await;
    let digests: BTreeSet<_> = issued.iter().filter_map(|one| one.digest).collect();
    assert_eq!((issued.len(), digests.len()), (SIGNALS, SIGNALS));
    scene.must_hold(tally()).await;
}

async fn the_timers_that_a_runner_sets_are_those_that_an_audit_expects<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    scene.start("a-1", "alarm").await;
    scene.idle(Alarm { timers: 3 }).await;
    scene.must_hold(Alarm { timers: 3 }).await;
    site.advance(Span::from_secs(60)).await;
    assert_eq!(scene.idle_with(Alarm { timers: 3 }, Options::default().batch(2)).await.inputs, 3);
    scene.must_hold(Alarm { timers: 3 }).await;
}

/// A hundred thousand timers are due at one moment: each rings once, and before it none does.
async fn a_hundred_thousand_timers_that_are_due_at_once_ring_once_each<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    const WORKFLOWS: usize = 400;
    const TIMERS: usize = 250;
    for number in 0..WORKFLOWS {
        scene.start(&format!("a-{number}"), "alarm").await;
    }
    let options = || Options::default().batch(10_000);
    let end = scene.idle_with(Alarm { timers: TIMERS }, options()).await;
    assert_eq!(end.inputs, WORKFLOWS as u64);
    site.advance(Span::from_secs(59)).await;
    assert_eq!(scene.idle_with(Alarm { timers: TIMERS }, options()).await.inputs, 0);
    site.advance(Span::from_secs(1)).await;
    let end = scene.idle_with(Alarm { timers: TIMERS }, options()).await;
    assert_eq!(end.inputs, (WORKFLOWS * TIMERS) as u64, "{end:?}");
    assert_eq!(end.refused, 0);
    for number in 0..WORKFLOWS {
        let name = format!("a-{number}");
        assert_eq!(scene.status(&name).await, Some(Status::Completed), "{name}");
        let events = scene.events(&name).await;
        let rang: BTreeSet<_> = events.iter().filter_map(|event| event.cause.clone()).collect();
        assert_eq!((events.len(), rang.len()), (1 + 2 * TIMERS, 1 + TIMERS), "{name}");
    }
}

async fn two_runners_share_many_workflows_and_each_input_has_its_effect_once<S: Whole>(
    site: Site<S>,
) {
    let scene = site.scene.clone();
    let mut wanted = BTreeMap::new();
    for number in 0..100_usize {
        let name = format!("t-{number}");
        scene.start(&name, "tally").await;
        scene.signals(&name, (0..number % 7).map(|n| format!("s{n}"))).await;
        wanted.insert(name, number % 7);
    }
    for round in 0..2 {
        let run = |owner: &str| {
            let options = Options::default().owner(owner).batch(10);
            let runner = scene.runner().workflow(Tally::new()).options(options);
            tokio::spawn(runner.build().unwrap().run_until_idle())
        };
        let (one, other) = (run("one"), run("other"));
        for name in wanted.keys() {
            scene.signal(name, &format!("late-{round}"), "add").await;
        }
        one.await.unwrap().unwrap();
        other.await.unwrap().unwrap();
        scene.idle(Tally::new()).await;
    }
    for (name, count) in wanted {
        assert_eq!(scene.status(&name).await, Some(Status::Running), "{name}");
        assert_eq!(scene.issued(&name).await.len(), count + 2, "{name}");
        assert_eq!(scene.events(&name).await.len(), 1 + 2 * (count + 2), "{name}");
    }
    scene.must_hold(Tally::new()).await;
}

async fn what_comes_after_the_end_is_consumed_and_says_why<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    scene.start("o-1", "order").await;
    scene.idle(Order).await;
    // It fails at once; the command, which is cancelled too, gives a receipt to an ended workflow.
    scene.send("o-1", "c", InputKind::Cancel, "cancel", "no more").await;
    scene.idle(Order).await;
    scene.signal("o-1", "late", "add").await;
    scene.idle(Order).await;
    assert_eq!(scene.status("o-1").await, Some(Status::Failed));
    let events = scene.events("o-1").await;
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    let wanted = ["start:order", "Asked", "cancel:cancel", "receipt:cancelled", "signal:add"];
    assert_eq!(kinds, wanted);
    for event in &events[3..] {
        let decided = Decided::from_text(event.decided.as_deref()).unwrap();
        assert_eq!(decided.ignored.as_deref(), Some("the workflow has ended"));
    }
    assert!(scene.store.workflow_inputs("o-1").await.is_empty());
    scene.must_hold(Order).await;
}

/// A deploy took an event's name away, long after the workflow had ended.
async fn what_has_ended_hears_without_its_events<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    scene.start("o-1", "order").await;
    scene.idle(Order).await;
    scene.send("o-1", "c", InputKind::Cancel, "cancel", "no more").await;
    scene.idle(Order).await;
    scene.signals("o-1", (0..3).map(|at| format!("late-{at}"))).await;
    let idle = tokio::time::timeout(Duration::from_secs(60), scene.idle(Forgetful));
    let end = idle.await.expect("the runner spins");
    assert_eq!((end.loads, end.quarantined), (0, 0), "{end:?}");
    assert!(scene.store.workflow_inputs("o-1").await.is_empty());
    assert_eq!(scene.status("o-1").await, Some(Status::Failed));
    scene.must_hold(Order).await;
}

async fn a_clock_that_steps_back_holds_nothing_up<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    scene.start("a-1", "alarm").await;
    scene.idle(Alarm { timers: 3 }).await;
    site.step_machine(-50_000_000);
    site.advance(Span::from_secs(61)).await;
    let end = scene.idle(Alarm { timers: 3 }).await;
    assert_eq!(end.inputs, 3, "a minute has passed, whatever the wall clock says");
    let events = scene.events("a-1").await;
    assert!(events.windows(2).all(|two| two[0].recorded_at <= two[1].recorded_at));
    assert_eq!(scene.status("a-1").await, Some(Status::Completed));
}

/// A runner that dies holds its workflows for a while: another one leaves them alone, and takes
/// them when the lease is over.
async fn a_lease_keeps_other_runners_away_until_it_is_over<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    scene.start("t-1", "tally").await;
    let options = Options::default().owner("one").lease(Span::from_secs(5));
    let runner = scene.runner().workflow(Tally::new()).options(options).build().unwrap();
    let running = tokio::spawn(runner.run(std::future::pending()));
    while scene.events("t-1").await.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // It dies.
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    scene.signal("t-1", "a", "add").await;
    let other = tokio::spawn({
        let scene = scene.clone();
        async move { scene.idle(Tally::new()).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(scene.events("t-1").await.len(), 1, "it is held");
    site.advance(Span::from_secs(5)).await;
    assert_eq!(other.await.unwrap().inputs, 1);
}

/// A clean stop lets go: another runner waits for no lease, with no time passing at all.
async fn a_clean_stop_lets_go_of_what_it_holds<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    for name in ["t-1", "t-2", "t-3"] {
        scene.start(name, "tally").await;
    }
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let options = Options::default().owner("one").lease(Span::from_secs(3_600));
    let runner = scene.runner().workflow(Tally::new()).options(options).build().unwrap();
    let running = tokio::spawn(runner.run(async move {
        stopped.await.unwrap();
    }));
    while scene.events("t-3").await.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    scene.signal("t-1", "a", "add").await;
    scene.signal("t-3", "a", "add").await;
    let other = tokio::time::timeout(Duration::from_secs(60), scene.idle(Tally::new()));
    assert_eq!(other.await.expect("it is held").inputs, 2);
}
