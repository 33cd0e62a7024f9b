//! Workflows among transactions: nobody holds a runner up, nothing is lost between two of them.

use std::time::Duration;

use counterfoil_core::domain::laws::of_input;
use counterfoil_core::domain::workflow::{InputKind, Program, Status, timer_input};
use counterfoil_core::domain::{
    Command, CommandId, Event, Judge, Kind, Outcome, ResultBody, Span, Stream,
};
use counterfoil_core::port::store::{Append, Ended, Recorded, Settle, WriteRefused};
use counterfoil_core::port::workflow::{
    Aside, Decision, DueFrom, NewInput, Quarantine, Step, StepRefused,
};
use counterfoil_core::port::{Actor, Audited as _, Store as _, Workflows as _};
use counterfoil_postgres::PostgresStore;

use crate::lanes::{completed, declare, exchange, terms};
use crate::server::{Stranger, TestSchema, wait_for_lock};

const HOUR: Span = Span::from_secs(3_600);

pub(crate) fn stream(of: &str) -> Stream {
    Stream::new(of).unwrap()
}

pub(crate) fn program() -> Program {
    Program::new("trip", 1).unwrap()
}

fn input(of: &str, id: &str, kind: InputKind, name: &str) -> NewInput {
    NewInput { stream: stream(of), id: id.into(), kind, name: name.into(), body: None }
}

pub(crate) async fn send(store: &PostgresStore, of: &str, id: &str, kind: InputKind) {
    let name = if kind == InputKind::Start { "trip" } else { "go" };
    let sent = store.send_inputs(vec![input(of, id, kind, name)]).await.unwrap();
    assert_eq!(sent, [Ok(Recorded::Recorded)]);
}

pub(crate) fn decided(id: &str, kind: InputKind, name: &str) -> Decision {
    let kind = Kind::new(kind.event_kind(name)).unwrap();
    Decision {
        input: id.into(),
        event: Event { kind, body: Vec::new(), cause: None },
        decided: None,
        events: Vec::new(),
        commands: Vec::new(),
        timers: Vec::new(),
        unset: Vec::new(),
        cancel: Vec::new(),
    }
}

pub(crate) fn started() -> Decision {
    decided("start", InputKind::Start, "trip")
}

pub(crate) fn signalled(id: &str) -> Decision {
    decided(id, InputKind::Signal, "go")
}

pub(crate) fn book() -> Command {
    Command { id: None, ..Command::bytes("x", "shop", "flight.book", "seat").unwrap() }
}

pub(crate) fn step(store: &PostgresStore, of: &str, seq: i64, decisions: Vec<Decision>) -> Step {
    Step {
        stream: stream(of),
        program: program(),
        expected_seq: seq,
        at: store.now().unwrap(),
        decisions,
        status: Status::Running,
        snapshot: None,
        owner: "runner".into(),
        lease: Span::ZERO,
    }
}

/// What an open transaction left, and a runner sees to, is nobody's fault.
async fn no_law_of_inputs_is_broken(store: &PostgresStore) {
    let (inputs, _) = store.input_facts(None, 99).await.unwrap();
    assert!(!inputs.is_empty());
    assert_eq!(inputs.iter().flat_map(of_input).collect::<Vec<_>>(), []);
}

pub(crate) async fn commit(store: &PostgresStore, step: Step) {
    assert_eq!(store.steps(vec![step]).await.unwrap(), [Ok(())]);
}

/// A workflow whose start issued one command, `of:1:0`.
pub(crate) async fn booked(store: &PostgresStore, of: &str) {
    send(store, of, "start", InputKind::Start).await;
    let decision = Decision { commands: vec![book()], ..started() };
    commit(store, step(store, of, 0, vec![decision])).await;
}

pub(crate) async fn due(store: &PostgresStore) -> Vec<String> {
    let from = DueFrom { programs: vec![program()], owner: "runner".into(), limit: 100 };
    let due = store.due_inputs(from).await.unwrap();
    due.iter().map(|input| format!("{} {}", input.stream, input.id)).collect()
}

