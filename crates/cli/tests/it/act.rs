//! The verbs that act: what they do, what they refuse, and what stands in the books.

use serde_json::{Value, json};

use crate::program::{Desk, Said};
use crate::relay::answering;

const REFUSES: &str = "HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const FAILS: &str = "HTTP/1.1 500 Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

fn run(desk: &Desk, args: &[&str]) -> Said {
    desk.run(&[args, &["--store", "sqlite:orders.db"]].concat())
}

/// Commands that a receiver without keys left parked: dead, or uncertain.
fn parked(answer: &'static str, ids: &[&str]) -> Desk {
    let desk = Desk::new();
    ids.iter().for_each(|id| desk.enqueue(id));
    park(&desk, answer);
    desk
}

fn park(desk: &Desk, answer: &'static str) {
    desk.configure(answering(answer), "false", "");
    assert_eq!(desk.run(&["relay", "--until-idle", "--replace-contract"]).code, Some(1));
}

fn state(desk: &Desk, id: &str) -> String {
    desk.show(id)["state"].as_str().unwrap().to_owned()
}

fn actions(desk: &Desk, query: &str) -> i64 {
    desk.orders(&format!("SELECT count(*) FROM counterfoil_operator_action WHERE {query}"))
}

#[test]
fn each_id_is_told_by_itself_and_one_refused_makes_exit_1() {
    let desk = parked(REFUSES, &["a", "b"]);
    desk.enqueue("c");
    let said = run(&desk, &["retry", "a", "none", "c", "b", "a", "--actor", "ann"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.out, "a: dead -> pending\nb: dead -> pending\n");
    assert!(said.err.contains("none: no such command was ever recorded"), "{said:?}");
    assert!(said.err.contains("c: it is not parked; `show` says what it waits for"), "{said:?}");
    assert_eq!(said.err.lines().count(), 2, "{said:?}");
    assert_eq!(actions(&desk, "verb = 'retry' AND actor = 'ann' AND reason IS NULL"), 2);
}

#[test]
fn json_has_what_was_refused_beside_what_was_done() {
    let desk = parked(REFUSES, &["a"]);
    let said = run(&desk, &["retry", "a", "none", "--json"]);
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""));
    let lines: Vec<Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let done = json!({
        "command_id": "a", "verb": "retry", "done": true, "before": "dead", "after": "pending",
        "reason": null,
    });
    assert_eq!(lines[0], done);
    assert_eq!((&lines[1]["done"], &lines[1]["before"]), (&json!(false), &Value::Null));
    assert!(lines[1]["reason"].as_str().unwrap().contains("no such command"));
}

#[test]
fn what_may_act_twice_needs_the_word_and_a_reason() {
    let desk = parked(FAILS, &["a"]);
    let said = run(&desk, &["retry", "a"]);
    assert_eq!(said.code, Some(1));
    for word in
        ["a: a repeat could act twice", "find out at the receiver", "--may-act-twice", "--reason"]
    {
        assert!(said.err.contains(word), "{word}: {said:?}");
    }
    run(&desk, &["retry", "a", "--may-act-twice"]).refuses(2, &["needs --reason", "books"]);
    run(&desk, &["retry", "--state", "dead", "--may-act-twice", "--reason", "x", "--yes"])
        .refuses(2, &["--may-act-twice is for commands that are named"]);
    assert_eq!(state(&desk, "a"), "uncertain");
    run(&desk, &["retry", "a", "--may-act-twice", "--reason", "they said go"]).is_done();
    assert_eq!(state(&desk, "a"), "pending");
    assert_eq!(actions(&desk, "verb = 'retry' AND reason = 'they said go'"), 1);
}

