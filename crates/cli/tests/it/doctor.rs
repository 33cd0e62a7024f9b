//! `doctor`: what it finds, what it leaves alone, and how it ends.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use serde_json::Value;

use crate::program::{Desk, Said};

fn change(desk: &Desk, sql: &str) {
    Connection::open(desk.path("orders.db")).unwrap().execute_batch(sql).unwrap();
}

fn doctor(desk: &Desk) -> (Option<i32>, Vec<Value>) {
    let said = desk.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    assert_eq!(report["well"] == true, said.code == Some(0), "{said:?}");
    (said.code, report["checks"].as_array().unwrap().clone())
}

/// The one check of this kind, with its verdict.
fn one<'c>(checks: &'c [Value], check: &str, verdict: &str) -> &'c Value {
    let found: Vec<_> = checks.iter().filter(|found| found["check"] == check).collect();
    assert_eq!(found.len(), 1, "{check}: {checks:#?}");
    assert_eq!(found[0]["verdict"], verdict, "{found:#?}");
    let has_way_out = verdict == "wrong" || check == "parked";
    assert_eq!(found[0]["help"].is_string(), has_way_out, "a way out: {found:#?}");
    found[0]
}

fn holds(check: &Value, words: &[&str]) {
    let text = format!("{} {}", check["text"], check["help"]);
    for word in words {
        assert!(text.contains(word), "no {word:?} in {check:#?}");
    }
}

/// Asked at the reference receiver itself.
fn ask(port: u16, path: &str) -> String {
    format!("ask = {{ url = \"http://127.0.0.1:{port}/{path}/{{command_id}}\", quiet = \"2s\" }}")
}

/// A desk with one delivered command, an askable receiver that runs, and its port.
fn delivered() -> (Desk, crate::program::Running, u16) {
    let desk = Desk::new();
    let (receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", &ask(port, "commands"));
    desk.enqueue("a/b 订单");
    desk.run(&["relay", "--until-idle"]).is_done();
    (desk, receiver, port)
}

#[test]
fn all_well_exits_0_and_every_check_is_one_line() {
    let (desk, _receiver, _) = delivered();
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(0), "{checks:#?}");
    for check in ["library", "store", "durability", "source", "clock", "table", "trigger"] {
        one(&checks, check, "ok");
    }
    holds(one(&checks, "store", "ok"), &["orders.db", "version 11"]);
    holds(one(&checks, "durability", "ok"), &["journal_mode wal", "synchronous full"]);
    one(&checks, "contract", "ok");
    let asked = one(&checks, "ask", "ok");
    holds(asked, &["a/b 订单", "done"]);
    assert_eq!(asked["destination"], "shipping");
    let told = desk.run(&["doctor"]);
    assert_eq!(told.is_done().out.lines().count(), checks.len(), "{told:?}");
    assert!(told.out.lines().all(|line| line.starts_with("ok ")), "{told:?}");
}

#[test]
fn it_writes_nothing_and_sends_no_command() {
    let (desk, _receiver, port) = delivered();
    desk.enqueue("b");
    let (calls, jobs) = ("SELECT count(*) FROM calls", "SELECT count(*) FROM jobs");
    let before = (desk.shipping(calls), desk.shipping(jobs));
    let sum = "SELECT (SELECT count(*) FROM counterfoil_operator_action) * 1000000
               + (SELECT clock FROM counterfoil_meta)
               + (SELECT sum(token) FROM counterfoil_delivery)";
    let stands = desk.orders(sum);
    doctor(&desk);
    assert_eq!(desk.orders(sum), stands);
    assert_eq!(desk.show("b")["state"], "pending");
    assert_eq!((desk.shipping(calls), desk.shipping(jobs)), before);
    // Where the url of a destination leads is nobody's business here.
    desk.configure(1, "\"forever\"", &ask(port, "commands"));
    assert_eq!(doctor(&desk).0, Some(0));
}

