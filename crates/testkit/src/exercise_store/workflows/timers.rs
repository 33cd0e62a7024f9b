//! Timers: set, come, taken back, gone with the end.

use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::port::workflow::{Decision, Step, StepRefused};

use super::WorkflowHands;
use super::flow::{Flow, TRIP, approved, decided, signal, start, started, timer};

pub(super) async fn a_timer_comes_at_its_time<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let timers = vec![timer(1, "late", flow.in_secs(10))];
    flow.commit(TRIP, 0, vec![Decision { timers, ..started() }]).await;
    assert_eq!(flow.waiting(TRIP).await, ["timer:1:late"]);
    flow.scene.advance(9);
    assert_eq!(flow.due_ids().await, [""; 0]);
    flow.scene.advance(1);
    let due = flow.due().await;
    let is = (due[0].id.as_str(), due[0].kind, due[0].name.as_str(), due[0].body.len());
    assert_eq!(is, ("timer:1:late", InputKind::Timer, "late", 0));
    flow.commit(TRIP, 1, vec![decided("timer:1:late", InputKind::Timer, "late", "")]).await;
    assert_eq!(flow.waiting(TRIP).await, [""; 0]);
    assert_eq!(flow.events(TRIP).await[1].kind.as_str(), "timer:late");
}

pub(super) async fn a_timer_is_taken_back<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let timers = vec![timer(1, "late", flow.in_secs(10)), timer(1, "later", flow.in_secs(20))];
    flow.commit(TRIP, 0, vec![Decision { timers, ..started() }]).await;
    flow.send(signal(TRIP, "a")).await;
    flow.send(signal(TRIP, "b")).await;
    // In place of the one that is taken back comes another of its name.
    let timers = vec![timer(2, "late", flow.in_secs(30))];
    let unset = vec!["timer:1:late".into(), "timer:1:none".into()];
    flow.commit(TRIP, 1, vec![Decision { timers, unset, ..approved("a") }]).await;
    assert_eq!(flow.waiting(TRIP).await, ["b", "timer:1:later", "timer:2:late"]);
    let unset = vec!["timer:2:late".into()];
    flow.commit(TRIP, 2, vec![Decision { unset, ..approved("b") }]).await;
    flow.scene.advance(60);
    assert_eq!(flow.due_ids().await, ["timer:1:later"]);
}

pub(super) async fn what_one_decision_sets_a_later_one_takes_back<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    flow.send(signal(TRIP, "b")).await;
    let timers = vec![timer(2, "late", flow.in_secs(10)), timer(2, "stays", flow.in_secs(10))];
    let sets = Decision { timers, ..approved("a") };
    let takes = Decision { unset: vec!["timer:2:late".into()], ..approved("b") };
    flow.commit(TRIP, 1, vec![sets, takes]).await;
    assert_eq!(flow.waiting(TRIP).await, ["timer:2:stays"]);
}

pub(super) async fn what_a_step_takes_back_it_does_not_decide<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let timers = vec![timer(1, "late", flow.in_secs(10))];
    flow.commit(TRIP, 0, vec![Decision { timers, ..started() }]).await;
    flow.send(signal(TRIP, "a")).await;
    let takes = Decision { unset: vec!["timer:1:late".into()], ..approved("a") };
    let late = decided("timer:1:late", InputKind::Timer, "late", "");
    let refused = flow.try_step(flow.step(TRIP, 1, vec![takes, late])).await;
    assert!(matches!(refused, Err(StepRefused::Gone { .. })), "{refused:?}");
    assert_eq!(flow.waiting(TRIP).await, ["a", "timer:1:late"]);
}

pub(super) async fn the_end_takes_the_timers_along<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    for stream in [TRIP, "trip-2"] {
        flow.send(start(stream)).await;
        let timers = vec![timer(1, "late", flow.in_secs(10))];
        flow.commit(stream, 0, vec![Decision { timers, ..started() }]).await;
    }
    flow.send(signal(TRIP, "a")).await;
    flow.send(signal(TRIP, "stays")).await;
    let timers = vec![timer(2, "own", flow.in_secs(10))];
    let ends = flow.step(TRIP, 1, vec![Decision { timers, ..approved("a") }]);
    assert_eq!(flow.try_step(Step { status: Status::Failed, ..ends }).await, Ok(()));
    assert_eq!(flow.waiting(TRIP).await, ["stays"]);
    assert_eq!(flow.waiting("trip-2").await, ["timer:1:late"]);
}
