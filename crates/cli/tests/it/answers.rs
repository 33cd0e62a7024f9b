//! A receiver in the test's own process, whose answers are a function of the command's id.
//!
//! Guarantees: one request a connection, read whole before it is answered; each in a thread of its
//! own, so that one that waits holds up no other. Does not: end before the test does.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use crate::program::PATIENCE;

/// Status line and body of an answer.
pub(crate) type Said = (&'static str, String);

/// Answers at a free port, or at `port`; its port.
pub(crate) fn answers(port: u16, say: impl Fn(&str) -> Said + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let say = Arc::new(say);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let say = Arc::clone(&say);
            std::thread::spawn(move || answer(stream, &*say));
        }
    });
    port
}

/// A relay that is killed breaks its connections: that is no failure here.
fn answer(mut stream: TcpStream, say: &impl Fn(&str) -> Said) -> Option<()> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let id = read(&mut BufReader::new(stream.try_clone().ok()?))?;
    let (status, body) = say(&id);
    let len = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n");
    stream.write_all((head + &body).as_bytes()).ok()
}

/// Reads a request; the id of its command.
fn read(request: &mut impl BufRead) -> Option<String> {
    let (mut id, mut len) = (String::new(), 0);
    loop {
        let mut line = String::new();
        request.read_line(&mut line).ok()?;
        let Some((name, value)) = line.split_once(": ") else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "ce-id" => value.trim().clone_into(&mut id),
            "content-length" => len = value.trim().parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; len];
    request.read_exact(&mut body).ok()?;
    (!id.is_empty()).then_some(id)
}
