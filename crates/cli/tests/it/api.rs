//! `[api]`: served beside the relay, from before its first send until after its last.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::program::{Desk, PATIENCE, Running, configuration, wait_until};

/// The configuration of one destination, with this `[api]`.
pub(crate) fn configure(desk: &Desk, port: u16, more: &str, api: &str) {
    let text = format!("{}\n[api]\n{api}\n", configuration(port, "\"forever\"", more));
    desk.write("counterfoil.toml", &text);
}

/// The port of the API of a relay that was just started.
pub(crate) fn port_of(relay: &Running) -> u16 {
    let line = relay.hear("listening on http://");
    line.rsplit(':').next().unwrap().trim().parse().unwrap()
}

pub(crate) fn say(port: u16, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let len = body.len();
    let head = format!("{request} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n");
    let json = "Content-Type: application/json\r\n";
    write!(stream, "{head}{json}{headers}Content-Length: {len}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_relay_serves_it_and_it_ends_with_the_relay() {
    let desk = Desk::new();
    configure(&desk, 1, "", "listen = \"127.0.0.1:0\"");
    let mut relay = desk.start(&["relay"]);
    let port = port_of(&relay);
    assert!(say(port, "GET /livez", "", "").starts_with("HTTP/1.1 200"));
    assert!(say(port, "GET /v1/status", "", "").contains("destinations"));
    relay.signal("TERM");
    assert_eq!(relay.end(), Some(0));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it outlived its relay");
}

#[test]
fn without_api_nothing_listens() {
    let desk = Desk::new();
    desk.configure(1, "\"forever\"", "");
    let said = desk.run(&["relay", "--until-idle"]);
    assert!(!said.is_done().err.contains("listening"), "{said:?}");
}

#[test]
fn a_port_that_is_taken_exits_2_before_anything_is_sent() {
    let desk = Desk::new();
    let (_receiver, receiver) = desk.receiver(&[]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    configure(&desk, receiver, "", &format!("listen = \"{listen}\""));
    desk.enqueue("a");
    let said = desk.run(&["relay", "--until-idle"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    for word in [&listen[..], "[api]", "another program has this port"] {
        assert!(said.err.contains(word), "{word}: {said:?}");
    }
    assert_eq!(desk.show("a")["attempts"], 0);
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_destination"), 0);
}

/// A receipt that comes over HTTP ends what waits for one: the whole way of a slow worker.
#[test]
fn a_receiver_is_told_where_to_report_and_its_receipt_ends_the_command() {
    let desk = Desk::new();
    let heard = TcpListener::bind("127.0.0.1:0").unwrap();
    let receiver = heard.local_addr().unwrap().port();
    desk.write("secret", "a-secret-of-32-characters-at-least\n");
    let token = "{ name = \"shop\", role = \"receipt\", value = { file = \"secret\" } }";
    let api = format!(
        "listen = \"127.0.0.1:0\"\npublic_url = \"http://cf.example/base/\"\ntokens = [{token}]"
    );
    configure(&desk, receiver, "completion = \"receipt\"", &api);
    desk.enqueue("a");
    let mut relay = desk.start(&["relay"]);
    let port = port_of(&relay);
    let (mut stream, _) = heard.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut request = String::new();
    let mut bytes = [0; 4096];
    while !request.contains("\r\n\r\n{}") {
        let n = stream.read(&mut bytes).unwrap();
        request.push_str(std::str::from_utf8(&bytes[..n]).unwrap());
    }
    let told = "counterfoil-receipt-url: http://cf.example/base/v1/receipts";
    assert!(request.to_lowercase().contains(told), "{request}");
    stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").unwrap();
    wait_until("it is published", || desk.show("a")["state"] == "published");
    let receipt = "{\"command_id\":\"a\",\"outcome\":\"completed\",\"result\":{\"job\":7},\
                   \"evidence\":\"job 7\"}";
    assert!(say(port, "POST /v1/receipts", "", receipt).starts_with("HTTP/1.1 401"));
    let bearer = "Authorization: Bearer a-secret-of-32-characters-at-least\r\n";
    let taken = say(port, "POST /v1/receipts", bearer, receipt);
    assert!(taken.starts_with("HTTP/1.1 200"), "{taken}");
    let shown = desk.show("a");
    assert_eq!(shown["state"], "completed");
    assert_eq!(shown["receipt"]["source"], "api shop");
    relay.signal("INT");
    assert_eq!(relay.end(), Some(0));
}

#[test]
fn an_address_that_others_reach_needs_tokens_and_tokens_need_secrets() {
    let desk = Desk::new();
    let refused = |api: &str, words: &[&str]| {
        configure(&desk, 1, "", api);
        desk.run(&["relay", "--until-idle"]).refuses(2, words);
    };
    refused("listen = \"0.0.0.0:0\"", &["counterfoil.toml:", "others can reach", "tokens = ["]);
    let plain = "tokens = [{ name = \"a\", role = \"read\", value = \"hunter2\" }]";
    refused(plain, &["plain text", "{ env = \"NAME\" }"]);
    let unset = "tokens = [{ name = \"a\", role = \"read\", value = { env = \"NO_SUCH\" } }]";
    refused(unset, &["NO_SUCH is not set"]);
    desk.write("secret", "one-secret-for-two\n");
    let one = "role = \"read\", value = { file = \"secret\" }";
    let two = format!("tokens = [{{ name = \"a\", {one} }}, {{ name = \"b\", {one} }}]");
    refused(&two, &["same secret"]);
}
