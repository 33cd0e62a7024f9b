//! A client that writes its requests by hand, so that it can write bad ones.
//!
//! Guarantees: what is sent is what the test says, byte for byte. Does not: keep connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use counterfoil_core::port::Book;
use counterfoil_inbox::receiver::{Options, Receiver, ReceiverError};
use counterfoil_sqlite::InboxBook;
use rusqlite::Connection;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answered {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Sends raw bytes and reads until the end.
pub(crate) fn send(to: SocketAddr, request: &[u8]) -> Answered {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // A receiver may answer and close before it has read all.
    let _ = stream.write_all(request);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").map_or(all.len(), |at| at + 4);
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answered { status: status.unwrap_or(0), head, body: all[end..].to_vec() }
}

/// A POST with these headers, one a line.
pub(crate) fn post(to: SocketAddr, headers: &str, body: &[u8]) -> Answered {
    let lines = headers.lines().fold(String::new(), |all, line| all + line.trim() + "\r\n");
    let len = body.len();
    let head = format!(
        "POST /commands HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len}\r\n\
         {lines}\r\n"
    );
    send(to, &[head.as_bytes(), body].concat())
}

/// A command with this key.
pub(crate) fn deliver(to: SocketAddr, key: &str, body: &[u8]) -> Answered {
    post(to, &format!("Idempotency-Key: \"{key}\""), body)
}

pub(crate) fn get(to: SocketAddr, path: &str) -> Answered {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    send(to, request.as_bytes())
}

/// A receiver in this process.
pub(crate) struct Serving {
    pub(crate) at: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<Result<(), ReceiverError>>,
}

impl Serving {
    pub(crate) fn start(path: &Path, options: Options) -> Self {
        Self::of(InboxBook::open(path).unwrap(), options)
    }

    pub(crate) fn of(book: impl Book, options: Options) -> Self {
        let receiver = Receiver::open(book, options).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let stop = async { stopped.await.unwrap_or(()) };
                receiver.serve(listener, stop).await
            })
        });
        Self { at: told.recv().unwrap(), stop, thread }
    }

    pub(crate) fn stop(self) {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap().unwrap();
    }
}

/// One number from a database.
pub(crate) fn count(path: &Path, sql: &str) -> i64 {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}