#[test]
fn before_the_first_completion_no_bare_404_is_believed_and_it_says_so() {
    let desk = Desk::new();
    desk.configure(1, "\"forever\"", &ask(1, "commands"));
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(0), "{checks:#?}");
    holds(one(&checks, "ask", "note"), &["no bare 404 is believed until one has"]);
    holds(one(&checks, "contract", "note"), &["none is stored yet"]);
}

/// A wrong URL answers 404 to everything; believed, it would resend what was done.
#[test]
fn a_question_to_a_wrong_url_or_a_receiver_that_is_down_is_wrong() {
    let (desk, receiver, port) = delivered();
    desk.configure(port, "\"forever\"", &ask(port, "order"));
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(1));
    holds(one(&checks, "ask", "wrong"), &["a/b 订单", "ask.url is wrong"]);
    desk.configure(port, "\"forever\"", &ask(port, "commands"));
    assert_eq!(doctor(&desk).0, Some(0));
    receiver.kill();
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(1));
    holds(one(&checks, "ask", "wrong"), &["unclear", "look whether the receiver runs"]);
}

#[test]
fn what_differs_between_two_contracts_is_named() {
    let (desk, _receiver, port) = delivered();
    let more = format!("{}\nreceipt_timeout = \"1h\"", ask(port, "commands"));
    desk.configure(port, "{ key_ttl = \"30h\" }", &more);
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(1));
    let words = ["idempotent", "receipt_timeout", "--replace-contract"];
    holds(one(&checks, "contract", "wrong"), &words);
}

#[test]
fn unserved_and_paused_destinations_are_wrong() {
    let (desk, _receiver, _) = delivered();
    let other = ["enqueue", "b", "--to", "billing", "--kind", "k", "--body", "1"];
    desk.run(&[&other[..], &["--store", "sqlite:orders.db"]].concat()).is_done();
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(1));
    let unserved = one(&checks, "unserved", "wrong");
    assert_eq!(unserved["destination"], "billing");
    holds(unserved, &["1 open command", "[destination.NAME]"]);
    let pause = "DROP TRIGGER counterfoil_destination_no_update;
                 UPDATE counterfoil_destination SET paused_at = 1764421200000000,
                 paused_by = 'ana', paused_why = 'stock-taking'";
    change(&desk, pause);
    let (_, checks) = doctor(&desk);
    holds(one(&checks, "paused", "wrong"), &["ana", "stock-taking", "2025-11-29T13:00:00Z"]);
    holds(one(&checks, "trigger", "wrong"), &["counterfoil_destination_no_update", "is missing"]);
}

/// It was silent about what is parked, and called what a person must end "unserved".
#[test]
fn what_is_parked_is_named_with_the_next_step_and_is_not_unserved() {
    let (desk, _receiver, _) = delivered();
    let no = "HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let other = format!(
        "[store]\nurl = \"sqlite:orders.db\"\n[destination.billing]\ntransport = \"http\"\n\
         url = \"http://127.0.0.1:{}/\"\nidempotent = \"forever\"\n",
        crate::relay::answering(no)
    );
    std::fs::write(desk.path("other.toml"), other).unwrap();
    let what = ["enqueue", "b", "--to", "billing", "--kind", "k", "--body", "1"];
    desk.run(&[&what[..], &["--store", "sqlite:orders.db"]].concat()).is_done();
    let ended = desk.run(&["relay", "--until-idle", "--config", "other.toml"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let (code, checks) = doctor(&desk);
    let parked = one(&checks, "parked", "note");
    assert_eq!((parked["destination"].as_str(), code), (Some("billing"), Some(0)), "{checks:?}");
    holds(parked, &["1 dead", "counterfoil list --groups --destination billing"]);
    assert_eq!(desk.run(&["status", "--json"]).json()["unserved"], serde_json::json!({}));
}

#[test]
fn triggers_of_users_are_named_and_changed_guards_too() {
    let desk = Desk::new();
    desk.configure(1, "\"forever\"", "");
    let mine = "CREATE TABLE copies(id TEXT);
                CREATE TRIGGER on_ended AFTER INSERT ON counterfoil_receipt
                BEGIN INSERT INTO copies VALUES (new.n); END;
                CREATE TRIGGER on_copy AFTER INSERT ON copies BEGIN SELECT 1; END;";
    change(&desk, mine);
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(1));
    let words = ["on_ended", "counterfoil_receipt", "does not fire", "DROP TRIGGER on_ended"];
    holds(one(&checks, "trigger", "wrong"), &words);
    let weaker = "DROP TRIGGER on_ended;
                  DROP TRIGGER counterfoil_meta_no_update;
                  CREATE TRIGGER counterfoil_meta_no_update BEFORE UPDATE ON counterfoil_meta
                  BEGIN SELECT 1; END;";
    change(&desk, weaker);
    let (_, checks) = doctor(&desk);
    holds(one(&checks, "trigger", "wrong"), &["counterfoil_meta_no_update", "was changed"]);
}

