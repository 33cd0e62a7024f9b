//! `audit`: what holds, what does not, and what cannot be audited.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::program::{Desk, Said};
use crate::relay::answering;

const EXPECT: &str = "[audit]\nexpect = [{ sql = \"SELECT 'order.paid:' || id FROM orders \
                      WHERE paid = 1\", kind = \"order.paid\" }]\n";

/// A desk whose three orders are paid, delivered, and known to the receiver.
pub(crate) fn delivered() -> Desk {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", EXPECT);
    change(&desk, "orders.db", "CREATE TABLE orders(id TEXT PRIMARY KEY, paid INTEGER)");
    for id in ["1", "2", "订单"] {
        let paid = format!("INSERT INTO orders VALUES ('{id}', 1)");
        change(&desk, "orders.db", &paid);
        desk.enqueue(&format!("order.paid:{id}"));
    }
    desk.run(&["relay", "--until-idle"]).is_done();
    desk
}

pub(crate) fn change(desk: &Desk, file: &str, sql: &str) {
    Connection::open(desk.path(file)).unwrap().execute_batch(sql).unwrap();
}

fn audit(desk: &Desk) -> Said {
    desk.run(&["audit", "--inbox", "sqlite:shipping.db", "--json"])
}

/// The audit fails, and one violation is about `id`.
fn violated(desk: &Desk, id: &str) {
    let said = audit(desk);
    assert_eq!(said.code, Some(1), "{said:?}");
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["holds"], false);
    let about = |found: &&Value| found["ids"].as_array().unwrap().contains(&json!(id));
    let found = report["violations"].as_array().unwrap().iter().find(about);
    let found = found.unwrap_or_else(|| panic!("nothing about {id}: {report}"));
    assert!(found["code"].as_str().unwrap().starts_with("CF"), "{found}");
    assert!(found["text"].as_str().unwrap().contains(id), "{found}");
    let told = desk.run(&["audit", "--inbox", "sqlite:shipping.db"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.out.contains("does not hold") && told.out.contains(id), "{told:?}");
}

#[test]
fn what_was_delivered_holds_on_both_sides() {
    let desk = delivered();
    let mut report = audit(&desk).json();
    assert!(report["inbox"]["since"].take().as_str().unwrap().starts_with("20"), "{report}");
    assert_eq!(report["inbox"]["notes"].take().as_array().unwrap().len(), 1);
    assert_eq!(
        report,
        json!({ "holds": true, "checked": 3, "acknowledged": 0, "violations": [], "mended": [],
            "form": "full", "full_because": "first", "from": null, "sealed_at": null,
            "full_at": null, "seal": "renewed",
            "expected": [{ "kind": "order.paid", "commands": 3 }],
            "inbox": { "keys": 3, "archived_keys": 0, "looked_up": 3, "not_looked_up": 0,
                "since": null, "unclear": 0, "notes": null } })
    );
    let next = told(&desk, &["--inbox", "sqlite:shipping.db"]);
    assert_eq!(next["expected"], json!([{ "kind": "order.paid", "commands": 3 }]), "{next}");
    assert_eq!(told(&desk, &[])["inbox"], json!(null));
    let told = desk.run(&["audit", "--inbox", "sqlite:shipping.db", "--full"]);
    let all = "the audit holds: 3 commands, 0 events, 3 expected ids, 3 keys of the receiver";
    assert!(told.is_done().out.contains(all), "{told:?}");
    for line in [
        "expect: 3 commands of kind order.paid looked for in its answer",
        "the receiver: 3 ended commands of ours looked up there, which ended since 20",
        "; 0 ended before and were not",
    ] {
        assert!(told.out.contains(line), "{line}: {told:?}");
    }
}

#[test]
fn a_forgotten_insert_is_found() {
    let desk = delivered();
    change(&desk, "orders.db", "INSERT INTO orders VALUES ('3', 1)");
    violated(&desk, "order.paid:3");
}

#[test]
fn a_command_without_its_order_is_found() {
    let desk = delivered();
    change(&desk, "orders.db", "UPDATE orders SET paid = 0 WHERE id = '2'");
    violated(&desk, "order.paid:2");
}

