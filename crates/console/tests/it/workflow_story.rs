//! The story of a workflow over HTTP is bounded, says what it leaves out and what waits for whom.
//!
//! Guarantees: over a store in memory and one in a file. Does not: run a program; the steps are
//! written as a runner would.

use counterfoil_console::{EVENT_BYTES_MAX, Part, told};
use counterfoil_core::domain::workflow::{InputKind, Program, Status};
use counterfoil_core::domain::{Event, Kind, Micros, Span, Stream};
use counterfoil_core::port::Workflows;
use counterfoil_core::port::workflow::{Aside, Decision, NewInput, Quarantine, Step};
use serde_json::{Value, json};

use crate::client::{Answered, request, send};
use crate::scene::{EYE, OPS, Scene};

over_both_stores!(
    long_events_end_a_page_and_the_next_one_has_the_rest,
    bodies_that_are_read_later_are_bounded_too,
    more_events_and_inputs_are_said_with_where_they_go_on,
    a_refused_undo_is_said,
    what_was_never_started_waits_for_no_decision,
    what_stands_still_is_counted,
    an_input_that_cannot_go_is_answered_as_its_workflow_stands,
);

fn stream(name: &str) -> Stream {
    Stream::new(name).unwrap()
}

fn input(of: &str, id: &str, kind: InputKind, name: &str, body: &[u8]) -> NewInput {
    let (stream, id, name) = (stream(of), id.to_owned(), name.to_owned());
    NewInput { stream, id, kind, name, body: Some(body.to_vec()) }
}

fn decided(input: &NewInput) -> Decision {
    let kind = Kind::new(input.kind.event_kind(&input.name)).unwrap();
    let body = input.body.clone().unwrap_or_default();
    Decision {
        input: input.id.clone(),
        event: Event { kind, body, cause: Some(input.id.clone()) },
        decided: None,
        events: Vec::new(),
        commands: Vec::new(),
        timers: Vec::new(),
        unset: Vec::new(),
        cancel: Vec::new(),
    }
}

/// Sends the input and writes the step that decides it, at this head.
async fn step<S: Workflows>(
    scene: &Scene<S>,
    head: i64,
    input: NewInput,
    status: Status,
    more: impl FnOnce(&mut Decision),
) {
    let stream = input.stream.clone();
    let mut decision = decided(&input);
    more(&mut decision);
    scene.store.send_inputs(vec![input]).await.unwrap().remove(0).unwrap();
    let step = Step {
        stream,
        program: Program::new("trip", 1).unwrap(),
        expected_seq: head,
        at: scene.store.now().unwrap(),
        decisions: vec![decision],
        status,
        snapshot: None,
        owner: "me".into(),
        lease: Span::ZERO,
    };
    assert_eq!(scene.store.steps(vec![step]).await.unwrap(), [Ok(())]);
}

async fn begun<S: Workflows>(scene: &Scene<S>, of: &str) {
    let start = input(of, "start", InputKind::Start, "trip", b"{}");
    step(scene, 0, start, Status::Running, |_| ()).await;
}

async fn signalled<S: Workflows>(scene: &Scene<S>, of: &str, head: i64, body: &[u8]) {
    let signal = input(of, &format!("s-{head:05}"), InputKind::Signal, "approve", body);
    step(scene, head, signal, Status::Running, |_| ()).await;
}

async fn quarantined<S: Workflows>(scene: &Scene<S>, of: &str, head: i64) {
    let quarantine = Quarantine {
        stream: stream(of),
        program: Program::new("trip", 1).unwrap(),
        expected_seq: head,
        reason: "it panicked".into(),
        input: "start".into(),
    };
    assert_eq!(scene.store.quarantine(quarantine).await.unwrap(), Aside::Workflow);
}

fn seqs(story: &Value) -> Vec<i64> {
    let events = story["events"].as_array().unwrap().iter();
    events.map(|event| event["seq"].as_i64().unwrap()).collect()
}

async fn say<S: Workflows>(scene: &Scene<S>, path: &str, body: &str) -> Answered {
    let line = format!("POST /v1/workflows/{path}");
    send(scene.at, request(&line, &[OPS], body.as_bytes())).await
}

