//! `status`, `list` and `show`: their JSON shapes, filters and refusals.

use serde_json::{Value, json};

use crate::program::{Desk, wait_until};
use crate::relay::answering;

fn store(desk: &Desk, args: &[&str]) -> crate::program::Said {
    desk.run(&[args, &["--store", "sqlite:orders.db"]].concat())
}

#[test]
fn show_has_every_key_of_the_contract() {
    let desk = Desk::new();
    desk.enqueue("a");
    let shown = desk.show("a");
    let keys = [
        "command_id",
        "destination",
        "kind",
        "state",
        "round",
        "attempts",
        "in_doubt",
        "available_at",
        "token",
        "receipt",
        "receipts",
        "tries",
        "actions",
    ];
    for key in keys {
        assert!(shown.get(key).is_some(), "{key}: {shown}");
    }
    assert_eq!(shown["state"], "pending");
    assert_eq!(shown["round"], 1);
    assert_eq!(shown["attempts"], 0);
    assert_eq!(shown["in_doubt"], false);
    assert_eq!(shown["receipt"], Value::Null);
    assert_eq!(shown["receipts"], json!([]));
    let recorded = shown["recorded_at"].as_str().unwrap();
    assert!(recorded.starts_with("20") && recorded.ends_with('Z'), "{recorded}");
}

#[test]
fn show_of_an_ended_command_has_its_outcome_and_receipt() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("订单-1 📦");
    desk.run(&["relay", "--until-idle"]).is_done();
    let shown = desk.show("订单-1 📦");
    assert_eq!(shown["state"], "completed");
    assert_eq!(shown["attempts"], 1);
    assert_eq!(shown["receipt"]["outcome"], "completed");
    assert_eq!(shown["receipt"]["result"], "{\"job\":1}");
    assert_eq!(shown["receipts"].as_array().unwrap().len(), 1);
    let told = store(&desk, &["show", "订单-1 📦"]);
    for word in ["订单-1 📦", "completed", "receipt of round 1", "it has ended"] {
        assert!(told.is_done().out.contains(word), "{word}: {told:?}");
    }
}

#[test]
fn an_unknown_command_exits_1() {
    let desk = Desk::new();
    let said = store(&desk, &["show", "nope"]);
    said.refuses(1, &["no command \"nope\"", "counterfoil list"]);
    store(&desk, &["show", "nope", "--json"]).refuses(1, &["nope"]);
}

#[test]
fn list_prints_one_object_a_line_and_pages() {
    let desk = Desk::new();
    ["a", "b", "c"].iter().for_each(|id| desk.enqueue(id));
    let ids = |args: &[&str]| -> Vec<String> {
        let said = store(&desk, &[&["list", "--json"], args].concat());
        let lines = said.is_done().out.lines();
        lines
            .map(|line| {
                let object: Value = serde_json::from_str(line).unwrap();
                assert!(object["receipts"].is_array() && object["token"].is_i64(), "{object}");
                object["command_id"].as_str().unwrap().to_owned()
            })
            .collect()
    };
    assert_eq!(ids(&[]), ["a", "b", "c"]);
    assert_eq!(ids(&["--limit", "2"]), ["a", "b"]);
    assert_eq!(ids(&["--after", "a"]), ["b", "c"]);
    assert_eq!(ids(&["--state", "pending", "--destination", "shipping"]).len(), 3);
    assert_eq!(ids(&["--state", "parked"]).len(), 0);
    assert_eq!(ids(&["--kind", "other"]).len(), 0);
    assert_eq!(ids(&["--since", "1h"]).len(), 3);
    assert_eq!(ids(&["--until", "1h"]).len(), 0);
    assert_eq!(ids(&["--since", "2031-01-01T00:00:00Z"]).len(), 0);
    assert!(store(&desk, &["list"]).is_done().out.contains("order.paid"));
}

#[test]
fn a_filter_that_means_nothing_is_refused() {
    let desk = Desk::new();
    let said = store(&desk, &["list", "--state", "lost"]);
    said.refuses(2, &["--state lost", "pending", "uncertain", "parked"]);
    store(&desk, &["list", "--since", "noon"]).refuses(2, &["--since", "RFC 3339", "2h"]);
    assert_eq!(store(&desk, &["list", "--limit", "0"]).code, Some(2));
}

#[test]
fn status_counts_and_names_what_is_unserved() {
    let desk = Desk::new();
    desk.enqueue("a");
    let other = ["enqueue", "b", "--to", "billing", "--kind", "k", "--body", "1"];
    store(&desk, &other).is_done();
    let status = store(&desk, &["status", "--json"]).json();
    let counts = json!({ "shipping": { "pending": 1 }, "billing": { "pending": 1 } });
    assert_eq!((&status["destinations"], &status["unserved"]), (&counts, &json!({})));
    assert_eq!((&status["paused"], &status["blocked"]), (&json!({}), &json!([])));
    desk.configure(9, "false", "");
    let status = desk.run(&["status", "--json"]).json();
    assert_eq!(status["unserved"], json!({ "billing": 1 }));
    let table = desk.run(&["status"]);
    assert!(table.is_done().out.contains("unserved"), "{table:?}");
    assert!(table.out.contains("oldest due since"), "{table:?}");
    let told = desk.run(&["show", "b"]);
    assert!(told.is_done().out.contains("but counterfoil.toml has no [destination.billing]"));
    assert!(!desk.run(&["show", "a"]).is_done().out.contains("but "));
}

