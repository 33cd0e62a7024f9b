//! `relay`: how it ends, and what it leaves.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use crate::program::{Desk, wait_until};

/// A receiver that gives every request the same answer; its port.
pub(crate) fn answering(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let mut seen = Vec::<u8>::new();
            let mut bytes = [0; 4096];
            while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
                match stream.read(&mut bytes) {
                    Ok(n @ 1..) => seen.extend(&bytes[..n]),
                    _ => break,
                }
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

#[test]
fn until_idle_exits_0_when_all_is_delivered() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    (0..50).for_each(|n| desk.enqueue(&format!("c-{n}")));
    let said = desk.run(&["relay", "--until-idle"]);
    let sums: Vec<_> = said.is_done().err.lines().filter(|line| line.contains("in all:")).collect();
    assert_eq!(sums.len(), 1, "{said:?}");
    assert!(sums[0].ends_with("in all: 50 sends, 50 completed; nothing is left to do"), "{said:?}");
    assert_eq!(desk.shipping("SELECT count(*) FROM jobs"), 50);
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_delivery"), 0);
    let json = desk.run(&["relay", "--until-idle", "--log-format", "json"]);
    let first = json.is_done().err.lines().next().unwrap().to_owned();
    assert!(serde_json::from_str::<serde_json::Value>(&first).is_ok(), "{first}");
}

/// Programs read them; the page of operations names the members.
#[test]
fn lines_of_json_keep_the_members_that_the_page_names() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("a");
    let said = desk.run(&["relay", "--until-idle", "--log-format", "json", "-v"]);
    let mut settled = 0;
    for line in said.is_done().err.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        for member in ["timestamp", "level", "message"] {
            assert!(line[member].is_string(), "{member}: {line}");
        }
        if line["message"] == "settled" {
            settled += 1;
            let of = ["command", "destination", "outcome", "reason", "now", "attempt", "took"];
            let mut all: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
            all.retain(|name| !["timestamp", "level", "message"].contains(name));
            all.sort_unstable();
            let mut of = of.to_vec();
            of.sort_unstable();
            assert_eq!(all, of, "{line}");
        }
    }
    assert_eq!(settled, 1, "{said:?}");
    let failed = desk.run(&["show", "none", "--log-format", "json"]);
    let line: serde_json::Value = serde_json::from_str(&failed.err).unwrap();
    assert!(line["timestamp"].is_string() && line["help"].is_array(), "{line}");
}

