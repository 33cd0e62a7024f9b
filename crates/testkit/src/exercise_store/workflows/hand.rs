//! What a person does to a workflow that cannot go on: an input is taken away, or it is ended.

use std::collections::BTreeSet;

use counterfoil_core::audit::How;
use counterfoil_core::domain::workflow::{Decided, End, InputKind, Status};
use counterfoil_core::port::archive::ActionRow;
use counterfoil_core::port::workflow::{DROP_VERB, Decision, Dropped, END_VERB, EndedByHand};
use counterfoil_core::port::{Actor, Audited as _, Workflows};

use super::super::scene::completed;
use super::WorkflowHands;
use super::flow::{Flow, TRIP, approved, book, input, signal, start, started, stream, timer};

fn ann() -> Actor {
    Actor { name: "ann".into(), reason: "sent by mistake".into() }
}

impl<H: WorkflowHands> Flow<H> {
    async fn drop_input(&self, of: &str, id: &str) -> Dropped {
        self.store().drop_input(&stream(of), id, ann()).await.unwrap()
    }

    async fn end_by_hand(&self, of: &str) -> EndedByHand {
        self.store().end_workflow(&stream(of), ann()).await.unwrap()
    }

    /// What was recorded: verb, about, before, after.
    pub(super) async fn changes(&self) -> Vec<[String; 4]> {
        let acts = self.store().actions(0, 99).await.unwrap();
        let change = |act: ActionRow| {
            let [before, after] = [act.before, act.after].map(Option::unwrap_or_default);
            [act.verb, act.about, before, after]
        };
        acts.into_iter().map(change).collect()
    }
}

/// The story: a signal set a workflow aside at each retry, and no verb could take it back.
pub(super) async fn an_input_that_nobody_decides_is_taken_away<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    for id in ["bad", "good"] {
        flow.send(signal(TRIP, id)).await;
    }
    assert_eq!(flow.drop_input(TRIP, "bad").await, Dropped::Served, "a runner decides it");
    assert!(flow.quarantine(TRIP, 1).await);
    assert_eq!(flow.drop_input(TRIP, "none").await, Dropped::Unknown);
    assert_eq!(flow.drop_input(TRIP, "bad").await, Dropped::Done);
    assert_eq!(flow.drop_input(TRIP, "bad").await, Dropped::Unknown, "twice");
    assert_eq!(flow.waiting(TRIP).await, ["good"]);
    let why = format!("{DROP_VERB} {TRIP} by ann: input bad (signal:approve): sent by mistake");
    assert_eq!(flow.scene.hands.acts().await, [why]);
    assert_eq!(flow.changes().await, [[DROP_VERB, TRIP, "waiting", "gone"]]);
    assert_eq!(flow.standing(TRIP).await.0.unwrap().status, Status::Quarantined, "it waits still");
    assert!(flow.store().retry_workflow(&stream(TRIP), ann()).await.unwrap());
    assert_eq!(flow.due_ids().await, ["good"]);
    // Its id is free again.
    flow.send(input(TRIP, "bad", InputKind::Signal, "other", "x")).await;
    assert_eq!(flow.codes(How::default().full()).await, BTreeSet::new());
}

pub(super) async fn what_did_not_begin_may_be_taken_away<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    flow.send(signal(TRIP, "early")).await;
    assert!(flow.quarantine(TRIP, 0).await);
    assert_eq!(flow.end_by_hand(TRIP).await, EndedByHand::NeverBegan);
    assert_eq!(flow.drop_input(TRIP, "start").await, Dropped::Done);
    assert!(flow.store().retry_workflow(&stream(TRIP), ann()).await.unwrap());
    assert_eq!(flow.standing(TRIP).await.0, None);
    assert_eq!(flow.drop_input(TRIP, "early").await, Dropped::Done, "an orphan");
    // A start that no runner has a program for.
    flow.send(input("tour-1", "start", InputKind::Start, "tour", "x")).await;
    assert_eq!(flow.drop_input("tour-1", "start").await, Dropped::Done);
    assert_eq!(flow.store().waiting_inputs(None, None, 9).await.unwrap(), []);
    assert_eq!(flow.codes(How::default().full()).await, BTreeSet::new());
}

