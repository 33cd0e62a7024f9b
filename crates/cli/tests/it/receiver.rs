//! `receiver`: its announcements, its end, and what it refuses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::program::{Desk, PATIENCE};

#[test]
fn a_port_in_use_exits_2_with_the_way_out() {
    let desk = Desk::empty();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let said = desk.run(&["receiver", "--store", "sqlite:r.db", "--listen", &listen]);
    said.refuses(2, &[&listen, "another program has this port", "--listen"]);
    let said = desk.run(&["receiver", "--store", "sqlite:r.db", "--listen", "nowhere"]);
    said.refuses(2, &["nowhere", "127.0.0.1:8080"]);
    let said = desk.run(&["receiver", "--store", "sqlite:r.db", "--retention", "long"]);
    said.refuses(2, &["--retention \"long\"", "number and a unit"]);
}

/// Beside the tour's configuration `receiver` alone took the sender's file for its own book.
#[test]
fn it_does_not_take_the_senders_store_for_its_own() {
    let desk = Desk::new();
    desk.configure(1, "\"forever\"", "");
    let said = desk.run(&["receiver", "--listen", "127.0.0.1:0"]);
    said.refuses(2, &["a sender's", "--store sqlite:warehouse.db"]);
}

#[test]
fn a_memory_that_forgets_at_once_is_refused() {
    let desk = Desk::empty();
    let listen = ["--listen", "127.0.0.1:0", "--retention", "0s"];
    let said = desk.run(&[&["receiver", "--store", "sqlite:r.db"], &listen[..]].concat());
    said.refuses(2, &["--retention is zero", "--retention 7d"]);
}

#[test]
fn a_signal_ends_it_cleanly_and_so_does_the_end_of_its_input() {
    for name in ["TERM", "INT"] {
        let desk = Desk::empty();
        let (mut receiver, _) = desk.receiver(&[]);
        receiver.signal(name);
        assert_eq!(receiver.end(), Some(0), "{name}");
    }
    let desk = Desk::empty();
    // Standard input is /dev/null: it ends at once.
    let (mut receiver, _) = desk.receiver(&["--end-with-stdin"]);
    assert_eq!(receiver.end(), Some(0));
}

#[test]
fn a_judgement_of_the_receiver_rejects_a_command() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&["--refuse-kind", "order.paid"]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("a");
    desk.run(&["relay", "--until-idle"]).is_done();
    assert_eq!(desk.show("a")["state"], "rejected");
    assert_eq!(desk.shipping("SELECT count(*) FROM jobs"), 0);
}

/// Sends a request of these lines and reads the whole answer.
fn say(port: u16, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let len = body.len();
    let head = format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}");
    write!(stream, "{head}Content-Length: {len}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn order(port: u16, key: &str, more: &str) -> String {
    say(port, "POST /", &format!("Idempotency-Key: \"{key}\"\r\n{more}"), "{}")
}

#[test]
fn without_keys_it_acts_at_every_request_and_can_be_asked_unless_told_otherwise() {
    let twice = "SELECT count(*) FROM jobs WHERE key = 'a'";
    let desk = Desk::empty();
    let (_receiver, port) = desk.receiver(&["--no-keys"]);
    assert!(say(port, "GET /commands/a", "", "").contains("no_such_key"));
    assert!(order(port, "a", "").ends_with(r#"{"job":1}"#));
    assert!(order(port, "a", "").ends_with(r#"{"job":2}"#));
    assert!(say(port, "GET /commands/a", "", "").ends_with(r#"{"job":1}"#));
    assert_eq!(desk.shipping(twice), 2);
    let desk = Desk::empty();
    let (_receiver, port) = desk.receiver(&["--no-keys", "--no-asking"]);
    assert!(order(port, "a", "").ends_with(r#"{"job":1}"#));
    let asked = say(port, "GET /commands/a", "", "");
    assert!(asked.starts_with("HTTP/1.1 404") && !asked.contains("no_such_key"), "{asked}");
    // A receiver that folds repeats may keep its mouth shut too.
    let desk = Desk::empty();
    let (_receiver, port) = desk.receiver(&["--no-asking"]);
    for _ in 0..2 {
        assert!(order(port, "a", "").ends_with(r#"{"job":1}"#));
    }
    assert!(say(port, "GET /commands/a", "", "").starts_with("HTTP/1.1 404"));
}

#[test]
fn flags_that_contradict_each_other_or_point_nowhere_are_refused() {
    let desk = Desk::empty();
    desk.write("empty", "\n");
    let report = ["--report-to", "http://127.0.0.1:9/"];
    for (flags, words) in [
        (vec!["--no-keys", "--retention", "7d"], ["--no-keys", "--retention"]),
        (vec!["--drop-receipts", "1"], ["--report-to", "required"]),
        (vec!["--report-token-file", "empty"], ["--report-to", "required"]),
        (vec!["--report-to", "https://a/"], ["CF0722", "TLS"]),
        (vec!["--report-to", "a:1"], ["CF0721", "http://127.0.0.1:7070/v1/"]),
        ([&report[..], &["--report-token-file", "empty"]].concat(), ["CF0723", "token"]),
        ([&report[..], &["--report-token-file", "none"]].concat(), ["none", "the token alone"]),
    ] {
        let receiver = ["receiver", "--store", "sqlite:r.db", "--listen", "127.0.0.1:0"];
        desk.run(&[&receiver[..], &flags].concat()).refuses(2, &words);
    }
}

/// Takes one request and answers 200; the whole request.
fn take(api: &TcpListener) -> String {
    let (mut stream, _) = api.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        let mut bytes = [0; 4096];
        match stream.read(&mut bytes).unwrap() {
            0 => break,
            n => request.extend_from_slice(&bytes[..n]),
        }
    }
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    String::from_utf8(request).unwrap()
}

#[test]
fn a_receipt_is_lost_on_purpose_and_the_repeat_brings_it_back() {
    let api = TcpListener::bind("127.0.0.1:0").unwrap();
    let prefix = format!("http://{}/v1", api.local_addr().unwrap());
    let desk = Desk::empty();
    desk.write("token", "s3cret\n");
    let more = ["--report-to", &prefix, "--report-token-file", "token", "--drop-receipts", "1"];
    let (_receiver, port) = desk.receiver(&more);
    let wanted = format!("Counterfoil-Receipt-Url: {prefix}/receipts\r\n");
    for _ in 0..2 {
        let answer = order(port, "a", &wanted);
        assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
        assert!(answer.contains("counterfoil-outcome: accepted"), "{answer}");
    }
    let request = take(&api);
    assert!(request.starts_with("POST /v1/receipts HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer s3cret\r\n"), "{request}");
    let body = request.split_once("\r\n\r\n").unwrap().1;
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["command_id"], &body["outcome"]), (&"a".into(), &"completed".into()));
    // The first one never comes.
    api.set_nonblocking(true).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(api.accept().is_err());
    assert_eq!(desk.shipping("SELECT count(*) FROM jobs"), 1);
}
