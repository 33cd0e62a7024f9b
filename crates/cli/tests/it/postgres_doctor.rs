//! `doctor` on PostgreSQL: the server, its vacuum, and the schema's guards and indexes.

use serde_json::Value;

use crate::program::Desk;
use crate::server::{Plain, Server};

/// The checks of this word.
fn checks(desk: &Desk, store: &str, word: &str) -> Vec<(String, String)> {
    let said = desk.run(&["doctor", "--json", "--store", store]);
    assert!(matches!(said.code, Some(0 | 1)), "{said:?}");
    let told: Value = serde_json::from_str(&said.out).unwrap();
    let all = told["checks"].as_array().unwrap().iter();
    let of_word = all.filter(|check| check["check"] == word);
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    of_word.map(|check| (text(check, "verdict"), text(check, "text"))).collect()
}

fn has(found: &[(String, String)], verdict: &str, word: &str) {
    let fits = |check: &&(String, String)| check.0 == verdict && check.1.contains(word);
    assert!(found.iter().any(|check| fits(&check)), "no {verdict} {word:?} in {found:?}");
}

#[test]
fn a_store_that_was_just_made_is_well() {
    let (server, desk) = (Server::start(""), Desk::empty());
    let store = server.database();
    desk.run(&["init", "--store", &store, "--source", "urn:a"]).is_done();
    let said = desk.run(&["doctor", "--store", &store]);
    for word in [
        "ok     store        postgres://postgres@127.0.0.1",
        "PostgreSQL 1",
        "fsync on",
        "ok     source       urn:a",
        "ok     clock",
        "connections of the server are in use",
        "delivery has 0 live and 0 dead rows",
        "ok     oldest",
        "ok     table",
        "ok     index",
        "ok     trigger",
        "ok     number",
    ] {
        assert!(said.is_done().out.contains(word), "{word}: {said:?}");
    }
    // What it reads from the script is all that stands.
    let count = |what: &str| {
        let tables = "information_schema.columns JOIN information_schema.tables
            USING (table_schema, table_name)";
        let stand = "table_schema = 'counterfoil' AND table_type = 'BASE TABLE'";
        Plain::open(&store).number(&format!("SELECT count({what}) FROM {tables} WHERE {stand}"))
    };
    let (tables, columns) = (count("DISTINCT table_name"), count("*"));
    let text = format!("{tables} tables are there, with their {columns} columns");
    assert!(said.out.contains(&text), "{text}: {said:?}");
}

#[test]
fn what_is_wrong_with_guards_and_indexes_is_named() {
    let (server, desk) = (Server::start(""), Desk::empty());
    let store = server.database();
    desk.run(&["init", "--store", &store]).is_done();
    let plain = Plain::open(&store);
    plain.run(
        "ALTER TABLE counterfoil.outbox DISABLE TRIGGER outbox_guard;
         DROP TRIGGER outbox_stays ON counterfoil.outbox;
         CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE TRIGGER mine AFTER INSERT ON counterfoil.receipt
         FOR EACH ROW EXECUTE FUNCTION mine();
         DROP INDEX counterfoil.delivery_due;
         UPDATE pg_index SET indisvalid = false
         WHERE indexrelid = 'counterfoil.attempt_n'::regclass",
    );
    let triggers = checks(&desk, &store, "trigger");
    has(&triggers, "wrong", "outbox_guard on outbox is disabled");
    has(&triggers, "wrong", "outbox_stays on outbox is missing");
    has(&triggers, "wrong", "mine on receipt is not Counterfoil's");
    let indexes = checks(&desk, &store, "index");
    has(&indexes, "wrong", "delivery_due on delivery is missing");
    has(&indexes, "wrong", "attempt_n on attempt is invalid");
    assert_eq!(desk.run(&["doctor", "--store", &store]).code, Some(1));
}

