//! Quarantine: one workflow stands still with its inputs, and nobody else does.

use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::store::Append;
use counterfoil_core::port::workflow::{Aside, RETRY_VERB, SET_ASIDE_VERB, StepRefused};
use counterfoil_core::port::{Actor, Store as _, Workflows};

use super::super::scene::completed;
use super::WorkflowHands;
use super::flow::{Flow, TRIP, approved, event, signal, start, started, stream};

impl<H: WorkflowHands> Flow<H> {
    async fn retry(&self, of: &str) -> bool {
        let actor = Actor { name: "ann".into(), reason: "mended".into() };
        self.store().retry_workflow(&stream(of), actor).await.unwrap()
    }

    async fn served(&self, of: &str) -> Vec<bool> {
        let waiting = self.store().waiting_inputs(Some(of), None, 9).await.unwrap();
        waiting.into_iter().map(|input| input.is_served).collect()
    }
}

pub(super) async fn it_stands_still_with_its_inputs<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.begun("trip-2").await;
    flow.send(signal(TRIP, "approve-1")).await;
    flow.send(signal("trip-2", "a")).await;
    assert!(flow.quarantine(TRIP, 1).await);
    // What comes meanwhile waits, too.
    flow.send(signal(TRIP, "later")).await;
    flow.sent(completed()).await;
    assert_eq!(flow.due_to(&["trip/1"], "me").await, ["trip-2 a"]);
    assert_eq!(flow.waiting(TRIP).await, ["approve-1", "later", "receipt:1:0"]);
    assert_eq!(flow.served(TRIP).await, [false; 3]);
    let listed = flow.store().workflow(TRIP).await.unwrap().unwrap();
    assert_eq!((listed.status, listed.head), (Some(Status::Quarantined), 1));
    assert_eq!(listed.reason.as_deref(), Some("it panicked: no seat"));
    assert_eq!(listed.input.as_deref(), Some("approve-1"));
    let refused = StepRefused::Moved { stream: TRIP.into(), expected: 1, actual: 1 };
    let step = flow.step(TRIP, 1, vec![approved("approve-1")]);
    assert_eq!(flow.try_step(step).await, Err(refused));
    assert_eq!(flow.events(TRIP).await.len(), 1);
}

pub(super) async fn it_is_set_aside_where_it_was_seen_only<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    for seen in [0, 2] {
        assert!(!flow.quarantine(TRIP, seen).await, "{seen}");
    }
    assert_eq!(flow.standing(TRIP).await.0.unwrap().status, Status::Running);
    assert!(flow.quarantine(TRIP, 1).await);
    assert!(!flow.quarantine(TRIP, 1).await, "twice");
    // One that has ended stays so.
    flow.begun("trip-2").await;
    flow.end("trip-2", 1).await;
    assert!(!flow.quarantine("trip-2", 2).await);
    assert_eq!(flow.standing("trip-2").await.0.unwrap().status, Status::Completed);
}

pub(super) async fn it_is_taken_up_again<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.send(signal(TRIP, "approve-1")).await;
    assert!(flow.quarantine(TRIP, 1).await);
    flow.sent(completed()).await;
    assert!(flow.retry(TRIP).await);
    assert_eq!(flow.due_ids().await, ["approve-1", "receipt:1:0"]);
    assert_eq!(flow.served(TRIP).await, [true; 2]);
    let listed = flow.store().workflow(TRIP).await.unwrap().unwrap();
    assert_eq!((listed.status, listed.reason, listed.input), (Some(Status::Running), None, None));
    let acts = flow.scene.hands.acts().await;
    assert_eq!(acts, [format!("{RETRY_VERB} {TRIP} by ann: mended")]);
    assert_eq!(flow.changes().await, [[RETRY_VERB, TRIP, "quarantined", "running"]]);
    flow.commit(TRIP, 1, vec![approved("approve-1")]).await;
}

pub(super) async fn what_is_not_set_aside_is_not_taken_up<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.begun("trip-2").await;
    flow.end("trip-2", 1).await;
    for stream in [TRIP, "trip-2", "trip-3"] {
        assert!(!flow.retry(stream).await, "{stream}");
    }
    assert_eq!(flow.standing("trip-2").await.0.unwrap().status, Status::Completed);
    assert_eq!(flow.scene.hands.acts().await, [""; 0]);
}

pub(super) async fn one_that_never_began_starts_anew<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    flow.send(signal(TRIP, "a")).await;
    assert!(!flow.quarantine(TRIP, 3).await);
    assert!(flow.quarantine(TRIP, 0).await);
    assert_eq!(flow.due_ids().await, [""; 0]);
    let row = flow.standing(TRIP).await.0.unwrap();
    assert_eq!((row.status, row.head), (Status::Quarantined, 0));
    assert!(matches!(
        flow.try_step(flow.step(TRIP, 0, vec![started()])).await,
        Err(StepRefused::Moved { .. })
    ));
    assert!(flow.retry(TRIP).await);
    assert_eq!(flow.changes().await, [[RETRY_VERB, TRIP, "quarantined", "waiting"]]);
    assert_eq!(flow.standing(TRIP).await.0, None);
    assert_eq!(flow.due_to(&["trip/2"], "me").await[0], "trip-1 start");
    flow.commit(TRIP, 0, vec![started()]).await;
    assert_eq!(flow.due_ids().await, ["a"]);
}

pub(super) async fn a_services_own_stream_is_left_as_it_is<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let append = async |expected_seq| {
        let (stream, commands) = (stream(TRIP), Vec::new());
        let append = Append { stream, expected_seq, events: vec![event("mine")], commands };
        flow.store().append(append).await.unwrap().unwrap();
    };
    append(0).await;
    flow.send(start(TRIP)).await;
    flow.send(signal(TRIP, "a")).await;
    assert_eq!(flow.due_to(&["trip/1"], "me").await, ["trip-1 start"]);
    let step = flow.step(TRIP, 0, vec![started()]);
    assert!(matches!(flow.try_step(step).await, Err(StepRefused::Taken { .. })));
    assert_eq!(flow.set_aside(TRIP, 0, "start").await, Aside::Input);
    assert_eq!(flow.set_aside(TRIP, 0, "start").await, Aside::Moved, "twice");
    assert_eq!(flow.standing(TRIP).await.0, None);
    assert_eq!((flow.due_ids().await, flow.waiting(TRIP).await), (vec![], vec!["a".to_owned()]));
    let why = "input start (start:trip) of a stream that is a service's own: it panicked: no seat";
    let acts = [format!("{SET_ASIDE_VERB} {TRIP} by counterfoil: {why}")];
    assert_eq!(flow.scene.hands.acts().await, acts);
    assert_eq!(flow.changes().await, [[SET_ASIDE_VERB, TRIP, "waiting", "gone"]]);
    append(1).await;
    assert!(!flow.retry(TRIP).await);
    // A stream without events is nobody's yet.
    flow.send(start("trip-2")).await;
    assert_eq!(flow.set_aside("trip-2", 0, "start").await, Aside::Workflow);
}
