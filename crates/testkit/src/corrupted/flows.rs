//! Workflows in every state, and inputs of every kind that wait.
//!
//! Guarantees: made by the port alone. Does not: run a program.

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::workflow::{
    Decided, End, InputKind, Program, SetTimer, Status, timer_input,
};
use counterfoil_core::domain::{
    Command, CommandId, Event, Kind, Micros, ReceiptOutcome, Span, Stream,
};
use counterfoil_core::port::workflow::{Aside, Decision, NewInput, Quarantine, Snapshot, Step};
use counterfoil_core::port::{Bodies, Store as _, Workflows};

use crate::exercise_store::WorkflowHands;

fn stream(name: &str) -> Stream {
    Stream::new(name).unwrap()
}

fn program() -> Program {
    Program::new("trip", 1).unwrap()
}

async fn send<S: Workflows>(store: &S, of: &str, id: &str, kind: InputKind, name: &str) {
    let body = Some(b"{}".to_vec());
    let input = NewInput { stream: stream(of), id: id.into(), kind, name: name.into(), body };
    store.send_inputs(vec![input]).await.unwrap().remove(0).unwrap();
}

fn decision(input: &str, kind: &str, said: &Decided) -> Decision {
    let cause = Some(input.to_owned());
    Decision {
        input: input.into(),
        event: Event { kind: Kind::new(kind).unwrap(), body: b"{}".to_vec(), cause },
        decided: said.to_text(),
        events: Vec::new(),
        commands: Vec::new(),
        timers: Vec::new(),
        unset: Vec::new(),
        cancel: Vec::new(),
    }
}

async fn step<S: Workflows>(store: &S, of: &str, head: i64, what: Decision, status: Status) {
    let (owner, lease) = ("runner".into(), Span::from_secs(60));
    let (at, decisions) = (store.now().unwrap(), vec![what]);
    let (stream, program, expected_seq) = (stream(of), program(), head);
    let state = || Snapshot { program: program.clone(), seq: head + 2, state: b"{}".to_vec() };
    let snapshot = (of == "flow-runs").then(state);
    let step =
        Step { stream, program, expected_seq, at, decisions, status, snapshot, owner, lease };
    assert_eq!(store.steps(vec![step]).await.unwrap(), [Ok(())]);
}

/// Starts a workflow with an event, a timer and a command that a report ends; its head is 2.
async fn begin<S: Workflows>(store: &S, of: &str, due_at: Micros) {
    send(store, of, "start", InputKind::Start, "trip").await;
    let said = Decided {
        events: 1,
        labels: vec!["book".into()],
        set: vec![SetTimer { name: "late".into(), due_at }],
        ..Decided::default()
    };
    let what = decision("start", "start:trip", &said);
    let events = vec![Event::json("planned", &1).unwrap()];
    let commands = vec![Command::unnamed("shop", "book", &1).unwrap()];
    let timers = vec![(timer_input(2, "late"), "late".to_owned(), due_at)];
    let what = Decision { events, commands, timers, ..what };
    step(store, of, 0, what, Status::Running).await;
    let report = Report {
        outcome: ReceiptOutcome::Completed,
        result: Some(b"seat 12A".to_vec()),
        evidence: Some("the worker said so".into()),
        source: "report".into(),
        token: None,
        equals_earlier: false,
    };
    let id = CommandId::new(format!("{of}:2:0")).unwrap();
    store.report(&id, report).await.unwrap();
}

async fn end<S: Workflows>(store: &S, of: &str, end: End) {
    let status = end.status();
    let said = Decided { end: Some(end), ..Decided::default() };
    step(store, of, 2, decision("receipt:2:0", "receipt:completed", &said), status).await;
}

/// Takes the bodies of a workflow's first events, as an archive that wrote a file does.
async fn archive<S: Bodies>(store: &S, of: &str, many: usize) {
    let events = store.load(&stream(of), 0, many).await.unwrap();
    let taken = store.take_bodies("trips.events.jsonl.zst", events).await.unwrap();
    assert_eq!(taken, vec![true; many], "{of}");
}

/// Fills a store with them.
pub(super) async fn fill<H: WorkflowHands>(hands: &H) {
    let store = hands.store();
    let due_at = store.now().unwrap().plus(Span::from_secs(365 * 86_400));
    for of in ["flow-runs", "flow-done", "flow-failed", "flow-aside"] {
        begin(&store, of, due_at).await;
    }
    end(&store, "flow-done", End::Completed(1.into())).await;
    send(&store, "flow-done", "late", InputKind::Signal, "approve").await;
    let late = Decided { ignored: Some("it has ended".into()), ..Decided::default() };
    let late = decision("late", "signal:approve", &late);
    step(&store, "flow-done", 3, late, Status::Completed).await;
    end(&store, "flow-failed", End::Failed("no seat".into())).await;
    let aside = Quarantine {
        stream: stream("flow-aside"),
        program: program(),
        expected_seq: 2,
        reason: "it panicked".into(),
        input: "receipt:2:0".into(),
    };
    assert_eq!(store.quarantine(aside).await.unwrap(), Aside::Workflow);
    archive(&store, "flow-runs", 1).await;
    archive(&store, "flow-done", 4).await;
    send(&store, "flow-runs", "stop", InputKind::Cancel, "stop").await;
    send(&store, "flow-waits", "start", InputKind::Start, "trip").await;
    send(&store, "flow-never", "approve", InputKind::Signal, "approve").await;
}
