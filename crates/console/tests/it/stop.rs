//! The end: what is there is answered, what is idle is closed, and nothing takes longer than told.
//!
//! Guarantees: with idle, silent and working connections open. Does not: send signals; that is
//! the program's part.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Answered, PATIENCE, connect, rest};
use crate::scene::{SHOP, in_memory, options};

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_do_not_hold_it_up() {
    let mut options = options();
    // Whoever waits for the drain or for the reader to give up is seen to.
    options.drain = Duration::from_secs(3000);
    options.read_timeout = Duration::from_secs(3000);
    let scene = in_memory(options).await;
    let at = scene.at;
    let mut kept = connect(at).await;
    kept.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = [0; 15];
    kept.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    let mut silent = connect(at).await;
    let served = scene.stop();
    tokio::time::timeout(PATIENCE, served).await.expect("it ends").unwrap().unwrap();
    rest(&mut kept).await;
    rest(&mut silent).await;
    assert!(TcpStream::connect(at).await.is_err(), "nobody listens any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_there_is_answered_within_the_drain() {
    let scene = in_memory(options()).await;
    scene.enqueue("a").await;
    let (at, store) = (scene.at, scene.store.clone());
    let body = json!({"command_id": "a", "outcome": "completed"}).to_string();
    let mut stream = connect(at).await;
    let head = format!(
        "POST /v1/receipts HTTP/1.1\r\nHost: x\r\n{SHOP}\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // It says to go on once it is at work on the request.
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    let served = scene.stop();
    tokio::time::sleep(Duration::from_millis(100)).await;
    stream.write_all(body.as_bytes()).await.unwrap();
    Answered::of(&rest(&mut stream).await).says("recorded");
    served.await.unwrap().unwrap();
    drop(store);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_never_ends_is_cut_at_the_end_of_the_drain() {
    let mut options = options();
    options.drain = Duration::from_millis(300);
    options.read_timeout = Duration::from_secs(3000);
    let scene = in_memory(options).await;
    let mut stream = connect(scene.at).await;
    let head = format!(
        "POST /v1/receipts HTTP/1.1\r\nHost: x\r\n{SHOP}\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    let told = Instant::now();
    let served = scene.stop();
    tokio::time::timeout(PATIENCE, served).await.expect("it ends").unwrap().unwrap();
    assert!(told.elapsed() >= Duration::from_millis(300), "not before the drain is over");
    assert_eq!(rest(&mut stream).await, b"");
}
