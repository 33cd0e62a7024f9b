//! Each verb in each state, through the program and through the API: done or refused as the design
//! says, and on record.
//!
//! Guarantees: both doors are held to one table. Does not: claim anything.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::api::{port_of, say};
use crate::standing::{TABLE, VERBS, check_record, desk, id};

/// The words of the program for a code of the API.
fn words(code: &str) -> &'static str {
    match code {
        "CF1012" => "no such command was ever recorded",
        "CF1030" => "it is not parked; `show` says what it waits for",
        "CF1031" => "a repeat could act twice: find out",
        "CF1032" => "it is being sent or asked about",
        "CF1033" => "it is in doubt; `resolve` it instead",
        "CF1034" => "it was never sent, so there is nothing to resolve",
        "CF1035" => "it was accepted by its receiver",
        "CF1036" => "it has ended; `redeliver`",
        "CF1037" => "it has not ended yet",
        "CF1038" => "it is past its expiry",
        "CF1039" => "its content was erased",
        "CF1041" => "it is archived",
        other => panic!("no words for {other}"),
    }
}

fn flags(verb: &str) -> Vec<&'static str> {
    match verb {
        "retry" => vec!["retry", "--reason", "why"],
        "retry2" => vec!["retry", "--may-act-twice", "--reason", "why"],
        "completed" => vec!["resolve", "--completed", "--evidence", "why"],
        "rejected" => vec!["resolve", "--rejected", "--evidence", "why"],
        "not_done" => vec!["resolve", "--not-done", "--evidence", "why"],
        "cancel" => vec!["cancel", "--reason", "why"],
        "redeliver" => vec!["redeliver", "--reason", "why"],
        _ => vec!["redeliver", "--may-act-twice", "--reason", "why"],
    }
}

#[test]
fn each_verb_in_each_state_by_the_program() {
    let desk = desk();
    for (at, verb) in VERBS.iter().enumerate() {
        let ids: Vec<_> = TABLE.iter().map(|standing| id(verb, standing)).collect();
        let mut args = flags(verb);
        args.extend(["--json", "--actor", "ann", "--store", "sqlite:orders.db"]);
        args.extend(ids.iter().map(String::as_str));
        let said = desk.run(&args);
        assert_eq!(said.code, Some(1), "{said:?}");
        let lines: Vec<Value> =
            said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), TABLE.len());
        for (line, standing) in lines.iter().zip(&TABLE) {
            let then = standing.then[at];
            if then.starts_with("CF") {
                assert_eq!(line["done"], false, "{verb}: {line}");
                let reason = line["reason"].as_str().unwrap();
                assert!(reason.contains(words(then)), "{verb}: {then}: {line}");
            } else {
                assert_eq!((&line["done"], &line["after"]), (&json!(true), &json!(then)), "{line}");
            }
        }
    }
    check_record(&desk, "ann");
}

fn body(verb: &str) -> (&str, Value) {
    match verb {
        "retry" | "cancel" | "redeliver" => (verb, json!({ "reason": "why" })),
        "retry2" => ("retry", json!({ "reason": "why", "may_act_twice": true })),
        "redeliver2" => ("redeliver", json!({ "reason": "why", "may_act_twice": true })),
        outcome => ("resolve", json!({ "outcome": outcome, "evidence": "why" })),
    }
}

#[test]
fn each_verb_in_each_state_by_the_api() {
    let desk = desk();
    let mut relay = desk.start(&["relay"]);
    let port = port_of(&relay);
    let ops = "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n";
    for (at, verb) in VERBS.iter().enumerate() {
        for standing in &TABLE {
            let (path, body) = body(verb);
            let line = format!("POST /v1/commands/{}/{path}", id(verb, standing));
            let answer = say(port, &line, ops, &body.to_string());
            let then = standing.then[at];
            if then.starts_with("CF") {
                let status = if then == "CF1012" { "HTTP/1.1 404" } else { "HTTP/1.1 409" };
                assert!(answer.starts_with(status) && answer.contains(then), "{line}: {answer}");
            } else {
                let after = format!("\"after\":\"{then}\"");
                let done = answer.starts_with("HTTP/1.1 200") && answer.contains(&after);
                assert!(done, "{line}: {answer}");
            }
        }
    }
    relay.signal("TERM");
    assert_eq!(relay.end(), Some(0));
    check_record(&desk, "api ops");
}

/// A row as it stands, whole.
fn row(own: &Connection, id: &str) -> Vec<String> {
    let sql = "SELECT d.* FROM counterfoil_delivery d JOIN counterfoil_outbox o ON o.n = d.n
               WHERE o.command_id = ?1";
    let mut row = own.prepare(sql).unwrap();
    let columns = row.column_count();
    let read = |row: &rusqlite::Row<'_>| {
        (0..columns).map(|at| Ok(format!("{:?}", row.get_ref(at)?))).collect()
    };
    row.query_row([id], read).unwrap()
}

/// A filter names nobody: what is in doubt is left to who looks at it by its id.
#[test]
fn no_verb_by_filter_touches_a_row_in_doubt() {
    let desk = desk();
    let own = Connection::open(desk.path("orders.db")).unwrap();
    let in_doubt = ["uncertain", "uncertain-keyed", "conflict-in-doubt", "pending-in-doubt"];
    let all = || -> Vec<_> {
        let ids = VERBS.iter().flat_map(|verb| in_doubt.map(|name| format!("{verb}.{name}")));
        ids.map(|id| row(&own, &id)).collect()
    };
    let acted = "SELECT count(*) FROM counterfoil_operator_action WHERE verb <> 'pause'";
    let before = all();
    let mut done = 0;
    for verb in [VERBS[0], "not_done", "rejected", "cancel"] {
        for filter in [&["--state", "parked"][..], &["--state", "uncertain"], &["--since", "1d"]] {
            let dry = [&flags(verb)[..], filter, &["--dry-run", "--json"]].concat();
            let foreseen = desk.run(&dry).json();
            assert_eq!(desk.orders(acted), done, "a dry run of {verb} did something");
            let real = [&flags(verb)[..], filter, &["--yes", "--json", "--limit", "3"]].concat();
            let said = desk.run(&real);
            let said: Value = serde_json::from_str(&said.out).unwrap();
            let (most, did) = (foreseen["done"].as_i64().unwrap(), said["done"].as_i64().unwrap());
            assert!(did <= most, "{verb} {filter:?}: {said}, foreseen {foreseen}");
            assert!(filter[1] != "uncertain" || (most, did) == (0, 0), "{foreseen} {said}");
            done += did;
            assert_eq!(desk.orders(acted), done);
            assert_eq!(all(), before, "{verb} {filter:?}");
        }
    }
    assert!(done > 10, "{done} were done");
    let wrong = in_doubt.map(|name| format!("about GLOB '*.{name}'")).join(" OR ");
    assert_eq!(desk.orders(&format!("{acted} AND ({wrong})")), 0);
}
