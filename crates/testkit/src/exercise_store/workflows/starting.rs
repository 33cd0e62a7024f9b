//! Starts, and what comes before and after them.

use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::port::Workflows;

use super::WorkflowHands;
use super::flow::{Flow, TRIP, approved, decided, input, signal, start, started};

pub(super) async fn a_signal_before_the_start_waits_for_it<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(signal(TRIP, "early")).await;
    assert_eq!(flow.due_ids().await, [""; 0]);
    flow.send(start(TRIP)).await;
    flow.send(signal(TRIP, "later")).await;
    // Of a workflow whose start waits, the start comes first.
    assert_eq!(flow.due_ids().await[0], "start");
    flow.commit(TRIP, 0, vec![started()]).await;
    assert_eq!(flow.due_ids().await, ["early", "later"]);
    flow.commit(TRIP, 1, vec![approved("early"), approved("later")]).await;
    assert_eq!(flow.due_ids().await, [""; 0]);
}

pub(super) async fn a_start_goes_to_a_program_of_its_name<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    assert_eq!(flow.due_to(&["trips/1", "tri/1"], "me").await, [""; 0]);
    assert_eq!(flow.due_to(&["tour/1", "trip/7"], "me").await, ["trip-1 start"]);
    assert_eq!(flow.due_to(&["trip/7", "trip/8"], "me").await, ["trip-1 start"]);
}

pub(super) async fn what_runs_goes_to_its_version<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    assert_eq!(flow.due_to(&["trip/2", "trip/11"], "me").await, [""; 0]);
    assert_eq!(flow.due_to(&["trip/2", "trip/1"], "me").await, ["trip-1 a"]);
}

pub(super) async fn a_second_start_is_an_input_like_others<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(input(TRIP, "again", InputKind::Start, "tour", "x")).await;
    let due = flow.due().await;
    assert_eq!((due[0].id.as_str(), due[0].kind), ("again", InputKind::Start));
    assert_eq!(due[0].standing.as_ref().map(|row| row.head), Some(1));
    flow.commit(TRIP, 1, vec![decided("again", InputKind::Start, "tour", "x")]).await;
    assert_eq!(flow.events(TRIP).await[1].kind.as_str(), "start:tour");
}

pub(super) async fn two_starts_wait_for_one_stream<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    flow.send(input(TRIP, "other", InputKind::Start, "tour", "x")).await;
    assert_eq!(flow.due_to(&["tour/1"], "me").await, ["trip-1 other"]);
    flow.commit(TRIP, 0, vec![started()]).await;
    // It goes to who runs the stream now.
    assert_eq!(flow.due_to(&["tour/1"], "me").await, [""; 0]);
    assert_eq!(flow.due_ids().await, ["other"]);
}

pub(super) async fn inputs_after_the_end_are_due_all_the_same<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "before")).await;
    flow.end(TRIP, 1).await;
    flow.send(signal(TRIP, "after")).await;
    let due = flow.due().await;
    let ids: Vec<_> = due.iter().map(|input| input.id.as_str()).collect();
    assert_eq!(ids, ["before", "after"]);
    for input in due {
        let row = input.standing.unwrap();
        assert_eq!((row.status, row.head), (Status::Completed, 2));
    }
    let mut step = flow.step(TRIP, 2, vec![approved("before"), approved("after")]);
    step.status = Status::Completed;
    assert_eq!(flow.store().steps(vec![step]).await.unwrap(), [Ok(())]);
    assert_eq!(flow.waiting(TRIP).await, [""; 0]);
    assert_eq!(flow.standing(TRIP).await.0.unwrap().head, 4);
}
