//! `doctor --inbox`: what a receiver keeps against what its senders count on, on both stores.

use serde_json::Value;

use crate::program::{Desk, Said};
use crate::server::Schema;

const BOOK: [&str; 4] = ["doctor", "--json", "--inbox", "sqlite:shipping.db"];

/// The checks of retention.
fn compared(said: &Said) -> Vec<Value> {
    let report: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    assert_eq!(said.code, Some(i32::from(report["well"] == false)), "{said:?}");
    let all = report["checks"].as_array().unwrap().iter();
    let found: Vec<_> = all.filter(|check| check["check"] == "retention").cloned().collect();
    let wrong = found.iter().any(|check| check["verdict"] == "wrong");
    assert!(!wrong || said.code == Some(1), "{said:?}");
    found
}

/// The only one, with this verdict and these words.
fn one(said: &Said, verdict: &str, words: &[&str]) {
    let found = compared(said);
    assert_eq!(found.len(), 1, "{found:#?}");
    is(&found[0], verdict, words);
}

fn is(check: &Value, verdict: &str, words: &[&str]) {
    assert_eq!(check["verdict"], verdict, "{check:#}");
    assert_eq!(check["help"].is_null(), verdict == "ok", "a way out: {check:#}");
    let text = format!("{} {}", check["text"], check["help"]);
    for word in words {
        assert!(text.contains(word), "no {word:?} in {check:#}");
    }
}

/// A desk whose receiver has taken one command, and keeps its key for `retention`.
fn delivered(retention: &str, idempotent: &str) -> Desk {
    let desk = Desk::new();
    let (receiver, port) = desk.receiver(&["--retention", retention]);
    desk.configure(port, idempotent, "");
    desk.enqueue("a");
    desk.run(&["relay", "--until-idle"]).is_done();
    receiver.kill();
    desk
}

/// Asks with another contract than the one that is stored.
fn promising(desk: &Desk, idempotent: &str) -> Vec<Value> {
    desk.configure(1, idempotent, "");
    compared(&desk.run(&BOOK))
}

#[test]
fn a_receiver_that_keeps_its_keys_as_long_as_was_promised_is_well() {
    let desk = delivered("24h", "{ key_ttl = \"24h\" }");
    let words = ["1 d 0 h at the shortest", "1 key seen", "key_ttl is 1d", "tries for 20 h 0 min"];
    one(&desk.run(&BOOK), "ok", &words);
    let told = desk.run(&["doctor", "--inbox", "sqlite:shipping.db"]);
    let line = "ok     retention    shipping: the receiver keeps its keys 1 d 0 h";
    assert!(told.is_done().out.contains(line), "{told:?}");
    // Nobody named a book, and none is here.
    assert!(compared(&desk.run(&["doctor", "--json"])).is_empty());
}

/// The relay resends for 20 hours; a receiver that forgets after one acts again.
#[test]
fn a_receiver_that_forgets_too_early_is_wrong_and_the_way_out_is_told() {
    let desk = delivered("1h", "{ key_ttl = \"24h\" }");
    let words = [
        "1 h 0 min at the shortest",
        "acts twice",
        "keep its keys 1d",
        "--retention",
        "key_ttl = \\\"1h\\\"",
        "95 %",
    ];
    one(&desk.run(&BOOK), "wrong", &words);
    let told = desk.run(&["doctor", "--inbox", "sqlite:shipping.db"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.out.contains("wrong  retention    shipping: the receiver"), "{told:?}");
}

#[test]
fn what_covers_only_the_used_part_of_key_ttl_is_a_note() {
    let desk = delivered("23h", "{ key_ttl = \"24h\" }");
    one(&desk.run(&BOOK), "note", &["less than was promised", "nothing to spare", "is 1d"]);
}

#[test]
fn for_ever_is_promised_by_a_receiver_that_keeps_keys_for_ever_only() {
    let desk = delivered("7d", "\"forever\"");
    let words = ["7 d 0 h", "\\\"forever\\\"", "expires_at NULL", "key_ttl = \\\"7d\\\""];
    one(&desk.run(&BOOK), "wrong", &words);
    let keep = "UPDATE counterfoil_inbox SET expires_at = NULL";
    let db = rusqlite::Connection::open(desk.path("shipping.db")).unwrap();
    assert_eq!(db.execute(keep, []).unwrap(), 1);
    one(&desk.run(&BOOK), "ok", &["for ever", "1 key seen"]);
}

/// Of many keys the one that is forgotten first decides, also among keys that are kept for ever.
#[test]
fn the_shortest_of_all_keys_counts() {
    let desk = delivered("30d", "{ key_ttl = \"7d\" }");
    one(&desk.run(&BOOK), "ok", &["30 d 0 h"]);
    let db = rusqlite::Connection::open(desk.path("shipping.db")).unwrap();
    let now = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)";
    let sql = format!(
        "INSERT INTO counterfoil_inbox(source, key, digest, expires_at)
         VALUES ('urn:test', 'b', x'00', NULL), ('urn:test', 'c', x'00', {now} + 3600000000),
                ('urn:other', 'd', x'00', {now} + 1000000)"
    );
    db.execute_batch(&sql).unwrap();
    one(&desk.run(&BOOK), "wrong", &["1 h 0 min at the shortest", "3 keys seen"]);
}

