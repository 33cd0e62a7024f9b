//! A client that writes its requests by hand, so that it can write bad ones.
//!
//! Guarantees: what is sent is what the test says, byte for byte. Does not: keep connections.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// After this a test is broken, not slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    /// 0 where the connection was closed without an answer.
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answered {
    pub(crate) fn of(all: &[u8]) -> Self {
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").map_or(all.len(), |n| n + 4);
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Self { status: status.unwrap_or(0), head, body: all[end..].to_vec() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// 200 and this status in the body.
    pub(crate) fn says(&self, status: &str) {
        assert_eq!(self.status, 200, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert_eq!(self.json(), serde_json::json!({ "status": status }));
    }

    /// A problem of RFC 9457 with this status and code; its detail.
    pub(crate) fn refused(&self, status: u16, code: &str) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        let said = (self.status, problem["status"].as_u64(), problem["code"].as_str());
        assert_eq!(said, (status, Some(status.into()), Some(code)), "{self:?}");
        assert_eq!(problem["type"], format!("urn:counterfoil:problem:{code}"));
        assert!(problem["title"].as_str().is_some_and(|title| !title.is_empty()));
        problem["detail"].as_str().unwrap().to_owned()
    }
}

pub(crate) async fn connect(to: SocketAddr) -> TcpStream {
    timeout(PATIENCE, TcpStream::connect(to)).await.unwrap().unwrap()
}

/// Reads until the other end closes.
pub(crate) async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("closed in time");
    all
}

/// Sends raw bytes and reads until the end.
pub(crate) async fn send(to: SocketAddr, request: impl AsRef<[u8]>) -> Answered {
    let mut stream = connect(to).await;
    // The API may answer and close before it has read all.
    let _ = timeout(PATIENCE, stream.write_all(request.as_ref())).await.unwrap();
    Answered::of(&rest(&mut stream).await)
}

/// A request with these header lines; `Host` is this machine's and JSON is promised unless they
/// say otherwise.
pub(crate) fn request(line: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let given = |name: &str| {
        headers.iter().any(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))
    };
    let mut head = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
    if !given("host") {
        head.push_str("Host: localhost\r\n");
    }
    if !body.is_empty() || line.starts_with("POST") {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        if !given("content-type") {
            head.push_str("Content-Type: application/json\r\n");
        }
    }
    for line in headers {
        head.push_str(line);
        head.push_str("\r\n");
    }
    [head.as_bytes(), b"\r\n", body].concat()
}