pub(crate) async fn quarantine(store: &PostgresStore, of: &str, expected_seq: i64) -> bool {
    let (reason, input) = ("it panicked".to_owned(), String::new());
    let quarantine =
        Quarantine { stream: stream(of), program: program(), expected_seq, reason, input };
    store.quarantine(quarantine).await.unwrap() == Aside::Workflow
}

fn signal(of: &str, id: &str) -> String {
    format!("INSERT INTO cf.input(stream, id, kind, name) VALUES ('{of}', '{id}', 'signal', 'go')")
}

async fn within<T>(asked: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), asked).await.expect("somebody held it up")
}

#[tokio::test]
async fn an_open_transaction_of_a_user_holds_no_step_up() {
    let schema = TestSchema::new().await;
    let (store, user) = (schema.store().await, schema.stranger().await);
    booked(&store, "t").await;
    send(&store, "t", "a", InputKind::Signal).await;
    user.run("BEGIN").await.unwrap();
    user.run(&signal("t", "b")).await.unwrap();
    user.run("SELECT cf.complete('t:1:0')").await.unwrap();
    Box::pin(within(commit(&store, step(&store, "t", 1, vec![signalled("a")])))).await;
    assert_eq!(due(&store).await, [""; 0]);
    user.run("COMMIT").await.unwrap();
    assert_eq!(due(&store).await, ["t b", "t receipt:1:0"]);
}

#[tokio::test]
async fn a_command_that_a_user_is_at_work_on_is_not_waited_for() {
    let schema = TestSchema::new().await;
    let (store, user) = (schema.store().await, schema.stranger().await);
    booked(&store, "t").await;
    booked(&store, "u").await;
    for of in ["t", "u"] {
        send(&store, of, "a", InputKind::Signal).await;
    }
    user.run("BEGIN").await.unwrap();
    user.run("SELECT cf.complete('t:1:0')").await.unwrap();
    let cancels = |of: &str| Decision {
        cancel: vec![CommandId::new(format!("{of}:1:0")).unwrap()],
        ..signalled("a")
    };
    let both = ["t", "u"].map(|of| step(&store, of, 1, vec![cancels(of)]));
    let answers = Box::pin(within(store.steps(both.to_vec()))).await.unwrap();
    assert_eq!(answers, [Ok(()), Ok(())]);
    assert_eq!(due(&store).await, ["u receipt:1:0"]);
    user.run("COMMIT").await.unwrap();
    // In the order in which they were written, whoever committed first.
    assert_eq!(due(&store).await, ["t receipt:1:0", "u receipt:1:0"]);
    let completed = "SELECT count(*) FROM cf.receipt WHERE outcome = 'completed'";
    assert_eq!(user.number(completed).await, 1);
}

#[tokio::test]
async fn a_signal_whose_start_came_meanwhile_is_adopted() {
    let schema = TestSchema::new().await;
    let (store, user) = (schema.store().await, schema.stranger().await);
    user.run("BEGIN").await.unwrap();
    user.run(&signal("t", "early")).await.unwrap();
    booked(&store, "t").await;
    user.run("COMMIT").await.unwrap();
    assert_eq!(due(&store).await, [""; 0]);
    // It is as old as it may be, and all the same no orphan.
    assert_eq!(store.keep_inputs(9, Span::ZERO).await.unwrap().adopted, 1);
    assert_eq!(due(&store).await, ["t early"]);
}

#[tokio::test]
async fn a_signal_to_what_is_set_aside_meanwhile_clogs_nothing() {
    let schema = TestSchema::new().await;
    let (store, user) = (schema.store().await, schema.stranger().await);
    booked(&store, "t").await;
    user.run("BEGIN").await.unwrap();
    user.run(&signal("t", "late")).await.unwrap();
    assert!(quarantine(&store, "t", 1).await);
    user.run("COMMIT").await.unwrap();
    let aside = "SELECT count(*) FROM cf.input WHERE workflow IS NULL";
    assert_eq!(user.number(aside).await, 0);
    no_law_of_inputs_is_broken(&store).await;
    assert_eq!(due(&store).await, [""; 0]);
    assert_eq!(store.keep_inputs(9, HOUR).await.unwrap().adopted, 0);
    assert_eq!(user.number(aside).await, 1);
    let actor = Actor { name: "ann".into(), reason: String::new() };
    assert!(store.retry_workflow(&stream("t"), actor).await.unwrap());
    assert_eq!(due(&store).await, ["t late"]);
}

