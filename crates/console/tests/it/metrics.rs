//! The page for Prometheus: what stands on it, that `promtool` takes it, that it is cheap.
//!
//! Guarantees: the real `promtool` of Debian's package prometheus judges it. Does not: run a relay;
//! the command's own tests do.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use counterfoil_console::{Board, Counters, Standing};
use counterfoil_core::domain::{CommandId, Destination, Span, State};
use counterfoil_core::port::{Notice, Observer as _};

use crate::client::Answered;
use crate::scene::{EYE, OPS, SHOP, in_a_file, in_memory, options};

#[derive(Debug)]
struct TwoDestinations;

impl Board for TwoDestinations {
    fn workers(&self) -> usize {
        64
    }

    fn standings(&self) -> Vec<Standing> {
        vec![Standing::new("shop", 3, "probing"), Standing::new("say \"hi\"\\\n", 0, "closed")]
    }
}

fn text(answered: &Answered) -> String {
    assert_eq!(answered.status, 200, "{answered:?}");
    let format = Some("text/plain; version=0.0.4; charset=utf-8");
    assert_eq!(answered.header("content-type"), format);
    String::from_utf8(answered.body.clone()).unwrap()
}

fn settled(to: &str, outcome: &'static str, took: Span) -> Notice {
    Notice::Settled {
        command: CommandId::new("a").unwrap(),
        destination: Destination::new(to).unwrap(),
        outcome,
        reason: String::new(),
        now: "pending",
        attempt: 1,
        took,
        trace: None,
    }
}

fn told() -> Counters {
    let counters = Counters::default();
    let (owner, destinations) = ("relay-1".into(), vec![Destination::new("shop").unwrap()]);
    counters.notice(&Notice::Started { owner, destinations });
    counters.notice(&Notice::Claimed { count: 5, taken_over: 2 });
    counters.notice(&settled("shop", "completed", Span::from_millis(7)));
    counters.notice(&settled("shop", "unknown", Span::from_secs(10)));
    counters.notice(&settled("shop", "done", Span::from_secs(10)));
    let (command, destination) = ("b".to_owned(), "say \"hi\"\\\n".to_owned());
    let (state, reason, trace) = (State::Dead, "spent".to_owned(), None);
    counters.notice(&Notice::Parked { command, destination, state, reason, trace });
    let reason = "404".to_owned();
    let destination = Destination::new("shop").unwrap();
    counters.notice(&Notice::BreakerOpened { destination, reason });
    let retry_in = Span::from_secs(1);
    counters.notice(&Notice::StoreFailed { reason: "busy".into(), retry_in });
    counters
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_and_what_stands_is_on_the_page_and_promtool_takes_it() {
    let mut options = options();
    options.served = Some(vec!["mail".into()]);
    options.counters = Some(Arc::new(told()));
    options.board = Some(Arc::new(TwoDestinations));
    let scene = in_a_file(options).await;
    scene.enqueue("a").await;
    let page = text(&scene.get("/metrics", &[EYE]).await);
    for line in [
        r#"attempts_total{destination="shop",outcome="completed"} 1"#,
        r#"attempts_total{destination="shop",outcome="unknown"} 1"#,
        r#"attempts_total{destination="shop",outcome="rejected"} 0"#,
        r#"questions_total{destination="shop",answer="done"} 1"#,
        r#"attempt_duration_seconds_bucket{destination="shop",le="0.005"} 0"#,
        r#"attempt_duration_seconds_bucket{destination="shop",le="0.01"} 1"#,
        r#"attempt_duration_seconds_bucket{destination="shop",le="+Inf"} 2"#,
        r#"attempt_duration_seconds_sum{destination="shop"} 10.007000"#,
        "claims_total 5",
        "takeovers_total 2",
        r#"parked_total{destination="say \"hi\"\\\n",state="dead"} 1"#,
        r#"breaker_opened_total{destination="shop"} 1"#,
        "store_failures_total 1",
        "workers 64",
        r#"attempts_in_flight{destination="shop"} 3"#,
        r#"breaker_open{destination="shop"} 1"#,
        "store_up 1",
        r#"open_commands{destination="shop",state="pending"} 1"#,
        r#"unserved_commands{destination="shop"} 1"#,
        r#"destination_paused{destination="shop"} 0"#,
    ] {
        assert!(page.contains(&format!("\ncounterfoil_{line}\n")), "{line}\n{page}");
    }
    promtool(&page);
    let status = scene.get("/v1/status", &[EYE]).await.json();
    assert_eq!(status["breakers"]["shop"], "probing");
    let rate = status["rates"]["shop"]["attempts_per_second"].as_f64().unwrap();
    assert!(rate > 0.0 && rate <= 2.0, "{status}");
}

/// Fails unless `promtool` finds nothing to say about the page.
fn promtool(page: &str) {
    let mut tool = Command::new("promtool");
    tool.args(["check", "metrics"]).stdin(Stdio::piped());
    tool.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tool = tool.spawn().expect("this test needs promtool: install prometheus");
    tool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let said = tool.wait_with_output().unwrap();
    let text = [said.stdout, said.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(said.status.success() && text.trim().is_empty(), "{text}\n{page}");
}

#[tokio::test]
async fn it_is_for_readers_and_without_tokens_for_this_machine() {
    let scene = in_memory(options()).await;
    scene.get("/metrics", &[]).await.refused(401, "CF1001");
    scene.get("/metrics", &[SHOP]).await.refused(403, "CF1002");
    text(&scene.get("/metrics", &[OPS]).await);
    let mut open = options();
    open.tokens.clear();
    let scene = in_memory(open).await;
    text(&scene.get("/metrics", &[]).await);
    scene.get("/metrics", &["Host: evil.example"]).await.refused(403, "CF1003");
}

/// A scrape a second must not cost the relay its store: what was read is kept for a while, and not
/// for ever.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_is_kept_for_a_while() {
    let scene = in_a_file(options()).await;
    let pending = async || -> u64 {
        let page = text(&scene.get("/metrics", &[EYE]).await);
        let line = "counterfoil_open_commands{destination=\"shop\",state=\"pending\"} ";
        let value = page.lines().find_map(|one| one.strip_prefix(line));
        value.map_or(0, |value| value.parse().unwrap())
    };
    let (mut kept, mut recorded) = (false, 0);
    // A machine that stands still for a second between two looks breaks no rule: look again.
    while !kept && recorded < 50 {
        let before = pending().await;
        scene.enqueue(&format!("a-{recorded}")).await;
        recorded += 1;
        kept = pending().await == before;
    }
    assert!(kept, "each of {recorded} looks read the store");
    let end = Instant::now() + Duration::from_secs(120);
    while pending().await != recorded {
        assert!(Instant::now() < end, "it is kept for ever");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_answer_leaves_the_page_standing() {
    let scene = in_a_file(options()).await;
    scene.enqueue("a").await;
    std::fs::rename(scene.path(), scene.path().with_extension("gone")).unwrap();
    let page = text(&scene.get("/metrics", &[EYE]).await);
    assert!(page.contains("\ncounterfoil_store_up 0\n"), "{page}");
    assert!(!page.contains("counterfoil_open_commands{"), "{page}");
}