pub(super) async fn what_a_workflow_waits_for_is_never_taken_away<H: WorkflowHands>(hands: H) {
    let flow = Flow::proven(hands).await;
    assert!(flow.quarantine(TRIP, 2).await);
    assert_eq!(flow.waiting(TRIP).await, ["receipt:2:0", "timer:2:late"]);
    for id in ["receipt:2:0", "timer:2:late"] {
        assert_eq!(flow.drop_input(TRIP, id).await, Dropped::Own, "{id}");
    }
    assert_eq!(flow.scene.hands.acts().await, [""; 0]);
    assert_eq!(flow.codes(How::default().full()).await, BTreeSet::new());
}

pub(super) async fn a_quarantined_workflow_is_ended_by_a_persons_word<H: WorkflowHands>(hands: H) {
    let flow = Flow::proven(hands).await;
    flow.send(signal(TRIP, "bad")).await;
    assert_eq!(flow.end_by_hand(TRIP).await, EndedByHand::NotAside);
    assert!(flow.quarantine(TRIP, 2).await);
    assert_eq!(flow.end_by_hand(TRIP).await, EndedByHand::Done);
    let row = flow.store().workflow(TRIP).await.unwrap().unwrap();
    assert_eq!(
        (row.status, row.head, row.reason, row.input),
        (Some(Status::Failed), 3, None, None)
    );
    let last = flow.events(TRIP).await.pop().unwrap();
    assert_eq!(
        (last.kind.as_str(), last.body.as_slice()),
        ("cancel:by hand", &b"sent by mistake"[..])
    );
    let decided = Decided::from_text(last.decided.as_deref()).unwrap();
    assert!(decided.is_by_hand());
    assert_eq!(decided.end, Some(End::Failed("sent by mistake".into())));
    // Its timers are gone; the rest is for a runner to ignore.
    assert_eq!(flow.waiting(TRIP).await, ["bad", "receipt:2:0"]);
    assert_eq!(flow.due_ids().await, ["receipt:2:0", "bad"]);
    assert_eq!(flow.changes().await, [[END_VERB, TRIP, "quarantined", "failed"]]);
    assert_eq!(flow.end_by_hand(TRIP).await, EndedByHand::NotAside, "twice");
    for how in [How::default(), How::default().full()] {
        assert_eq!(flow.codes(how).await, BTreeSet::new());
    }
    let mut step = flow.step(TRIP, 3, vec![approved("bad")]);
    step.status = Status::Failed;
    assert_eq!(flow.try_step(step).await, Ok(()));
}

pub(super) async fn what_is_not_set_aside_is_not_ended<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.begun("trip-2").await;
    flow.end("trip-2", 1).await;
    flow.send(start("trip-3")).await;
    for of in [TRIP, "trip-2", "trip-3", "none"] {
        assert_eq!(flow.end_by_hand(of).await, EndedByHand::NotAside, "{of}");
    }
    assert_eq!(flow.scene.hands.acts().await, [""; 0]);
}

/// What is on its way goes on, and its receipt comes to a workflow that has ended.
pub(super) async fn a_command_of_one_that_was_ended_goes_on<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let due_at = flow.in_secs(10);
    let commands = vec![book("seat 12A")];
    let timers = vec![timer(1, "late", due_at)];
    flow.commit(TRIP, 0, vec![Decision { commands, timers, ..started() }]).await;
    assert!(flow.quarantine(TRIP, 1).await);
    assert_eq!(flow.end_by_hand(TRIP).await, EndedByHand::Done);
    flow.sent(completed()).await;
    assert_eq!(flow.due_ids().await, ["receipt:1:0"]);
}

/// An input that nobody can read waits for nobody, though its workflow runs.
pub(super) async fn what_is_set_aside_is_taken_away_whatever_its_workflow_does<H: WorkflowHands>(
    hands: H,
) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    for id in ["aside", "served"] {
        flow.send(signal(TRIP, id)).await;
    }
    flow.scene.hands.set_aside(TRIP, "aside").await;
    assert_eq!(flow.drop_input(TRIP, "served").await, Dropped::Served);
    assert_eq!(flow.drop_input(TRIP, "aside").await, Dropped::Done);
    assert_eq!(flow.waiting(TRIP).await, ["served"]);
    assert_eq!(flow.changes().await, [[DROP_VERB, TRIP, "waiting", "gone"]]);
}