#[test]
fn both_contracts_are_compared_where_they_differ() {
    let desk = delivered("24h", "{ key_ttl = \"24h\" }");
    let found = promising(&desk, "\"forever\"");
    assert_eq!(found.len(), 2, "{found:#?}");
    is(&found[0], "wrong", &["by the configured contract", "\\\"forever\\\""]);
    is(&found[1], "ok", &["by the stored contract", "key_ttl is 1d"]);
    // A relay with the other configuration would still run by the stored one.
    let desk = delivered("24h", "\"forever\"");
    let found = promising(&desk, "{ key_ttl = \"24h\" }");
    is(&found[0], "ok", &["by the configured contract"]);
    is(&found[1], "wrong", &["by the stored contract"]);
    // Without any configuration there is the stored one.
    std::fs::remove_file(desk.path("counterfoil.toml")).unwrap();
    let said = desk.run(&[&BOOK[..], &["--store", "sqlite:orders.db"]].concat());
    one(&said, "wrong", &["by the stored contract", "\\\"forever\\\""]);
}

#[test]
fn a_book_without_keys_is_not_known_and_the_usual_time_is_named() {
    let desk = Desk::new();
    let (receiver, port) = desk.receiver(&[]);
    receiver.kill();
    desk.configure(port, "{ key_ttl = \"7d\" }", "");
    let words =
        ["no key of urn:test", "is not known", "7d unless", "that would do", "another source"];
    one(&desk.run(&BOOK), "note", &words);
    for longer in ["{ key_ttl = \"8d\" }", "\"forever\""] {
        desk.configure(port, longer, "");
        one(&desk.run(&BOOK), "note", &["is not known", "that would be too short"]);
    }
}

#[test]
fn only_whom_the_receiver_serves_is_compared() {
    let desk = delivered("1h", "{ key_ttl = \"24h\" }");
    let more = "[destination.billing]\ntransport = \"http\"\nurl = \"http://127.0.0.1:1/\"\n\
                request_timeout = \"1s\"\nidempotent = false\n\
                [destination.dry]\ntransport = \"log\"\n";
    desk.configure(1, "{ key_ttl = \"24h\" }", more);
    one(&desk.run(&BOOK), "wrong", &["key_ttl is 1d"]);
    let of = |name| desk.run(&[&BOOK[..], &["--destination", name]].concat());
    one(&of("shipping"), "wrong", &["key_ttl is 1d"]);
    for name in ["billing", "dry"] {
        let found = compared(&of(name));
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(
            (&found[0]["verdict"], &found[0]["destination"]),
            (&"note".into(), &name.into())
        );
        assert!(found[0]["text"].as_str().unwrap().contains("nothing to compare"), "{found:#?}");
    }
    let mistyped = of("shiping");
    assert_eq!(mistyped.code, Some(2));
    assert!(mistyped.err.contains("--destination shiping: neither"), "{mistyped:?}");
}

