//! The laws of workflows in an audit: each broken by hand, and told.

use std::collections::BTreeSet;

use counterfoil_core::audit::{AuditOptions, How, audit_sealed};
use counterfoil_core::domain::workflow::{Decided, End, InputKind, SetTimer, Status};
use counterfoil_core::domain::{Event, EventRow, Micros};
use counterfoil_core::port::store::Append;
use counterfoil_core::port::workflow::{Decision, Step};
use counterfoil_core::port::{Actor, Store, Workflows};

use super::super::scene::completed;
use super::flow::{Flow, TRIP, book, event, program, start, started, stream, timer, told};
use super::{Spoil, WorkflowHands};
use crate::memory_store::rows::{InputEntry, Rows, StreamEntry};

/// What a hand does to a row, what takes it back, and what is told of it: by a full audit, and by
/// one from a seal.
struct Broken {
    hand: Spoil,
    back: Option<Spoil>,
    full: &'static [&'static str],
    open: &'static [&'static str],
}

const fn broken(
    hand: Spoil,
    back: Spoil,
    full: &'static [&'static str],
    open: &'static [&'static str],
) -> Broken {
    Broken { hand, back: Some(back), full, open }
}

/// A change that is the last one.
const fn gone(hand: Spoil, full: &'static [&'static str], open: &'static [&'static str]) -> Broken {
    Broken { hand, back: None, full, open }
}

impl<H: WorkflowHands> Flow<H> {
    /// A workflow that waits for a receipt and for a timer, and one that has ended.
    pub(super) async fn proven(hands: H) -> Self {
        let flow = Self::new(hands).await;
        for of in [TRIP, "trip-2"] {
            flow.planned(of).await;
        }
        let said = Decided { end: Some(End::Completed(1.into())), ..Decided::default() };
        let last = Decision { decided: said.to_text(), ..told("receipt:2:0") };
        let step = flow.step("trip-2", 2, vec![last]);
        let step = Step { status: Status::Completed, ..step };
        assert_eq!(flow.try_step(step).await, Ok(()));
        flow.scene.advance(1);
        flow
    }

    /// A workflow with a command that has ended and a timer that waits; its head is 2.
    async fn planned(&self, of: &str) {
        self.send(start(of)).await;
        let due_at = self.in_secs(3600);
        let said = Decided {
            events: 1,
            labels: vec!["book".into()],
            set: vec![SetTimer { name: "late".into(), due_at }],
            ..Decided::default()
        };
        let (events, commands) = (vec![event("planned")], vec![book("seat 12A")]);
        let (decided, timers) = (said.to_text(), vec![timer(2, "late", due_at)]);
        self.commit(of, 0, vec![Decision { decided, events, commands, timers, ..started() }]).await;
        self.sent(completed()).await;
    }

    /// The codes that an audit tells.
    pub(super) async fn codes(&self, how: How) -> BTreeSet<&'static str> {
        let report = audit_sealed(self.store(), AuditOptions::default(), how).await.unwrap();
        report.violations.iter().map(|found| found.code).collect()
    }

    async fn are_told(&self, all: &[Broken]) {
        let none = BTreeSet::new();
        assert_eq!(self.codes(How::default().full()).await, none, "it is sound");
        for Broken { hand, back, full, open } in all {
            self.scene.hands.spoil(hand).await;
            // In this order: after one that does not hold, the next one is full.
            let told = (self.codes(How::default()).await, self.codes(How::default().full()).await);
            let codes = |codes: &[&'static str]| codes.iter().copied().collect();
            assert_eq!(told, (codes(open), codes(full)), "{}", hand.sql);
            let Some(back) = back else { return };
            self.scene.hands.spoil(back).await;
            assert_eq!(self.codes(How::default().full()).await, none, "sound again: {}", hand.sql);
        }
    }

    /// A service's stream to which somebody sent a start: set aside, as an earlier runner did, with
    /// a command that ended.
    async fn of_a_service(hands: H) -> Self {
        let flow = Self::new(hands).await;
        let placed = Event { cause: Some("order".into()), ..event("placed") };
        let events = vec![event("opened"), placed];
        let (stream, expected_seq, commands) = (stream(TRIP), 0, vec![book("seat 12A")]);
        let append = Append { stream, expected_seq, events, commands };
        flow.store().append(append).await.unwrap().unwrap();
        flow.send(start(TRIP)).await;
        for hand in [spoil(ASIDE, set_aside), spoil(UNSERVED, unserve)] {
            flow.scene.hands.spoil(&hand).await;
        }
        flow.sent(completed()).await;
        flow.scene.last().await;
        flow.scene.advance(1);
        flow
    }
}

