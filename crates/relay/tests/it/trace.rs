//! What a tracer is told, and where its spans are named.
//!
//! Guarantees: one span an attempt, by its own name in the request and in the log. Does not: know
//! a tracing library; the command's own tests meet a collector.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use counterfoil_core::domain::{Answer, Outcome, Span, TraceContext};
use counterfoil_core::port::store::Ended;
use counterfoil_core::port::{Attempt, BoxFuture, Notice, Question, Transport};
use counterfoil_relay::{Hop, HopSpan, SettledBatch, Tracer};
use counterfoil_testkit::{Script, ScriptedTransport};

use crate::scene::{SHIPPING, Scene, askable, paid, pass};

const STORED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Writes down what it is told. Its spans are those of trace 1, 2, 3…
#[derive(Clone, Default)]
struct Told {
    lines: Arc<Mutex<Vec<String>>>,
    traces: Arc<AtomicU64>,
}

impl Told {
    fn say(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl Tracer for Told {
    fn begin(&self, hop: &Hop<'_>) -> Box<dyn HopSpan> {
        let trace = self.traces.fetch_add(1, Ordering::Relaxed) + 1;
        let what = if hop.is_question { "ask" } else { "send" };
        let (id, number) = (&hop.command.command_id, hop.number);
        let linked = hop.recorded_in().map_or("nothing".into(), |context| context.to_string());
        self.say(format!("{trace} {what} {id} {}.{number} linked to {linked}", hop.round));
        let told = Some(self.clone());
        Box::new(TestSpan { trace, told })
    }

    fn settled(&self, batch: &SettledBatch<'_>) {
        let traces: Vec<_> = batch.traces.iter().map(TraceContext::trace_id).collect();
        let failed = if batch.error.is_some() { " failed" } else { "" };
        self.say(format!("settled {} {traces:?}{failed}", batch.settles));
    }
}

struct TestSpan {
    trace: u64,
    told: Option<Told>,
}

fn context(trace: u64) -> TraceContext {
    TraceContext::new(trace.into(), trace, true).unwrap()
}

impl HopSpan for TestSpan {
    fn context(&self) -> Option<TraceContext> {
        Some(context(self.trace))
    }

    fn end(mut self: Box<Self>, ended: &Ended) {
        let how = match ended {
            Ended::Outcome(outcome) => outcome.name(),
            Ended::Answer(answer) => answer.name(),
            Ended::HandedBack => "handed back",
        };
        self.told.take().unwrap().say(format!("{} {how}", self.trace));
    }
}

impl Drop for TestSpan {
    fn drop(&mut self) {
        if let Some(told) = &self.told {
            told.say(format!("{} abandoned", self.trace));
        }
    }
}

/// Sends as another does, and writes down by which span it is called.
struct Seen {
    by: Arc<ScriptedTransport>,
    traces: Mutex<Vec<Option<TraceContext>>>,
}

impl Seen {
    fn new(by: &Arc<ScriptedTransport>) -> Arc<Self> {
        Arc::new(Self { by: Arc::clone(by), traces: Mutex::default() })
    }
}

impl Transport for Seen {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        self.traces.lock().unwrap().push(attempt.trace);
        self.by.send(attempt)
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        self.traces.lock().unwrap().push(question.trace);
        self.by.ask(question)
    }

    fn request_timeout(&self) -> Option<Span> {
        Transport::request_timeout(&*self.by)
    }
}

async fn run(scene: &Scene, tracer: Option<Arc<dyn Tracer>>) -> Vec<Option<TraceContext>> {
    let seen = Seen::new(&scene.transport);
    let served = vec![scene.serving(SHIPPING, seen.clone())];
    let mut options = scene.options().until_idle(true);
    options.tracer = tracer;
    scene.start_on(&scene.store, served, options).end().await.unwrap();
    std::mem::take(&mut *seen.traces.lock().unwrap())
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_a_span_of_its_own_and_a_retry_another() {
    let (scene, told) = (Scene::new(), Told::default());
    scene.enqueue_command(paid(SHIPPING, "A").traceparent(STORED)).await;
    scene.transport.script("A", Script::lose_answer());
    let seen = run(&scene, Some(Arc::new(told.clone()))).await;
    let expected = [
        &format!("1 send A 1.1 linked to {STORED}"),
        "1 unknown",
        "settled 1 [1]",
        &format!("2 send A 1.2 linked to {STORED}"),
        "2 completed",
        "settled 1 [2]",
    ];
    assert_eq!(told.lines(), expected);
    assert_eq!(seen, [Some(context(1)), Some(context(2))], "the transport has them to pass on");
    let all = scene.heard.all();
    let settled = all.iter().filter_map(|notice| match notice {
        Notice::Settled { trace, .. } => Some(*trace),
        _ => None,
    });
    assert_eq!(settled.collect::<Vec<_>>(), [Some(context(1)), Some(context(2))]);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_a_span_too_and_what_it_parks_is_told_with_it() {
    let (mut scene, told) = (Scene::keyless(), Told::default());
    askable(&mut scene.terms.contract).max_asks = 1;
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer());
    let unclear = Answer::Unclear { reason: "HTTP 500".into() };
    scene.transport.script_answer("A", unclear);
    let seen = run(&scene, Some(Arc::new(told.clone()))).await;
    let lines = told.lines();
    assert!(lines.contains(&"2 ask A 1.1 linked to nothing".to_owned()), "{lines:?}");
    assert!(lines.contains(&"2 unclear".to_owned()), "{lines:?}");
    assert_eq!(seen, [Some(context(1)), Some(context(2))]);
    let asked = Some(context(2));
    let is_told =
        |notice: &Notice| matches!(notice, Notice::Parked { trace, .. } if *trace == asked);
    assert!(scene.heard.has(is_told), "{:?}", scene.heard.all());
}

#[tokio::test(start_paused = true)]
async fn a_stored_context_that_is_none_gives_no_link_and_no_failure() {
    let (scene, told) = (Scene::new(), Told::default());
    scene.enqueue_command(paid(SHIPPING, "A").traceparent("00-ab-cd-01")).await;
    scene.enqueue_command(paid(SHIPPING, "B").header("Ce-Traceparent", STORED)).await;
    run(&scene, Some(Arc::new(told.clone()))).await;
    let lines = told.lines().join("\n");
    assert!(lines.contains("send A 1.1 linked to nothing"), "{lines}");
    assert!(lines.contains(&format!("send B 1.1 linked to {STORED}")), "{lines}");
    assert_eq!(scene.state("A").await, "completed");
}

#[tokio::test(start_paused = true)]
async fn without_a_tracer_there_is_no_span() {
    let scene = Scene::new();
    scene.enqueue_command(paid(SHIPPING, "A").traceparent(STORED)).await;
    assert_eq!(run(&scene, None).await, [None]);
    let traced = |notice: &Notice| matches!(notice, Notice::Settled { trace: Some(_), .. });
    assert!(!scene.heard.has(traced));
    assert_eq!(scene.state("A").await, "completed");
}

/// Panics wherever it is called.
struct Broken;

impl Tracer for Broken {
    fn begin(&self, hop: &Hop<'_>) -> Box<dyn HopSpan> {
        assert_ne!(hop.command.command_id.as_str(), "A", "the tracer is broken");
        Box::new(BrokenSpan)
    }

    fn settled(&self, _batch: &SettledBatch<'_>) {
        panic!("the tracer is broken");
    }
}

struct BrokenSpan;

impl HopSpan for BrokenSpan {
    fn context(&self) -> Option<TraceContext> {
        panic!("the tracer is broken");
    }

    fn end(self: Box<Self>, _ended: &Ended) {
        panic!("the tracer is broken");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tracer_that_panics_costs_spans_and_no_command() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.enqueue("B").await;
    assert_eq!(run(&scene, Some(Arc::new(Broken))).await, [None, None]);
    for id in ["A", "B"] {
        assert_eq!((scene.state(id).await.as_str(), scene.transport.sends(id)), ("completed", 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_given_up_drops_its_span_unended() {
    let (scene, told) = (Scene::new(), Told::default());
    scene.enqueue("A").await;
    scene.transport.script("A", Script::lose_answer().after(Duration::from_secs(3600)));
    let relay = scene.start(scene.options().tracer(Arc::new(told.clone())));
    pass(1.0).await;
    relay.kill().await;
    pass(1.0).await;
    assert_eq!(told.lines().last().unwrap(), "1 abandoned");
}
