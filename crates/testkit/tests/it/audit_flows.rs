//! The laws of workflows in an audit, on the store in memory: each broken by hand.

use counterfoil_core::audit::{AuditOptions, How, audit_sealed};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::workflow::{Decided, End, InputKind, Program, Status};
use counterfoil_core::domain::{
    Command, Contract, Destination, Event, Idempotent, Kind, ReceiptOutcome, Span, Stream,
};
use counterfoil_core::port::workflow::{Decision, NewInput, Step};
use counterfoil_core::port::{Store, Workflows};
use counterfoil_testkit::MemoryStore;
use counterfoil_testkit::memory_store::rows::Rows;

const TRIP: &str = "trip-1";

fn decision(input: &str, kind: &str) -> Decision {
    Decision {
        input: input.into(),
        event: Event { kind: Kind::new(kind).unwrap(), body: b"{}".to_vec(), cause: None },
        decided: None,
        events: Vec::new(),
        commands: Vec::new(),
        timers: Vec::new(),
        unset: Vec::new(),
        cancel: Vec::new(),
    }
}

async fn step(store: &MemoryStore, stream: &str, head: i64, decision: Decision, status: Status) {
    let step = Step {
        stream: Stream::new(stream).unwrap(),
        program: Program::new("trip", 1).unwrap(),
        expected_seq: head,
        at: store.now().unwrap(),
        decisions: vec![decision],
        status,
        snapshot: None,
        owner: "me".into(),
        lease: Span::from_secs(0),
    };
    assert_eq!(store.steps(vec![step]).await.unwrap(), [Ok(())]);
}

async fn send(store: &MemoryStore, stream: &str, id: &str, kind: InputKind, name: &str) {
    let (stream, id, name) = (Stream::new(stream).unwrap(), id.into(), name.into());
    let input = NewInput { stream, id, kind, name, body: None };
    store.send_inputs(vec![input]).await.unwrap().remove(0).unwrap();
}

/// One workflow with a command that has ended and whose receipt waits, and one that has ended.
async fn store() -> MemoryStore {
    let store = MemoryStore::default();
    let shop = Destination::new("shop").unwrap();
    store.declare(&shop, &Contract::new(Idempotent::Forever), false).await.unwrap();
    for stream in [TRIP, "trip-2"] {
        send(&store, stream, "start", InputKind::Start, "trip").await;
        let book = Command::unnamed("shop", "book", &1).unwrap();
        let said = Decided { events: 1, labels: vec!["book".into()], ..Decided::default() };
        let planned = Event::json("planned", &1).unwrap();
        let start = decision("start", "start:trip");
        let (decided, events, commands) = (said.to_text(), vec![planned], vec![book]);
        let start = Decision { decided, events, commands, ..start };
        step(&store, stream, 0, start, Status::Running).await;
        let id = counterfoil_core::domain::CommandId::new(format!("{stream}:2:0")).unwrap();
        let report = Report {
            outcome: ReceiptOutcome::Completed,
            result: None,
            evidence: None,
            source: "report".into(),
            token: None,
            equals_earlier: false,
        };
        store.report(&id, report).await.unwrap();
    }
    let said = Decided { end: Some(End::Completed(1.into())), ..Decided::default() };
    let last = decision("receipt:2:0", "receipt:completed");
    let last = Decision { decided: said.to_text(), ..last };
    step(&store, "trip-2", 2, last, Status::Completed).await;
    store
}

/// The codes that an audit tells, of what is open or of everything.
async fn codes(store: &MemoryStore, how: How) -> Vec<&'static str> {
    let report = audit_sealed(store, AuditOptions::default(), how).await.unwrap();
    let mut codes: Vec<_> = report.violations.iter().map(|found| found.code).collect();
    codes.dedup();
    codes
}

