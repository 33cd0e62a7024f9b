//! Receipts as inputs: the first of each command of a workflow, on every path, once.

use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::domain::{Command, Outcome, ReceiptOutcome, Span};
use counterfoil_core::port::store::{Append, Reported};
use counterfoil_core::port::workflow::Decision;
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store, Workflows};

use super::super::scene::{SHOP, completed, completed_with};
use super::WorkflowHands;
use super::flow::{Flow, TRIP, book, event, refused_by_status, start, started, stream, told};

const ID: &str = "trip-1:1:0";

impl<H: WorkflowHands> Flow<H> {
    async fn act(&self, act: Act) {
        let deed = Deed { command_id: ID.into(), act, by_filter: false };
        let actor = Actor { name: "ann".into(), reason: "by phone".into() };
        let acted = self.store().act(vec![deed], actor).await.unwrap();
        assert!(matches!(acted[0], Acted::Done { .. }), "{acted:?}");
    }

    /// Exactly one input waits: the pointer to the command's receipt, which says so.
    async fn points(&self, outcome: ReceiptOutcome) {
        let due = self.due().await;
        assert_eq!(self.waiting(TRIP).await, ["receipt:1:0"]);
        let [input] = due.as_slice() else { panic!("{due:?}") };
        let is = (input.id.as_str(), input.kind, input.name.as_str(), input.body.as_slice());
        assert_eq!(is, ("receipt:1:0", InputKind::Receipt, outcome.name(), &b""[..]));
        let receipt = input.receipt.as_ref().unwrap();
        let told = (receipt.command_id.as_str(), receipt.destination.as_str(), receipt.outcome);
        assert_eq!(told, (ID, SHOP, outcome));
        assert_eq!(receipt.kind.as_str(), "flight.book");
        assert_eq!(input.standing.as_ref().unwrap().head, 1);
    }

    /// A workflow with a command that is wanted for a minute only.
    async fn booked_for_a_minute(&self) {
        self.send(start(TRIP)).await;
        let expires_at = Some(self.in_secs(60));
        let commands = vec![Command { expires_at, ..book("x") }];
        self.commit(TRIP, 0, vec![Decision { commands, ..started() }]).await;
    }
}

pub(super) async fn a_completion_becomes_an_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.sent(completed_with("seat 12A")).await;
    flow.points(ReceiptOutcome::Completed).await;
    let receipt = flow.due().await.remove(0).receipt.unwrap();
    assert_eq!(receipt.result.as_deref(), Some(&b"seat 12A"[..]));
    assert_eq!(receipt.evidence.as_deref(), Some("HTTP 200"));
}

pub(super) async fn a_rejection_becomes_an_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    let by = counterfoil_core::domain::Judge::Receiver;
    flow.sent(Outcome::Rejected { reason: "no seat".into(), by }).await;
    flow.points(ReceiptOutcome::Rejected).await;
}

pub(super) async fn a_refusal_by_status_becomes_an_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    // Its workflow waits for it and decides what follows; a bare command waits for a person.
    flow.sent(refused_by_status()).await;
    flow.points(ReceiptOutcome::Rejected).await;
    flow.scene.sent("bare", refused_by_status()).await;
    assert_eq!(flow.scene.state("bare").await, "dead");
}

pub(super) async fn a_report_becomes_an_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    for answer in [Reported::Recorded, Reported::Repeated] {
        assert_eq!(flow.scene.report(ID, ReceiptOutcome::Completed).await, answer);
        flow.points(ReceiptOutcome::Completed).await;
    }
    let receipt = flow.due().await.remove(0).receipt.unwrap();
    assert_eq!(receipt.result.as_deref(), Some(&b"job 7"[..]));
    // What is said otherwise later is no input.
    let other = flow.scene.report(ID, ReceiptOutcome::Rejected).await;
    assert_eq!(other, Reported::Contradiction);
    flow.points(ReceiptOutcome::Completed).await;
}

pub(super) async fn a_persons_word_becomes_an_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::parking(hands).await;
    flow.booked(TRIP).await;
    flow.sent(refused_by_status()).await;
    assert_eq!(flow.waiting(TRIP).await, [""; 0], "what is parked has not ended");
    flow.act(Act::Resolve(Verdict::Completed { result: Some(b"1".to_vec()) })).await;
    flow.points(ReceiptOutcome::Completed).await;
}

pub(super) async fn a_persons_no_becomes_an_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::parking(hands).await;
    flow.booked(TRIP).await;
    flow.sent(refused_by_status()).await;
    flow.act(Act::Resolve(Verdict::Rejected)).await;
    flow.points(ReceiptOutcome::Rejected).await;
}

pub(super) async fn a_cancel_becomes_an_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.act(Act::Cancel).await;
    flow.points(ReceiptOutcome::Cancelled).await;
}

pub(super) async fn an_expiry_by_a_sweep_becomes_an_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked_for_a_minute().await;
    flow.scene.advance(61);
    flow.store().sweep(10, None).await.unwrap();
    flow.points(ReceiptOutcome::Expired).await;
}

pub(super) async fn an_expiry_at_the_claim_becomes_an_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked_for_a_minute().await;
    flow.scene.advance(61);
    assert_eq!(flow.scene.look().await.claimed, []);
    flow.points(ReceiptOutcome::Expired).await;
}

