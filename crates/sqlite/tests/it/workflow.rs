//! Workflows in a file: steps whole or not at all, and receipts that become inputs on every path.

use std::time::Duration;

use counterfoil_core::domain::transition::{Report, Verdict};
use counterfoil_core::domain::workflow::{InputKind, Program, Status};
use counterfoil_core::domain::{
    Command, CommandId, Event, Judge, Kind, Micros, OnRefusal, Outcome, ReceiptOutcome, ResultBody,
    Span, State, Stream, Terms,
};
use counterfoil_core::port::archive::{Buried, Kept};
use counterfoil_core::port::store::{Append, Exchange, Recorded, Settled, WriteRefused};
use counterfoil_core::port::workflow::{
    Aside, Decision, DueFrom, DueInput, InputRefused, NewInput, Quarantine, Snapshot, Step,
    StepRefused,
};
use counterfoil_core::port::{Act, Acted, Actor, Archive as _, Deed, Store as _, Workflows as _};
use counterfoil_sqlite::{Outbox as _, SqliteStore, open_own};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::store::{claim, declare, fresh, settle};

pub(crate) fn trip() -> Program {
    Program::new("trip", 1).unwrap()
}

pub(crate) fn stream(name: &str) -> Stream {
    Stream::new(name).unwrap()
}

/// An input of a stranger, with the id for its name unless it is a start.
pub(crate) fn input(of: &str, kind: InputKind, id: &str) -> NewInput {
    let name = if kind == InputKind::Start { "trip" } else { id };
    let (stream, name) = (stream(of), name.to_owned());
    NewInput { stream, id: id.into(), kind, name, body: Some(b"b".to_vec()) }
}

/// What consumes one input and issues so many commands.
pub(crate) fn decision(input: &str, kind: &str, commands: usize) -> Decision {
    let event = |kind: &str| {
        let (kind, body) = (Kind::new(kind).unwrap(), b"b".to_vec());
        Event { kind, body, cause: None }
    };
    Decision {
        input: input.into(),
        event: event(kind),
        decided: Some("{}".into()),
        events: vec![event("happened")],
        commands: vec![Command::unnamed("shipping", "k", &1).unwrap(); commands],
        timers: Vec::new(),
        unset: Vec::new(),
        cancel: Vec::new(),
    }
}

pub(crate) fn step(of: &str, expected_seq: i64, decisions: Vec<Decision>) -> Step {
    Step {
        stream: stream(of),
        program: trip(),
        expected_seq,
        at: Micros::new(1_764_421_200_000_000),
        decisions,
        status: Status::Running,
        snapshot: None,
        owner: "me".into(),
        lease: Span::ZERO,
    }
}

pub(crate) fn start(of: &str, commands: usize) -> Step {
    step(of, 0, vec![decision("start", "start:trip", commands)])
}

pub(crate) async fn due(store: &SqliteStore) -> Vec<DueInput> {
    let from = DueFrom { programs: vec![trip()], owner: "me".into(), limit: 100 };
    store.due_inputs(from).await.unwrap()
}

async fn ids(store: &SqliteStore) -> Vec<String> {
    due(store).await.into_iter().map(|input| input.id).collect()
}

async fn send(store: &SqliteStore, input: NewInput) {
    assert_eq!(store.send_inputs(vec![input]).await.unwrap(), [Ok(Recorded::Recorded)]);
}

/// A workflow that has issued so many commands to `shipping`.
pub(crate) async fn begun(commands: usize) -> (TempDir, SqliteStore) {
    let (folder, store) = fresh();
    declare(&store).await;
    send(&store, input("t", InputKind::Start, "start")).await;
    assert_eq!(store.steps(vec![start("t", commands)]).await.unwrap(), [Ok(())]);
    (folder, store)
}

fn own(folder: &TempDir) -> Connection {
    open_own(&folder.path().join("s.db")).unwrap().0
}

fn count(folder: &TempDir, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM counterfoil_{table}");
    own(folder).query_row(&sql, [], |row| row.get(0)).unwrap()
}

fn completed() -> Outcome {
    let (bytes, evidence) = (b"r".to_vec(), "200".to_owned());
    Outcome::Completed { result: ResultBody { bytes, ..ResultBody::default() }, evidence }
}

