//! What a configuration may not say: refused by the command, before anything is sent.
//!
//! The rules themselves have their tests beside the code; here each comes through a process.

use std::net::TcpListener;

use crate::program::{Desk, configuration};

/// Runs a relay with `text` in place of the lines that it replaces.
fn relay(desk: &Desk, text: &str) -> crate::program::Said {
    desk.write("counterfoil.toml", text);
    desk.run(&["relay", "--until-idle"])
}

#[test]
fn a_refused_configuration_sends_nothing() {
    let desk = Desk::new();
    desk.enqueue("a");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let cases = [
        ("{ key_ttl = \"20h\" }", "", "95 % of key_ttl"),
        ("true", "", "says too little"),
        ("false", "rate = \"1/s\"", "not yet: `rate`"),
        ("false", "ratee = \"1/s\"", "unknown field `ratee`"),
        ("false", "completion = \"accepted\"", "for brokers"),
        ("false", "on_refusal = \"drop\"", "\"park\""),
        ("false", "secrets = [\"whsec_hunter2\"]", "plain text"),
        ("false", "secrets = [{ env = \"NO_SUCH_SECRET\" }]", "NO_SUCH_SECRET is not set"),
        ("false", "headers = { Authorization = \"hunter2\" }", "plain text"),
        ("false", "headers = { \"Idempotency-Key\" = \"hunter2\" }", "Idempotency-Key"),
        ("false", "method = \"post it\"", "method"),
        ("false", "result_bytes_max = \"1GiB\"", "result_bytes_max"),
    ];
    for (idempotent, more, word) in cases {
        let said = relay(&desk, &configuration(port, idempotent, more));
        said.refuses(2, &["counterfoil.toml", word]);
        assert!(!said.err.contains("hunter2"), "{said:?}");
    }
    assert!(listener.accept().is_err(), "something was sent");
    assert_eq!(desk.show("a")["attempts"], 0);
}

#[test]
fn a_secret_from_a_file_is_read_and_a_wrong_one_is_not_shown() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.enqueue("a");
    desk.write("secret", "whsec_hunter2\n");
    let more = "secrets = [{ file = \"secret\" }]";
    let said = relay(&desk, &configuration(port, "\"forever\"", more));
    said.refuses(2, &["[destination.shipping]", "secret 1", "whsec_"]);
    assert!(!said.err.contains("hunter2"), "{said:?}");
    desk.write("secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
    relay(&desk, &configuration(port, "\"forever\"", more)).is_done();
}

#[test]
fn a_relay_without_a_configuration_or_with_an_unknown_name_is_refused() {
    let desk = Desk::new();
    let said = desk.run(&["relay", "--store", "sqlite:orders.db"]);
    said.refuses(2, &["needs a configuration", "[destination.NAME]", "--config"]);
    desk.configure(9, "false", "");
    let said = desk.run(&["relay", "--only", "billing"]);
    said.refuses(2, &["--only billing", "shipping"]);
    let mut loud = desk.command(&["status"]);
    let output = loud.env("COUNTERFOIL_LOG", "loud").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("COUNTERFOIL_LOG") && err.contains("debug"), "{err}");
}

#[test]
fn a_differing_contract_is_refused_and_replaced_once() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    desk.run(&["relay", "--until-idle"]).is_done();
    desk.configure(port, "false", "");
    let said = desk.run(&["relay", "--until-idle"]);
    said.refuses(2, &["destination shipping", "another contract", "--replace-contract"]);
    desk.run(&["relay", "--until-idle", "--replace-contract"]).is_done();
    desk.run(&["relay", "--until-idle"]).is_done();
}
