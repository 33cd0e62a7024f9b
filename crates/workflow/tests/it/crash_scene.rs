//! Four sagas, their far end, and a runner that is killed at each of its points in turn.
//!
//! Guarantees: after each death every input waits or is decided, and after each that left something
//! written the audit holds; a command's id is asked with one content for ever; the history of all
//! is told line by line. Does not: kill; who calls it does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{CommandId, Digest, EventRow, ReceiptOutcome, Span, Stream};
use counterfoil_core::port::workflow::NewInput;
use counterfoil_core::port::{Quiet, Workflows};
use counterfoil_workflow::runner::{Options, Runner};
use counterfoil_workflow::verify::verify_all;
use counterfoil_workflow::{Programs, Saga, Step, Unnamed};

/// One goes well, one is refused a hotel, one is cancelled, one is not approved.
const STREAMS: [&str; 4] = ["good", "bad", "off", "late"];
/// How long an approval is waited for.
const WITHIN: Span = Span::from_millis(30);

fn ask(label: &'static str) -> Step<String> {
    Step::new(label, move |trip, _| Unnamed::json("far", label, trip))
        .undo(move |trip, _| Unnamed::json("far", format!("{label}.undo"), trip))
}

fn trip() -> Saga<String> {
    Saga::new("trip")
        .step(ask("lock"))
        .group(vec![ask("flight").within(Span::from_secs(3_600)), ask("hotel")])
        .wait("approve", WITHIN)
        .step(Step::new("charge", |trip, _| Unnamed::json("far", "charge", trip)))
        .within(Span::from_secs(86_400))
}

fn stream(name: &str) -> Stream {
    Stream::new(name).unwrap()
}

/// A runner at work until nothing is due; each step saves its state.
pub(crate) async fn play<S: Workflows>(store: S) {
    let options = Options::default().snapshot_every(1).decide_max(Duration::ZERO);
    let runner = Runner::builder(store).workflow(trip()).options(options).observer(Quiet);
    runner.build().unwrap().run_until_idle().await.unwrap();
}

async fn send<S: Workflows>(store: &S) {
    let input = |of: &str, kind: InputKind, name: &str, body: &str| {
        let (id, body) = (format!("{}-1", kind.name()), Some(body.as_bytes().to_vec()));
        NewInput { stream: stream(of), id, kind, name: name.into(), body }
    };
    let mut inputs: Vec<NewInput> = STREAMS
        .iter()
        .map(|of| input(of, InputKind::Start, "trip", &format!("\"{of}\"")))
        .collect();
    inputs.push(input("good", InputKind::Signal, "approve", "\"ann\""));
    inputs.push(input("off", InputKind::Cancel, "cancel", "rain"));
    for sent in store.send_inputs(inputs).await.unwrap() {
        sent.unwrap();
    }
}

/// Who gives each command its receipt, and what each was asked with.
#[derive(Default)]
struct FarEnd(BTreeMap<String, Digest>);

impl FarEnd {
    async fn answer<S: Workflows>(&mut self, store: &S) {
        for of in STREAMS {
            for issued in store.issued(&stream(of), (0, -1), 100).await.unwrap() {
                let id = format!("{of}:{}:{}", issued.seq, issued.idx);
                let digest = issued.digest.unwrap();
                let known = self.0.insert(id.clone(), digest);
                assert!(known.is_none_or(|known| known == digest), "{id} has other content");
                // What its own step has cancelled has its receipt.
                if known.is_none() && of != "off" {
                    let refuses = of == "bad" && issued.kind == "hotel";
                    report(store, &id, refuses).await;
                }
            }
        }
    }
}

async fn report<S: Workflows>(store: &S, id: &str, refuses: bool) {
    let outcome = if refuses { ReceiptOutcome::Rejected } else { ReceiptOutcome::Completed };
    let report = Report {
        outcome,
        result: Some(format!("\"{id}\"").into_bytes()),
        evidence: None,
        source: "report".into(),
        token: None,
        equals_earlier: false,
    };
    store.report(&CommandId::new(id).unwrap(), report).await.unwrap();
}

async fn events<S: Workflows>(store: &S, of: &str) -> Vec<EventRow> {
    store.load(&stream(of), 0, 1_000).await.unwrap()
}

