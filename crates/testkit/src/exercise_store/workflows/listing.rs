//! What people see of workflows and of what waits for them.

use counterfoil_core::domain::event::is_last_page;
use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{Event, Span};
use counterfoil_core::port::read::StillWorkflows;
use counterfoil_core::port::workflow::{Decision, ListedWorkflow, WorkflowFilter};
use counterfoil_core::port::{Actor, Store as _, Workflows};

use super::WorkflowHands;
use super::flow::{
    Flow, TRIP, approved, decided, event, input, program, signal, start, started, stream, timer,
};

impl<H: WorkflowHands> Flow<H> {
    async fn list(&self, filter: WorkflowFilter) -> Vec<String> {
        let listed = self.store().workflows(filter).await.unwrap();
        listed.into_iter().map(|one| one.stream).collect()
    }
}

pub(super) async fn workflows_are_listed_by_filter_and_cursor<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    for stream in ["trip-3", "trip-1", "trip-2", "trip-10"] {
        flow.begun(stream).await;
    }
    flow.end("trip-2", 1).await;
    assert!(flow.quarantine("trip-3", 1).await);
    flow.send(input("tour-1", "start", InputKind::Start, "tour", "x")).await;
    let mut tour = flow.step("tour-1", 0, vec![decided("start", InputKind::Start, "tour", "x")]);
    tour.program = program("tour/2");
    assert_eq!(flow.try_step(tour).await, Ok(()));
    let all = WorkflowFilter { limit: 9, ..WorkflowFilter::default() };
    let every = ["tour-1", "trip-1", "trip-10", "trip-2", "trip-3"];
    assert_eq!(flow.list(all.clone()).await, every);
    assert_eq!(flow.list(WorkflowFilter { limit: 2, ..all.clone() }).await, every[..2]);
    let after = WorkflowFilter { after: Some("trip-1".into()), limit: 2, ..all.clone() };
    assert_eq!(flow.list(after).await, every[2..4]);
    let named = WorkflowFilter { name: Some("tour".into()), ..all.clone() };
    assert_eq!(flow.list(named).await, ["tour-1"]);
    for (status, found) in [
        (Status::Running, &["tour-1", "trip-1", "trip-10"][..]),
        (Status::Completed, &["trip-2"][..]),
        (Status::Failed, &[][..]),
        (Status::Quarantined, &["trip-3"][..]),
    ] {
        let filter = WorkflowFilter { status: Some(status), ..all.clone() };
        assert_eq!(flow.list(filter).await, found, "{status:?}");
    }
    let both = WorkflowFilter {
        name: Some("trip".into()),
        status: Some(Status::Running),
        after: Some("trip-1".into()),
        ..all
    };
    assert_eq!(flow.list(both).await, ["trip-10"]);
}

/// The story: a start named a program that no runner had, by a typing error, and stood in no list.
pub(super) async fn those_whose_start_waits_are_listed<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let at = flow.in_secs(0);
    for (of, program) in [("c", "typo"), ("a", "trip"), ("b", "typo")] {
        flow.send(input(of, "start", InputKind::Start, program, "x")).await;
        flow.scene.advance(1);
    }
    // Twice in one stream: the first one counts.
    flow.send(input("b", "again", InputKind::Start, "trip", "x")).await;
    flow.begun("begun").await;
    flow.send(input("begun", "second", InputKind::Start, "typo", "x")).await;
    flow.send(signal("orphan", "a")).await;
    let waiting = WorkflowFilter { is_waiting: true, limit: 9, ..WorkflowFilter::default() };
    let listed = flow.store().workflows(waiting.clone()).await.unwrap();
    let brief = |one: &ListedWorkflow| (one.stream.clone(), one.program.clone(), one.status);
    let all: Vec<_> = listed.iter().map(brief).collect();
    let one = |of: &str, program: &str| (of.to_owned(), program.to_owned(), None);
    assert_eq!(all, [one("a", "trip"), one("b", "typo"), one("c", "typo")]);
    assert_eq!(listed[2].changed_at, Some(at), "since when it waits");
    let named = WorkflowFilter { name: Some("typo".into()), ..waiting.clone() };
    assert_eq!(flow.list(named).await, ["b", "c"]);
    let page = WorkflowFilter { after: Some("a".into()), limit: 1, ..waiting };
    assert_eq!(flow.list(page).await, ["b"]);
}

pub(super) async fn one_workflow_is_told<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let told = |of: &'static str| {
        let store = flow.store().clone();
        async move { store.workflow(of).await.unwrap() }
    };
    assert_eq!(told(TRIP).await, None);
    flow.send(start(TRIP)).await;
    let came = flow.in_secs(0);
    let waits = ListedWorkflow {
        stream: TRIP.into(),
        program: "trip".into(),
        status: None,
        head: 0,
        reason: None,
        input: None,
        changed_at: Some(came),
    };
    assert_eq!(told(TRIP).await, Some(waits.clone()), "since when it waits, as in the list");
    assert_eq!(waits.standing(), "waiting");
    flow.scene.advance(5);
    let at = flow.in_secs(0);
    flow.commit(TRIP, 0, vec![started()]).await;
    let (program, status) = ("trip/1".to_owned(), Some(Status::Running));
    let runs = ListedWorkflow { program, status, head: 1, changed_at: Some(at), ..waits };
    assert_eq!(told(TRIP).await, Some(runs.clone()));
    let filter = WorkflowFilter { limit: 9, ..WorkflowFilter::default() };
    assert_eq!(flow.store().workflows(filter).await.unwrap(), [runs]);
    flow.end(TRIP, 1).await;
    assert_eq!(told(TRIP).await.unwrap().status, Some(Status::Completed));
    flow.send(signal("trip-9", "orphan")).await;
    let orphaned = told("trip-9").await.unwrap();
    assert_eq!((orphaned.status, orphaned.program.as_str()), (None, ""));
    assert_eq!((orphaned.standing(), orphaned.changed_at), ("not_started", None));
}

