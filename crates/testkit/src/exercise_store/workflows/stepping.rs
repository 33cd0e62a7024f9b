//! Steps: whole or not at all, at the head that they expect.

use counterfoil_core::domain::workflow::{Decided, Status};
use counterfoil_core::domain::{Event, Kind};
use counterfoil_core::port::store::{Append, WriteRefused};
use counterfoil_core::port::workflow::{Decision, Snapshot, Standing, Step, StepRefused};
use counterfoil_core::port::{Store, Workflows};

use super::super::scene::{completed, ids};
use super::WorkflowHands;
use super::flow::{
    Flow, RUNNER, TRIP, approved, book, event, program, signal, start, started, stream, timer,
};

fn moved(expected: i64, actual: i64) -> StepRefused {
    StepRefused::Moved { stream: TRIP.into(), expected, actual }
}

impl<H: WorkflowHands> Flow<H> {
    /// Everything that a step could write, on input `a`; as it is refused, nothing of it stands.
    fn whole(&self, expected_seq: i64) -> Step {
        let seq = expected_seq + 2;
        let decision = Decision {
            events: vec![event("noted")],
            commands: vec![book("seat 12A"), book("seat 12B")],
            timers: vec![timer(seq, "late", self.in_secs(10))],
            ..approved("a")
        };
        let snapshot = Snapshot { program: program("trip/1"), seq, state: b"{}".to_vec() };
        let step = self.step(TRIP, expected_seq, vec![decision]);
        Step { status: Status::Failed, snapshot: Some(snapshot), ..step }
    }

    /// The step is refused so, and nothing of it was written.
    async fn is_refused(&self, step: Step, refused: StepRefused) {
        let before = (self.events(TRIP).await, self.standing(TRIP).await, self.waiting(TRIP).await);
        let due = self.scene.store.status().await.unwrap();
        assert_eq!(self.try_step(step).await, Err(refused));
        let after = (self.events(TRIP).await, self.standing(TRIP).await, self.waiting(TRIP).await);
        assert_eq!(before, after);
        assert_eq!(self.scene.store.status().await.unwrap(), due);
    }
}

pub(super) async fn a_step_is_written_whole<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let at = flow.store().now().unwrap();
    let decided = Decided { events: 2, labels: vec!["flight".into()], ..Decided::default() };
    let decision = Decision {
        decided: decided.to_text(),
        events: vec![event("planned"), event("asked")],
        commands: vec![book("x"), book("y")],
        ..started()
    };
    flow.commit(TRIP, 0, vec![decision]).await;
    let events = flow.events(TRIP).await;
    let told: Vec<_> = events
        .iter()
        .map(|it| (it.seq, it.kind.as_str(), it.cause.as_deref(), it.commands))
        .collect();
    let own = (1, "start:trip", Some("start"), 0);
    assert_eq!(told, [own, (2, "planned", None, 0), (3, "asked", None, 2)]);
    assert_eq!(
        (events[0].body.as_slice(), &events[0].decided),
        (&b"to Rome"[..], &decided.to_text())
    );
    assert_eq!((events[1].body.as_slice(), &events[1].decided), (&b"{}"[..], &None));
    assert!(events.iter().all(|event| event.recorded_at == at));
    assert_eq!(flow.waiting(TRIP).await, [""; 0]);
    let standing = Standing { program: program("trip/1"), status: Status::Running, head: 3 };
    assert_eq!(flow.standing(TRIP).await, (Some(standing), None));
    let claimed = flow.scene.look().await.claimed;
    assert_eq!(ids(&claimed), ["trip-1:3:0", "trip-1:3:1"]);
    assert_eq!(claimed[1].command.body, b"y");
    assert_eq!(flow.scene.story("trip-1:3:1").await.decision, Some((TRIP.into(), 3, 1)));
}