/// What a full audit and one from the seal tell of a store that was spoiled so.
async fn told(spoil: fn(&mut Rows)) -> (Vec<&'static str>, Vec<&'static str>) {
    let store = store().await;
    assert_eq!(codes(&store, How::default().full()).await, [""; 0]);
    store.with_rows(spoil);
    let open = codes(&store, How::default()).await;
    (codes(&store, How::default().full()).await, open)
}

fn put(rows: &mut Rows, id: &str, kind: InputKind) {
    let now = rows.clock;
    rows.put_input(TRIP, id.into(), kind, "x".into(), (None, None), now);
}

#[tokio::test]
async fn a_sound_store_breaks_none() {
    let store = store().await;
    let options = AuditOptions::default().page(1);
    let report = audit_sealed(&store, options, How::default().full()).await.unwrap();
    assert_eq!(report.violations, []);
    assert_eq!((report.checked.workflows, report.checked.inputs), (2, 1));
    assert_eq!(codes(&store, How::default()).await, [""; 0]);
}

#[tokio::test]
async fn a_row_that_its_events_do_not_bear_out_is_found() {
    let head = told(|rows| rows.streams.get_mut(TRIP).unwrap().head = 7).await;
    assert_eq!(head, (vec!["CF0881"], vec!["CF0881"]));
    let ended = told(|rows| rows.streams.get_mut(TRIP).unwrap().status = Status::Failed).await;
    assert_eq!(ended, (vec!["CF0882"], vec!["CF0882"]));
    let goes_on =
        |rows: &mut Rows| rows.streams.get_mut("trip-2").unwrap().status = Status::Running;
    assert_eq!(told(goes_on).await, (vec!["CF0882"], vec!["CF0882"]));
}

#[tokio::test]
async fn events_that_are_no_decisions_are_found() {
    let cause = |rows: &mut Rows| {
        rows.events.get_mut(&(TRIP.into(), 2)).unwrap().cause = Some("x".into());
    };
    assert!(told(cause).await.0.contains(&"CF0883"));
    let decided = |rows: &mut Rows| {
        rows.events.get_mut(&(TRIP.into(), 1)).unwrap().decided = None;
    };
    // Also as other bytes than those that were sealed, once the hour of the seal has passed.
    assert!(told(decided).await.0.contains(&"CF0883"));
}

#[tokio::test]
async fn inputs_that_nobody_could_have_written_are_found() {
    let decided = told(|rows| put(rows, "start", InputKind::Start)).await;
    assert_eq!(decided, (vec!["CF0884"], vec!["CF0884"]));
    let kind = told(|rows| put(rows, "timer:1:late", InputKind::Signal)).await;
    assert_eq!(kind, (vec!["CF0885"], vec!["CF0885"]));
    let pointer = told(|rows| put(rows, "receipt:9:0", InputKind::Receipt)).await;
    assert_eq!(pointer, (vec!["CF0886"], vec!["CF0886"]));
    let served = told(|rows| {
        put(rows, "a", InputKind::Signal);
        rows.inputs.get_mut(&(TRIP.into(), "a".into())).unwrap().workflow = Some("trip/2".into());
    });
    assert_eq!(served.await, (vec!["CF0887"], vec!["CF0887"]));
    // One that is set aside is adopted.
    let aside = told(|rows| {
        put(rows, "a", InputKind::Signal);
        rows.inputs.get_mut(&(TRIP.into(), "a".into())).unwrap().workflow = None;
    });
    assert_eq!(aside.await, (vec![], vec![]));
}

#[tokio::test]
async fn a_receipt_of_which_its_workflow_never_heard_is_found() {
    let lost = |rows: &mut Rows| {
        rows.inputs.remove(&(TRIP.into(), "receipt:2:0".into())).unwrap();
    };
    assert_eq!(told(lost).await.0, ["CF0888"]);
    // Before the first seal reached it, by what came since, too.
    let store = store().await;
    store.with_rows(lost);
    assert_eq!(codes(&store, How::default()).await, ["CF0888"]);
}