fn report(outcome: ReceiptOutcome) -> Report {
    let (result, evidence, source) = (Some(b"r".to_vec()), Some("said so".into()), "report".into());
    Report { outcome, result, evidence, source, token: None, equals_earlier: false }
}

async fn act(store: &SqliteStore, id: &str, act: Act) -> Acted {
    let deed = Deed { command_id: id.into(), act, by_filter: false };
    let actor = Actor { name: "ann".into(), reason: "for a test".into() };
    store.act(vec![deed], actor).await.unwrap().remove(0)
}

#[tokio::test]
async fn a_settle_makes_the_input_of_its_receipt() {
    let (_folder, store) = begun(1).await;
    let claimed = store.exchange(claim(1)).await.unwrap().claimed;
    let settles = vec![settle(&claimed[0], completed())];
    store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
    let due = due(&store).await;
    assert_eq!(due.len(), 1);
    assert_eq!((due[0].id.as_str(), due[0].kind), ("receipt:2:0", InputKind::Receipt));
    assert_eq!(due[0].name, "completed");
    let read = due[0].receipt.as_ref().unwrap();
    assert_eq!((read.command_id.as_str(), read.outcome), ("t:2:0", ReceiptOutcome::Completed));
    assert_eq!(read.result.as_deref(), Some(&b"r"[..]));
    assert_eq!(due[0].standing.as_ref().unwrap().head, 2);
}

/// On every path, and once: what follows a first receipt is no input.
#[tokio::test]
async fn every_first_receipt_is_an_input_and_no_later_one() {
    let (folder, store) = begun(4).await;
    let id = |idx: usize| CommandId::of_decision(&stream("t"), 2, idx).unwrap();
    store.report(&id(0), report(ReceiptOutcome::Completed)).await.unwrap();
    assert!(matches!(act(&store, "t:2:1", Act::Cancel).await, Acted::Done { .. }));
    let mut stranger = Connection::open(folder.path().join("s.db")).unwrap();
    let sql = "INSERT INTO counterfoil_report(command_id, outcome) VALUES ('t:2:2', 'rejected')";
    stranger.execute(sql, []).unwrap();
    let order = stranger.transaction().unwrap();
    order.complete(&id(3), None, "done", None).unwrap();
    order.commit().unwrap();
    let wanted = ["receipt:2:0", "receipt:2:1", "receipt:2:2", "receipt:2:3"];
    assert_eq!(ids(&store).await, wanted);
    let outcomes: Vec<_> = due(&store).await.into_iter().map(|input| input.name).collect();
    assert_eq!(outcomes, ["completed", "cancelled", "rejected", "completed"]);
    // A second word, and a round after the first receipt.
    stranger.execute(sql, []).unwrap();
    store.report(&id(2), report(ReceiptOutcome::Completed)).await.unwrap();
    act(&store, "t:2:0", Act::Redeliver { may_act_twice: true }).await;
    let again = report(ReceiptOutcome::Rejected);
    store.report(&id(0), Report { evidence: Some("anew".into()), ..again }).await.unwrap();
    assert_eq!(count(&folder, "receipt"), 5);
    assert_eq!(ids(&store).await, wanted);
    // Also after it was decided.
    let took = |id: &str| decision(id, "receipt:completed", 0);
    let all = wanted.map(took).to_vec();
    assert_eq!(store.steps(vec![step("t", 2, all)]).await.unwrap(), [Ok(())]);
    act(&store, "t:2:3", Act::Redeliver { may_act_twice: true }).await;
    let sql = "INSERT INTO counterfoil_report(command_id, outcome) VALUES ('t:2:3', 'rejected')";
    stranger.execute(sql, []).unwrap();
    act(&store, "t:2:2", Act::Redeliver { may_act_twice: true }).await;
    store.report(&id(2), report(ReceiptOutcome::Completed)).await.unwrap();
    assert_eq!((count(&folder, "receipt"), ids(&store).await.len()), (7, 0));
}