#[test]
fn verbs_that_need_a_reason_say_so_and_do_nothing() {
    let desk = parked(REFUSES, &["a"]);
    let without = [
        (&["cancel", "a"][..], "--reason"),
        (&["cancel", "a", "--reason", "  "], "--reason"),
        (&["redeliver", "a"], "--reason"),
        (&["pause", "shipping"], "--reason"),
        (&["resolve", "a", "--completed"], "--evidence"),
    ];
    for (args, flag) in without {
        run(&desk, args).refuses(2, &["needs", flag, "books"]);
    }
    run(&desk, &["resolve", "a", "--evidence", "x"])
        .refuses(2, &["needs a verdict", "--completed", "--rejected", "--not-done"]);
    let two = run(&desk, &["resolve", "a", "--completed", "--not-done", "--evidence", "x"]);
    assert_eq!(two.code, Some(2), "{two:?}");
    run(&desk, &["resolve", "a", "--rejected", "--result", "1", "--evidence", "x"])
        .refuses(2, &["--result goes with --completed"]);
    assert_eq!((state(&desk, "a").as_str(), actions(&desk, "1")), ("dead", 0));
}

#[test]
fn a_verdict_ends_it_or_sends_it_again() {
    let desk = parked(FAILS, &["a", "b", "c"]);
    let resolve = |id: &str, more: &[&str]| {
        run(&desk, &[&["resolve", id, "--evidence", "their books"], more].concat())
    };
    let done = resolve("a", &["--completed", "--result", "{\"job\":7}"]);
    assert_eq!(done.is_done().out, "a: uncertain -> completed\n");
    assert_eq!(resolve("b", &["--rejected"]).is_done().out, "b: uncertain -> rejected\n");
    assert_eq!(resolve("c", &["--not-done"]).is_done().out, "c: uncertain -> pending\n");
    let receipt = &desk.show("a")["receipt"];
    assert_eq!(receipt["result"], "{\"job\":7}");
    assert_eq!(receipt["evidence"], "their books");
    assert!(receipt["source"].as_str().unwrap().starts_with("operator "), "{receipt}");
    let again = resolve("a", &["--rejected"]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("a: it has ended"), "{again:?}");
}

#[test]
fn a_file_of_verdicts_is_checked_whole_before_anything_is_done() {
    let desk = parked(FAILS, &["a", "b", "c"]);
    let good = "{\"id\":\"a\",\"outcome\":\"completed\",\"evidence\":\"job 1\"}\n\
                {\"id\":\"b\",\"outcome\":\"not_done\",\"evidence\":\"no job\"}\n";
    desk.write("bad.jsonl", &format!("{good}{{\"id\":\"c\"}}\nrubbish\n"));
    run(&desk, &["resolve", "--from", "bad.jsonl"])
        .refuses(2, &["2 bad lines, so nothing was done", "line 3:", "line 4:"]);
    assert_eq!(actions(&desk, "1"), 0);
    let more = "{\"id\":\"gone\",\"outcome\":\"rejected\",\"evidence\":\"x\"}\n";
    let args = ["resolve", "--from", "-", "--actor", "bo", "--store", "sqlite:orders.db"];
    let said = desk.run_with(&args, format!("{good}{more}").as_bytes());
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.out, "a: uncertain -> completed\nb: uncertain -> pending\n");
    assert!(said.err.contains("gone: no such command"), "{said:?}");
    let with = |id: &str, why: &str| {
        actions(&desk, &format!("about = '{id}' AND actor = 'bo' AND reason = '{why}'"))
    };
    assert_eq!((with("a", "job 1"), with("b", "no job")), (1, 1));
    run(&desk, &["resolve", "--from", "none"]).refuses(2, &["--from none cannot be read"]);
    run(&desk, &["resolve", "--from", "bad.jsonl", "--state", "dead"]).refuses(2, &["filters"]);
}