pub(super) async fn an_accepted_one_becomes_an_input<H: WorkflowHands>(hands: H) {
    let mut terms = super::super::scene::forever();
    terms.contract.completion = counterfoil_core::domain::Completion::Accepted;
    let flow = Flow { scene: super::super::scene::Scene::new(hands, terms).await };
    flow.booked(TRIP).await;
    flow.sent(Outcome::Accepted { evidence: "HTTP 202".into() }).await;
    flow.points(ReceiptOutcome::Accepted).await;
}

pub(super) async fn the_end_of_a_second_round_is_the_first_receipt<H: WorkflowHands>(hands: H) {
    let flow = Flow::parking(hands).await;
    flow.booked(TRIP).await;
    flow.sent(refused_by_status()).await;
    flow.act(Act::Retry { may_act_twice: false }).await;
    assert_eq!(flow.waiting(TRIP).await, [""; 0]);
    flow.sent(completed()).await;
    flow.points(ReceiptOutcome::Completed).await;
}

pub(super) async fn what_is_sent_again_after_its_end_is_no_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.sent(completed_with("first")).await;
    // While the first one waits …
    flow.act(Act::Redeliver { may_act_twice: false }).await;
    flow.points(ReceiptOutcome::Completed).await;
    flow.sent(completed_with("second")).await;
    flow.points(ReceiptOutcome::Completed).await;
    let receipt = flow.due().await.remove(0).receipt.unwrap();
    assert_eq!(receipt.result.as_deref(), Some(&b"first"[..]));
    // … and once it was decided.
    flow.commit(TRIP, 1, vec![told("receipt:1:0")]).await;
    flow.act(Act::Redeliver { may_act_twice: false }).await;
    flow.sent(completed_with("third")).await;
    assert_eq!(flow.waiting(TRIP).await, [""; 0]);
}

pub(super) async fn of_what_is_no_workflows_there_is_no_input<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.scene.sent("trip-1:9:0", completed()).await;
    let (stream, events, commands) = (stream("o-1"), vec![event("placed")], vec![book("x")]);
    let append = Append { stream, expected_seq: 0, events, commands };
    flow.store().append(append).await.unwrap().unwrap();
    flow.sent(completed()).await;
    for stream in [TRIP, "o-1"] {
        assert_eq!(flow.waiting(stream).await, [""; 0], "{stream}");
    }
    assert_eq!(flow.store().workflow("o-1").await.unwrap(), None);
}

pub(super) async fn a_receipt_after_the_end_is_due<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.end(TRIP, 1).await;
    flow.sent(completed()).await;
    let due = flow.due().await;
    assert_eq!(due[0].id, "receipt:1:0");
    assert!(due[0].standing.as_ref().unwrap().status.has_ended());
    assert!(due[0].receipt.is_some());
}

pub(super) async fn a_forged_pointer_has_no_receipt<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    // Commands of nobody, of no decision, not ended yet, and a name that is none.
    flow.scene.enqueue("trip-1:7:0").await;
    flow.scene.report("trip-1:7:0", ReceiptOutcome::Completed).await;
    for id in ["receipt:1:0", "receipt:1:1", "receipt:7:0", "receipt:x"] {
        flow.scene.hands.forge_input(TRIP, id, InputKind::Receipt, "completed").await;
    }
    let due = flow.due().await;
    let found: Vec<_> = due.iter().map(|it| (it.id.as_str(), it.receipt.is_some())).collect();
    let forged = ["receipt:1:0", "receipt:1:1", "receipt:7:0", "receipt:x"].map(|id| (id, false));
    assert_eq!(found, forged);
    // Where the receipt comes, the pointer that stands is its own.
    flow.sent(completed()).await;
    assert_eq!(flow.waiting(TRIP).await.len(), 4);
    assert!(flow.due().await[0].receipt.is_some());
    let ignored: Vec<_> = forged[1..].iter().map(|(id, _)| told(id)).collect();
    flow.commit(TRIP, 1, ignored).await;
    let due = flow.due().await;
    assert_eq!((due.len(), due[0].standing.as_ref().unwrap().head), (1, 4));
}

pub(super) async fn each_command_of_a_decision_has_its_own<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let commands = vec![book("x"), book("y"), book("z")];
    let events = vec![event("planned")];
    flow.commit(TRIP, 0, vec![Decision { events, commands, ..started() }]).await;
    let claimed = flow.scene.look().await.claimed;
    for at in [2, 0, 1] {
        flow.scene.advance(1);
        flow.scene.settle(&claimed[at], completed()).await;
    }
    assert_eq!(flow.due_ids().await, ["receipt:2:2", "receipt:2:0", "receipt:2:1"]);
    flow.commit(TRIP, 2, vec![told("receipt:2:0"), told("receipt:2:2")]).await;
    assert_eq!(flow.due_ids().await, ["receipt:2:1"]);
}

pub(super) async fn a_receipt_waits_for_no_runner<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let mut step = flow.step(TRIP, 0, vec![Decision { commands: vec![book("x")], ..started() }]);
    (step.owner, step.lease) = ("other".into(), Span::from_secs(60));
    assert_eq!(flow.try_step(step).await, Ok(()));
    flow.sent(completed()).await;
    assert_eq!(flow.due_ids().await, [""; 0]);
    assert_eq!(flow.due_to(&["trip/1"], "other").await, ["trip-1 receipt:1:0"]);
}