const ASIDE: &str = "INSERT INTO cf.stream(stream, workflow, version, status, head, reason, input, \
    changed_at) VALUES ('trip-1', 'trip', 1, 'quarantined', 2, 'no seat', 'start', 0)";
const UNSERVED: &str = "UPDATE cf.input SET workflow = NULL WHERE stream = 'trip-1'";

fn set_aside(rows: &mut Rows) {
    let row = StreamEntry {
        program: program("trip/1"),
        status: Status::Quarantined,
        head: 2,
        lease: None,
        reason: Some("no seat".into()),
        input: Some("start".into()),
        changed_at: Micros::default(),
    };
    rows.streams.insert(TRIP.into(), row);
}

fn unserve(rows: &mut Rows) {
    waiting(rows, "start").workflow = None;
}

const fn spoil(sql: &'static str, rows: fn(&mut Rows)) -> Spoil {
    Spoil { sql, rows }
}

fn row<'a>(rows: &'a mut Rows, of: &str) -> &'a mut StreamEntry {
    rows.streams.get_mut(of).unwrap()
}

fn waiting<'a>(rows: &'a mut Rows, id: &str) -> &'a mut InputEntry {
    rows.inputs.get_mut(&(TRIP.into(), id.into())).unwrap()
}

/// An input that nobody sent.
fn put(rows: &mut Rows, id: &str, kind: InputKind) {
    let now = rows.clock;
    rows.put_input(TRIP, id.into(), kind, "x".into(), (None, None), now);
}

fn take(rows: &mut Rows, id: &str) {
    rows.inputs.remove(&(TRIP.into(), id.into())).unwrap();
}

pub(super) async fn a_sound_history_breaks_no_law<H: WorkflowHands>(hands: H) {
    let flow = Flow::proven(hands).await;
    let options = AuditOptions::default().page(1);
    let report = audit_sealed(flow.store(), options, How::default().full()).await.unwrap();
    assert_eq!(report.violations, []);
    assert_eq!((report.checked.workflows, report.checked.inputs), (2, 2));
    assert_eq!(flow.codes(How::default()).await, BTreeSet::new());
}

pub(super) async fn a_row_that_its_events_do_not_bear_out_is_told<H: WorkflowHands>(hands: H) {
    let flow = Flow::proven(hands).await;
    flow.are_told(&[
        broken(
            spoil("UPDATE cf.stream SET head = 7 WHERE stream = 'trip-1'", |rows| {
                row(rows, TRIP).head = 7;
            }),
            spoil("UPDATE cf.stream SET head = 2 WHERE stream = 'trip-1'", |rows| {
                row(rows, TRIP).head = 2;
            }),
            &["CF0881"],
            &["CF0881"],
        ),
        broken(
            spoil("UPDATE cf.stream SET status = 'failed' WHERE stream = 'trip-1'", |rows| {
                row(rows, TRIP).status = Status::Failed;
            }),
            spoil("UPDATE cf.stream SET status = 'running' WHERE stream = 'trip-1'", |rows| {
                row(rows, TRIP).status = Status::Running;
            }),
            &["CF0882"],
            &["CF0882"],
        ),
        broken(
            spoil("UPDATE cf.stream SET reason = 'x' WHERE stream = 'trip-1'", |rows| {
                row(rows, TRIP).reason = Some("x".into());
            }),
            spoil("UPDATE cf.stream SET reason = NULL WHERE stream = 'trip-1'", |rows| {
                row(rows, TRIP).reason = None;
            }),
            &["CF0882"],
            &["CF0882"],
        ),
    ])
    .await;
}

pub(super) async fn one_that_ended_is_what_it_ended_as<H: WorkflowHands>(hands: H) {
    let flow = Flow::proven(hands).await;
    let completed = || {
        spoil("UPDATE cf.stream SET status = 'completed' WHERE stream = 'trip-2'", |rows| {
            row(rows, "trip-2").status = Status::Completed;
        })
    };
    flow.are_told(&[
        broken(
            spoil("UPDATE cf.stream SET status = 'running' WHERE stream = 'trip-2'", |rows| {
                row(rows, "trip-2").status = Status::Running;
            }),
            completed(),
            &["CF0882"],
            &["CF0882"],
        ),
        broken(
            spoil("UPDATE cf.stream SET status = 'quarantined' WHERE stream = 'trip-2'", |rows| {
                row(rows, "trip-2").status = Status::Quarantined;
            }),
            completed(),
            &["CF0882"],
            &["CF0882"],
        ),
    ])
    .await;
}