#[test]
fn a_key_that_the_receiver_lost_is_found() {
    let desk = delivered();
    let lose = "DROP TRIGGER counterfoil_inbox_delete;
                DELETE FROM counterfoil_inbox WHERE key = 'order.paid:订单'";
    change(&desk, "shipping.db", lose);
    violated(&desk, "order.paid:订单");
}

#[test]
fn a_key_that_was_never_sent_is_found_and_other_senders_are_not_our_business() {
    let desk = delivered();
    let key = |source: &str| {
        let insert = format!(
            "INSERT INTO counterfoil_inbox(source, key, digest, outcome)
             VALUES ('{source}', 'invented', zeroblob(32), 'completed')"
        );
        change(&desk, "shipping.db", &insert);
    };
    key("urn:another-shop");
    audit(&desk).is_done();
    key("urn:test");
    violated(&desk, "invented");
}

#[test]
fn a_lost_receipt_is_found() {
    let desk = delivered();
    let triggers = "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_master
                    WHERE type = 'trigger' AND tbl_name = 'counterfoil_receipt'";
    let orders = Connection::open(desk.path("orders.db")).unwrap();
    let drop: String = orders.query_row(triggers, [], |row| row.get(0)).unwrap();
    let lose = "DELETE FROM counterfoil_receipt WHERE n = 1";
    orders.execute_batch(&format!("{drop};{lose}")).unwrap();
    orders.close().unwrap();
    violated(&desk, "order.paid:1");
}

#[test]
fn what_cannot_be_audited_is_named() {
    let desk = Desk::new();
    let run = |args: &[&str]| desk.run(&[args, &["--store", "sqlite:orders.db"]].concat());
    run(&["audit", "--destination", "shipping"]).refuses(2, &["--destination", "--inbox"]);
    let both = ["audit", "--inbox", "ask", "--inbox-query", "SELECT 1"];
    run(&both).refuses(2, &["--inbox ask", "--inbox-query", "leave one away"]);
    run(&["audit", "--inbox", "ask"]).refuses(2, &["--inbox ask", "no configuration"]);
    run(&["audit", "--actor", "ana"]).refuses(2, &["--mend"]);
    for (sql, why) in [
        ("SELECT id FROM no_such_table", "no such table"),
        ("DELETE FROM counterfoil_outbox", "no SELECT"),
        ("SELECT ?", "it has a parameter"),
    ] {
        let said = run(&["audit", "--inbox-query", sql]);
        said.refuses(2, &["--inbox-query", sql, why, "first column"]);
    }
    let said = run(&["audit", "--inbox", "sqlite:none.db"]);
    said.refuses(2, &["--inbox none.db", "no such file", "receiver's own store"]);
    assert!(!desk.path("none.db").exists());
    change(&desk, "plain.db", "CREATE TABLE t(a)");
    let said = run(&["audit", "--inbox", "sqlite:plain.db"]);
    said.refuses(2, &["plain.db", "no inbox"]);
    let said = run(&["audit", "--inbox", "shipping.db"]);
    said.refuses(2, &["--inbox is no URL", "sqlite:PATH", "--inbox sqlite:warehouse.db"]);
    assert!(!said.err.contains("--store"), "{said:?}");
}

/// The story: a table was renamed, the audit said "the store is broken", and a backup was fetched.
#[test]
fn a_query_that_fails_is_named_and_the_store_is_not_called_broken() {
    let desk = Desk::new();
    desk.enqueue("a");
    for (sql, why) in [
        ("SELECT id FROM no_such_table", "no such table"),
        ("DELETE FROM counterfoil_outbox", "no SELECT"),
        ("SELECT id FROM", "incomplete input"),
    ] {
        for query in [format!("\"{sql}\""), format!("{{ sql = \"{sql}\", kind = \"order.paid\" }}")]
        {
            desk.write(
                "counterfoil.toml",
                &format!("[audit]\nexpect = [\"SELECT 'a'\", {query}]\n"),
            );
            let said = desk.run(&["audit", "--store", "sqlite:orders.db"]);
            said.refuses(2, &["[audit] expect", sql, why, "correct the query"]);
            assert!(!said.err.contains("broken"), "{said:?}");
        }
    }
}

