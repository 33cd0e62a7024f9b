//! `status`, `list` and `show`: their JSON shapes, filters and refusals.

use serde_json::{Value, json};

use crate::program::Desk;

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
    assert_eq!(status, json!({ "destinations": counts, "unserved": {} }));
    desk.configure(9, "false", "");
    let status = desk.run(&["status", "--json"]).json();
    assert_eq!(status, json!({ "destinations": counts, "unserved": { "billing": 1 } }));
    let table = desk.run(&["status"]);
    assert!(table.is_done().out.contains("unserved"), "{table:?}");
    assert!(table.out.contains("oldest due since"), "{table:?}");
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
