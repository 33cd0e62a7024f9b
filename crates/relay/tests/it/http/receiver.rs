//! A receiver on a raw socket that does what its script says, and attempts to send to it.
//!
//! Guarantees: counts every connection and every request whose head came whole, and keeps the
//! bytes as they came. Does not: correct what a script does wrong.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use counterfoil_core::domain::{
    Answer, CommandId, Destination, Kind, Micros, OutboxRow, Outcome, Span, Token,
};
use counterfoil_core::port::{Attempt, Gate, Question, SystemClock, Transport as _};
use counterfoil_relay::transport::http::{AskOptions, HttpOptions, HttpTransport};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The value of a header that stands there once.
    pub(crate) fn header(&self, name: &str) -> String {
        let mut values = self.headers.iter().filter(|(one, _)| one.eq_ignore_ascii_case(name));
        let value = values.next().unwrap_or_else(|| panic!("no {name} in {self:?}"));
        assert!(values.next().is_none(), "{name} stands twice");
        String::from_utf8(value.1.clone()).unwrap()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(one, _)| one.eq_ignore_ascii_case(name))
    }
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<Request>>,
}

/// A receiver that runs until it is dropped.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Receiver {
    /// Runs `script` for every connection.
    pub(crate) async fn start<F, Done>(script: F) -> Self
    where
        F: Fn(Peer) -> Done + Send + Sync + 'static,
        Done: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Seen>::default();
        let kept = Arc::clone(&seen);
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let number = kept.connections.fetch_add(1, Ordering::SeqCst) + 1;
                let seen = Arc::clone(&kept);
                tokio::spawn(script(Peer { stream, buffer: Vec::new(), number, seen }));
            }
        });
        Self { address, seen, accepting }
    }

    /// Answers every request with these bytes and leaves the connection open.
    pub(crate) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::start(move |mut peer| {
            let answer = Arc::clone(&answer);
            async move {
                while peer.request().await.is_some() {
                    peer.write(answer.as_slice()).await;
                }
            }
        })
        .await
    }

    /// Answers one request a connection with these bytes, then closes.
    pub(crate) async fn answering_once(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::start(move |mut peer| {
            let answer = Arc::clone(&answer);
            async move {
                peer.request().await;
                peer.write(answer.as_slice()).await;
            }
        })
        .await
    }

    pub(crate) fn options(&self) -> HttpOptions {
        HttpOptions::new(format!("http://{}/commands", self.address))
    }

    /// Options with which it can be asked, at `/commands/{command_id}`.
    pub(crate) fn askable(&self) -> HttpOptions {
        let mut options = self.options();
        let url = format!("http://{}/commands/{{command_id}}", self.address);
        options.ask = Some(AskOptions::new(url));
        options
    }

    pub(crate) fn transport(&self) -> HttpTransport {
        HttpTransport::new(self.options()).unwrap()
    }

    /// With a `request_timeout` of so many milliseconds.
    pub(crate) fn transport_within(&self, millis: i64) -> HttpTransport {
        let mut options = self.options();
        options.request_timeout = Span::from_millis(millis);
        HttpTransport::new(options).unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.requests.lock().unwrap().clone()
    }

    /// Takes no more connections; those that are open go on.
    pub(crate) fn close(&self) {
        self.accepting.abort();
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// One connection, from the receiver's side.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    /// Which connection it is, from 1.
    pub(crate) number: usize,
    buffer: Vec<u8>,
    seen: Arc<Seen>,
}

impl Peer {
    /// Reads one request to its end; `None` if the connection ends first.
    pub(crate) async fn request(&mut self) -> Option<Request> {
        let head = loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break self.buffer.drain(..at + 4).collect::<Vec<_>>();
            }
            self.more().await?;
        };
        let mut request = parsed(&head[..head.len() - 4]);
        let has_length = request.has("content-length");
        let length = if has_length { request.header("content-length").parse().unwrap() } else { 0 };
        while self.buffer.len() < length {
            self.more().await?;
        }
        request.body = self.buffer.drain(..length).collect();
        self.seen.requests.lock().unwrap().push(request.clone());
        Some(request)
    }

    async fn more(&mut self) -> Option<()> {
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(()),
        }
    }

    /// Writes; the other side may have gone, which is no error here.
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Closes with a reset.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }

    /// Stays open and silent.
    pub(crate) async fn hang(self) {
        std::future::pending::<()>().await;
        drop(self);
    }
}

fn parsed(head: &[u8]) -> Request {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let line = String::from_utf8(lines.next().unwrap().to_vec()).unwrap();
    let headers = lines.map(|line| {
        let colon = line.iter().position(|byte| *byte == b':').unwrap();
        let name = String::from_utf8(line[..colon].to_vec()).unwrap();
        (name, line[colon + 1..].trim_ascii().to_vec())
    });
    Request { line, headers: headers.collect(), body: Vec::new() }
}

/// An answer with its length.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A command as it stands in the outbox.
pub(crate) fn row(id: &str, body: impl Into<Vec<u8>>) -> OutboxRow {
    OutboxRow {
        n: 1,
        command_id: CommandId::new(id).unwrap(),
        stream: None,
        seq: None,
        idx: None,
        destination: Destination::new("shipping").unwrap(),
        kind: Kind::new("order.paid").unwrap(),
        ordering_key: None,
        body: body.into(),
        content_type: "application/json".into(),
        headers: None,
        core_digest: None,
        not_before: None,
        expires_at: None,
        recorded_at: Micros::new(1_764_430_380_123_456),
    }
}

/// The second attempt at `row`, with an open gate.
pub(crate) fn attempt_at(row: OutboxRow) -> Attempt {
    Attempt {
        command: Arc::new(row),
        number: 2,
        token: Token::new(1_764_430_381_500_000),
        source: "urn:example:orders".into(),
        now: Micros::new(1_764_430_381_500_000),
        gate: Arc::new(Gate::new(Arc::new(SystemClock), Micros::new(i64::MAX))),
        trace: None,
    }
}

/// An attempt at a small command.
pub(crate) fn attempt(id: &str) -> Attempt {
    attempt_at(row(id, r#"{"order_id":"A-001"}"#))
}

/// Sends a small command once.
pub(crate) async fn send(transport: &HttpTransport, id: &str) -> Outcome {
    transport.send(&attempt(id)).await
}

/// Asks about a command once.
pub(crate) async fn ask(transport: &HttpTransport, id: &str) -> Answer {
    let question = Question {
        command_id: CommandId::new(id).unwrap(),
        source: "urn:example:orders".into(),
        now: Micros::new(1_764_430_381_500_000),
        trace: None,
    };
    transport.ask(&question).await
}

/// A header value without its percent-encoding.
pub(crate) fn percent_decoded(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
        bytes.push(match byte {
            b'%' => hex(rest.next().unwrap()) << 4 | hex(rest.next().unwrap()),
            plain => plain,
        });
    }
    String::from_utf8(bytes).unwrap()
}