/// The upkeep waits for nobody, and does not take away what another transaction is at work on.
#[tokio::test]
async fn the_upkeep_passes_over_what_others_hold() {
    let schema = TestSchema::new().await;
    let (store, holder) = (schema.store().await, schema.forger().await);
    for of in ["t", "u"] {
        send(&store, of, "a", InputKind::Signal).await;
    }
    holder.run("BEGIN").await.unwrap();
    holder.run("SELECT * FROM cf.input WHERE stream = 't' FOR UPDATE").await.unwrap();
    let kept = within(store.keep_inputs(9, Span::ZERO)).await.unwrap();
    assert_eq!((kept.adopted, kept.expired), (0, 1));
    holder.run("COMMIT").await.unwrap();
    assert_eq!(store.keep_inputs(9, Span::ZERO).await.unwrap().expired, 1);
}

/// A transaction that sees the store of before sends an input again that was decided since: it is
/// not decided twice, and does not come again and again.
#[tokio::test]
async fn a_repeat_from_an_old_snapshot_is_taken_away() {
    let schema = TestSchema::new().await;
    let (store, user) = (schema.store().await, schema.stranger().await);
    booked(&store, "t").await;
    user.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM cf.input").await.unwrap();
    send(&store, "t", "a", InputKind::Signal).await;
    commit(&store, step(&store, "t", 1, vec![signalled("a")])).await;
    user.run(&signal("t", "a")).await.unwrap();
    user.run("COMMIT").await.unwrap();
    no_law_of_inputs_is_broken(&store).await;
    assert_eq!(due(&store).await, ["t a"]);
    let again = store.steps(vec![step(&store, "t", 2, vec![signalled("a")])]).await.unwrap();
    assert_eq!(again, [Err(StepRefused::Gone { stream: "t".into(), id: "a".into() })]);
    assert_eq!(due(&store).await, [""; 0]);
}

/// The story: such a transaction sent other content under the decided id, was told that it had
/// committed, and nobody ever heard that it was taken away: a refusal that nobody saw.
#[tokio::test]
async fn other_content_from_an_old_snapshot_is_taken_away_on_record() {
    let schema = TestSchema::new().await;
    let (store, user) = (schema.store().await, schema.stranger().await);
    booked(&store, "t").await;
    user.run("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1 FROM cf.input").await.unwrap();
    let ids = ["same", "name", "body", "none"];
    for id in ids {
        send(&store, "t", id, InputKind::Signal).await;
    }
    commit(&store, step(&store, "t", 1, ids.map(signalled).to_vec())).await;
    for (id, name, body) in [
        ("same", "go", "''"),
        ("name", "stop", "NULL"),
        ("body", "go", "'NO'"),
        ("none", "go", "NULL"),
    ] {
        let insert = format!(
            "INSERT INTO cf.input(stream, id, kind, name, body) VALUES \
             ('t', '{id}', 'signal', '{name}', {body})"
        );
        user.run(&insert).await.unwrap();
    }
    user.run("COMMIT").await.unwrap();
    for id in ids {
        let again = store.steps(vec![step(&store, "t", 5, vec![signalled(id)])]).await.unwrap();
        assert!(matches!(again[..], [Err(StepRefused::Gone { .. })]), "{id}: {again:?}");
    }
    assert_eq!(due(&store).await, [""; 0]);
    let acts = store.actions(0, 99).await.unwrap();
    let said: Vec<_> = acts.iter().map(|act| (act.verb.as_str(), act.about.as_str())).collect();
    assert_eq!(said, [("input set aside", "t"); 2]);
    let whys: Vec<String> = acts.into_iter().filter_map(|act| act.reason).collect();
    assert!(whys[0].starts_with("input name (signal:stop) has other content"), "{whys:?}");
    assert!(whys[1].starts_with("input body (signal:go) has other content"), "{whys:?}");
    assert!(whys.iter().all(|why| why.contains("CF0304")), "{whys:?}");
}