/// A subscriber of logical replication has rows, and sequences that never drew.
#[test]
fn a_sequence_that_is_behind_is_named() {
    let (server, desk) = (Server::start(""), Desk::empty());
    let store = server.database();
    desk.run(&["init", "--store", &store]).is_done();
    let plain = Plain::open(&store);
    plain.run(
        "INSERT INTO counterfoil.outbox(command_id, destination, kind, body)
        SELECT 'a' || g, 'd', 'k', '' FROM generate_series(1, 9) g",
    );
    has(&checks(&desk, &store, "number"), "ok", "5 sequences");
    plain.run("SELECT setval('counterfoil.outbox_n_seq', 3)");
    let behind = checks(&desk, &store, "number");
    has(&behind, "wrong", "outbox_n_seq has drawn 3, and 9 stands");
    let said = desk.run(&["doctor", "--store", &store]);
    assert!(said.out.contains("setval('\"counterfoil\".outbox_n_seq', 9)"), "{said:?}");
    plain.run("SELECT setval('counterfoil.outbox_n_seq', 9)");
    has(&checks(&desk, &store, "number"), "ok", "5 sequences");
}

#[test]
fn what_holds_vacuum_back_and_what_can_lose_commits_is_named() {
    let server = Server::start("max_prepared_transactions = 2\nfsync = off");
    let (desk, store) = (Desk::empty(), server.database());
    desk.run(&["init", "--store", &store]).is_done();
    let plain = Plain::open(&store);
    plain.run("CREATE TABLE t(a int)");
    plain.run("BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'gid-7'");
    plain.run("SET application_name = 'slow shop'");
    plain.run("BEGIN; INSERT INTO t VALUES (2)");
    let pid = plain.number("SELECT pg_backend_pid()");
    has(&checks(&desk, &store, "durability"), "wrong", "fsync off");
    has(&checks(&desk, &store, "prepared"), "note", "gid-7");
    has(&checks(&desk, &store, "oldest"), "ok", &format!("pid {pid}, slow shop"));
    plain.run("ROLLBACK");
    Plain::open(&store).run("ALTER TABLE counterfoil.delivery SET (autovacuum_enabled = false)");
    has(&checks(&desk, &store, "vacuum"), "wrong", "autovacuum is off");
    plain.run("ROLLBACK PREPARED 'gid-7'");
}

/// Contracts, pauses and parked commands are looked at as on SQLite.
#[test]
fn destinations_are_looked_at_and_a_user_without_rights_is_told_what_it_cannot_see() {
    let (server, desk) = (Server::start(""), Desk::empty());
    let store = server.database();
    desk.run(&["init", "--store", &store]).is_done();
    let roles = desk.run(&["init", "--roles", "--store", &store]);
    let plain = Plain::open(&store);
    plain.run(&roles.is_done().out);
    plain.run("CREATE ROLE seer LOGIN IN ROLE counterfoil_auditor");
    let config = format!(
        "[store]\nurl = \"{store}\"\nsource = \"urn:other\"\n[destination.a]\ntransport = \"log\"\n"
    );
    desk.write("counterfoil.toml", &config);
    plain.run(
        "INSERT INTO counterfoil.outbox(command_id, destination, kind, body)
         VALUES ('x', 'nobody', 'k', 'b')",
    );
    desk.run(&["pause", "a", "--reason", "why", "--store", &store]).is_done();
    has(&checks(&desk, &store, "source"), "wrong", "urn:other");
    has(&checks(&desk, &store, "paused"), "wrong", "why");
    has(&checks(&desk, &store, "unserved"), "wrong", "1 open command waits");
    has(&checks(&desk, &store, "contract"), "note", "none is stored yet");
    let seer = store.replace("postgres@", "seer@");
    has(&checks(&desk, &seer, "oldest"), "note", "its own sessions only");
    plain.run("CREATE ROLE teller LOGIN IN ROLE counterfoil_writer");
    let teller = store.replace("postgres@", "teller@");
    desk.run(&["status", "--store", &teller]).refuses(2, &["(42501)", "init --roles"]);
    desk.run(&["init", "--store", &teller]).refuses(2, &["(42501)", "init` needs the right"]);
    let cancel = ["cancel", "x", "--reason", "why", "--store", &seer];
    desk.run(&cancel).refuses(2, &["(42501)", "init --roles"]);
}