/// A quarantined workflow, a start of a program that nobody has and an orphan: the status said that
/// no command was ever recorded.
pub(super) async fn what_stands_still_is_counted<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    let still = async || flow.store().status().await.unwrap().workflows;
    assert_eq!(still().await, StillWorkflows::default());
    for stream in ["trip-1", "trip-2", "trip-3"] {
        flow.begun(stream).await;
    }
    flow.end("trip-2", 1).await;
    flow.send(signal("trip-1", "hello")).await;
    assert_eq!(still().await, StillWorkflows::default(), "what goes on or has ended is none");
    assert!(flow.quarantine("trip-3", 1).await);
    flow.send(signal("trip-3", "while it is quarantined")).await;
    for (of, program) in [("a", "typo"), ("b", "trip"), ("c", "typo")] {
        flow.send(input(of, "start", InputKind::Start, program, "x")).await;
        flow.scene.advance(10);
    }
    flow.send(signal("a", "before it is decided")).await;
    for id in ["x", "y"] {
        flow.send(signal("orphan", id)).await;
    }
    flow.send(signal("orphan-2", "z")).await;
    let all = StillWorkflows {
        quarantined: 1,
        starts: 3,
        oldest_start: Some(Span::from_secs(30)),
        orphans: 3,
    };
    assert_eq!(still().await, all);
    let ann = Actor { name: "ann".into(), reason: "mended".into() };
    assert!(flow.store().retry_workflow(&stream("trip-3"), ann).await.unwrap());
    assert_eq!(still().await.quarantined, 0);
}

pub(super) async fn what_waits_is_listed_in_pages<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let due = flow.in_secs(10);
    let timers = vec![timer(1, "late", due)];
    flow.commit(TRIP, 0, vec![Decision { timers, ..started() }]).await;
    for id in ["b", "a", "c"] {
        flow.send(signal(TRIP, id)).await;
    }
    let ids = |after: Option<&str>, limit| {
        let after = after.map(|id| (TRIP.to_owned(), id.to_owned()));
        let store = flow.store().clone();
        async move {
            let waiting = store.waiting_inputs(Some(TRIP), after, limit).await.unwrap();
            waiting.into_iter().map(|input| input.id).collect::<Vec<_>>()
        }
    };
    assert_eq!(ids(None, 2).await, ["a", "b"]);
    assert_eq!(ids(Some("b"), 2).await, ["c", "timer:1:late"]);
    assert_eq!(ids(Some("timer:1:late"), 2).await, [""; 0]);
    let waiting = flow.store().waiting_inputs(Some(TRIP), None, 9).await.unwrap();
    let timer = &waiting[3];
    assert_eq!((timer.kind.as_str(), timer.name.as_str()), ("timer", "late"));
    assert_eq!((timer.due_at, timer.is_served), (Some(due), true));
    for number in 0..3 {
        flow.send(signal(&format!("orphan-{number}"), "a")).await;
    }
    let first = flow.store().waiting_inputs(None, None, 2).await.unwrap();
    let streams: Vec<_> = first.iter().map(|input| input.stream.as_str()).collect();
    assert_eq!(streams, ["orphan-0", "orphan-1"]);
    let after = Some(("orphan-1".to_owned(), "a".to_owned()));
    let rest = flow.store().waiting_inputs(None, after, 2).await.unwrap();
    assert_eq!((rest.len(), rest[0].stream.as_str()), (1, "orphan-2"));
}

/// The story: a load of 500 events at once took as much memory as they had, 16 MiB each.
pub(super) async fn long_events_make_a_page_short<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.begun(TRIP).await;
    flow.send(signal(TRIP, "a")).await;
    let event = |mib: usize| Event { body: vec![b'x'; mib << 20], ..event("grew") };
    let events = [3, 3, 3, 5, 0, 0].map(event).to_vec();
    flow.commit(TRIP, 1, vec![Decision { events, ..approved("a") }]).await;
    let page = async |after: i64, limit: usize| {
        let page = flow.store().load_page(&stream(TRIP), after, limit).await.unwrap();
        let seqs: Vec<i64> = page.iter().map(|event| event.seq).collect();
        (seqs, is_last_page(&page, limit))
    };
    // It ends with the event by which it has 4 MiB.
    assert_eq!(page(0, 9).await, (vec![1, 2, 3, 4], false));
    assert_eq!(page(4, 9).await, (vec![5, 6], false));
    assert_eq!(page(5, 9).await, (vec![6], false));
    assert_eq!(page(6, 9).await, (vec![7, 8], true));
    assert_eq!(page(0, 2).await, (vec![1, 2], false));
    assert_eq!(page(6, 2).await, (vec![7, 8], false));
    assert_eq!(page(8, 9).await, (vec![], true));
    let whole = flow.store().load_page(&stream(TRIP), 6, 9).await.unwrap();
    assert_eq!(whole, flow.store().load(&stream(TRIP), 6, 9).await.unwrap());
}
