//! Bodies of events that leave their rows for an archive, and come back.

use counterfoil_core::audit::{AuditOptions, How, audit_sealed};
use counterfoil_core::domain::laws::law;
use counterfoil_core::domain::workflow::{Decided, End, InputKind, Status};
use counterfoil_core::domain::{ArchivedBody, Digest, Event, EventRow, Kind};
use counterfoil_core::port::bodies::{BODY_BYTES_MIN, Bodies, BodyPage, KeptBodies, RECALL_VERB};
use counterfoil_core::port::store::{Append, Recorded};
use counterfoil_core::port::workflow::{Decision, InputRefused, NewInput, Snapshot, Step};
use counterfoil_core::port::{Store, Workflows};

use super::super::archiving::ann;
use super::flow::{Flow, TRIP, input, program, start, started, stream};
use super::{Spoil, WorkflowHands};
use crate::memory_store::rows::Rows;

/// The file of every case.
const FILE: &str = "20261130T021213.000001Z-1a2b3c4d-1-3.events.jsonl.zst";

/// A body that is worth a line.
fn long(of: &str) -> String {
    format!("{of:x<BODY_BYTES_MIN$}")
}

fn said(of: &str, id: &str) -> NewInput {
    input(of, id, InputKind::Signal, "say", &long(id))
}

impl<H: WorkflowHands> Flow<H> {
    /// A workflow with a short start, and `inputs` long signals: its head is one more.
    async fn chatty(&self, of: &str, inputs: i64) {
        self.begun(of).await;
        for seq in 1..=inputs {
            self.say(of, seq).await;
        }
    }

    /// A long signal, which becomes the event behind `head`.
    async fn say(&self, of: &str, head: i64) {
        let id = format!("say-{}", head + 1);
        self.send(said(of, &id)).await;
        self.commit(of, head, vec![heard(&id, &Decided::default())]).await;
    }

    /// Ends it by a long signal.
    async fn over(&self, of: &str, head: i64) {
        self.send(said(of, "over")).await;
        let end = Decided { end: Some(End::Completed(1.into())), ..Decided::default() };
        let step = self.step(of, head, vec![heard("over", &end)]);
        let step = Step { status: Status::Completed, ..step };
        assert_eq!(self.try_step(step).await, Ok(()), "ending {of}");
    }

    /// Saves the state of a running one at its head, with one more event.
    async fn saved(&self, of: &str, head: i64) {
        let id = format!("say-{}", head + 1);
        self.send(said(of, &id)).await;
        let snapshot =
            Some(Snapshot { program: program("trip/1"), seq: head + 1, state: b"{}".to_vec() });
        let step = self.step(of, head, vec![heard(&id, &Decided::default())]);
        assert_eq!(self.try_step(Step { snapshot, ..step }).await, Ok(()), "saving {of}");
    }

    /// What may leave of what is older than now.
    async fn old(&self) -> BodyPage {
        let before = self.store().now().unwrap();
        let page = self.store().old_bodies(before, None, 99).await.unwrap();
        assert_eq!(page.next, None, "it is small");
        page
    }

    /// The same by its places.
    async fn places(&self) -> Vec<String> {
        named(&self.old().await.events)
    }

    /// Takes all that may leave.
    async fn take(&self) -> Vec<EventRow> {
        let events = self.old().await.events;
        let taken = self.store().take_bodies(FILE, events.clone()).await.unwrap();
        assert_eq!(taken, vec![true; events.len()]);
        events
    }
}

/// The decision of a long signal.
fn heard(id: &str, decided: &Decided) -> Decision {
    let kind = Kind::new("signal:say").unwrap();
    let event = Event { kind, body: long(id).into_bytes(), cause: Some(id.into()) };
    Decision { input: id.into(), event, decided: decided.to_text(), ..started() }
}

fn named(events: &[EventRow]) -> Vec<String> {
    events.iter().map(|event| format!("{} {}", event.stream, event.seq)).collect()
}

/// An event as it stands once its body is archived.
fn taken(event: &EventRow) -> EventRow {
    let digest = Some(Digest::of(&event.body));
    let archived = Some(ArchivedBody { file: FILE.into(), digest });
    EventRow { body: Vec::new(), archived, ..event.clone() }
}