/// Runners that meet in the same workflows, each in an order of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn runners_at_once_decide_each_input_once() {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    let all: Vec<String> = (0..12).map(|number| format!("t-{number}")).collect();
    for of in &all {
        send(&store, of, "start", InputKind::Start).await;
        for id in 0..4 {
            send(&store, of, &format!("s-{id}"), InputKind::Signal).await;
        }
    }
    let mut runners = Vec::new();
    for runner in 0..4 {
        let (store, mut order) = (schema.store().await, all.clone());
        order.rotate_left(runner * 3);
        if runner % 2 == 1 {
            order.reverse();
        }
        runners.push(tokio::spawn(async move {
            let mut written = 0;
            for seq in 0..5 {
                let decision = |_: &String| match seq {
                    0 => Decision { commands: vec![book()], ..started() },
                    seq => {
                        let timer =
                            (timer_input(seq + 1, "late"), "late".into(), store.now().unwrap());
                        let (timers, commands) = (vec![timer], vec![book()]);
                        Decision { timers, commands, ..signalled(&format!("s-{}", seq - 1)) }
                    }
                };
                let steps = order.iter().map(|of| step(&store, of, seq, vec![decision(of)]));
                let answers = store.steps(steps.collect()).await.unwrap();
                let moved =
                    |it: &Result<(), _>| matches!(it, Ok(()) | Err(StepRefused::Moved { .. }));
                assert!(answers.iter().all(moved), "{answers:?}");
                written += answers.iter().filter(|answer| answer.is_ok()).count();
            }
            written
        }));
    }
    let mut written = 0;
    for runner in runners {
        written += runner.await.unwrap();
    }
    assert_eq!(written, 60);
    let stranger = schema.stranger().await;
    assert_eq!(stranger.number("SELECT count(*) FROM cf.event").await, 60);
    assert_eq!(stranger.number("SELECT count(*) FROM cf.outbox").await, 60);
    assert_eq!(stranger.number("SELECT count(*) FROM cf.input WHERE kind <> 'timer'").await, 0);
    assert_eq!(stranger.number("SELECT sum(head) FROM cf.stream").await, 60);
}

/// A step that meets another one in its way waits for it, and is refused as that says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_waits_for_one_under_way() {
    let schema = TestSchema::new().await;
    let (store, other) = (schema.store().await, schema.forger().await);
    booked(&store, "t").await;
    send(&store, "t", "a", InputKind::Signal).await;
    other.run("BEGIN").await.unwrap();
    other.run("UPDATE cf.stream SET head = 2 WHERE stream = 't'").await.unwrap();
    let late = {
        let store = store.clone();
        let step = step(&store, "t", 1, vec![signalled("a")]);
        tokio::spawn(async move { store.steps(vec![step]).await.unwrap() })
    };
    wait_for_lock(&other).await;
    other.run("COMMIT").await.unwrap();
    let moved = StepRefused::Moved { stream: "t".into(), expected: 1, actual: 2 };
    assert_eq!(late.await.unwrap(), [Err(moved)]);
}

async fn inputs(stranger: &Stranger) -> Option<String> {
    let all = "SELECT string_agg(stream || ' ' || id || ' ' || name || ' ' || workflow, ', ' \
               ORDER BY stream) FROM cf.input";
    stranger.text(all).await
}

#[tokio::test]
async fn a_report_in_sql_is_an_input_of_its_transaction() {
    let schema = TestSchema::new().await;
    let (store, worker) = (schema.store().await, schema.stranger().await);
    for of in ["a", "b", "c"] {
        booked(&store, of).await;
    }
    worker.run("BEGIN").await.unwrap();
    worker.run("SELECT cf.complete('a:1:0')").await.unwrap();
    assert_eq!(inputs(&worker).await.as_deref(), Some("a receipt:1:0 completed trip/1"));
    worker.run("ROLLBACK").await.unwrap();
    assert_eq!(inputs(&worker).await, None);
    worker
        .run(
            "SELECT cf.complete('a:1:0', 'r'::text), cf.reject('b:1:0');
             INSERT INTO cf.report(command_id, outcome) VALUES ('c:1:0', 'rejected');
             SELECT cf.complete('a:1:0', 'r'::text), cf.complete('b:1:0')",
        )
        .await
        .unwrap();
    let all = "a receipt:1:0 completed trip/1, b receipt:1:0 rejected trip/1, \
               c receipt:1:0 rejected trip/1";
    assert_eq!(inputs(&worker).await.as_deref(), Some(all));
}