pub(super) async fn several_inputs_are_decided_in_one_step<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    for id in ["a", "b", "c"] {
        flow.send(signal(TRIP, id)).await;
    }
    let first = Decision { events: vec![event("one")], commands: vec![book("x")], ..approved("a") };
    let third = Decision { commands: vec![book("y")], ..approved("c") };
    flow.commit(TRIP, 1, vec![first, approved("b"), third]).await;
    let events = flow.events(TRIP).await;
    let told: Vec<_> = events[1..].iter().map(|it| (it.cause.as_deref(), it.commands)).collect();
    assert_eq!(told, [(Some("a"), 0), (None, 1), (Some("b"), 0), (Some("c"), 1)]);
    assert_eq!(ids(&flow.scene.look().await.claimed), ["trip-1:3:0", "trip-1:5:0"]);
    assert_eq!(flow.standing(TRIP).await.0.unwrap().head, 5);
}

pub(super) async fn a_stale_step_is_refused_with_both_numbers<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    for expected in [0, 2, 7] {
        flow.is_refused(flow.whole(expected), moved(expected, 1)).await;
    }
    assert_eq!(flow.try_step(flow.whole(1)).await, Ok(()));
}

pub(super) async fn without_its_beginning_nothing_goes_on<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(signal(TRIP, "a")).await;
    flow.is_refused(flow.whole(1), moved(1, 0)).await;
}

pub(super) async fn an_input_that_has_gone_refuses_its_step<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    let gone = |id: &str| StepRefused::Gone { stream: TRIP.into(), id: id.into() };
    flow.is_refused(flow.whole(1), gone("a")).await;
    let again = flow.step(TRIP, 1, vec![started()]);
    flow.is_refused(again, gone("start")).await;
    flow.send(signal(TRIP, "a")).await;
    let mut twice = flow.whole(1);
    twice.decisions.push(approved("a"));
    flow.is_refused(twice, gone("a")).await;
    // Of another stream it is another input.
    flow.send(signal("trip-2", "b")).await;
    let other = flow.step(TRIP, 1, vec![approved("b")]);
    flow.is_refused(other, gone("b")).await;
}

pub(super) async fn a_stream_of_others_is_taken<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let (stream, events) = (stream(TRIP), vec![event("placed")]);
    let append = Append { stream, expected_seq: 0, events, commands: Vec::new() };
    flow.store().append(append).await.unwrap().unwrap();
    flow.send(start(TRIP)).await;
    let (stream, program) = (TRIP.to_owned(), "trip/1".to_owned());
    let taken = StepRefused::Taken { stream, program };
    flow.is_refused(flow.step(TRIP, 0, vec![started()]), taken).await;
}

pub(super) async fn another_programs_workflow_is_taken<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    let step = Step { program: program("trip/2"), ..flow.step(TRIP, 1, vec![approved("a")]) };
    let taken = StepRefused::Taken { stream: TRIP.into(), program: "trip/2".into() };
    flow.is_refused(step, taken).await;
}

pub(super) async fn an_id_that_is_taken_refuses_the_step<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    flow.scene.enqueue("trip-1:3:1").await;
    let taken = || StepRefused::IdTaken { id: "trip-1:3:1".into() };
    flow.is_refused(flow.whole(1), taken()).await;
    // Also by one that is archived.
    flow.sent(completed()).await;
    flow.scene.advance(1);
    flow.scene.last().await;
    flow.scene.buried("trip-1:3:1").await;
    flow.is_refused(flow.whole(1), taken()).await;
}

pub(super) async fn a_value_against_the_rules_refuses_the_step<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    let mut step = flow.whole(1);
    step.decisions[0].commands[1].body = vec![b'x'; 1024 * 1024 + 1];
    let answer = flow.try_step(step).await;
    assert!(matches!(answer, Err(StepRefused::Value(_))), "{answer:?}");
    assert_eq!((flow.events(TRIP).await.len(), flow.waiting(TRIP).await), (1, vec!["a".into()]));
    assert_eq!(flow.store().known(&["trip-1:3:0".into()]).await.unwrap(), [false]);
}

pub(super) async fn one_refused_step_refuses_no_other<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    for stream in ["trip-2", "trip-3"] {
        flow.send(start(stream)).await;
    }
    flow.send(signal(TRIP, "a")).await;
    let steps = vec![
        flow.step("trip-2", 0, vec![started()]),
        flow.whole(4),
        flow.step("trip-3", 0, vec![Decision { commands: vec![book("x")], ..started() }]),
    ];
    let answers = flow.store().steps(steps).await.unwrap();
    assert_eq!(answers, [Ok(()), Err(moved(4, 1)), Ok(())]);
    assert_eq!(flow.events("trip-3").await.len(), 1);
    assert_eq!(ids(&flow.scene.look().await.claimed), ["trip-3:1:0"]);
    assert_eq!(flow.due_ids().await, ["a"]);
}

