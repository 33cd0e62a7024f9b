//! Requests that are garbled, greedy or slow.
//!
//! Guarantees: each gets its status, writes nothing, and the next good one is served. Does not:
//! look at what a good one does; see `delivered`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use counterfoil_inbox::receiver::Options;

use crate::client::{Serving, count, deliver, post, send};

struct Fixture {
    serving: Serving,
    path: PathBuf,
    _dir: tempfile::TempDir,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let mut options = Options::default();
    options.body_bytes_max = 1000;
    options.read_timeout = Duration::from_millis(300);
    options.connections_max = 8;
    Fixture { serving: Serving::start(&path, options), path, _dir: dir }
}

impl Fixture {
    /// Nothing bad was written, and a good request is served still.
    fn stands(self) {
        assert_eq!(count(&self.path, "SELECT count(*) FROM calls"), 0);
        assert_eq!(deliver(self.serving.at, "good", b"{}").text(), r#"{"job":1}"#);
        self.serving.stop();
    }
}

#[test]
fn a_missing_repeated_or_malformed_key_is_400_and_names_the_rule() {
    let fixture = fixture();
    for (headers, code, names) in [
        ("", "CF0701", "is missing"),
        ("Idempotency-Key: \"a\"\nIdempotency-Key: \"a\"", "CF0702", "stands 2 times"),
        ("Idempotency-Key: a-1", "CF0703", "double quotes"),
        ("Idempotency-Key:", "CF0703", "double quotes"),
        ("Idempotency-Key: \"a\"; p=1", "CF0703", "nothing before or after"),
        ("Idempotency-Key: \"a\", \"b\"", "CF0703", "cannot"),
        ("Idempotency-Key: \"订单\"", "CF0703", "%XX"),
        ("Idempotency-Key: \"a%2\"", "CF0703", "%25"),
        ("Idempotency-Key: \"%zz\"", "CF0703", "%25"),
        ("Idempotency-Key: \"\"", "CF0704", "empty"),
        ("Idempotency-Key: \"a%0Ab\"", "CF0704", "control character"),
        ("Idempotency-Key: \"%FF\"", "CF0704", "UTF-8"),
        ("Idempotency-Key: \"a\"\nce-source: %FF", "CF0707", "ce-source"),
    ] {
        let answered = post(fixture.serving.at, headers, b"{}");
        assert_eq!(answered.status, 400, "{headers}");
        assert_eq!(answered.header("content-type"), Some("application/problem+json"));
        let text = answered.text();
        assert!(text.contains(code) && text.contains(names), "{headers}: {text}");
        assert_eq!(answered.header("counterfoil-outcome"), None);
    }
    let long = format!("Idempotency-Key: \"{}\"", "a".repeat(256));
    assert!(post(fixture.serving.at, &long, b"").text().contains("CF0704"));
    fixture.stands();
}

#[test]
fn a_body_over_the_limit_is_413_however_its_length_is_told() {
    let fixture = fixture();
    let at = fixture.serving.at;
    let head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nIdempotency-Key: \"a\"\r\n";
    // Told before; not one byte of it is waited for.
    let told = format!("{head}Content-Length: 999999999999\r\n\r\n");
    assert_eq!(send(at, told.as_bytes()).status, 413);
    let chunk = format!("3e9\r\n{}\r\n", "x".repeat(1001));
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n");
    let answered = send(at, chunked.as_bytes());
    assert_eq!(answered.status, 413);
    assert!(answered.text().contains("CF0705"), "{}", answered.text());
    assert_eq!(deliver(at, "a", &[b'x'; 1001]).status, 413);
    fixture.stands();
}

#[test]
fn a_body_at_the_limit_and_a_chunked_one_are_taken() {
    let fixture = fixture();
    let at = fixture.serving.at;
    assert_eq!(deliver(at, "limit", &[b'x'; 1000]).status, 200);
    let head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nIdempotency-Key: \"limit\"\r\n";
    let half = format!("1f4\r\n{}\r\n", "x".repeat(500));
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{half}{half}0\r\n\r\n");
    assert_eq!(send(at, chunked.as_bytes()).text(), r#"{"job":1}"#);
    fixture.serving.stop();
}

#[test]
fn a_slow_body_is_408_and_a_slow_head_is_closed() {
    let fixture = fixture();
    let at = fixture.serving.at;
    let head = "POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: \"a\"\r\nContent-Length: 10\r\n\r\n";
    let answered = send(at, format!("{head}half").as_bytes());
    assert_eq!(answered.status, 408);
    assert!(answered.text().contains("CF0712"), "{}", answered.text());
    // As many as there are places, all of them silent.
    let mut silent: Vec<_> = (0..8).map(|_| TcpStream::connect(at).unwrap()).collect();
    silent.iter_mut().for_each(|stream| stream.write_all(b"POST / HT").unwrap());
    assert_eq!(deliver(at, "bad key%", b"").status, 400);
    for stream in &mut silent {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!rest.windows(3).any(|three| three == b"200"));
    }
    fixture.stands();
}

#[test]
fn a_body_that_breaks_off_writes_nothing() {
    let fixture = fixture();
    let head = "POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: \"a\"\r\nContent-Length: 10\r\n\r\n";
    let mut stream = TcpStream::connect(fixture.serving.at).unwrap();
    stream.write_all(format!("{head}half").as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(!rest.windows(3).any(|three| three == b"200"));
    fixture.stands();
}

#[test]
fn garbage_and_other_methods_get_their_status() {
    let fixture = fixture();
    let at = fixture.serving.at;
    let lengths = "POST / HTTP/1.1\r\nIdempotency-Key: \"a\"\r\nContent-Length: 1\r\n\
                   Content-Length: 2\r\n\r\nxx";
    for garbage in ["\u{0}\u{1}\u{2}\r\n\r\n", "HELO x\r\n\r\n", lengths] {
        let status = send(at, garbage.as_bytes()).status;
        assert!(status == 400 || status == 0, "{garbage:?}: {status}");
    }
    for (line, status) in [
        ("PUT /commands HTTP/1.1", 405),
        ("DELETE /commands/a HTTP/1.1", 405),
        ("GET / HTTP/1.1", 404),
        ("GET /commands HTTP/1.1", 404),
        ("POST / HTTP/1.0", 400),
    ] {
        let request = format!("{line}\r\nHost: x\r\nConnection: close\r\n\r\n");
        let answered = send(at, request.as_bytes());
        assert_eq!(answered.status, status, "{line}");
        assert!(answered.text().contains(r#""detail":"#), "{line}");
    }
    fixture.stands();
}