/// A round that ended without a receipt leaves the next one's to be the first.
#[tokio::test]
async fn the_receipt_after_a_retry_is_the_first() {
    let (_folder, store) = begun(1).await;
    let claimed = store.exchange(claim(1)).await.unwrap().claimed;
    let refused = Outcome::Conflict { reason: "other content".into() };
    let settles = vec![settle(&claimed[0], refused)];
    store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
    assert_eq!(ids(&store).await.len(), 0, "what is parked has not ended");
    act(&store, "t:2:0", Act::Retry { may_act_twice: true }).await;
    let verdict = Verdict::Completed { result: None };
    let id = CommandId::new("t:2:0").unwrap();
    store.report(&id, report(ReceiptOutcome::Completed)).await.unwrap();
    assert_eq!(ids(&store).await, ["receipt:2:0"]);
    act(&store, "t:2:0", Act::Resolve(verdict)).await;
    assert_eq!(ids(&store).await, ["receipt:2:0"]);
}

#[tokio::test]
async fn an_expiry_is_an_input_whoever_finds_it() {
    for by_claim in [false, true] {
        let (_folder, store) = fresh();
        declare(&store).await;
        send(&store, input("t", InputKind::Start, "start")).await;
        let mut first = start("t", 1);
        let past = store.now().unwrap();
        first.decisions[0].commands[0].expires_at = Some(past);
        assert_eq!(store.steps(vec![first]).await.unwrap(), [Ok(())]);
        if by_claim {
            assert_eq!(store.exchange(claim(1)).await.unwrap().claimed.len(), 0);
        } else {
            assert_eq!(store.sweep(10, None).await.unwrap().expired.len(), 1);
        }
        assert_eq!(ids(&store).await, ["receipt:2:0"], "{by_claim}");
    }
}

#[tokio::test]
async fn a_refused_step_writes_nothing_and_refuses_no_other() {
    let (folder, store) = begun(0).await;
    for of in ["u", "v"] {
        send(&store, input(of, InputKind::Start, "start")).await;
    }
    send(&store, input("t", InputKind::Signal, "go")).await;
    let plain = Append {
        stream: stream("plain"),
        expected_seq: 0,
        events: vec![Event::json("paid", &1).unwrap()],
        commands: Vec::new(),
    };
    store.append(plain).await.unwrap().unwrap();
    send(&store, input("plain", InputKind::Start, "start")).await;
    // A stranger's command that looks like one of `v`.
    let taken = Command::json("v:2:1", "shipping", "k", &1).unwrap();
    store.enqueue(vec![taken]).await.unwrap()[0].clone().unwrap();
    let tables = ["event", "outbox", "delivery", "input", "stream"];
    let counts = || tables.map(|table| count(&folder, table));
    let before = counts();
    let go = |expected, id: &str| step("t", expected, vec![decision(id, "signal:go", 1)]);
    let mut other = go(2, "go");
    other.program = Program::new("trip", 2).unwrap();
    let twice = vec![decision("go", "signal:go", 1), decision("go", "signal:go", 1)];
    let steps = vec![
        go(1, "go"),
        go(0, "go"),
        go(2, "gone"),
        other,
        start("plain", 1),
        start("v", 2),
        step("w", 3, vec![decision("go", "signal:go", 1)]),
        step("t", 2, twice),
    ];
    let refused = store.steps(steps.clone()).await.unwrap();
    let t = || "t".to_owned();
    let program = "trip/1".to_owned();
    assert_eq!(refused[0], Err(StepRefused::Moved { stream: t(), expected: 1, actual: 2 }));
    assert_eq!(refused[1], Err(StepRefused::Moved { stream: t(), expected: 0, actual: 2 }));
    assert_eq!(refused[2], Err(StepRefused::Gone { stream: t(), id: "gone".into() }));
    let of_other = StepRefused::Taken { stream: t(), program: "trip/2".into() };
    assert_eq!(refused[3], Err(of_other));
    assert_eq!(refused[4], Err(StepRefused::Taken { stream: "plain".into(), program }));
    assert_eq!(refused[5], Err(StepRefused::IdTaken { id: "v:2:1".into() }));
    assert!(matches!(refused[6], Err(StepRefused::Moved { expected: 3, actual: 0, .. })));
    assert_eq!(refused[7], Err(StepRefused::Gone { stream: t(), id: "go".into() }));
    assert_eq!(counts(), before);
    // Beside steps that are written.
    let mixed: Vec<_> = [start("u", 1)].into_iter().chain(steps).chain([go(2, "go")]).collect();
    let written = store.steps(mixed).await.unwrap();
    let done: Vec<_> = written.iter().map(Result::is_ok).collect();
    assert_eq!(done, [true, false, false, false, false, false, false, false, false, true]);
    let rows = [before[0] + 4, before[1] + 2, before[2] + 2, before[3] - 2, before[4] + 1];
    assert_eq!(counts(), rows);
}