pub(super) async fn two_steps_of_one_workflow_follow_each_other<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    flow.send(signal(TRIP, "a")).await;
    let steps = vec![flow.step(TRIP, 0, vec![started()]), flow.step(TRIP, 1, vec![approved("a")])];
    assert_eq!(flow.store().steps(steps).await.unwrap(), [Ok(()), Ok(())]);
    assert_eq!(flow.standing(TRIP).await.0.unwrap().head, 2);
}

pub(super) async fn one_of_many_runners_wins<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let runners: Vec<_> = (0..6)
        .map(|who| {
            let store = flow.store().clone();
            let commands = vec![book(&format!("by {who}"))];
            let step = flow.step(TRIP, 0, vec![Decision { commands, ..started() }]);
            let step = Step { owner: format!("runner-{who}"), ..step };
            tokio::spawn(async move { store.steps(vec![step]).await.unwrap().remove(0) })
        })
        .collect();
    let mut won = 0;
    for runner in runners {
        match runner.await.unwrap() {
            Ok(()) => won += 1,
            Err(refused) => assert_eq!(refused, moved(0, 1)),
        }
    }
    assert_eq!((won, flow.events(TRIP).await.len()), (1, 1));
    assert_eq!(flow.scene.look().await.claimed.len(), 1);
}

pub(super) async fn nobody_appends_to_a_workflow<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    let append = |expected_seq| Append {
        stream: stream(TRIP),
        expected_seq,
        events: vec![Event { kind: Kind::new("x").unwrap(), body: Vec::new(), cause: None }],
        commands: vec![book("x")],
    };
    for expected in [0, 1] {
        let refused = flow.store().append(append(expected)).await.unwrap();
        assert_eq!(refused, Err(WriteRefused::WorkflowStream { stream: TRIP.into() }));
    }
    flow.end(TRIP, 1).await;
    let refused = flow.store().append(append(2)).await.unwrap();
    assert_eq!(refused, Err(WriteRefused::WorkflowStream { stream: TRIP.into() }));
    assert_eq!(flow.events(TRIP).await.len(), 2);
}

pub(super) async fn a_snapshot_is_its_own_programs<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let saved = |seq: i64, state: &str| Snapshot {
        program: program("trip/1"),
        seq,
        state: state.as_bytes().to_vec(),
    };
    flow.send(start(TRIP)).await;
    let step = flow.step(TRIP, 0, vec![started()]);
    let step = Step { snapshot: Some(saved(1, "one")), ..step };
    assert_eq!(flow.try_step(step).await, Ok(()));
    assert_eq!(flow.standing(TRIP).await.1, Some(saved(1, "one")));
    let (row, other) = flow.store().standing(&stream(TRIP), &program("trip/2")).await.unwrap();
    assert_eq!((row.unwrap().program, other), (program("trip/1"), None));
    flow.send(signal(TRIP, "a")).await;
    let step = flow.step(TRIP, 1, vec![approved("a")]);
    let step = Step { snapshot: Some(saved(2, "two")), ..step };
    assert_eq!(flow.try_step(step).await, Ok(()));
    assert_eq!(flow.standing(TRIP).await.1, Some(saved(2, "two")));
    // Without one the old one stays.
    flow.send(signal(TRIP, "b")).await;
    flow.commit(TRIP, 2, vec![approved("b")]).await;
    assert_eq!(flow.standing(TRIP).await.1, Some(saved(2, "two")));
    assert_eq!(flow.standing("trip-2").await, (None, None));
}

pub(super) async fn a_step_is_there_after_a_crash<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    let again = flow.scene.hands.reopen().await;
    let (row, _) = again.standing(&stream(TRIP), &program("trip/1")).await.unwrap();
    assert_eq!(row.unwrap().head, 1);
    assert_eq!(again.known(&["trip-1:1:0".into()]).await.unwrap(), [true]);
    assert_eq!(again.due_inputs(flow.from(&["trip/1"], RUNNER)).await.unwrap(), []);
}
