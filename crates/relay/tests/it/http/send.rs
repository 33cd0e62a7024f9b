//! One send is one send: what fails before the gate is not sent, what fails after it is unknown.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{Micros, Outcome, Span};
use counterfoil_core::port::{Clock, Gate, SystemClock, Transport as _};
use counterfoil_relay::transport::http::{HttpOptions, HttpTransport};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use super::receiver::{Receiver, answer, attempt, send};

fn to(url: String, millis: i64) -> HttpTransport {
    let mut options = HttpOptions::new(url);
    options.request_timeout = Span::from_millis(millis);
    HttpTransport::new(options).unwrap()
}

#[tokio::test]
async fn nothing_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let attempt = attempt("a");
    let outcome = to(format!("http://{address}/"), 5_000).send(&attempt).await;
    assert!(
        matches!(outcome, Outcome::NotSent { misconfigured: false, retry_after: None, .. }),
        "{outcome:?}"
    );
    let said = outcome.reason();
    assert!(said.contains(&address.to_string()) && said.contains("refused"), "{said}");
    assert!(!attempt.gate.has_begun());
}

#[tokio::test]
async fn a_name_that_does_not_resolve() {
    let attempt = attempt("a");
    let outcome = to("http://no-such-host.invalid:8080/".into(), 30_000).send(&attempt).await;
    assert_eq!(outcome.name(), "not_sent", "{outcome:?}");
    assert!(outcome.reason().contains("no-such-host.invalid:8080"), "{outcome:?}");
    assert!(!attempt.gate.has_begun());
}

/// A listener whose queue is full: whoever connects now waits until someone is accepted.
async fn full_listener() -> (TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
        waiting.push(stream.unwrap());
        assert!(waiting.len() < 16, "the queue never fills");
    }
    (listener, waiting)
}

#[tokio::test]
async fn a_connection_that_hangs_is_not_sent() {
    let (listener, _waiting) = full_listener().await;
    let attempt = attempt("a");
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let outcome = to(url, 300).send(&attempt).await;
    assert_eq!(outcome.name(), "not_sent", "{outcome:?}");
    assert!(!attempt.gate.has_begun());
}

#[tokio::test]
async fn what_is_withdrawn_while_it_connects_never_leaves() {
    let (listener, waiting) = full_listener().await;
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let transport = to(url, 20_000);
    let attempt = attempt("a");
    let gate = Arc::clone(&attempt.gate);
    let number = waiting.len();
    let accepting = tokio::spawn(async move {
        sleep(Duration::from_millis(100)).await;
        assert!(gate.withdraw());
        for _ in 0..number {
            drop(listener.accept().await.unwrap());
        }
        // Connections that the kernel dropped from its full queue come again, ours the last.
        let mut bytes = Vec::new();
        while let Ok(accepted) = timeout(Duration::from_secs(2), listener.accept()).await {
            let (mut stream, _) = accepted.unwrap();
            let _ = timeout(Duration::from_millis(300), stream.read_buf(&mut bytes)).await;
        }
        bytes
    });
    let outcome = transport.send(&attempt).await;
    assert_eq!(outcome, Outcome::not_sent("withdrawn before the first byte"));
    assert_eq!(accepting.await.unwrap(), b"");
}

#[tokio::test]
async fn nothing_begins_after_the_gates_deadline() {
    let receiver = Receiver::answering(answer("200 OK", "", "")).await;
    let mut late = attempt("a");
    let before = Micros::new(SystemClock.boot().get() - 1);
    late.gate = Arc::new(Gate::new(Arc::new(SystemClock), before));
    let transport = receiver.transport();
    assert_eq!(transport.send(&late).await.name(), "not_sent");
    assert_eq!(receiver.requests().len(), 0);
    // The connection that it opened is as good as new.
    assert_eq!(send(&transport, "b").await.name(), "completed");
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn the_gate_is_passed_by_what_is_sent() {
    let receiver = Receiver::answering(answer("200 OK", "", "")).await;
    let attempt = attempt("a");
    assert_eq!(receiver.transport().send(&attempt).await.name(), "completed");
    assert!(attempt.gate.has_begun());
}

/// Sends once to a receiver whose every connection goes this way; the outcome must be Unknown and
/// the request must have been sent `seen` times.
async fn unknown<F, Done>(script: F, seen: usize)
where
    F: Fn(super::receiver::Peer) -> Done + Send + Sync + 'static,
    Done: Future<Output = ()> + Send + 'static,
{
    let receiver = Receiver::start(script).await;
    let attempt = attempt("a");
    let outcome = receiver.transport_within(800).send(&attempt).await;
    assert_eq!(outcome.name(), "unknown", "{outcome:?}");
    assert!(attempt.gate.has_begun());
    sleep(Duration::from_millis(100)).await;
    assert_eq!(receiver.requests().len(), seen, "{outcome:?}");
    assert_eq!(receiver.connections(), 1, "a second connection could be a second send");
}

#[tokio::test]
async fn a_receiver_that_reads_and_closes() {
    unknown(|mut peer| async move { drop(peer.request().await) }, 1).await;
}

#[tokio::test]
async fn a_receiver_that_reads_and_resets() {
    let script = |mut peer: super::receiver::Peer| async move {
        peer.request().await;
        peer.reset();
    };
    unknown(script, 1).await;
}

#[tokio::test]
async fn a_receiver_that_resets_in_the_middle_of_the_request() {
    let script = |mut peer: super::receiver::Peer| async move {
        drop(peer.stream.read_u8().await);
        peer.reset();
    };
    unknown(script, 0).await;
}

#[tokio::test]
async fn a_receiver_that_hangs_before_reading() {
    unknown(|peer| async move { peer.hang().await }, 0).await;
}

#[tokio::test]
async fn a_receiver_that_hangs_after_reading() {
    let script = |mut peer: super::receiver::Peer| async move {
        peer.request().await;
        peer.hang().await;
    };
    unknown(script, 1).await;
}

#[tokio::test]
async fn a_receiver_that_hangs_in_its_answer() {
    let script = |mut peer: super::receiver::Peer| async move {
        peer.request().await;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await;
        peer.hang().await;
    };
    unknown(script, 1).await;
}

/// Story: a connection that timed out must not be used again, or the next command would read the
/// late answer to the one before.
#[tokio::test]
async fn a_late_answer_is_not_taken_for_the_next_commands() {
    let receiver = Receiver::start(|mut peer| async move {
        let mut first = true;
        while let Some(request) = peer.request().await {
            if peer.number == 1 && first {
                sleep(Duration::from_millis(1_500)).await;
                first = false;
            }
            peer.write(answer("200 OK", "", &request.header("ce-id"))).await;
        }
    })
    .await;
    let transport = receiver.transport_within(1_000);
    assert_eq!(send(&transport, "late").await.name(), "unknown");
    for id in ["b", "c"] {
        let Outcome::Completed { result, .. } = send(&transport, id).await else {
            panic!("{id} not completed");
        };
        assert_eq!(result.bytes, id.as_bytes());
    }
    assert_eq!(receiver.connections(), 2);
}

#[tokio::test]
async fn an_abandoned_attempt_closes_its_connection() {
    let receiver = Receiver::start(|mut peer| async move {
        peer.request().await;
        // Records a second request if the connection went on.
        peer.request().await;
    })
    .await;
    let transport = receiver.transport();
    let abandoned = timeout(Duration::from_millis(200), send(&transport, "a")).await;
    assert!(abandoned.is_err());
    assert_eq!(receiver.requests().len(), 1);
}