#[test]
fn until_idle_exits_1_when_unserved_or_parked_commands_remain() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("a");
    let store = ["--store", "sqlite:orders.db"];
    let other = ["enqueue", "b", "--to", "billing", "--kind", "k", "--body", "1"];
    desk.run(&[&other[..], &store].concat()).is_done();
    let said = desk.run(&["relay", "--until-idle"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    // A relay that ends at once may not have looked yet which destination it is.
    assert!(said.err.contains("1 command remains unserved"), "{said:?}");
    desk.run(&["relay", "--until-idle", "--only", "shipping"]).is_done();
    assert_eq!(desk.show("a")["state"], "completed");

    let refusing = answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    desk.configure(refusing, "\"forever\"", "");
    desk.enqueue("c");
    let said = desk.run(&["relay", "--until-idle", "--only", "shipping"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(desk.show("c")["state"], "dead");
}

#[test]
fn until_idle_does_not_wait_for_what_is_due_later() {
    let desk = Desk::new();
    desk.configure(9, "\"forever\"", "");
    let later = ["enqueue", "a", "--to", "shipping", "--kind", "k", "--body", "1", "--in", "1h"];
    desk.run(&later).is_done();
    desk.run(&["relay", "--until-idle"]).is_done();
    assert_eq!(desk.show("a")["state"], "pending");
}

#[test]
fn each_answer_leads_where_the_contract_says() {
    let cases = [
        ("401 Unauthorized", "", "not_sent", "dead"),
        ("404 Not Found", "", "not_sent", "dead"),
        ("308 Permanent Redirect", "Location: /x\r\n", "not_sent", "dead"),
        ("409 Conflict", "", "unknown", "uncertain"),
        ("422 Unprocessable", "", "conflict", "conflict"),
        ("429 Too Many", "Retry-After: 0\r\n", "not_sent", "dead"),
        ("500 Internal", "", "unknown", "uncertain"),
        ("400 Bad", "Counterfoil-Outcome: completed\r\n", "completed", "completed"),
        ("200 OK", "Counterfoil-Outcome: rejected\r\n", "rejected", "rejected"),
        ("202 Accepted", "", "accepted", "published"),
        ("204 No Content", "", "completed", "completed"),
    ];
    for (status, headers, outcome, state) in cases {
        let desk = Desk::new();
        let answer = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n");
        let port = answering(Box::leak(answer.into_boxed_str()));
        desk.configure(port, "false", "");
        let short = std::fs::read_to_string(desk.path("counterfoil.toml")).unwrap();
        desk.write("counterfoil.toml", &short.replace("retry = {", "retry = { max_attempts = 2,"));
        desk.enqueue("a");
        let said = desk.run(&["relay", "--until-idle"]);
        let shown = desk.show("a");
        assert_eq!(shown["state"], state, "{status}: {shown} {said:?}");
        let ended = matches!(state, "completed" | "rejected" | "published");
        assert_eq!(said.code, Some(i32::from(!ended)), "{status}: {said:?}");
        assert!(said.err.contains(outcome) || ended, "{status}: {said:?}");
    }
}

#[test]
fn a_signal_ends_it_cleanly_and_a_second_one_at_once() {
    for name in ["TERM", "INT"] {
        let desk = Desk::new();
        desk.configure(9, "\"forever\"", "");
        let mut relay = desk.start(&["relay"]);
        relay.hear("relay started");
        relay.signal(name);
        assert_eq!(relay.end(), Some(0), "{name}");
    }
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&["--hold-after-commit", "1"]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("a");
    let mut relay = desk.start(&["relay"]);
    wait_until("the receiver has it", || desk.shipping("SELECT count(*) FROM jobs") == 1);
    relay.signal("TERM");
    relay.hear("SIGTERM");
    // Later than signals that are one wish.
    std::thread::sleep(Duration::from_millis(600));
    relay.signal("TERM");
    assert_eq!(relay.end(), Some(2));
}

/// The story: `timeout 60 counterfoil relay` signals the relay and then its whole group. The second
/// signal ended it at once, and the answers it waited for were left in doubt.
#[test]
fn a_signal_sent_twice_by_one_timeout_is_one_wish() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&["--hold-after-commit", "1", "--hold-for", "700ms"]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("a");
    let mut relay = desk.start(&["relay"]);
    wait_until("the receiver has it", || desk.shipping("SELECT count(*) FROM jobs") == 1);
    relay.signal("TERM");
    relay.hear("SIGTERM");
    relay.signal("TERM");
    relay.signal("INT");
    assert_eq!(relay.end(), Some(0));
    assert_eq!(desk.show("a")["state"], "completed", "it was waited for");
}

/// The story: a backup was put back by `mv` while a relay ran. It looked healthy, and delivered
/// nothing of what was written from then on.
#[test]
fn a_relay_whose_store_was_replaced_ends_and_says_so() {
    let desk = Desk::new();
    desk.configure(9, "\"forever\"", "");
    let mut relay = desk.start(&["relay"]);
    relay.hear("relay started");
    desk.run(&["init", "--store", "sqlite:backup.db"]).is_done();
    std::fs::rename(desk.path("backup.db"), desk.path("orders.db")).unwrap();
    relay.hear("this file was moved, removed or replaced");
    assert_eq!(relay.end(), Some(2));
}

#[test]
fn it_ends_with_its_standard_input_when_told_so() {
    let desk = Desk::new();
    desk.configure(9, "\"forever\"", "");
    let mut relay = desk.start(&["relay", "--end-with-stdin"]);
    relay.hear("standard input ended");
    assert_eq!(relay.end(), Some(0));
}

#[test]
fn bodies_with_nul_and_without_utf_8_arrive_byte_for_byte() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    let all: Vec<u8> = (0..=255).chain([0, 0xff, 0xc3]).collect();
    for (id, body) in [("all", &all[..]), ("empty", b""), ("text", "两件\n".as_bytes())] {
        let args = ["enqueue", id, "-", "--to", "shipping", "--kind", "k"];
        desk.run_with(&args, body).is_done();
        desk.run(&["relay", "--until-idle"]).is_done();
        let hex: String = body.iter().map(|byte| format!("{byte:02X}")).collect();
        let same = format!("SELECT hex(body) = '{hex}' FROM jobs WHERE key = '{id}'");
        assert_eq!(desk.shipping(&same), 1, "{id}");
    }
}

#[test]
fn an_id_that_is_no_utf_8_parks_itself_alone() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    let insert = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body)
                  VALUES (CAST(x'61FF' AS TEXT), 'shipping', 'k', '{}')";
    let orders = rusqlite::Connection::open(desk.path("orders.db")).unwrap();
    orders.execute_batch(insert).unwrap();
    ["b", "c"].iter().for_each(|id| desk.enqueue(id));
    let said = desk.run(&["relay", "--until-idle"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(desk.shipping("SELECT count(*) FROM jobs"), 2);
    let listed = desk.run(&["list", "--json", "--state", "parked"]);
    let lines: Vec<_> = listed.is_done().out.lines().collect();
    assert_eq!(lines.len(), 1, "{listed:?}");
    let object: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(object["state"], "dead");
    assert_eq!(object["command_id"], "a\u{fffd}");
    assert_eq!(object["receipts"], serde_json::json!([]));
}

#[test]
fn with_completion_receipt_a_report_completes_and_published_does_not_hold_the_relay() {
    let desk = Desk::new();
    let port = answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    desk.configure(port, "\"forever\"", "completion = \"receipt\"");
    desk.enqueue("a");
    desk.run(&["relay", "--until-idle"]).is_done();
    assert_eq!(desk.show("a")["state"], "published");
    let report = "INSERT INTO counterfoil_report(command_id, outcome, result, evidence)
                  VALUES ('a', 'completed', '{\"job\":7}', 'the worker says so')";
    let orders = rusqlite::Connection::open(desk.path("orders.db")).unwrap();
    orders.execute_batch(report).unwrap();
    let shown = desk.show("a");
    assert_eq!(shown["state"], "completed");
    assert_eq!(shown["receipt"]["evidence"], "the worker says so");
    assert_eq!(shown["receipt"]["source"], "report");
}

#[test]
fn the_same_key_with_other_content_is_a_conflict_that_a_person_sees() {
    let (one, other) = (Desk::new(), Desk::new());
    let (_receiver, port) = one.receiver(&[]);
    one.configure(port, "\"forever\"", "");
    other.configure(port, "\"forever\"", "");
    one.enqueue("a");
    one.run(&["relay", "--until-idle"]).is_done();
    // A store of the same source, as after a restore: its `a` is another intent.
    let again = ["enqueue", "a", "--to", "shipping", "--kind", "order.paid", "--body", "{ }"];
    other.run(&again).is_done();
    let said = other.run(&["relay", "--until-idle"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let shown = other.show("a");
    assert_eq!((&shown["state"], &shown["in_doubt"]), (&"conflict".into(), &false.into()));
    assert_eq!(one.shipping("SELECT count(*) FROM jobs"), 1);
}