#[test]
fn a_book_that_cannot_be_read_is_told_beside_the_rest() {
    let desk = delivered("7d", "{ key_ttl = \"7d\" }");
    desk.run(&["doctor", "--destination", "shipping"])
        .refuses(2, &["--destination", "add --inbox"]);
    desk.run(&["doctor", "--inbox", "shipping.db"])
        .refuses(2, &["--inbox is no URL", "sqlite:PATH"]);
    let said = desk.run(&["doctor", "--json", "--inbox", "sqlite:none.db"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--inbox none.db: there is no such file"), "{said:?}");
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["check"] == "contract"), "{report:#}");
    assert_eq!(checks.last().unwrap()["verdict"], "wrong");
    assert!(checks.last().unwrap()["help"].as_str().unwrap().contains("receiver's own store"));
    assert!(!desk.path("none.db").exists());
}

/// Sender and receiver in one database: each key is a command of a destination that is known.
#[test]
fn a_receiver_in_the_store_itself_needs_no_flag() {
    let desk = Desk::new();
    desk.configure(1, "{ key_ttl = \"24h\" }", "");
    desk.enqueue("a");
    let take = |key: &str, hours: u64| {
        let sql = format!(
            "INSERT INTO counterfoil_inbox(source, key, digest, expires_at) VALUES ('urn:test',
             '{key}', x'00', CAST((julianday('now') - 2440587.5 + {hours} / 24.0) * 86400000000
             AS INTEGER))"
        );
        let db = rusqlite::Connection::open(desk.path("orders.db")).unwrap();
        db.execute_batch(&sql).unwrap();
    };
    take("not ours", 1);
    assert!(compared(&desk.run(&["doctor", "--json"])).is_empty());
    take("a", 2);
    let words = ["the inbox of this store keeps its keys 2 h 0 min", "1 key seen", "is 1d"];
    one(&desk.run(&["doctor", "--json"]), "wrong", &words);
}

const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

#[test]
fn books_on_postgresql_are_read_too_named_or_the_store_s_own() {
    let (desk, theirs, ours) = (Desk::empty(), Schema::unmade(), Schema::unmade());
    let (inbox, store) = (theirs.store(), ours.store());
    desk.run(&["init", "--store", &inbox, "--source", "urn:warehouse"]).is_done();
    desk.run(&["init", "--store", &store, "--source", "urn:test"]).is_done();
    desk.configure(1, "{ key_ttl = \"24h\" }", "");
    let run = |args: &[&str]| desk.run(&[&["doctor", "--json", "--store", &store], args].concat());
    let named = ["--inbox", inbox.as_str(), "--destination", "shipping"];
    one(&run(&named), "note", &["no key of urn:test", "is not known"]);
    let take = |key: &str, hours: u32| {
        format!(
            "INSERT INTO cf.inbox(source, key, digest, expires_at)
             VALUES ('urn:test', '{key}', '\\x00', {NOW} + {hours} * 3600000000::bigint)"
        )
    };
    theirs.run(&take("a", 24));
    one(&run(&named), "ok", &["the receiver", "1 d 0 h", "1 key seen"]);
    theirs.run(&take("b", 2));
    one(&run(&named), "wrong", &["2 h 0 min at the shortest", "keep its keys 1d"]);
    let what =
        ["enqueue", "a", "--to", "shipping", "--kind", "k", "--body", "1", "--store", &store];
    desk.run(&what).is_done();
    assert!(compared(&run(&[])).is_empty());
    ours.run(&take("a", 3));
    one(&run(&[]), "wrong", &["the inbox of this store", "3 h 0 min", "1 key seen"]);
    let said = run(&["--inbox", &Schema::unmade().store()]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("no inbox can be read there"), "{said:?}");
}

/// A book may be large: it is read once, and each of its keys is looked up.
#[test]
fn the_store_s_own_inbox_is_read_by_its_indexes() {
    let desk = Desk::new();
    let db = rusqlite::Connection::open(desk.path("orders.db")).unwrap();
    let sql = include_str!("../../src/verb/doctor/sql/own_inbox.sql");
    let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let lines = plan.query_map(["urn:test"], |row| row.get::<_, String>(3)).unwrap();
    let plan = lines.map(Result::unwrap).collect::<Vec<_>>().join("\n");
    assert!(plan.contains("SEARCH i USING PRIMARY KEY (source=?)"), "{plan}");
    assert!(plan.contains("SEARCH o USING INDEX") && plan.contains("(command_id=?)"), "{plan}");
}