#[test]
fn a_store_clock_in_the_future_is_wrong() {
    let desk = Desk::new();
    desk.configure(1, "\"forever\"", "");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    let later = now + 7_200_000_000;
    let set = format!(
        "DROP TRIGGER counterfoil_meta_no_update; UPDATE counterfoil_meta SET clock = {later}"
    );
    change(&desk, &set);
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(1));
    holds(one(&checks, "clock", "wrong"), &["ahead of this machine's", "1 h 59 min"]);
}

#[test]
fn another_source_is_wrong_and_does_not_stop_the_rest() {
    let desk = Desk::new();
    let source = "[store]\nurl = \"sqlite:orders.db\"\nsource = \"urn:other\"\n";
    desk.write("counterfoil.toml", source);
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(1));
    holds(one(&checks, "source", "wrong"), &["urn:test", "urn:other", "[store] source"]);
    holds(one(&checks, "config", "note"), &["no destination is configured"]);
    one(&checks, "trigger", "ok");
}

#[test]
fn what_works_and_is_perhaps_not_meant_is_a_note() {
    let desk = Desk::new();
    desk.configure(1, "\"forever\"", "completion = \"receipt\"");
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(0));
    let note = one(&checks, "config", "note");
    assert_eq!(note["destination"], "shipping");
    holds(note, &["public_url"]);
    let relay = desk.run(&["relay", "--until-idle"]);
    assert!(relay.is_done().err.contains("public_url is not given"), "{relay:?}");
}

fn could_not(said: &Said, words: &[&str]) {
    assert_eq!(said.code, Some(2), "{said:?}");
    words.iter().for_each(|word| assert!(said.err.contains(word), "{word}: {said:?}"));
}

#[test]
fn what_it_cannot_look_at_exits_2() {
    let desk = Desk::empty();
    could_not(&desk.run(&["doctor"]), &["no store is named"]);
    let said = desk.run(&["doctor", "--store", "sqlite:none.db"]);
    could_not(&said, &["none.db", "counterfoil init"]);
    assert!(said.out.contains("wrong  store"), "{said:?}");
    assert!(!desk.path("none.db").exists());
    desk.write("counterfoil.toml", "[store]\nurl = \"sqlite:a.db\"\n[relay]\nlease = \"0s\"\n");
    could_not(&desk.run(&["doctor"]), &["relay.lease", "is zero"]);
    let desk = Desk::new();
    let tls = "[store]\nurl = \"sqlite:orders.db\"\n[destination.a]\ntransport = \"http\"\n\
               url = \"https://a/\"\nidempotent = false\ntls = { ca = \"none.pem\" }\n";
    desk.write("counterfoil.toml", tls);
    could_not(&desk.run(&["doctor"]), &["[destination.a]", "none.pem"]);
}

/// An error page with status 200 would end every doubt as done.
#[test]
fn a_receiver_that_says_done_about_anything_is_wrong() {
    let desk = Desk::new();
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html>Oh no</";
    let port = crate::relay::answering(answer);
    desk.configure(port, "false", &ask(port, "commands"));
    let (code, checks) = doctor(&desk);
    assert_eq!(code, Some(1));
    holds(one(&checks, "ask", "wrong"), &["never was", "done", "HTTP 200", "success"]);
}