/// The story: 60 signals of 4 MiB were answered with 209 MB, and the relay had 660 MB.
async fn long_events_end_a_page_and_the_next_one_has_the_rest<S: Workflows>(scene: Scene<S>) {
    begun(&scene, "long").await;
    for head in 1..7 {
        signalled(&scene, "long", head, "x".repeat(3 << 20).as_bytes()).await;
    }
    let (mut at, mut seen) = (None, Vec::new());
    loop {
        let query = at.map(|at: i64| format!("?at={at}")).unwrap_or_default();
        let answered = scene.get(&format!("/v1/workflows/long{query}"), &[EYE]).await;
        assert!(answered.body.len() < EVENT_BYTES_MAX + 10_000, "{}", answered.body.len());
        let story = answered.json();
        let page = seqs(&story);
        assert!(!page.is_empty() && page.is_sorted(), "{page:?}");
        seen.splice(..0, page);
        match story["earlier_events_at"].as_i64() {
            Some(earlier) => at = Some(earlier),
            None => break,
        }
    }
    assert_eq!(seen, (1..=7).collect::<Vec<_>>());
    // One that is longer than a page is a page.
    signalled(&scene, "long", 7, "y".repeat(9 << 20).as_bytes()).await;
    let story = scene.get("/v1/workflows/long", &[EYE]).await.json();
    assert_eq!((seqs(&story), &story["earlier_events_at"]), (vec![8], &json!(7)));
}

/// What an archive took is read from its files after the rows: by then it was in no bound.
async fn bodies_that_are_read_later_are_bounded_too<S: Workflows>(scene: Scene<S>) {
    begun(&scene, "t").await;
    for head in 1..5 {
        signalled(&scene, "t", head, b"1").await;
    }
    let part = Part { limit: 100, ..Part::default() };
    let mut story = told(&scene.store, &stream("t"), part).await.unwrap().unwrap();
    assert_eq!((story.events.len(), story.earlier_at), (5, None));
    let read = |events: &mut [counterfoil_core::domain::EventRow]| {
        events.iter_mut().for_each(|event| event.body = vec![b'x'; 3 << 20]);
        Ok::<_, ()>(())
    };
    story.fill(read).unwrap();
    let left: Vec<_> = story.events.iter().map(|event| event.seq).collect();
    assert_eq!((left, story.earlier_at), (vec![4, 5], Some(3)));
}

/// The story of 3002 events began at 2803 without a word, and more inputs were behind an id that no
/// verb took.
async fn more_events_and_inputs_are_said_with_where_they_go_on<S: Workflows>(scene: Scene<S>) {
    begun(&scene, "t").await;
    for head in 1..9 {
        signalled(&scene, "t", head, b"1").await;
    }
    let show =
        async |query: &str| scene.get(&format!("/v1/workflows/t?{query}"), &[EYE]).await.json();
    let newest = show("limit=3").await;
    assert_eq!((seqs(&newest), &newest["earlier_events_at"]), (vec![7, 8, 9], &json!(6)));
    let before = show("limit=3&at=6").await;
    assert_eq!((seqs(&before), &before["earlier_events_at"]), (vec![4, 5, 6], &json!(3)));
    let first = show("limit=3&at=3").await;
    assert_eq!((seqs(&first), &first["earlier_events_at"]), (vec![1, 2, 3], &json!(null)));
    let late = (0..1002).map(|n| input("t", &format!("w-{n:04}"), InputKind::Signal, "n", b"1"));
    for sent in scene.store.send_inputs(late.collect()).await.unwrap() {
        sent.unwrap();
    }
    let page = show("limit=1").await;
    assert_eq!(page["inputs"].as_array().unwrap().len(), 1000);
    assert_eq!(page["inputs_after"], "w-0999");
    let rest = show("limit=1&inputs_after=w-0999").await;
    let ids = rest["inputs"].as_array().unwrap().iter().map(|input| &input["id"]);
    assert_eq!(ids.collect::<Vec<_>>(), ["w-1000", "w-1001"]);
    assert_eq!(rest["inputs_after"], json!(null));
}

/// A saga that waits for a person was told as one that runs.
async fn a_refused_undo_is_said<S: Workflows>(scene: Scene<S>) {
    begun(&scene, "t").await;
    let event = |kind: &str, body: Value| Event {
        kind: Kind::new(kind).unwrap(),
        body: body.to_string().into_bytes(),
        cause: None,
    };
    let cancel = input("t", "cancel", InputKind::Cancel, "cancel", b"rain");
    let refused = event("undo_refused", json!({"step": "flight", "reason": "refused: too late"}));
    let asked = event("undo_asked", json!({"step": "flight"}));
    let events = vec![asked, refused];
    step(&scene, 1, cancel, Status::Running, |decision| decision.events = events).await;
    signalled(&scene, "t", 4, b"1").await;
    let story = scene.get("/v1/workflows/t", &[EYE]).await.json();
    let stuck = json!({"seq": 4, "step": "flight", "reason": "refused: too late"});
    assert_eq!(story["stuck"], stuck);
    let undone = input("t", "by-hand", InputKind::Signal, "undone", b"{}");
    let events = vec![event("undone", json!({"step": "flight"}))];
    step(&scene, 5, undone, Status::Running, |decision| decision.events = events).await;
    let story = scene.get("/v1/workflows/t", &[EYE]).await.json();
    assert_eq!((&story["stuck"], &story["head"]), (&json!(null), &json!(7)));
    let before = scene.get("/v1/workflows/t?at=5", &[EYE]).await.json();
    assert_eq!(before["stuck"], stuck, "as it was then");
}