/// How far each is.
async fn heads<S: Workflows>(store: &S) -> [usize; STREAMS.len()] {
    let mut heads = [0; STREAMS.len()];
    for (head, of) in heads.iter_mut().zip(STREAMS) {
        *head = events(store, of).await.len();
    }
    heads
}

async fn status<S: Workflows>(store: &S, of: &str) -> Option<Status> {
    store.workflow(of).await.unwrap().and_then(|row| row.status)
}

async fn is_over<S: Workflows>(store: &S) -> bool {
    for of in STREAMS {
        if !status(store, of).await.is_some_and(Status::has_ended) {
            return false;
        }
    }
    true
}

/// Everything that happened, line by line.
pub(crate) async fn history<S: Workflows>(store: &S) -> Vec<String> {
    let mut lines = Vec::new();
    for of in STREAMS {
        for event in events(store, of).await {
            let EventRow { seq, kind, cause, commands, body, decided, .. } = event;
            let decided = decided.as_deref().map(without_times);
            let body = String::from_utf8(body).unwrap();
            lines.push(format!("{of} {seq} {kind} {cause:?} {commands} {body} {decided:?}"));
        }
        for issued in store.issued(&stream(of), (0, -1), 100).await.unwrap() {
            lines.push(format!("{of} {issued:?}"));
        }
        lines.push(format!("{of} is {:?}", status(store, of).await));
    }
    lines
}

/// What was said beside the events, but for when timers are due.
fn without_times(decided: &str) -> String {
    let mut said: serde_json::Value = serde_json::from_str(decided).unwrap();
    for timer in said["set"].as_array_mut().into_iter().flatten() {
        timer["due_at"] = serde_json::Value::Null;
    }
    said.to_string()
}

/// The same without a death.
pub(crate) async fn undisturbed<S: Workflows>(store: &S) -> Vec<String> {
    killed_at_every_point(store, async |_| {
        play(store.clone()).await;
        false
    })
    .await;
    history(store).await
}

/// Lets `run` play a runner that dies at the point of the number it is told, where it gets so far,
/// and says whether it died: at each point in turn, and again at each as soon as something was
/// written, until all is over. How often it died.
pub(crate) async fn killed_at_every_point<S: Workflows>(
    store: &S,
    run: impl AsyncFn(u32) -> bool,
) -> u32 {
    send(store).await;
    let (mut far, mut deaths) = (FarEnd::default(), 0);
    for _ in 0..30 {
        let (mut point, mut before) = (1, heads(store).await);
        while run(point).await {
            deaths += 1;
            each_input_waits_or_is_decided(store).await;
            let after = heads(store).await;
            if after == before {
                point += 1;
            } else {
                (point, before) = (1, after);
                audit_holds(store).await;
            }
        }
        far.answer(store).await;
        if is_over(store).await {
            must_hold(store).await;
            return deaths;
        }
        tokio::time::sleep(WITHIN.to_std()).await;
    }
    panic!("it does not end: {:#?}", history(store).await);
}

async fn each_input_waits_or_is_decided<S: Workflows>(store: &S) {
    for of in STREAMS {
        let waiting = store.waiting_inputs(Some(of), None, 100).await.unwrap();
        let waiting: BTreeSet<String> = waiting.into_iter().map(|input| input.id).collect();
        let causes: Vec<String> =
            events(store, of).await.into_iter().filter_map(|event| event.cause).collect();
        let decided: BTreeSet<String> = causes.iter().cloned().collect();
        assert_eq!(decided.len(), causes.len(), "{of}: one was decided twice");
        assert!(decided.is_disjoint(&waiting), "{of}: {decided:?} {waiting:?}");
        assert!(decided.contains("start-1") || waiting.contains("start-1"), "{of}: it is lost");
    }
}

async fn audit_holds<S: Workflows>(store: &S) {
    let report = audit(store, AuditOptions::default()).await.unwrap();
    assert!(report.holds, "{:?}", report.violations);
}

async fn must_hold<S: Workflows>(store: &S) {
    each_input_waits_or_is_decided(store).await;
    audit_holds(store).await;
    let programs = Programs::new().with(trip()).unwrap();
    let mut count = 0;
    let tell = |verified: counterfoil_workflow::verify::Verified| {
        assert!(verified.holds(), "{verified:?}");
        count += 1;
    };
    verify_all(store, &programs, Default::default(), tell).await.unwrap();
    assert_eq!(count, STREAMS.len());
}