#[test]
fn by_filter_a_script_gives_the_word_and_nothing_in_doubt_is_touched() {
    let desk = parked(FAILS, &["doubt-1", "doubt-2"]);
    ["dead-1", "dead-2", "dead-3"].iter().for_each(|id| desk.enqueue(id));
    park(&desk, REFUSES);
    let filter = ["--state", "parked", "--destination", "shipping"];
    let retry = |more: &[&str]| run(&desk, &[&["retry"], &filter[..], more].concat());
    retry(&[]).refuses(2, &["nobody to ask", "--dry-run", "--yes", "name commands by id"]);
    let dry = retry(&["--dry-run"]);
    assert!(dry.is_done().out.starts_with("retry: 5 commands found, 3 would be done"), "{dry:?}");
    assert!(dry.out.contains("left alone: 2, such as doubt-1: it is in doubt"), "{dry:?}");
    assert_eq!(actions(&desk, "1"), 0, "a dry run does nothing");
    let one = retry(&["--limit", "1", "--yes", "--json"]);
    assert_eq!(one.code, Some(1), "{one:?}");
    let one: Value = serde_json::from_str(&one.out).unwrap();
    assert_eq!(
        (&one["done"], &one["more"], &one["dry_run"]),
        (&json!(1), &json!(true), &json!(false))
    );
    let rest = retry(&["--yes", "--reason", "the receiver is back"]);
    assert_eq!(rest.code, Some(1), "some were left alone: {rest:?}");
    assert!(rest.out.starts_with("retry: 4 commands found, 2 done"), "{rest:?}");
    assert_eq!(state(&desk, "doubt-1"), "uncertain");
    assert_eq!(state(&desk, "dead-3"), "pending");
    let none = run(&desk, &["cancel", "--state", "dead", "--reason", "x", "--yes"]);
    assert_eq!(none.is_done().out, "cancel: 0 commands found, 0 done\n");
}

#[test]
fn a_filter_by_time_and_text_selects_what_list_shows() {
    let desk = parked(REFUSES, &["a", "b"]);
    let found = |args: &[&str]| {
        let dry = run(&desk, &[&["retry", "--dry-run", "--json"], args].concat()).json();
        let listed = run(&desk, &[&["list", "--json"], args].concat());
        assert_eq!(dry["found"], listed.is_done().out.lines().count(), "{args:?}");
        dry["found"].as_u64().unwrap()
    };
    assert_eq!(found(&["--last-outcome", "HTTP 400"]), 2);
    assert_eq!(found(&["--last-outcome", "HTTP 500"]), 0);
    assert_eq!(found(&["--since", "1h", "--kind", "order.paid"]), 2);
    assert_eq!(found(&["--until", "1h"]), 0);
}

#[test]
fn nothing_named_or_both_is_refused() {
    let desk = parked(REFUSES, &["a"]);
    run(&desk, &["retry"]).refuses(2, &["nothing was named", "ID", "--state dead"]);
    run(&desk, &["retry", "a", "--state", "dead"]).refuses(2, &["ids or filters, not both"]);
    run(&desk, &["retry", "--state", "lost", "--yes"]).refuses(2, &["--state lost", "uncertain"]);
    assert_eq!(run(&desk, &["retry", "a", "--dry-run"]).code, Some(2));
    assert_eq!(state(&desk, "a"), "dead");
}

#[test]
fn what_is_cancelled_ends_and_what_has_ended_is_sent_again() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    ["a", "b"].iter().for_each(|id| desk.enqueue(id));
    let said = run(&desk, &["cancel", "b", "--reason", "ordered twice"]);
    assert_eq!(said.is_done().out, "b: pending -> cancelled\n");
    assert_eq!(desk.show("b")["receipt"]["evidence"], "ordered twice");
    desk.run(&["relay", "--until-idle"]).is_done();
    let said = run(&desk, &["redeliver", "a", "--reason", "their disk broke"]);
    assert_eq!(said.is_done().out, "a: completed -> pending\n");
    assert_eq!(desk.show("a")["round"], 2);
    desk.run(&["relay", "--until-idle"]).is_done();
    assert_eq!(state(&desk, "a"), "completed");
    assert_eq!(desk.shipping("SELECT count(*) FROM jobs"), 1, "the key folds it");
}