#[tokio::test]
async fn what_a_decision_says_is_written_with_it() {
    let (folder, store) = begun(2).await;
    send(&store, input("t", InputKind::Signal, "go")).await;
    let mut go = decision("go", "signal:go", 0);
    let now = store.now().unwrap();
    let later = now.plus(Span::from_secs(60));
    go.timers = vec![
        ("timer:4:late".into(), "late".into(), later),
        ("timer:4:now".into(), "now".into(), now),
    ];
    go.cancel = vec![CommandId::new("t:2:1").unwrap(), CommandId::new("nobody:1:0").unwrap()];
    let snapshot = Snapshot { program: trip(), seq: 4, state: b"{}".to_vec() };
    let mut one = step("t", 2, vec![go]);
    one.snapshot = Some(snapshot.clone());
    one.lease = Span::from_secs(60);
    assert_eq!(store.steps(vec![one]).await.unwrap(), [Ok(())]);
    let (standing, saved) = store.standing(&stream("t"), &trip()).await.unwrap();
    assert_eq!((standing.unwrap().head, saved), (4, Some(snapshot)));
    let events = store.load(&stream("t"), 2, 10).await.unwrap();
    let said: Vec<_> = events.iter().map(|event| event.decided.as_deref()).collect();
    assert_eq!(said, [Some("{}"), None]);
    assert_eq!(events[0].cause.as_deref(), Some("go"));
    assert_eq!(events[1].recorded_at, Micros::new(1_764_421_200_000_000));
    // The cancel's receipt is there at once, and was written after the timer was due.
    assert_eq!(ids(&store).await, ["timer:4:now", "receipt:2:1"]);
    let actor = "SELECT actor FROM counterfoil_operator_action WHERE about = 't:2:1'";
    let actor: String = own(&folder).query_row(actor, [], |row| row.get(0)).unwrap();
    assert_eq!(actor, "workflow:t");
    // Nobody else sees what is held.
    let other = DueFrom { programs: vec![trip()], owner: "other".into(), limit: 10 };
    assert_eq!(store.due_inputs(other.clone()).await.unwrap(), []);
    let mut end = decision("receipt:2:1", "receipt:cancelled", 0);
    end.unset = vec!["timer:4:now".into(), "timer:1:gone".into()];
    let mut last = step("t", 4, vec![end]);
    (last.status, last.lease) = (Status::Completed, Span::from_secs(60));
    assert_eq!(store.steps(vec![last]).await.unwrap(), [Ok(())]);
    assert_eq!((count(&folder, "input"), ids(&store).await.len()), (0, 0));
    // What comes after the end is served all the same, and held by nobody.
    send(&store, input("t", InputKind::Signal, "late")).await;
    assert_eq!(store.due_inputs(other).await.unwrap().len(), 1);
}

/// A flood at once leaves a quarter of the page to what has a time; of one workflow the timers that
/// were due before the flood come before it, as many as a page asks about.
#[tokio::test]
async fn signals_that_never_end_let_timers_through() {
    let (_folder, store) = begun(0).await;
    send(&store, input("t", InputKind::Signal, "go")).await;
    let mut go = decision("go", "signal:go", 0);
    let now = store.now().unwrap();
    go.timers = (0..9).map(|i| (format!("timer:4:{i}"), i.to_string(), now)).collect();
    assert_eq!(store.steps(vec![step("t", 2, vec![go])]).await.unwrap(), [Ok(())]);
    for i in 0..20 {
        send(&store, input("t", InputKind::Signal, &format!("s{i}"))).await;
    }
    let from = DueFrom { programs: vec![trip()], owner: "me".into(), limit: 12 };
    let kinds: Vec<_> = store.due_inputs(from).await.unwrap();
    let timers = kinds.iter().filter(|input| input.kind == InputKind::Timer).count();
    assert_eq!((kinds.len(), timers), (3, 3));
    let next = store.next_input(&[trip()]).await.unwrap();
    assert!(next.is_some_and(|at| at <= store.now().unwrap()), "{next:?}");
}