/// An orphan was told as waiting for its start to be decided, and no start was there.
async fn what_was_never_started_waits_for_no_decision<S: Workflows>(scene: Scene<S>) {
    say(&scene, "t/signal", r#"{"name":"n","id":"1"}"#).await.says("recorded");
    let orphan = scene.get("/v1/workflows/t", &[EYE]).await.json();
    let seen = (&orphan["status"], &orphan["workflow"], &orphan["changed_at"]);
    assert_eq!(seen, (&json!("not_started"), &json!(null), &json!(null)));
    say(&scene, "t/start", r#"{"workflow":"trip"}"#).await.says("recorded");
    let waits = scene.get("/v1/workflows/t", &[EYE]).await.json();
    let listed = scene.get("/v1/workflows?status=waiting", &[EYE]).await.json();
    for name in ["status", "workflow", "version", "changed_at"] {
        assert_eq!(waits[name], listed["workflows"][0][name], "{name}");
    }
    assert_eq!(waits["status"], "waiting");
    assert!(waits["changed_at"].is_string());
}

/// Nothing announced them: `/metrics` had no line about workflows.
async fn what_stands_still_is_counted<S: Workflows>(scene: Scene<S>) {
    quarantined(&scene, "q", 0).await;
    say(&scene, "w/start", r#"{"workflow":"typo"}"#).await.says("recorded");
    for id in ["1", "2"] {
        let signal = json!({"name": "n", "id": id}).to_string();
        say(&scene, "o/signal", &signal).await.says("recorded");
    }
    scene.clock.advance(Span::from_secs(90));
    let status = scene.get("/v1/status", &[EYE]).await.json();
    let still = &status["workflows"];
    let counts = (&still["quarantined"], &still["waiting"], &still["orphans"]);
    assert_eq!(counts, (&json!(1), &json!(1), &json!(2)));
    assert!(still["oldest_waiting_seconds"].as_f64().unwrap() >= 90.0, "{still}");
    let page = scene.get("/metrics", &[EYE]).await;
    let page = String::from_utf8(page.body).unwrap();
    for line in [
        "counterfoil_quarantined_workflows 1\n",
        "counterfoil_waiting_starts 1\n",
        "counterfoil_oldest_waiting_start_age_seconds 9",
        "counterfoil_orphaned_inputs 2\n",
    ] {
        assert!(page.contains(line), "{line} not in {page}");
    }
}

/// Of one that had ended a cancel was proposed, which is ignored there; of one that goes on an end,
/// which is refused.
async fn an_input_that_cannot_go_is_answered_as_its_workflow_stands<S: Workflows>(scene: Scene<S>) {
    let due = Micros::new(9_000_000_000_000_000);
    let start = input("t", "start", InputKind::Start, "trip", b"{}");
    let timers = vec![("timer:1:late".to_owned(), "late".to_owned(), due)];
    step(&scene, 0, start, Status::Running, |decision| decision.timers = timers).await;
    say(&scene, "t/signal", r#"{"name":"n","id":"1"}"#).await.says("recorded");
    let drop = async |id: &str| {
        let body = json!({"input": id, "reason": "r"}).to_string();
        say(&scene, "t/drop", &body).await.refused(409, "CF1046")
    };
    let said = drop("timer:1:late").await;
    assert!(said.contains("send a cancel") && !said.contains("end the workflow."), "{said}");
    assert!(!said.contains("mend"), "{said}");
    assert!(drop("1").await.contains("send another signal"));
    quarantined(&scene, "t", 1).await;
    assert!(drop("timer:1:late").await.contains("mend the program and retry, or end"));
    say(&scene, "t/end", r#"{"reason":"r"}"#).await.says("done");
    let said = drop("1").await;
    assert!(said.contains("has ended") && !said.contains("cancel"), "{said}");
}