#[test]
fn a_pause_holds_all_and_says_who_and_why() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("a");
    let pause = ["pause", "shipping", "--reason", "stocktaking", "--actor", "ann"];
    assert!(run(&desk, &pause).is_done().out.starts_with("shipping is paused for all relays"));
    let again = run(&desk, &pause);
    assert!(again.is_done().out.contains("paused already: stocktaking (by ann, since 20"));
    assert_eq!(desk.run(&["relay", "--until-idle"]).code, Some(1));
    assert_eq!(state(&desk, "a"), "pending");
    let status = desk.run(&["status"]);
    assert!(status.is_done().out.contains("paused: stocktaking (by ann, since"), "{status:?}");
    let status = desk.run(&["status", "--json"]).json();
    assert_eq!(status["paused"]["shipping"]["by"], "ann");
    let shown = desk.run(&["show", "a"]);
    assert!(shown.is_done().out.contains("its destination is paused: stocktaking (by ann"));
    let resumed = run(&desk, &["resume", "shipping", "--json", "--actor", "bo"]).json();
    assert_eq!(resumed, json!({ "destination": "shipping", "paused": false, "changed": true }));
    assert_eq!(run(&desk, &["resume", "shipping"]).is_done().out, "shipping was not paused\n");
    desk.run(&["relay", "--until-idle"]).is_done();
    assert_eq!(actions(&desk, "verb = 'resume' AND about = 'shipping' AND actor = 'bo'"), 1);
}

/// The right one would go on sending, and nobody would know.
#[test]
fn a_mistyped_destination_is_not_paused() {
    let desk = Desk::new();
    desk.enqueue("a");
    let said = run(&desk, &["pause", "shiping", "--reason", "x"]);
    said.refuses(1, &["nobody knows a destination \"shiping\"", "destinations here: shipping"]);
    run(&desk, &["resume", "shiping"]).refuses(1, &["shipping"]);
}

#[test]
fn failures_that_are_alike_are_one_line_with_an_example() {
    let desk = parked(REFUSES, &["a", "b", "c"]);
    let said = run(&desk, &["list", "--groups"]);
    let lines: Vec<_> = said.is_done().out.lines().collect();
    assert_eq!(lines.len(), 3, "{said:?}");
    for word in ["3", "shipping", "dead", "HTTP 400", " a"] {
        assert!(lines[2].contains(word), "{word}: {said:?}");
    }
    let group: Value =
        serde_json::from_str(&run(&desk, &["list", "--groups", "--json"]).out).unwrap();
    assert_eq!((&group["count"], &group["example"]), (&json!(3), &json!("a")));
    let none = run(&desk, &["list", "--groups", "--state", "uncertain"]);
    assert_eq!(none.is_done().out, "no failures match\n");
    let none = run(&desk, &["list", "--groups", "--kind", "none"]);
    let hint = "what is tried again by itself: counterfoil list --groups --state pending";
    assert!(none.is_done().out.contains(hint), "{none:?}");
}

#[test]
fn a_filter_by_a_destination_that_nobody_knows_says_so() {
    let desk = parked(REFUSES, &["a"]);
    let verbs: [&[&str]; 4] = [
        &["list", "--json"],
        &["list", "--groups", "--json"],
        &["retry", "--yes"],
        &["retry", "--dry-run"],
    ];
    for verb in verbs {
        let said = run(&desk, &[verb, &["--destination", "shiping"]].concat());
        let word = "nobody knows a destination \"shiping\"";
        assert!(said.is_done().err.contains(word), "{said:?}");
        assert!(said.err.contains("destinations here: shipping"), "{said:?}");
        let known =
            run(&desk, &[verb, &["--destination", "shipping", "--state", "conflict"]].concat());
        assert_eq!(known.is_done().err, "", "{known:?}");
    }
}
