//! What a configuration may not say: refused by the command, before anything is sent.
//!
//! The rules themselves have their tests beside the code; here each comes through a process.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::program::{Desk, configuration};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

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
        ("false", "rate = \"1/d\"", "such as \"200/s\""),
        ("false", "ratee = \"1/s\"", "unknown field `ratee`"),
        ("false", "completion = \"accepted\"", "for brokers"),
        ("false", "on_refusal = \"drop\"", "\"park\""),
        ("false", "secrets = [\"whsec_hunter2\"]", "plain text"),
        ("false", "secrets = [{ env = \"NO_SUCH_SECRET\" }]", "NO_SUCH_SECRET is not set"),
        ("false", "headers = { Authorization = \"hunter2\" }", "plain text"),
        ("false", "headers = { \"Idempotency-Key\" = \"hunter2\" }", "Idempotency-Key"),
        ("false", "method = \"post it\"", "method"),
        ("false", "result_bytes_max = \"1GiB\"", "result_bytes_max"),
        ("false", "ask = { url = \"http://a/c\", quiet = \"60s\" }", "names no command"),
        ("false", "ask = { url = \"http://a/{key}\", quiet = \"1s\" }", "a request can live"),
        ("false", "ask = { url = \"http://hunter2:x@a/{key}\", quiet = \"9s\" }", "credentials"),
        ("false", "answers = { 600 = \"completed\" }", "100 to 599"),
        ("false", "answers = { 500 = \"ask\" }", "cannot be asked"),
        ("false", "success = { json = \"code\", in = [0] }", "JSON pointer"),
        ("false", "outcome = { json = \"/code\", done = [0] }", "unknown field `done`"),
        ("false", "profile = \"slack\"", "\"webhook\""),
        ("false", "key = { header = \"Content-Length\" }", "Content-Length"),
        ("false", "tls = { ca = \"ca.pem\" }", "nothing is encrypted"),
        ("false", "proxy = \"http://hunter2@p\"", "\"env\""),
        ("false", "[api]\ntokens = [{ name = \"a\", value = \"hunter2\" }]", "plain text"),
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
    let names = ["destination shipping", "another contract", "idempotent", "--replace-contract"];
    said.refuses(2, &names);
    assert!(!said.err.contains("give_up_after"), "what agrees is not named: {said:?}");
    desk.run(&["relay", "--until-idle", "--replace-contract"]).is_done();
    // It acted once: the new contract is the stored one now, and agrees by itself.
    desk.run(&["relay", "--until-idle"]).is_done();
    desk.configure(port, "\"forever\"", "");
    desk.run(&["relay", "--until-idle"]).refuses(2, &["another contract", "idempotent"]);
}

#[test]
fn habits_and_asking_belong_to_the_contract_and_are_named_where_they_differ() {
    let desk = Desk::new();
    let ask = "ask = { url = \"http://127.0.0.1:1/{key}\", quiet = \"2s\" }";
    desk.configure(1, "\"forever\"", ask);
    desk.run(&["relay", "--until-idle"]).is_done();
    let other = "ask = { url = \"http://127.0.0.1:2/{key}\", quiet = \"2s\" }";
    desk.configure(1, "\"forever\"", other);
    desk.run(&["relay", "--until-idle"]).is_done();
    let other = "ask = { url = \"http://127.0.0.1:1/{key}\", quiet = \"3s\" }\n\
                 answers = { 409 = \"completed\" }\nkey = { form = \"bare\" }";
    desk.configure(1, "\"forever\"", other);
    let said = desk.run(&["relay", "--until-idle"]);
    said.refuses(2, &["ask.quiet", "answers", "key"]);
}

/// Every value of `{ env = "NAME" }` in `text`.
fn variables(text: &str) -> Vec<&str> {
    let after = text.split("env = \"").skip(1);
    after.filter_map(|after| after.split('"').next()).collect()
}

/// A page that shows what is refused teaches nothing. `doctor` reads a configuration as a relay
/// does, certificates and secrets included.
#[test]
fn every_configuration_of_the_pages_is_taken_as_a_whole() {
    let certificates = root().join("crates/relay/tests/it/http/certificates");
    for page in ["docs/recipes.md", "docs/configuration.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let blocks: Vec<_> = text.split("```toml\n").skip(1).collect();
        assert!(!blocks.is_empty(), "{page}");
        for block in blocks {
            let block = block.split("```").next().unwrap();
            let desk = Desk::empty();
            for file in ["ca.pem", "client.pem", "client.key"] {
                std::fs::copy(certificates.join(file), desk.path(file)).unwrap();
            }
            desk.write("counterfoil.toml", block);
            desk.run(&["init"]).is_done();
            let mut doctor = desk.command(&["doctor"]);
            for name in variables(block) {
                doctor.env(name, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
            }
            let output = doctor.output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{page}: {block}\n{output:?}");
            let said = String::from_utf8(output.stdout).unwrap();
            assert!(said.contains("contract"), "{page}: no destination in\n{block}");
        }
    }
}