async fn woken(store: &SqliteStore) {
    let long = Duration::from_secs(60);
    tokio::time::timeout(long / 2, store.changed(long)).await.expect("nobody woke it");
}

/// The runner waits in the same process: no poll of the file must be waited for.
#[tokio::test]
async fn inputs_steps_and_receipts_wake_a_runner() {
    let (_folder, store) = begun(1).await;
    let quiet = || async {
        while tokio::time::timeout(Duration::from_millis(200), store.changed(Duration::MAX))
            .await
            .is_ok()
        {}
    };
    quiet().await;
    send(&store, input("t", InputKind::Signal, "go")).await;
    woken(&store).await;
    let go = step("t", 2, vec![decision("go", "signal:go", 0)]);
    assert_eq!(store.steps(vec![go]).await.unwrap(), [Ok(())]);
    woken(&store).await;
    let claimed = store.exchange(claim(1)).await.unwrap().claimed;
    quiet().await;
    let settles = vec![settle(&claimed[0], completed())];
    store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
    woken(&store).await;
}

#[tokio::test]
async fn a_workflows_events_are_not_appended_to() {
    let (folder, store) = begun(0).await;
    let append = |of: &str, expected_seq| Append {
        stream: stream(of),
        expected_seq,
        events: vec![Event::json("paid", &1).unwrap()],
        commands: Vec::new(),
    };
    let refused = WriteRefused::WorkflowStream { stream: "t".into() };
    assert_eq!(store.append(append("t", 2)).await.unwrap(), Err(refused));
    let mut user = Connection::open(folder.path().join("s.db")).unwrap();
    let order = user.transaction().unwrap();
    let said = order.append(&append("t", 2)).unwrap_err().to_string();
    assert!(said.contains("stream t is a workflow's"), "{said}");
    // The guard says so too, to whoever arms the pass by hand.
    order
        .execute_batch(&format!(
            "CREATE TEMP TABLE IF NOT EXISTS counterfoil_pass(id INTEGER PRIMARY KEY);
             REPLACE INTO temp.counterfoil_pass VALUES ({})",
            crate::guards::PASS
        ))
        .unwrap();
    let event = "INSERT INTO counterfoil_event(stream, seq, kind, body, commands, recorded_at)
                 VALUES ('t', 3, 'k', 'b', 0, 1764421200000000)";
    assert!(order.execute(event, []).unwrap_err().to_string().contains("CF0134"));
    drop(order);
    // A start does not take a service's stream away from it.
    store.append(append("plain", 0)).await.unwrap().unwrap();
    send(&store, input("plain", InputKind::Start, "start")).await;
    let aside = Quarantine {
        stream: stream("plain"),
        program: trip(),
        expected_seq: 0,
        reason: "taken".into(),
        input: "start".into(),
    };
    assert_eq!(store.quarantine(aside).await.unwrap(), Aside::Input);
    store.append(append("plain", 1)).await.unwrap().unwrap();
    let order = user.transaction().unwrap();
    order.append(&append("plain", 2)).unwrap();
    order.commit().unwrap();
    assert_eq!(ids(&store).await, [""; 0]);
}

