//! What strangers send: once each, and nothing of this library's own.

use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::port::Workflows;
use counterfoil_core::port::store::Recorded;
use counterfoil_core::port::workflow::{InputRefused, NewInput};

use super::WorkflowHands;
use super::flow::{Flow, TRIP, approved, input, signal, start, started};

impl<H: WorkflowHands> Flow<H> {
    async fn answer(&self, input: NewInput) -> Result<Recorded, InputRefused> {
        self.store().send_inputs(vec![input]).await.unwrap().remove(0)
    }

    async fn is_conflict(&self, input: NewInput) {
        let (stream, id) = (input.stream.to_string(), input.id.clone());
        let conflict = Err(InputRefused::Conflict { stream, id });
        assert_eq!(self.answer(input.clone()).await, conflict, "{input:?}");
    }
}

pub(super) async fn the_same_input_twice_is_one<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let inputs = vec![start(TRIP), start(TRIP), signal(TRIP, "a")];
    let answers = flow.store().send_inputs(inputs).await.unwrap();
    let [one, again] = [Ok(Recorded::Recorded), Ok(Recorded::Repeated)];
    assert_eq!(answers, [one.clone(), again.clone(), one]);
    assert_eq!(flow.answer(signal(TRIP, "a")).await, again);
    assert_eq!(flow.waiting(TRIP).await, ["a", "start"]);
}

pub(super) async fn other_content_of_an_id_is_a_conflict<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    flow.is_conflict(input(TRIP, "start", InputKind::Start, "trip", "to Oslo")).await;
    flow.is_conflict(input(TRIP, "start", InputKind::Start, "flight", "to Rome")).await;
    flow.is_conflict(input(TRIP, "start", InputKind::Signal, "trip", "to Rome")).await;
    flow.is_conflict(NewInput { body: None, ..start(TRIP) }).await;
    assert_eq!(flow.answer(start(TRIP)).await, Ok(Recorded::Repeated));
    assert_eq!(flow.due().await[0].body, b"to Rome");
    flow.send(start("trip-2")).await;
}

pub(super) async fn a_decided_input_is_known_by_its_event<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    assert_eq!(flow.answer(start(TRIP)).await, Ok(Recorded::Repeated));
    flow.is_conflict(input(TRIP, "start", InputKind::Start, "trip", "to Oslo")).await;
    flow.is_conflict(input(TRIP, "start", InputKind::Start, "flight", "to Rome")).await;
    flow.is_conflict(input(TRIP, "start", InputKind::Cancel, "trip", "to Rome")).await;
    assert_eq!(flow.waiting(TRIP).await, [""; 0]);
    // Once decided, no bytes and none at all are the same.
    flow.send(NewInput { body: None, ..signal(TRIP, "a") }).await;
    let mut empty = approved("a");
    empty.event.body.clear();
    flow.commit(TRIP, 1, vec![empty]).await;
    for body in [None, Some(Vec::new())] {
        let same = NewInput { body, ..signal(TRIP, "a") };
        assert_eq!(flow.answer(same).await, Ok(Recorded::Repeated));
    }
}

/// On PostgreSQL the library took an empty body for none, and the guard did not.
pub(super) async fn no_body_is_another_one_than_an_empty_one<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let [none, empty] = [None, Some(Vec::new())]
        .map(|body| move |id: &str| NewInput { body: body.clone(), ..signal(TRIP, id) });
    flow.send(none("a")).await;
    flow.send(empty("b")).await;
    assert_eq!(flow.answer(none("a")).await, Ok(Recorded::Repeated));
    assert_eq!(flow.answer(empty("b")).await, Ok(Recorded::Repeated));
    flow.is_conflict(empty("a")).await;
    flow.is_conflict(none("b")).await;
}

pub(super) async fn what_is_counterfoils_own_is_refused<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    let long = "x".repeat(241);
    let refused = [
        (signal(TRIP, "receipt:1:0"), "id"),
        (signal(TRIP, "timer:1:late"), "id"),
        (signal(TRIP, ""), "id"),
        (input(TRIP, "a", InputKind::Receipt, "completed", ""), "kind"),
        (input(TRIP, "a", InputKind::Timer, "late", ""), "kind"),
        (input(TRIP, "a", InputKind::Signal, &long, ""), "name"),
        (input(TRIP, "a", InputKind::Signal, "", ""), "name"),
        (input("trip-2", "start", InputKind::Start, "trip/1", ""), "name"),
    ];
    for (input, what) in refused {
        let answer = flow.answer(input.clone()).await;
        let Err(InputRefused::Value { what: found, .. }) = &answer else {
            panic!("{input:?}: {answer:?}");
        };
        assert_eq!(*found, what, "{input:?}");
    }
    assert_eq!(flow.waiting(TRIP).await, [""; 0]);
    flow.send(input(TRIP, "a", InputKind::Signal, &long[..240], "")).await;
}

pub(super) async fn one_refused_input_refuses_no_other<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let other = input(TRIP, "start", InputKind::Start, "trip", "to Oslo");
    let inputs = vec![signal(TRIP, "a"), other, signal(TRIP, "timer:1:x"), signal(TRIP, "b")];
    let answers = flow.store().send_inputs(inputs).await.unwrap();
    assert_eq!(answers[0], Ok(Recorded::Recorded));
    assert!(matches!(answers[1], Err(InputRefused::Conflict { .. })), "{answers:?}");
    assert!(matches!(answers[2], Err(InputRefused::Value { .. })), "{answers:?}");
    assert_eq!(answers[3], Ok(Recorded::Recorded));
    assert_eq!(flow.waiting(TRIP).await, ["a", "b", "start"]);
}

pub(super) async fn a_repeat_writes_nothing<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    let before = flow.scene.hands.commits().await;
    let repeats = vec![start(TRIP), signal(TRIP, "a")];
    let answers = flow.store().send_inputs(repeats).await.unwrap();
    assert_eq!(answers, [Ok(Recorded::Repeated), Ok(Recorded::Repeated)]);
    assert_eq!(flow.scene.hands.commits().await, before);
}

pub(super) async fn senders_at_once_write_it_once<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let senders: Vec<_> = (0..6)
        .map(|_| {
            let store = flow.store().clone();
            tokio::spawn(async move { store.send_inputs(vec![start(TRIP)]).await.unwrap() })
        })
        .collect();
    let mut recorded = 0;
    for sender in senders {
        let answer = sender.await.unwrap().remove(0);
        recorded += usize::from(answer.unwrap() == Recorded::Recorded);
    }
    assert_eq!(recorded, 1);
    assert_eq!(flow.waiting(TRIP).await, ["start"]);
    flow.commit(TRIP, 0, vec![started()]).await;
}
