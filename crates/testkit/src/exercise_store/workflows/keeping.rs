//! The upkeep of inputs: who is adopted, who expires, who is left alone.

use std::collections::BTreeSet;

use counterfoil_core::domain::Span;
use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::port::Workflows;
use counterfoil_core::port::workflow::{DueFrom, EXPIRE_VERB, Kept, Step};

use super::super::scene::completed;
use super::WorkflowHands;
use super::flow::{Flow, TRIP, approved, input, program, signal, start, told as told_of};

const HOUR: Span = Span::from_secs(3600);

impl<H: WorkflowHands> Flow<H> {
    /// All that the upkeep does now, looking at `limit` at a time.
    async fn keep(&self, limit: usize) -> (usize, usize) {
        let (mut adopted, mut expired) = (0, 0);
        for _ in 0..50 {
            let kept = self.store().keep_inputs(limit, HOUR).await.unwrap();
            adopted += kept.adopted;
            expired += kept.expired;
            assert!(kept.adopted + kept.expired <= limit, "{kept:?}");
            if !kept.more {
                return (adopted, expired);
            }
        }
        panic!("the upkeep of inputs has no end");
    }
}

pub(super) async fn an_orphan_is_listed_with_its_age<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let at = flow.in_secs(0);
    flow.send(signal("trip-9", "a")).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "b")).await;
    assert!(flow.quarantine(TRIP, 1).await);
    let orphans = flow.store().waiting_inputs(None, None, 9).await.unwrap();
    let [orphan] = orphans.as_slice() else { panic!("{orphans:?}") };
    let is = (orphan.stream.as_str(), orphan.id.as_str(), orphan.kind.as_str(), orphan.is_served);
    assert_eq!(is, ("trip-9", "a", "signal", false));
    assert_eq!((orphan.name.as_str(), orphan.recorded_at, orphan.due_at), ("approve", at, None));
}

pub(super) async fn an_old_orphan_expires_and_is_recorded<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(signal("trip-9", "a")).await;
    flow.scene.advance(3000);
    flow.send(signal("trip-8", "b")).await;
    assert_eq!(flow.keep(9).await, (0, 0));
    flow.scene.advance(601);
    assert_eq!(flow.keep(9).await, (0, 1));
    assert_eq!(flow.waiting("trip-9").await, [""; 0]);
    assert_eq!(flow.waiting("trip-8").await, ["b"]);
    let why = "input a (signal:approve) waited for a workflow that never began";
    let act = format!("{EXPIRE_VERB} trip-9 by counterfoil: {why}");
    assert_eq!(flow.scene.hands.acts().await, [act]);
    assert_eq!(flow.changes().await, [[EXPIRE_VERB, "trip-9", "waiting", "gone"]]);
    // It may be sent again.
    flow.send(signal("trip-9", "a")).await;
}

pub(super) async fn what_somebody_will_look_at_never_expires<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(signal("trip-2", "early")).await;
    flow.send(start("trip-2")).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    assert!(flow.quarantine(TRIP, 1).await);
    flow.send(signal(TRIP, "b")).await;
    flow.scene.advance(10_000);
    assert_eq!(flow.keep(9).await, (0, 0));
    assert_eq!(flow.waiting(TRIP).await, ["a", "b"]);
    assert_eq!(flow.waiting("trip-2").await, ["early", "start"]);
    assert_eq!(flow.due_to(&["trip/1"], "me").await[0], "trip-2 start");
}

pub(super) async fn one_whose_workflow_came_is_adopted<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    for stream in [TRIP, "trip-2"] {
        flow.begun(stream).await;
    }
    flow.end("trip-2", 1).await;
    for (stream, id) in [(TRIP, "a"), (TRIP, "b"), ("trip-2", "c")] {
        flow.send(signal(stream, id)).await;
        flow.scene.hands.set_aside(stream, id).await;
    }
    flow.scene.advance(10_000);
    assert_eq!(flow.due_ids().await, [""; 0]);
    assert_eq!(flow.keep(2).await, (3, 0));
    assert_eq!(flow.due_ids().await, ["a", "b", "c"]);
    assert_eq!(flow.scene.hands.acts().await, [""; 0]);
}

