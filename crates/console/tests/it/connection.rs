//! Connections that are slow, garbled, greedy or many.
//!
//! Guarantees: each is answered or dropped, and the next good one is served. Does not: measure how
//! many a machine can hold.

use std::time::Duration;

use counterfoil_testkit::MemoryStore;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{connect, rest, send};
use crate::scene::{EYE, SHOP, Scene, in_memory, options};

async fn small() -> Scene<MemoryStore> {
    let mut options = options();
    options.read_timeout = Duration::from_millis(300);
    options.write_timeout = Duration::from_millis(300);
    options.connections_max = 4;
    in_memory(options).await
}

async fn stands(scene: &Scene<MemoryStore>) {
    scene.enqueue("good").await;
    scene.report(&json!({"command_id": "good", "outcome": "completed"})).await.says("recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_and_slow_ones_give_their_places_back() {
    let scene = small().await;
    // As many as there are places, and more that wait for one; all of them silent, or nearly.
    let mut silent = Vec::new();
    for n in 0..12 {
        let mut stream = connect(scene.at).await;
        if n % 2 == 0 {
            stream.write_all(b"GET /livez HT").await.unwrap();
        }
        silent.push(stream);
    }
    stands(&scene).await;
    for stream in &mut silent {
        let rest = rest(stream).await;
        assert!(!rest.windows(3).any(|three| three == b"200"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_drips_is_closed() {
    let scene = small().await;
    let mut stream = connect(scene.at).await;
    let drip = async {
        loop {
            if stream.write_all(b"X").await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::client::PATIENCE, drip).await.expect("it is closed");
    stands(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_drips_is_408() {
    let scene = small().await;
    let head = format!(
        "POST /v1/receipts HTTP/1.1\r\nHost: x\r\n{SHOP}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n\r\n{{"
    );
    let mut stream = connect(scene.at).await;
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let drip = tokio::spawn(async move {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut all = Vec::new();
    let _ = reading.read_to_end(&mut all).await;
    crate::client::Answered::of(&all).refused(408, "CF1008");
    drip.abort();
    stands(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_breaks_off_writes_nothing() {
    let scene = small().await;
    let body = r#"{"command_id":"good","outcome":"completed"}"#;
    let head = format!(
        "POST /v1/receipts HTTP/1.1\r\nHost: x\r\n{SHOP}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len() + 1
    );
    let mut stream = connect(scene.at).await;
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    assert!(!rest(&mut stream).await.windows(3).any(|three| three == b"200"));
    stands(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_refused_or_dropped() {
    let scene = small().await;
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(200_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(500));
    let lengths = "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx";
    let both = "POST / HTTP/1.1\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\n\r\nxx";
    for garbage in [
        "\u{0}\u{1}\u{2}\r\n\r\n",
        "HELO x\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon here\r\n\r\n",
        &long,
        &many,
        lengths,
        both,
    ] {
        let answered = send(scene.at, garbage).await;
        let refused = matches!(answered.status, 0 | 400 | 414 | 431 | 505);
        assert!(refused, "{garbage:.60}: {answered:?}");
    }
    stands(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_cut() {
    let mut options = options();
    options.write_timeout = Duration::from_millis(300);
    options.connections_max = 1;
    let scene = in_memory(options).await;
    // It asks for more than any kernel buffers, and reads nothing.
    let ask = format!("GET /v1/status HTTP/1.1\r\nHost: x\r\n{EYE}\r\n\r\n").repeat(500);
    let mut stream = connect(scene.at).await;
    let flood = async { while stream.write_all(ask.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(crate::client::PATIENCE, flood).await.expect("it is cut");
    stands(&scene).await;
}
