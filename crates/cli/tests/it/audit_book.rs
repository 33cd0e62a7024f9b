//! `audit` with a receiver's book: archived commands, keys that are no text, how far back it looks.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::audit::{change, codes, delivered, told};
use crate::program::Desk;

/// The story: the receiver did what was cancelled here. The audit said so, until it was archived.
#[test]
fn the_receivers_book_is_held_against_archived_commands_too() {
    let desk = delivered();
    desk.enqueue("b-18");
    desk.run(&["cancel", "b-18", "--reason", "not wanted"]).is_done();
    change(&desk, "orders.db", "INSERT INTO orders VALUES ('9', 0)");
    desk.write("plain.toml", "[store]\nurl = \"sqlite:orders.db\"\n");
    let key = "INSERT INTO counterfoil_inbox(source, key, digest, outcome)
               VALUES ('urn:test', 'b-18', zeroblob(32), 'completed')";
    change(&desk, "shipping.db", key);
    desk.enqueue("open");
    let audit = || {
        let args = ["audit", "--config", "plain.toml", "--inbox", "sqlite:shipping.db", "--json"];
        let said = desk.run(&args);
        serde_json::from_str::<Value>(&said.out).unwrap_or_else(|_| panic!("{said:?}"))
    };
    assert_eq!(codes(&audit()), ["CF0844"]);
    std::fs::create_dir(desk.path("old")).unwrap();
    let archive = ["archive", "--config", "plain.toml", "--older-than", "0s", "--to", "old"];
    desk.run(&archive).is_done();
    let report = audit();
    assert_eq!(codes(&report), ["CF0844"], "{report}");
    assert_eq!(report["inbox"]["archived_keys"], 4, "{report}");
    let refuse = "DROP TRIGGER IF EXISTS counterfoil_inbox_update;
                  UPDATE counterfoil_inbox SET outcome = 'rejected' WHERE key = 'order.paid:1'";
    force_in(&desk, "shipping.db", refuse);
    assert_eq!(codes(&audit()), ["CF0844", "CF0843"]);
}

fn force_in(desk: &Desk, file: &str, sql: &str) {
    let book = Connection::open(desk.path(file)).unwrap();
    let off = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    book.set_db_config(off, false).unwrap();
    book.execute_batch(sql).unwrap();
}

/// The story: one key that was no UTF-8 ended the whole match with exit code 2.
#[test]
fn a_key_that_is_no_text_is_a_violation_and_the_others_are_matched() {
    let desk = delivered();
    let keys = "INSERT INTO counterfoil_inbox(source, key, digest, outcome, received_at) VALUES
        ('urn:test', CAST(x'62ff2d31' AS TEXT), zeroblob(32), 'completed', 1),
        ('urn:test', CAST(x'62fe2d31' AS TEXT), zeroblob(32), 'completed', 1),
        ('urn:test', 'zzz', zeroblob(32), 'completed', 1)";
    force_in(&desk, "shipping.db", keys);
    let report = told(&desk, &["--inbox", "sqlite:shipping.db"]);
    assert_eq!(codes(&report), ["CF0842"; 3], "{report}");
    let text = report["violations"][1]["text"].as_str().unwrap();
    assert!(
        text.contains("b\u{fffd}-1") && text.contains("x'62FF2D31', which is no UTF-8"),
        "{text}"
    );
    assert_eq!(report["violations"][2]["ids"], json!(["zzz"]));
    assert_eq!(report["inbox"]["keys"], 6);
}

/// The story: one short-lived key, and ten keys that were deleted; the audit held.
#[test]
fn a_short_lived_key_is_told_and_how_far_back_was_looked() {
    let desk = delivered();
    let spoil = "UPDATE counterfoil_inbox SET expires_at = received_at + 1
                 WHERE key = 'order.paid:1'";
    force_in(&desk, "shipping.db", spoil);
    let told = told(&desk, &["--inbox", "sqlite:shipping.db"]);
    let inbox = &told["inbox"];
    assert_eq!((&inbox["looked_up"], &inbox["not_looked_up"]), (&json!(0), &json!(3)), "{told}");
    let said = desk.run(&["audit", "--inbox", "sqlite:shipping.db"]);
    let words = [
        "the receiver: 0 ended commands of ours looked up there, which ended since 20",
        "; 3 ended before and were not",
        "note: shipping: a key of the receiver is kept less than a second, and idempotent is",
        "see `counterfoil doctor --inbox`",
    ];
    words.iter().for_each(|word| assert!(said.is_done().out.contains(word), "{word}: {said:?}"));
}

#[test]
fn a_kind_that_no_command_has_is_noted_and_a_null_is_no_id() {
    let desk = Desk::new();
    desk.enqueue("a");
    let expect = |sql: &str, kind: &str| {
        let query = format!("[audit]\nexpect = [{{ sql = \"{sql}\", kind = \"{kind}\" }}]\n");
        desk.write("counterfoil.toml", &query);
        desk.run(&["audit", "--store", "sqlite:orders.db"])
    };
    for _ in ["full", "incremental"] {
        let said = expect("SELECT 'a'", "order.payed");
        let note = "note: no command of kind order.payed stands";
        assert!(said.is_done().out.contains(note), "{said:?}");
    }
    let said = expect("SELECT 'a' UNION ALL SELECT NULL", "order.paid");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("CF0831  row 2 of the answer of"), "{said:?}");
    assert!(said.out.contains("NULL") && !said.out.contains("write it now"), "{said:?}");
}