/// A receiver without keys fails, cannot be asked either, and a person must look: the story says
/// so in the order of time, and at each step what the machine does next.
#[test]
fn show_tells_questions_in_the_order_of_time_and_what_comes_next() {
    let desk = Desk::new();
    let port = answering("HTTP/1.1 500 Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let url = format!("http://127.0.0.1:{port}/{{command_id}}");
    let ask = format!("ask = {{ url = \"{url}\", quiet = \"2s\", max_asks = 2 }}");
    desk.configure(port, "false", &ask);
    desk.enqueue("a");
    let next = |words: &[&str]| {
        let told = desk.run(&["show", "a"]);
        let all = words.iter().all(|word| told.is_done().out.contains(word));
        assert!(all, "{words:?}: {told:?}");
        told.out
    };
    next(&["next: a relay sends it, not before"]);
    let mut relay = desk.start(&["relay", "--until-idle"]);
    wait_until("it is asked about", || desk.show("a")["state"] == "asking");
    next(&["asking, in doubt", "next: the receiver is asked, question 1 of 2"]);
    let all = "1 send, 2 questions, 0 completed, 1 uncertain; left: 1 parked";
    assert!(relay.hear("in all: ").ends_with(all));
    assert_eq!(relay.end(), Some(1));
    assert_eq!(desk.show("a")["asks"], 2);
    let words =
        ["uncertain, in doubt", "1 attempt, 2 questions", "a person; it may have been done"];
    let told = next(&words);
    let lines: Vec<_> = told.lines().filter(|line| line.starts_with("20")).collect();
    assert!(lines.is_sorted(), "{told}");
    let what = |line: &&str| line.split("  ").nth(1).unwrap().split(':').next().unwrap().to_owned();
    let what: Vec<_> = lines.iter().map(what).collect();
    assert_eq!(what, ["recorded", "first sent", "send", "ask", "ask"], "{told}");
}

#[test]
fn what_expired_unsent_says_so() {
    let desk = Desk::new();
    desk.configure(9, "false", "");
    let what = ["enqueue", "a", "--to", "shipping", "--kind", "k", "--body", "1"];
    desk.run(&[&what[..], &["--expires", "1ms"]].concat()).is_done();
    wait_until("it has expired", || {
        let status = desk.run(&["relay", "--until-idle"]);
        assert!(status.is_done().err.contains("in all: 0 sends, 0 completed"), "{status:?}");
        desk.show("a")["state"] == "expired"
    });
    assert_eq!(desk.show("a")["attempts"], 0);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let desk = Desk::new();
    (0..40).for_each(|n| desk.enqueue(&format!("command-with-a-longer-name-{n}")));
    let mut command = desk.command(&["list", "--json", "--store", "sqlite:orders.db"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    assert_eq!(output.status.code(), Some(0));
}

/// The code of a command whose output nobody reads.
fn unheard(desk: &Desk, args: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = desk.command(&[args, &["--store", "sqlite:orders.db"]].concat());
    command.stdout(writer).stderr(std::process::Stdio::null()).status().unwrap().code()
}

/// The story: a pipeline with `pipefail` took a broken book for a sound one.
#[test]
fn a_verdict_that_nobody_reads_is_not_0() {
    let desk = Desk::new();
    desk.enqueue("a");
    std::fs::create_dir(desk.path("old")).unwrap();
    let verdicts: [&[&str]; 6] = [
        &["audit", "--full"],
        &["audit", "--json"],
        &["archive", "--verify", "old"],
        &["archive", "--verify", "old", "--json"],
        &["doctor"],
        &["doctor", "--json"],
    ];
    for args in verdicts {
        assert_eq!(unheard(&desk, args), Some(2), "{args:?}");
    }
    assert_eq!(unheard(&desk, &["list"]), Some(0));
    assert_eq!(unheard(&desk, &["show", "a"]), Some(0));
}

/// The story: a script paged with a mistyped `--after`, got no line and exit 0, and took that for
/// the end.
#[test]
fn a_page_after_an_unknown_command_is_refused_not_empty() {
    let desk = Desk::new();
    desk.enqueue("a");
    store(&desk, &["list", "--after", "A"]).refuses(1, &["--after A", "no such command"]);
    let said = store(&desk, &["list", "--json", "--after", "A"]);
    said.refuses(1, &["--after A", "no such command"]);
}