pub(super) async fn bodies_of_an_ended_one_leave_and_come_back<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.chatty(TRIP, 2).await;
    flow.over(TRIP, 3).await;
    flow.scene.advance(1);
    let before = flow.events(TRIP).await;
    assert_eq!(flow.places().await, ["trip-1 2", "trip-1 3", "trip-1 4"], "not the short start");
    let events = flow.take().await;
    assert_eq!(events, before[1..], "each with its body");

    let after = flow.events(TRIP).await;
    assert_eq!(after[0], before[0]);
    assert_eq!(after[1..], events.iter().map(taken).collect::<Vec<_>>());
    assert_eq!(flow.store().archived_bodies(None, 99).await.unwrap(), after[1..]);
    let page = flow.store().archived_bodies(Some((TRIP.into(), 2)), 1).await.unwrap();
    assert_eq!(page, after[2..3]);
    let newest = flow.store().archived_before(&stream(TRIP), 4, 9).await.unwrap();
    assert_eq!(newest, [after[2].clone(), after[1].clone()], "the newest first");
    assert_eq!(flow.places().await, [""; 0], "once");
    let at = [(TRIP.into(), 3), (TRIP.into(), 9), ("trip-9".into(), 1), (TRIP.into(), 1)];
    let at = flow.store().events_at(&at).await.unwrap();
    assert_eq!(at, [Some(after[2].clone()), None, None, Some(after[0].clone())]);

    // In two writes, each recorded.
    for part in [&events[1..], &events[..1]] {
        let back = flow.store().put_back(&stream(TRIP), part.to_vec(), ann()).await.unwrap();
        assert_eq!(back, vec![true; part.len()]);
    }
    assert_eq!(flow.events(TRIP).await, before);
    let acts = flow.scene.hands.acts().await;
    let ann = ann();
    let recorded = format!("{RECALL_VERB} {TRIP} by {}: {}", ann.name, ann.reason);
    assert_eq!(acts, [recorded.clone(), recorded]);
    let back = flow.store().put_back(&stream(TRIP), events.clone(), ann).await.unwrap();
    assert_eq!((back, flow.scene.hands.acts().await.len()), (vec![false; 3], 2), "once");
    assert_eq!(flow.take().await, events, "and again");
}

pub(super) async fn a_running_one_gives_what_its_snapshot_holds<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.chatty(TRIP, 2).await;
    flow.scene.advance(1);
    assert_eq!(flow.places().await, [""; 0]);
    assert_eq!(flow.old().await.kept, KeptBodies { without_snapshot: 1, ..KeptBodies::default() });
    flow.saved(TRIP, 3).await;
    flow.scene.advance(1);
    flow.say(TRIP, 4).await;
    assert_eq!(flow.places().await, ["trip-1 2", "trip-1 3", "trip-1 4"]);
    flow.take().await;
    // It goes on behind its snapshot, and what it said since stays whole.
    flow.say(TRIP, 5).await;
    let (standing, snapshot) = flow.standing(TRIP).await;
    assert_eq!((standing.unwrap().head, snapshot.unwrap().seq), (6, 4));
    let tail = flow.store().load(&stream(TRIP), 4, 99).await.unwrap();
    assert!(tail.len() == 2 && tail.iter().all(|event| event.archived.is_none()), "{tail:?}");
    flow.scene.advance(1);
    assert_eq!(flow.places().await, [""; 0]);
    flow.saved(TRIP, 6).await;
    flow.scene.advance(1);
    assert_eq!(flow.places().await, ["trip-1 5", "trip-1 6", "trip-1 7"]);
}

pub(super) async fn what_may_be_needed_stays<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.chatty("young", 1).await;
    flow.chatty("aside", 1).await;
    flow.saved("aside", 2).await;
    flow.scene.advance(1);
    assert!(flow.quarantine("aside", 3).await);
    let body = long("opened").into_bytes();
    let events = vec![Event { kind: Kind::new("opened").unwrap(), body, cause: None }];
    let (expected_seq, commands) = (0, Vec::new());
    let append = Append { stream: stream("service"), expected_seq, events, commands };
    flow.store().append(append).await.unwrap().unwrap();
    flow.scene.advance(1);
    // Its newest event is not old enough, so all of it stays.
    flow.over("young", 2).await;
    let page = flow.old().await;
    assert_eq!(page.events, []);
    assert_eq!(page.kept, KeptBodies { quarantined: 1, ..KeptBodies::default() });
    // What was read all the same is not taken.
    for of in ["aside", "service"] {
        let events = flow.events(of).await;
        let taken = flow.store().take_bodies(FILE, events.clone()).await.unwrap();
        assert_eq!((taken, flow.events(of).await), (vec![false; events.len()], events), "{of}");
    }
}

pub(super) async fn what_is_not_as_it_was_read_is_left<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.chatty(TRIP, 1).await;
    flow.over(TRIP, 2).await;
    flow.scene.advance(1);
    let events = flow.old().await.events;
    let first = events[0].clone();
    let other = |change: fn(&mut EventRow)| {
        let mut event = first.clone();
        change(&mut event);
        event
    };
    let changed = [
        other(|it| it.body[0] = b'!'),
        other(|it| it.cause = None),
        other(|it| it.kind = Kind::new("signal:other").unwrap()),
        other(|it| it.commands = 1),
        other(|it| it.decided = Some("{}".into())),
        other(|it| it.seq = 99),
        other(|it| it.recorded_at = it.recorded_at.plus(counterfoil_core::domain::Span::ZERO)),
    ];
    let (last, changed) = changed.split_last().unwrap();
    for event in changed {
        let taken = flow.store().take_bodies(FILE, vec![event.clone()]).await.unwrap();
        assert_eq!(taken, [false], "{event:?}");
    }
    assert_eq!(flow.store().take_bodies(FILE, vec![last.clone()]).await.unwrap(), [true]);
    let taken = flow.store().take_bodies("another file", events.clone()).await.unwrap();
    assert_eq!(taken, [false, true], "each lies in one file");
    assert_eq!(flow.store().take_bodies(FILE, Vec::new()).await.unwrap(), [false; 0]);
    // Nor does another body come back.
    let forged = EventRow { body: long("forged").into_bytes(), ..first.clone() };
    let bare = self::taken(&first);
    let given = vec![forged, bare.clone(), EventRow { seq: 1, ..first.clone() }];
    let back = flow.store().put_back(&stream(TRIP), given, ann()).await.unwrap();
    assert_eq!((back, flow.scene.hands.acts().await), (vec![false; 3], vec![]));
    assert_eq!(flow.events(TRIP).await[1], bare);
}