#[tokio::test]
async fn a_stranger_names_neither_whom_nor_when() {
    let schema = TestSchema::new().await;
    let (store, user) = (schema.store().await, schema.stranger().await);
    booked(&store, "t").await;
    user.run(&signal("t", "a")).await.unwrap();
    user.run(&signal("orphan", "a")).await.unwrap();
    user.run("INSERT INTO cf.input(stream, id, kind, name) VALUES ('n', 's', 'start', 'trip')")
        .await
        .unwrap();
    let told = "SELECT string_agg(stream || ' ' || coalesce(workflow, '-'), ', ' ORDER BY stream)
                FROM cf.input WHERE cf.micros() - recorded_at BETWEEN 0 AND 60000000";
    assert_eq!(user.text(told).await.as_deref(), Some("n trip, orphan -, t trip/1"));
    assert_eq!(due(&store).await, ["t a", "n s"]);
}

/// Takes what is due at the shop and settles it.
async fn settled(store: &PostgresStore, outcome: Outcome) {
    let terms = terms();
    declare(store, &terms).await;
    let claimed = exchange(store, &terms, Vec::new(), 1).await.claimed.remove(0);
    let settle = Settle { ended: Ended::Outcome(outcome), ..completed(claimed, &terms) };
    exchange(store, &terms, vec![settle], 0).await;
}

fn done() -> Outcome {
    Outcome::Completed { result: ResultBody::whole(""), evidence: "ok".into() }
}

#[tokio::test]
async fn a_runner_of_this_process_is_woken_by_a_settle() {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    booked(&store, "t").await;
    let runner = store.clone();
    runner.changed(Duration::ZERO).await;
    let waits = tokio::spawn(async move {
        runner.changed(Duration::from_secs(600)).await;
        due(&runner).await
    });
    settled(&store, done()).await;
    assert_eq!(within(waits).await.unwrap(), ["t receipt:1:0"]);
}

/// Where the contract does not say: a workflow decides what follows, else a person.
#[tokio::test]
async fn a_refusal_ends_a_command_whose_workflow_waits() {
    let schema = TestSchema::new().await;
    let store = schema.store().await;
    let refused = || Outcome::Rejected { reason: "HTTP 422".into(), by: Judge::Status };
    booked(&store, "t").await;
    settled(&store, refused()).await;
    let append = Append {
        stream: stream("o"),
        expected_seq: 0,
        events: vec![Event::json("placed", &1).unwrap()],
        commands: vec![book()],
    };
    store.append(append).await.unwrap().unwrap();
    settled(&store, refused()).await;
    store.enqueue(vec![Command::bytes("bare", "shop", "k", "b").unwrap()]).await.unwrap();
    settled(&store, refused()).await;
    for (id, state) in [("t:1:0", "rejected"), ("o:1:0", "dead"), ("bare", "dead")] {
        assert_eq!(store.show(id).await.unwrap().unwrap().listed.state, state, "{id}");
    }
    assert_eq!(due(&store).await, ["t receipt:1:0"]);
}

/// An append that meets the first step of a workflow waits for it, and is told whose stream it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_beside_a_start_is_refused() {
    let schema = TestSchema::new().await;
    let (store, other) = (schema.store().await, schema.forger().await);
    other.run("BEGIN").await.unwrap();
    let begins = "INSERT INTO cf.stream(stream, workflow, version, status, head)
            VALUES ('t', 'trip', 1, 'running', 1);
        INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at)
            VALUES ('t', 1, 'start:trip', '', 'start', 0, 1764421200000000)";
    other.run(begins).await.unwrap();
    let append = Append {
        stream: stream("t"),
        expected_seq: 0,
        events: vec![Event::json("placed", &1).unwrap()],
        commands: Vec::new(),
    };
    let late = {
        let store = store.clone();
        tokio::spawn(async move { store.append(append).await.unwrap() })
    };
    wait_for_lock(&other).await;
    other.run("COMMIT").await.unwrap();
    let refused = WriteRefused::WorkflowStream { stream: "t".into() };
    assert_eq!(late.await.unwrap(), Err(refused));
}