pub(super) async fn the_upkeep_is_bounded_and_goes_on<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    for number in 0..7 {
        flow.send(signal(TRIP, &format!("held-{number}"))).await;
    }
    assert!(flow.quarantine(TRIP, 1).await);
    for number in 0..7 {
        flow.send(signal(&format!("a-{number}"), "a")).await;
        flow.send(signal(&format!("z-{number}"), "a")).await;
    }
    flow.scene.advance(10_000);
    let first = flow.store().keep_inputs(3, HOUR).await.unwrap();
    assert!(first.more && first.expired <= 3, "{first:?}");
    assert_eq!(flow.keep(3).await, (0, 14 - first.expired));
    assert_eq!(flow.waiting(TRIP).await.len(), 7);
    assert_eq!(flow.store().waiting_inputs(None, None, 99).await.unwrap(), []);
}

pub(super) async fn upkeep_with_nothing_to_do_writes_nothing<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    flow.send(signal("trip-9", "young")).await;
    let before = flow.scene.hands.commits().await;
    assert_eq!(flow.store().keep_inputs(9, HOUR).await.unwrap(), Kept::default());
    assert_eq!(flow.scene.hands.commits().await, before);
}

/// The story: nobody had the program any more by which a workflow had ended, and what came to it
/// waited for ever; no verb could take it away, and no command of it was archived.
pub(super) async fn what_came_to_an_ended_workflow_is_for_any_runner<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.end(TRIP, 1).await;
    flow.begun("trip-2").await;
    flow.send(signal("trip-2", "running")).await;
    flow.send(signal(TRIP, "after")).await;
    flow.sent(completed()).await;
    let all = ["trip-1 after", "trip-1 receipt:1:0"];
    assert_eq!(flow.due_to(&["trip/1"], "me").await.len(), 3, "its own program needs no upkeep");
    assert_eq!(flow.store().keep_inputs(9, HOUR).await.unwrap().ended, 2);
    let due = flow.store().due_inputs(flow.from(&["tour/3", "trip/2"], "me")).await.unwrap();
    let told: Vec<_> = due.iter().map(|one| format!("{} {}", one.stream, one.id)).collect();
    assert_eq!(told, all, "what runs waits for its own program");
    for input in &due {
        let row = input.standing.clone().unwrap();
        assert_eq!((row.program, row.status, row.head), (program("trip/1"), Status::Completed, 2));
    }
    assert_eq!(due[1].receipt.as_ref().unwrap().command_id.as_str(), "trip-1:1:0");
    let own = flow.store().keep_inputs(9, HOUR).await.unwrap();
    assert_eq!((own.ended, own.more), (2, false), "until it is written");
    assert_eq!(flow.due_to(&["trip/1"], "me").await.len(), 3, "none comes twice in a page");
    let ignored = flow.step(TRIP, 2, vec![approved("after"), told_of("receipt:1:0")]);
    assert_eq!(flow.try_step(Step { status: Status::Completed, ..ignored }).await, Ok(()));
    assert_eq!(flow.keep(9).await, (0, 0));
    assert_eq!(flow.store().keep_inputs(9, HOUR).await.unwrap(), Kept::default());
    assert_eq!(flow.due_to(&["tour/3"], "me").await, [""; 0]);
}

pub(super) async fn what_came_to_many_ended_ones_is_met_a_few_at_a_time<H: WorkflowHands>(
    hands: H,
) {
    let flow = Flow::new(hands).await;
    for number in 0..12 {
        let of = format!("trip-{number}");
        flow.begun(&of).await;
        if number % 2 == 0 {
            flow.end(&of, 1).await;
        }
        flow.send(signal(&of, "a")).await;
        flow.send(input(&format!("tour-{number}"), "start", InputKind::Start, "tour", "")).await;
    }
    let mut left: BTreeSet<String> = (0..12).step_by(2).map(|n| format!("trip-{n} a")).collect();
    for _ in 0..100 {
        flow.store().keep_inputs(4, HOUR).await.unwrap();
        let page = DueFrom { limit: 8, ..flow.from(&["other/1"], "me") };
        let due = flow.store().due_inputs(page).await.unwrap();
        assert!(due.len() <= 8, "{due:?}");
        for one in due {
            let (of, head) = (one.stream.to_string(), one.standing.unwrap().head);
            assert!(left.remove(&format!("{of} {}", one.id)), "{of}");
            let ignored = flow.step(&of, head, vec![approved(&one.id)]);
            assert_eq!(flow.try_step(Step { status: Status::Completed, ..ignored }).await, Ok(()));
        }
        if left.is_empty() {
            return;
        }
    }
    panic!("never met: {left:?}");
}
