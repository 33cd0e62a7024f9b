//! Commands that a decision takes back: where that is still certain.

use counterfoil_core::domain::{CommandId, Outcome, ReceiptOutcome};
use counterfoil_core::port::workflow::Decision;

use super::super::scene::{Scene, completed, keyless};
use super::WorkflowHands;
use super::flow::{Flow, TRIP, approved, book, refused_by_status, signal, start, started};

impl<H: WorkflowHands> Flow<H> {
    /// Takes the command of [`Flow::booked`] back.
    async fn cancel(&self) {
        self.send(signal(TRIP, "stop")).await;
        let cancel = vec![CommandId::new("trip-1:1:0").unwrap()];
        self.commit(TRIP, 1, vec![Decision { cancel, ..approved("stop") }]).await;
    }
}

pub(super) async fn what_waits_is_cancelled_and_told<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.cancel().await;
    assert_eq!(flow.scene.state("trip-1:1:0").await, "cancelled");
    let due = flow.due().await;
    let receipt = due[0].receipt.as_ref().unwrap();
    let told = (due[0].id.as_str(), due[0].name.as_str(), receipt.outcome);
    assert_eq!(told, ("receipt:1:0", "cancelled", ReceiptOutcome::Cancelled));
    let acts = flow.scene.hands.acts().await;
    let act = "cancel trip-1:1:0 by workflow:trip-1: taken back by its workflow";
    assert_eq!(acts, [act]);
}

pub(super) async fn what_was_never_sent_for_good_is_cancelled<H: WorkflowHands>(hands: H) {
    let flow = Flow::parking(hands).await;
    flow.booked(TRIP).await;
    flow.sent(refused_by_status()).await;
    assert_eq!(flow.scene.state("trip-1:1:0").await, "dead");
    flow.cancel().await;
    assert_eq!(flow.scene.state("trip-1:1:0").await, "cancelled");
    assert_eq!(flow.due_ids().await, ["receipt:1:0"]);
}

pub(super) async fn what_is_being_sent_is_left_alone<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    let claimed = flow.scene.claim().await;
    flow.cancel().await;
    assert_eq!(flow.scene.state("trip-1:1:0").await, "sending");
    assert_eq!(flow.due_ids().await, [""; 0]);
    assert_eq!(flow.scene.hands.acts().await, [""; 0]);
    flow.scene.settle(&claimed, completed()).await;
    assert_eq!(flow.due_ids().await, ["receipt:1:0"]);
}

pub(super) async fn what_is_in_doubt_is_left_alone<H: WorkflowHands>(hands: H) {
    let flow = Flow { scene: Scene::new(hands, keyless()).await };
    flow.booked(TRIP).await;
    flow.sent(Outcome::Unknown { reason: "reset".into(), retry_after: None }).await;
    assert_eq!(flow.scene.state("trip-1:1:0").await, "uncertain");
    flow.cancel().await;
    assert_eq!(flow.scene.state("trip-1:1:0").await, "uncertain");
    assert_eq!(flow.due_ids().await, [""; 0]);
}

pub(super) async fn what_has_ended_is_left_alone<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.sent(completed()).await;
    flow.cancel().await;
    assert_eq!(flow.scene.state("trip-1:1:0").await, "completed");
    assert_eq!(flow.due_ids().await, ["receipt:1:0"]);
    assert_eq!(flow.scene.hands.acts().await, [""; 0]);
}

pub(super) async fn what_its_own_step_issued_is_cancelled<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    flow.send(signal(TRIP, "stop")).await;
    let issues = Decision { commands: vec![book("x")], ..started() };
    let cancel = vec![CommandId::new("trip-1:1:0").unwrap()];
    let takes = Decision { cancel, ..approved("stop") };
    flow.commit(TRIP, 0, vec![issues, takes]).await;
    assert_eq!(flow.scene.state("trip-1:1:0").await, "cancelled");
    assert_eq!(flow.due_ids().await, ["receipt:1:0"]);
}
