//! Health: alive is not ready.
//!
//! Guarantees: a store that is gone, fails or hangs makes `/readyz` 503 in time, `/livez` never.
//! Does not: fill disks.

use std::sync::mpsc;
use std::time::Duration;

use counterfoil_core::domain::Span;
use serde_json::json;

use crate::client::Answered;
use crate::scene::{EYE, SHOP, in_a_file, in_memory, options};

fn not_ready(answered: &Answered) {
    let detail = answered.refused(503, "CF1019");
    assert_eq!(answered.header("retry-after"), Some("1"));
    assert!(!detail.contains(".db"), "strangers hear no path: {detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_answers_is_ready() {
    let scene = in_a_file(options()).await;
    for path in ["/livez", "/readyz"] {
        assert_eq!(scene.get(path, &[]).await.status, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_file_is_gone_is_not_ready() {
    let scene = in_a_file(options()).await;
    scene.enqueue("a").await;
    let path = scene.path();
    let aside = path.with_extension("aside");
    std::fs::rename(&path, &aside).unwrap();
    not_ready(&scene.get("/readyz", &[]).await);
    assert_eq!(scene.get("/livez", &[]).await.status, 200);
    let answered = scene.get("/v1/status", &[EYE]).await;
    assert!(matches!(answered.status, 500 | 503), "{answered:?}");
    let text = String::from_utf8(answered.body).unwrap();
    assert!(!text.contains("s.db"), "{text}");
    std::fs::rename(&aside, &path).unwrap();
    assert_eq!(scene.get("/readyz", &[]).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_clock_jumped_is_not_ready() {
    let scene = in_memory(options()).await;
    scene.clock.step_machine(Span::from_secs(7200).as_micros());
    not_ready(&scene.get("/readyz", &[]).await);
    scene.get("/v1/status", &[EYE]).await.refused(500, "CF1018");
}

#[test]
fn a_store_that_hangs_is_not_ready_in_time() {
    // Reads go to the only thread that may block; whoever holds it makes them hang.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.max_blocking_threads(1).enable_all().build().unwrap();
    let (release, released) = mpsc::channel::<()>();
    runtime.block_on(async {
        let mut options = options();
        options.ready_timeout = Duration::from_millis(200);
        options.store_timeout = Duration::from_millis(200);
        let scene = in_a_file(options).await;
        assert_eq!(scene.get("/readyz", &[]).await.status, 200);
        let holder = tokio::task::spawn_blocking(move || released.recv());
        for _ in 0..3 {
            not_ready(&scene.get("/readyz", &[]).await);
        }
        assert_eq!(scene.get("/livez", &[]).await.status, 200);
        scene.get("/v1/status", &[EYE]).await.refused(503, "CF1017");
        drop(release);
        let _ = holder.await.unwrap();
        assert_eq!(scene.get("/readyz", &[]).await.status, 200);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_the_store_does_not_take_in_time_is_503_and_may_be_repeated() {
    let mut options = options();
    options.store_timeout = Duration::from_millis(200);
    let scene = in_a_file(options).await;
    scene.enqueue("a").await;
    let stranger = rusqlite::Connection::open(scene.path()).unwrap();
    stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
    let body = json!({"command_id": "a", "outcome": "completed"}).to_string();
    let answered = scene.post(&[SHOP], &body).await;
    let detail = answered.refused(503, "CF1017");
    assert!(detail.contains("send the same again"), "{detail}");
    assert_eq!(answered.header("retry-after"), Some("1"));
    stranger.execute_batch("ROLLBACK").unwrap();
    let status = loop {
        let answered = scene.post(&[SHOP], &body).await;
        if answered.status != 503 {
            break answered.status;
        }
    };
    assert_eq!(status, 200);
    assert_eq!(scene.story("a").await["receipts"].as_array().map(Vec::len), Some(1));
}