/// The runner reads receipts until its workflow has ended and nothing waits.
#[tokio::test]
async fn commands_are_archived_once_their_workflow_needs_them_no_more() {
    let (_folder, store) = begun(1).await;
    let id = CommandId::new("t:2:0").unwrap();
    store.report(&id, report(ReceiptOutcome::Completed)).await.unwrap();
    let newest = Command::json("newest", "shipping", "k", &1).unwrap();
    store.enqueue(vec![newest]).await.unwrap()[0].clone().unwrap();
    let newest = CommandId::new("newest").unwrap();
    store.report(&newest, report(ReceiptOutcome::Completed)).await.unwrap();
    let kept = |page: Kept| page.of_workflow;
    let page = || store.ended(Micros::LATEST, 0, 10);
    assert_eq!(kept(page().await.unwrap().kept), 1, "it runs");
    let mut end = step("t", 2, vec![decision("receipt:2:0", "receipt:completed", 0)]);
    end.status = Status::Failed;
    send(&store, input("t", InputKind::Signal, "late")).await;
    assert_eq!(store.steps(vec![end]).await.unwrap(), [Ok(())]);
    assert_eq!(kept(page().await.unwrap().kept), 1, "an input waits");
    let mut late = step("t", 4, vec![decision("late", "signal:late", 0)]);
    late.status = Status::Failed;
    assert_eq!(store.steps(vec![late]).await.unwrap(), [Ok(())]);
    let ended = page().await.unwrap();
    assert_eq!((kept(ended.kept), ended.entries.len()), (0, 1));
    let buried = store.bury("f", ended.entries, None).await.unwrap();
    assert_eq!(buried, Buried::Done(vec![true]));
    let issued = store.issued(&stream("t"), (0, 0), 10).await.unwrap();
    assert_eq!(issued.len(), 1);
    assert!(issued[0].digest.is_some());
}

#[tokio::test]
async fn an_input_stands_once_by_both_doors() {
    let (folder, store) = begun(0).await;
    let go = input("t", InputKind::Signal, "go");
    let other = NewInput { body: Some(b"other".to_vec()), ..go.clone() };
    let conflict = InputRefused::Conflict { stream: "t".into(), id: "go".into() };
    let sent = store.send_inputs(vec![go.clone(), go.clone(), other.clone()]).await.unwrap();
    assert_eq!(sent, [Ok(Recorded::Recorded), Ok(Recorded::Repeated), Err(conflict.clone())]);
    let started = input("t", InputKind::Start, "start");
    assert_eq!(store.send_inputs(vec![started]).await.unwrap(), [Ok(Recorded::Repeated)]);
    let decided = step("t", 2, vec![decision("go", "signal:go", 0)]);
    assert_eq!(store.steps(vec![decided]).await.unwrap(), [Ok(())]);
    let kind = NewInput { kind: InputKind::Cancel, ..go.clone() };
    let sent = store.send_inputs(vec![go, other, kind]).await.unwrap();
    assert_eq!(sent, [Ok(Recorded::Repeated), Err(conflict.clone()), Err(conflict)]);
    assert_eq!(count(&folder, "input"), 0);
}

/// A person is asked about what was refused, unless a workflow is there to decide.
#[tokio::test]
async fn a_refusal_ends_a_command_whose_workflow_waits() {
    let (_folder, store) = begun(1).await;
    let service = Append {
        stream: stream("plain"),
        expected_seq: 0,
        events: vec![Event::json("paid", &1).unwrap()],
        commands: vec![Command::unnamed("shipping", "k", &1).unwrap()],
    };
    store.append(service).await.unwrap().unwrap();
    let claimed = store.exchange(claim(2)).await.unwrap().claimed;
    let refused = |one| settle(one, Outcome::Rejected { by: Judge::Status, reason: "400".into() });
    let settles = claimed.iter().map(refused).collect();
    let settled = store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
    assert_eq!(settled.settled, [Settled::Ended("rejected"), Settled::Open(State::Dead)]);
    assert_eq!(ids(&store).await, ["receipt:2:0"]);
    // Where the contract says so it is parked all the same.
    let (_folder, store) = begun(1).await;
    let claimed = store.exchange(claim(1)).await.unwrap().claimed;
    let mut one = refused(&claimed[0]);
    let mut terms = Terms::clone(&one.terms);
    terms.contract.on_refusal = OnRefusal::Park;
    one.terms = terms.into();
    let exchange = Exchange { settles: vec![one], ..Exchange::default() };
    let settled = store.exchange(exchange).await.unwrap().settled;
    assert_eq!(settled, [Settled::Open(State::Dead)]);
}