pub(super) async fn a_row_that_names_another_or_is_gone_is_told<H: WorkflowHands>(hands: H) {
    let flow = Flow::proven(hands).await;
    flow.are_told(&[
        broken(
            spoil("UPDATE cf.stream SET workflow = 'tour' WHERE stream = 'trip-2'", |rows| {
                row(rows, "trip-2").program = program("tour/1");
            }),
            spoil("UPDATE cf.stream SET workflow = 'trip' WHERE stream = 'trip-2'", |rows| {
                row(rows, "trip-2").program = program("trip/1");
            }),
            &["CF0889"],
            &[],
        ),
        gone(
            spoil("DELETE FROM cf.stream WHERE stream = 'trip-2'", |rows| {
                rows.streams.remove("trip-2").unwrap();
            }),
            &["CF0889"],
            &[],
        ),
    ])
    .await;
}

pub(super) async fn events_that_are_no_decisions_are_told<H: WorkflowHands>(hands: H) {
    let flow = Flow::proven(hands).await;
    flow.are_told(&[
        broken(
            spoil("UPDATE cf.event SET cause = 'x' WHERE stream = 'trip-1' AND seq = 2", |rows| {
                rows.events.get_mut(&(TRIP.into(), 2)).unwrap().cause = Some("x".into());
            }),
            spoil("UPDATE cf.event SET cause = NULL WHERE stream = 'trip-1' AND seq = 2", |rows| {
                rows.events.get_mut(&(TRIP.into(), 2)).unwrap().cause = None;
            }),
            &["CF0883"],
            &[],
        ),
        gone(
            spoil(
                "UPDATE cf.event SET decided = NULL WHERE stream = 'trip-1' AND seq = 1",
                |rows| {
                    rows.events.get_mut(&(TRIP.into(), 1)).unwrap().decided = None;
                },
            ),
            &["CF0883"],
            &[],
        ),
    ])
    .await;
}

pub(super) async fn inputs_that_nobody_could_have_sent_are_told<H: WorkflowHands>(hands: H) {
    let flow = Flow::proven(hands).await;
    flow.are_told(&[
        broken(
            spoil(
                "INSERT INTO cf.input(stream, id, kind, name, workflow, recorded_at)
                 VALUES ('trip-1', 'start', 'start', 'x', 'trip/1', 1700000000000000)",
                |rows| put(rows, "start", InputKind::Start),
            ),
            spoil("DELETE FROM cf.input WHERE stream = 'trip-1' AND id = 'start'", |rows| {
                take(rows, "start");
            }),
            &["CF0884"],
            &["CF0884"],
        ),
        broken(
            spoil(
                "INSERT INTO cf.input(stream, id, kind, name, workflow, recorded_at)
                 VALUES ('trip-1', 'receipt:1:late', 'signal', 'x', 'trip/1', 1700000000000000)",
                |rows| put(rows, "receipt:1:late", InputKind::Signal),
            ),
            spoil("DELETE FROM cf.input WHERE kind = 'signal'", |rows| {
                take(rows, "receipt:1:late");
            }),
            &["CF0885"],
            &["CF0885"],
        ),
        broken(
            spoil(
                "INSERT INTO cf.input(stream, id, kind, name, workflow, recorded_at)
                 VALUES ('trip-1', 'receipt:9:0', 'receipt', 'x', 'trip/1', 1700000000000000)",
                |rows| put(rows, "receipt:9:0", InputKind::Receipt),
            ),
            spoil("DELETE FROM cf.input WHERE id = 'receipt:9:0'", |rows| {
                take(rows, "receipt:9:0");
            }),
            &["CF0886"],
            &["CF0886"],
        ),
        broken(
            spoil("UPDATE cf.input SET workflow = 'trip/2' WHERE kind = 'receipt'", |rows| {
                waiting(rows, "receipt:2:0").workflow = Some("trip/2".into());
            }),
            // One that is set aside is adopted.
            spoil("UPDATE cf.input SET workflow = NULL WHERE kind = 'receipt'", |rows| {
                waiting(rows, "receipt:2:0").workflow = None;
            }),
            &["CF0887"],
            &["CF0887"],
        ),
    ])
    .await;
}