pub(super) async fn an_archived_input_is_known_by_its_digest<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.chatty(TRIP, 1).await;
    flow.over(TRIP, 2).await;
    flow.scene.advance(1);
    flow.take().await;
    let other = NewInput { body: Some(long("other").into_bytes()), ..said(TRIP, "say-2") };
    let named = NewInput { name: "shout".into(), ..said(TRIP, "say-2") };
    let none = NewInput { body: None, ..said(TRIP, "say-2") };
    let given = vec![said(TRIP, "say-2"), start(TRIP), other, named, none];
    let answers = flow.store().send_inputs(given).await.unwrap();
    let conflict = || {
        let (stream, id) = (TRIP.to_owned(), "say-2".to_owned());
        Err(InputRefused::Conflict { stream, id })
    };
    let repeated = || Ok(Recorded::Repeated);
    assert_eq!(answers, [repeated(), repeated(), conflict(), conflict(), conflict()]);
    assert_eq!(flow.waiting(TRIP).await, [""; 0]);
}

pub(super) async fn old_bodies_come_in_pages<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    for of in ["trip-1", "trip-2", "trip-3"] {
        flow.chatty(of, 2).await;
        flow.over(of, 3).await;
    }
    flow.scene.advance(1);
    let all = flow.places().await;
    assert_eq!(all.len(), 9);
    let before = flow.store().now().unwrap();
    for limit in [1, 2, 4, 9] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = flow.store().old_bodies(before, after.clone(), limit).await.unwrap();
            assert!(page.events.len() <= limit);
            found.extend(named(&page.events));
            let Some(next) = page.next else { break };
            assert!(after.is_none_or(|after| next > after), "it goes on");
            after = Some(next);
        }
        assert_eq!(found, all, "by {limit}");
    }
}

pub(super) async fn an_audit_holds_before_and_after<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.chatty(TRIP, 2).await;
    flow.over(TRIP, 3).await;
    flow.chatty("trip-2", 1).await;
    flow.saved("trip-2", 2).await;
    // Behind the horizon of events, so that a seal counts them.
    flow.scene.advance(7200);
    let audited = async |how: How| {
        let report = audit_sealed(flow.store(), AuditOptions::default(), how).await.unwrap();
        assert!(report.holds, "{:#?}", report.violations);
    };
    audited(How::default().full()).await;
    assert_eq!(flow.take().await.len(), 5);
    audited(How::default()).await;
    audited(How::default().full()).await;
    let events = flow.store().archived_bodies(None, 99).await.unwrap();
    let back = |event: &EventRow| {
        let id = event.cause.clone().unwrap();
        EventRow { body: long(&id).into_bytes(), archived: None, ..event.clone() }
    };
    let back = events.iter().filter(|it| it.stream.as_str() == TRIP).map(back).collect();
    let back = flow.store().put_back(&stream(TRIP), back, ann()).await.unwrap();
    assert_eq!(back, [true; 3]);
    audited(How::default().full()).await;
}

pub(super) async fn a_body_that_lies_nowhere_or_twice_is_told<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.chatty(TRIP, 1).await;
    flow.over(TRIP, 2).await;
    flow.scene.advance(1);
    flow.take().await;
    let digest = |rows: &mut Rows| {
        let event = rows.events.get_mut(&(TRIP.to_owned(), 2)).unwrap();
        event.archived.as_mut().unwrap().digest = None;
    };
    let body = |rows: &mut Rows| {
        let event = rows.events.get_mut(&(TRIP.to_owned(), 3)).unwrap();
        event.body = b"back".to_vec();
    };
    let spoils = [
        Spoil { sql: "UPDATE cf.event SET digest = NULL WHERE seq = 2", rows: digest },
        Spoil { sql: "UPDATE cf.event SET body = digest WHERE seq = 3", rows: body },
    ];
    for (count, spoil) in (1..).zip(&spoils) {
        flow.scene.hands.spoil(spoil).await;
        let how = How::default().full();
        let report = audit_sealed(flow.store(), AuditOptions::default(), how).await.unwrap();
        let codes: Vec<_> = report.violations.iter().map(|found| found.code).collect();
        assert_eq!(codes, vec![law::BODY_PLACE.code; count], "{}", spoil.sql);
    }
}
