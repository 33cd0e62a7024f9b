//! `audit`: what holds, what does not, and what cannot be audited.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::program::{Desk, Said};

const EXPECT: &str = "[audit]\nexpect = [{ sql = \"SELECT 'order.paid:' || id FROM orders \
                      WHERE paid = 1\", kind = \"order.paid\" }]\n";

/// A desk whose three orders are paid, delivered, and known to the receiver.
fn delivered() -> Desk {
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

fn change(desk: &Desk, file: &str, sql: &str) {
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
    let report = audit(&desk).json();
    assert_eq!(report, json!({ "holds": true, "checked": 3, "acknowledged": 0, "violations": [] }));
    let told = desk.run(&["audit", "--inbox", "sqlite:shipping.db", "--full"]);
    let all = "the audit holds: 3 commands, 0 events, 3 expected ids, 3 keys of the receiver";
    assert!(told.is_done().out.contains(all), "{told:?}");
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
    run(&["audit", "--mend"]).refuses(2, &["not yet", "`--mend`"]);
    run(&["audit", "--inbox-query", "SELECT 1"]).refuses(2, &["not yet", "`--inbox-query`"]);
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