/// The story: two words of one receiver stood side by side, and the audit called that sound.
#[test]
fn a_report_that_contradicts_the_receipt_is_found() {
    let desk = delivered();
    let insert = "INSERT INTO counterfoil_report(command_id, outcome, evidence)
                  VALUES ('order.paid:1', 'rejected', 'the worker says so')";
    change(&desk, "orders.db", insert);
    violated(&desk, "order.paid:1");
}

/// The story: a shop had a warehouse and a mailer. Audited against the warehouse's book, every
/// mail was called missing there.
#[test]
fn a_receivers_book_answers_for_its_own_destinations() {
    let desk = delivered();
    let mail = ["enqueue", "mail:1", "--to", "mailer", "--kind", "mail", "--body", "1"];
    desk.run(&mail).is_done();
    let done = "INSERT INTO counterfoil_report(command_id, outcome) VALUES ('mail:1', 'completed')";
    change(&desk, "orders.db", done);
    violated(&desk, "mail:1");
    let hint = "every command was taken for one of this receiver's";
    let said = desk.run(&["audit", "--inbox", "sqlite:shipping.db"]);
    assert!(said.out.contains(hint) && said.out.contains("--destination"), "{said:?}");
    let of = |name| ["audit", "--inbox", "sqlite:shipping.db", "--destination", name];
    desk.run(&of("shipping")).is_done();
    let said = desk.run(&of("mailer"));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(!said.out.contains(hint), "{said:?}");
    desk.run(&of("shiping")).refuses(1, &["--destination shiping", "counterfoil status"]);
    let alone = desk.run(&["audit", "--destination", "shipping"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
}

/// Removes rows as somebody would who gets past the guards.
fn force(desk: &Desk, sql: &str) {
    let orders = Connection::open(desk.path("orders.db")).unwrap();
    let off = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    orders.set_db_config(off, false).unwrap();
    orders.execute_batch(sql).unwrap();
}

pub(crate) fn told(desk: &Desk, more: &[&str]) -> Value {
    let said = desk.run(&[&["audit", "--json"], more].concat());
    serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"))
}

pub(crate) fn codes(report: &Value) -> Vec<&str> {
    let found = report["violations"].as_array().unwrap().iter();
    found.map(|found| found["code"].as_str().unwrap()).collect()
}

#[test]
fn an_audit_goes_on_from_the_last_one_and_says_so() {
    let desk = delivered();
    desk.run(&["audit"]).is_done();
    let next = desk.run(&["audit"]);
    let said = next.is_done().out.as_str();
    assert!(said.contains("the audit holds: 0 commands"), "{said}");
    assert!(said.contains("incremental: the audit that held at 20"), "{said}");
    assert!(said.contains("covers n 3 and below"), "{said}");
    desk.enqueue("order.paid:new");
    change(&desk, "orders.db", "INSERT INTO orders VALUES ('new', 1)");
    let report = told(&desk, &[]);
    assert_eq!((&report["form"], &report["from"]), (&json!("incremental"), &json!("3")));
    assert_eq!((&report["checked"], &report["seal"]), (&json!(1), &json!("renewed")));
    assert!(report["sealed_at"].as_str().unwrap().starts_with("20"), "{report}");
    let full = told(&desk, &["--full"]);
    assert_eq!((&full["checked"], &full["full_because"]), (&json!(4), &json!("asked")));
}

#[test]
fn what_was_removed_behind_the_seal_is_found_by_a_full_audit() {
    let desk = delivered();
    desk.run(&["audit"]).is_done();
    // With everything about it, and the counts set right.
    force(
        &desk,
        "DELETE FROM counterfoil_outbox WHERE n = 2; DELETE FROM counterfoil_receipt WHERE n = 2;
         UPDATE counterfoil_tally SET count = count - 1; DELETE FROM orders WHERE id = '2'",
    );
    let full = told(&desk, &["--full"]);
    assert_eq!(codes(&full), ["CF0851", "CF0851"], "{full}");
    assert_eq!((&full["holds"], &full["seal"]), (&json!(false), &json!("stays")));
    let text = full["violations"][0]["text"].as_str().unwrap();
    assert!(text.contains("table outbox: 3 rows were sealed, and 2"), "{text}");
    assert!(text.contains("n 2 to 2"), "{text}");
    let next = told(&desk, &[]);
    assert_eq!((&next["holds"], &next["full_because"]), (&json!(false), &json!("broken")));
}

#[test]
fn what_was_changed_behind_the_seal_is_found_by_a_full_audit() {
    for (table, sql) in [
        ("receipt", "UPDATE counterfoil_receipt SET evidence = 'HTTP 201' WHERE n = 1"),
        ("receipt", "UPDATE counterfoil_receipt SET result = NULL WHERE n = 1"),
        ("outbox", "UPDATE counterfoil_outbox SET erased_at = 1764421200000000 WHERE n = 1"),
    ] {
        let desk = delivered();
        desk.run(&["audit"]).is_done();
        force(&desk, sql);
        let full = told(&desk, &["--full"]);
        assert_eq!(codes(&full).last(), Some(&"CF0851"), "{sql}: {full}");
        let found = full["violations"].as_array().unwrap().last().unwrap();
        assert_eq!(found["ids"], json!([table]), "{sql}: {full}");
    }
}

#[test]
fn what_lost_its_delivery_is_mended_to_uncertain() {
    let desk = Desk::new();
    desk.configure(9, "\"forever\"", "");
    desk.enqueue("a");
    desk.enqueue("b");
    desk.run(&["audit"]).is_done();
    force(&desk, "DELETE FROM counterfoil_delivery WHERE n = 2");
    let lost = told(&desk, &["--full"]);
    assert_eq!(codes(&lost), ["CF0804", "CF0820"]);
    let mended = desk.run(&["audit", "--mend", "--actor", "ana"]);
    assert!(mended.is_done().out.contains("mended: b is uncertain now"), "{mended:?}");
    let shown = desk.show("b");
    assert_eq!((&shown["state"], &shown["in_doubt"]), (&json!("uncertain"), &json!(true)));
    assert_eq!(shown["actions"][0]["outcome"], "ana", "{shown}");
    // That it was sent as soon as it was recorded is assumed; nobody saw it.
    assert_eq!(shown["first_sent_at"], json!(null));
    let story = desk.run(&["show", "b"]);
    assert!(story.is_done().out.contains("nobody knows whether and when it was sent"), "{story:?}");
    assert!(!story.out.contains("first sent"), "{story:?}");
    assert_eq!(desk.show("a")["state"], "pending");
    // What remains is told: mending brings no row back.
    force(&desk, "DELETE FROM counterfoil_outbox WHERE n = 1");
    let report = told(&desk, &["--mend"]);
    assert_eq!((&report["holds"], &report["mended"]), (&json!(false), &json!([])));
    assert!(codes(&report).contains(&"CF0801"), "{report}");
}

#[test]
fn a_seal_that_cannot_be_read_is_an_error_and_full_begins_anew() {
    let desk = delivered();
    desk.run(&["audit"]).is_done();
    force(&desk, "UPDATE counterfoil_seal SET seal = 'rubbish'");
    desk.run(&["audit"]).refuses(2, &["seal", "cannot be read", "audit --full"]);
    let full = desk.run(&["audit", "--full"]);
    assert!(full.is_done().out.contains("a new one is begun"), "{full:?}");
    desk.run(&["audit"]).is_done();
}

#[test]
fn a_receivers_own_table_is_its_book() {
    let desk = delivered();
    let took = "SELECT command_id FROM took ORDER BY at";
    change(
        &desk,
        "warehouse.db",
        "CREATE TABLE took(at INTEGER PRIMARY KEY, command_id TEXT);
         INSERT INTO took(command_id) VALUES ('order.paid:1'), ('order.paid:2')",
    );
    let run = || told(&desk, &["--inbox", "sqlite:warehouse.db", "--inbox-query", took]);
    let report = run();
    assert_eq!(codes(&report), ["CF0841"], "{report}");
    assert_eq!(report["violations"][0]["ids"], json!(["order.paid:订单"]));
    change(&desk, "warehouse.db", "INSERT INTO took(command_id) VALUES ('order.paid:订单')");
    assert_eq!(run()["holds"], true);
    change(&desk, "warehouse.db", "INSERT INTO took(command_id) VALUES ('invented')");
    let invented = run();
    assert_eq!((codes(&invented), &invented["seal"]), (vec!["CF0842"], &json!("stays")));
    // In the store's own file, several rows of one command, and more than a page.
    change(
        &desk,
        "orders.db",
        "CREATE TABLE took(at INTEGER PRIMARY KEY, command_id TEXT);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
         INSERT INTO took(command_id) SELECT 'order.paid:1' FROM n
         UNION ALL SELECT 'order.paid:2' UNION ALL SELECT 'order.paid:订单'",
    );
    let own = desk.run(&["audit", "--inbox-query", took]);
    assert_eq!(own.code, Some(1), "{own:?}");
    let twice = "CF0845  key order.paid:1 stands 2500 times in the receiver's book";
    assert!(own.out.contains(twice) && own.out.contains("SELECT DISTINCT"), "{own:?}");
    assert_eq!(own.out.matches("CF08").count(), 1, "{own:?}");
    // Where several rows are one effect, the query says so, by any name and beside other columns.
    let once = "SELECT command_id, max(at), max(at) FROM took GROUP BY 1 ORDER BY 1;";
    let own = desk.run(&["audit", "--inbox-query", once]);
    assert!(own.is_done().out.contains("3 keys of the receiver checked"), "{own:?}");
    assert!(own.out.contains("3 ended commands of ours looked up there, whenever they"), "{own:?}");
    let none = desk.run(&[
        "audit",
        "--inbox-query",
        "SELECT NULL UNION ALL SELECT command_id FROM \
        (SELECT DISTINCT command_id FROM took) -- with a comment",
    ]);
    let text = "key NULL in the receiver's book (row 1 of the answer) is no command";
    assert!(none.code == Some(1) && none.out.contains(text), "{none:?}");
    assert_eq!(none.out.matches("CF08").count(), 1, "{none:?}");
}

#[test]
fn a_receiver_is_asked_key_by_key() {
    let desk = delivered();
    let ask = |port: u16, more: &str| {
        format!(
            "ask = {{ url = \"http://127.0.0.1:{port}/commands/{{command_id}}\", quiet = \"2s\"\
             {more} }}\n{EXPECT}"
        )
    };
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", &ask(port, ""));
    let asked = desk.run(&["audit", "--inbox", "ask"]);
    assert!(!asked.is_done().out.contains("neither yes nor no"), "{asked:?}");
    assert!(asked.out.contains("3 keys of the receiver checked"), "{asked:?}");
    // One that has forgotten says so in so many words, or by a bare 404, which is not believed.
    let port = answering(
        "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 23\r\n\
         Connection: close\r\n\r\n{\"error\":\"no_such_key\"}",
    );
    let there = ", not_there = { status = 404, json = \"/error\", in = [\"no_such_key\"] }";
    desk.configure(port, "\"forever\"", &ask(port, there));
    let denied = told(&desk, &["--inbox", "ask"]);
    assert_eq!(codes(&denied), ["CF0841"; 3], "{denied}");
    desk.configure(port, "\"forever\"", &ask(port, ""));
    let bare = desk.run(&["audit", "--inbox", "ask"]);
    assert!(bare.is_done().out.contains("3 answers of receivers were neither"), "{bare:?}");
    desk.configure(port, "\"forever\"", EXPECT);
    desk.run(&["audit", "--inbox", "ask"]).refuses(2, &["--inbox ask", "no destination", "ask"]);
}
