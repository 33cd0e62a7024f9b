//! `init` and `doctor` of a store of which something is missing.

use rusqlite::Connection;

use crate::program::Desk;
use crate::server::Schema;

fn change(desk: &Desk, sql: &str) {
    Connection::open(desk.path("orders.db")).unwrap().execute_batch(sql).unwrap();
}

/// The story: a table was dropped by a script that meant another file; `init` said that the store
/// was ready, and the relay said a page of SQL.
#[test]
fn a_store_without_one_of_its_things_is_not_called_ready() {
    for (sql, words) in [
        ("DROP TABLE counterfoil_receipt", "table counterfoil_receipt is missing"),
        ("DROP TABLE counterfoil_tally", "table counterfoil_tally is missing"),
        (
            "ALTER TABLE counterfoil_stream DROP COLUMN reason",
            "column reason of counterfoil_stream is missing",
        ),
        (
            "DROP TABLE counterfoil_inbox_stood;
             CREATE TABLE counterfoil_inbox_stood(source INTEGER, key TEXT) STRICT",
            "column source of counterfoil_inbox_stood is another one",
        ),
        ("DROP INDEX counterfoil_attempt_n", "index counterfoil_attempt_n on counterfoil_attempt"),
        ("DROP VIEW counterfoil_report", "view counterfoil_report is missing"),
        (
            "DROP TRIGGER counterfoil_destination_no_update",
            "the guard counterfoil_destination_no_update on counterfoil_destination is missing",
        ),
    ] {
        let desk = Desk::new();
        change(&desk, sql);
        let store = ["--store", "sqlite:orders.db"];
        let said = desk.run(&[&["init"][..], &store].concat());
        said.refuses(2, &["sqlite:orders.db is not whole: ", words, "counterfoil doctor"]);
        let told = desk.run(&[&["doctor"][..], &store].concat());
        assert!(matches!(told.code, Some(1 | 2)), "{sql}: {told:?}");
        assert!(told.out.contains(words), "{sql}: {told:?}");
        for text in [&said.err, &told.out, &told.err] {
            assert!(!text.contains("SELECT") && !text.contains("CREATE"), "{sql}: {text}");
        }
    }
    let desk = Desk::new();
    let strangers = "CREATE TABLE copies(n INTEGER);
        CREATE TRIGGER mine AFTER INSERT ON counterfoil_receipt
        BEGIN INSERT INTO copies VALUES (new.n); END;
        ALTER TABLE counterfoil_destination ADD COLUMN mine TEXT";
    change(&desk, strangers);
    desk.run(&["init", "--store", "sqlite:orders.db"]).is_done();
}

/// The story: with `counterfoil_meta` gone, or its row, `init` began a new schema over the old one,
/// and told of it by the whole script.
#[test]
fn half_a_schema_is_told_in_one_line() {
    for sql in ["DROP TABLE counterfoil_meta", "DELETE FROM counterfoil_meta"] {
        let desk = Desk::new();
        change(&desk, "DROP TRIGGER IF EXISTS counterfoil_meta_no_delete");
        change(&desk, sql);
        for verb in [&["init"][..], &["status"]] {
            let said = desk.run(&[verb, &["--store", "sqlite:orders.db"]].concat());
            said.refuses(2, &["orders.db"]);
            assert!(said.err.lines().count() <= 2, "{sql}: {said:?}");
            assert!(said.err.len() < 400 && !said.err.contains("CREATE"), "{sql}: {said:?}");
        }
    }
}

#[test]
fn a_schema_of_postgresql_without_one_of_its_things_is_not_called_ready() {
    for (sql, words) in [
        ("DROP TABLE cf.tally", "table tally is missing"),
        ("ALTER TABLE cf.stream DROP COLUMN reason", "column reason of stream is missing"),
        ("DROP INDEX cf.attempt_n", "index attempt_n on attempt is missing"),
        (
            "ALTER TABLE cf.outbox DISABLE TRIGGER outbox_guard",
            "outbox_guard on outbox is disabled",
        ),
    ] {
        let (schema, desk) = (Schema::unmade(), Desk::empty());
        let store = schema.store();
        let init = ["init", "--store", &store];
        desk.run(&init).is_done();
        desk.run(&init).is_done();
        schema.run(sql);
        desk.run(&init).refuses(2, &["is not whole: ", words, "counterfoil doctor"]);
        let told = desk.run(&["doctor", "--store", &store]);
        assert!(matches!(told.code, Some(1 | 2)) && told.out.contains(words), "{sql}: {told:?}");
    }
}