pub(super) async fn a_receipt_of_which_nobody_heard_is_told<H: WorkflowHands>(hands: H) {
    let flow = Flow::proven(hands).await;
    let lost = spoil("DELETE FROM cf.input WHERE id = 'receipt:2:0'", |rows| {
        take(rows, "receipt:2:0");
    });
    // By an audit from a seal only where the receipt came since.
    flow.are_told(&[gone(lost, &["CF0888"], &[])]).await;
}

pub(super) async fn timers_that_no_decision_left_are_told<H: WorkflowHands>(hands: H) {
    let flow = Flow::proven(hands).await;
    flow.are_told(&[
        broken(
            spoil("UPDATE cf.input SET due_at = due_at + 1 WHERE kind = 'timer'", |rows| {
                let due_at = &mut waiting(rows, "timer:2:late").due_at;
                *due_at = due_at.map(|at| Micros::new(at.get() + 1));
            }),
            spoil("UPDATE cf.input SET due_at = due_at - 1 WHERE kind = 'timer'", |rows| {
                let due_at = &mut waiting(rows, "timer:2:late").due_at;
                *due_at = due_at.map(|at| Micros::new(at.get() - 1));
            }),
            &["CF0890"],
            &[],
        ),
        gone(
            spoil("DELETE FROM cf.input WHERE kind = 'timer'", |rows| take(rows, "timer:2:late")),
            &["CF0890"],
            &[],
        ),
    ])
    .await;
}

/// More than a page may hold: it is cut between two workflows.
pub(super) async fn many_timers_are_read_in_several_pages<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let due_at = flow.in_secs(3600);
    for of in [TRIP, "trip-2", "trip-3"] {
        flow.send(start(of)).await;
        let names: Vec<String> = (0..9_000).map(|number| format!("t{number}")).collect();
        let timers = names.iter().map(|name| timer(1, name, due_at)).collect();
        let set = names.into_iter().map(|name| SetTimer { name, due_at }).collect();
        let decided = Decided { set, ..Decided::default() }.to_text();
        flow.commit(of, 0, vec![Decision { decided, timers, ..started() }]).await;
    }
    let gone =
        spoil("DELETE FROM cf.input WHERE id = 'timer:1:t7' AND stream = 'trip-3'", |rows| {
            rows.inputs.remove(&("trip-3".into(), "timer:1:t7".into())).unwrap();
        });
    flow.are_told(&[self::gone(gone, &["CF0890"], &[])]).await;
}

pub(super) async fn a_service_goes_on_with_its_stream_whoever_started_it<H: WorkflowHands>(
    hands: H,
) {
    let flow = Flow::of_a_service(hands).await;
    flow.are_told(&[]).await;
    let append = spoil(
        "INSERT INTO cf.event(stream, seq, kind, body, commands, recorded_at)
         VALUES ('trip-1', 3, 'shipped', '', 0, 4000000000000000)",
        |rows| {
            let row = rows.events[&(TRIP.into(), 2)].clone();
            let row = EventRow { seq: 3, cause: None, commands: 0, ..row };
            rows.events.insert((TRIP.into(), 3), row);
        },
    );
    flow.are_told(&[gone(append, &[], &[])]).await;
}

/// The story: a start went to a service's stream, whose command ended while that was set aside. A
/// person took it up again, which forgot the row and not what pointed to the receipt; the command
/// was archived, and the audit told a forged pointer for ever.
pub(super) async fn what_was_never_a_workflow_leaves_no_pointer<H: WorkflowHands>(hands: H) {
    let flow = Flow::of_a_service(hands).await;
    assert_eq!(flow.waiting(TRIP).await, ["receipt:2:0", "start"]);
    let actor = Actor { name: "ann".into(), reason: "no workflow".into() };
    assert!(flow.store().retry_workflow(&stream(TRIP), actor).await.unwrap());
    assert_eq!(flow.waiting(TRIP).await, ["start"]);
    flow.scene.buried("trip-1:2:0").await;
    assert_eq!(flow.codes(How::default().full()).await, BTreeSet::new());
}
