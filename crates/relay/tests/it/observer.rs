//! What a relay announces, and the page that documents it.
//!
//! Guarantees: a notice that the page does not name fails here. Does not: hold the words of the
//! page to the code.

use std::io::Write;
use std::sync::{Arc, Mutex};

use counterfoil_core::domain::{CommandId, Destination, Span, State};
use counterfoil_core::port::{Notice, Observer};
use counterfoil_relay::TracingObserver;
use tracing_subscriber::fmt::MakeWriter;

use crate::scene::Scene;

const PAGE: &str = include_str!("../../../../docs/observer.md");

/// The names of the notices, from the port's own source.
fn variants() -> Vec<&'static str> {
    let source = include_str!("../../../core/src/port/observer.rs");
    let body = source.split_once("pub enum Notice {").unwrap().1;
    let body = body.split_once("\n}\n").unwrap().0;
    let names = body.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(" {"));
    names.filter(|name| name.starts_with(char::is_uppercase)).collect()
}

#[test]
fn every_notice_stands_in_the_table() {
    let variants = variants();
    assert!(variants.len() >= 13, "{variants:?}");
    for name in &variants {
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/observer.md has no row for {name}"));
        assert!(row.matches('|').count() >= 5, "{row}");
    }
    let of_relay = PAGE.split("\n## What a runner").next().unwrap_or(PAGE);
    let rows = of_relay.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, variants.len(), "a row for something that is no notice");
}

#[tokio::test(start_paused = true)]
async fn a_run_is_told_in_order() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    scene.run_until_idle().await;
    let told: Vec<_> = scene.heard.all();
    let told: Vec<_> = told
        .iter()
        .map(|notice| match notice {
            Notice::Started { owner, .. } => format!("started {owner}"),
            Notice::Claimed { count, taken_over } => format!("claimed {count} {taken_over}"),
            Notice::Settled { command, outcome, now, attempt, .. } => {
                format!("settled {command} {outcome} {now} {attempt}")
            }
            Notice::Idle { next_due } => format!("idle {next_due:?}"),
            Notice::Stopped { abandoned, .. } => format!("stopped {abandoned}"),
            other => format!("{other:?}"),
        })
        .collect();
    let expected = [
        "started relay-1",
        "claimed 1 0",
        "settled A completed completed 1",
        "idle None",
        "stopped 0",
    ];
    assert_eq!(told, expected);
}

/// What is logged, in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

fn logged(notice: &Notice) -> String {
    let log = Log::default();
    let format = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false);
    let subscriber = format.with_max_level(tracing_subscriber::filter::LevelFilter::TRACE);
    tracing::subscriber::with_default(subscriber.finish(), || TracingObserver.notice(notice));
    let bytes = log.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

/// One notice of each kind, in its plainest form.
fn samples() -> Vec<Notice> {
    let (command, destination) = (CommandId::new("A").unwrap(), Destination::new("d").unwrap());
    let (id, name) = (command.to_string(), destination.to_string());
    let (owner, reason) = ("me".to_owned(), "why".to_owned());
    vec![
        Notice::Started { owner: owner.clone(), destinations: vec![destination.clone()] },
        Notice::Stopped { owner, abandoned: 0 },
        Notice::Claimed { count: 1, taken_over: 0 },
        Notice::Settled {
            command: command.clone(),
            destination: destination.clone(),
            outcome: "completed",
            reason: reason.clone(),
            now: "completed",
            attempt: 1,
            took: Span::ZERO,
            trace: None,
        },
        Notice::Parked {
            command: id,
            destination: name.clone(),
            state: State::Uncertain,
            reason: reason.clone(),
            trace: None,
        },
        Notice::Late { command: command.clone(), outcome: "unknown", counted: false, trace: None },
        Notice::LeaseLost { command: command.clone(), destination: destination.clone() },
        Notice::HandedBack { command, reason: "why" },
        Notice::Misconfigured { destination: destination.clone(), reason: reason.clone() },
        Notice::Unserved { destination: name.clone(), open: 1 },
        Notice::BreakerOpened { destination: destination.clone(), reason: reason.clone() },
        Notice::BreakerClosed { destination: destination.clone() },
        Notice::Expired { command: "A".into(), destination: name },
        Notice::Paused { destination: destination.clone(), reason: reason.clone() },
        Notice::ContractDiffers { destination },
        Notice::StoreFailed { reason, retry_in: Span::ZERO },
        Notice::Idle { next_due: None },
    ]
}

#[test]
fn each_notice_is_logged_at_the_level_that_the_page_says() {
    let samples = samples();
    assert_eq!(samples.len(), variants().len());
    for (notice, name) in samples.iter().zip(variants()) {
        assert!(format!("{notice:?}").starts_with(name), "keep the order of the port: {notice:?}");
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap();
        let level = row.trim_end_matches(" |").rsplit('|').next().unwrap().trim();
        let level = level.split([' ', ';']).next().unwrap().to_uppercase();
        let line = logged(notice);
        assert!(line.contains(&level), "{name} should be {level}: {line}");
    }
}
