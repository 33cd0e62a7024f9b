//! `init`, and the ways in which a store is named or cannot be opened.

use crate::program::Desk;

#[test]
fn a_second_init_changes_nothing_and_another_source_is_refused() {
    let desk = Desk::new();
    let again = desk.run(&["init", "--store", "sqlite:orders.db"]);
    assert_eq!(again.is_done().out, "sqlite:orders.db is ready; its source is urn:test\n");
    let other = desk.run(&["init", "--store", "sqlite:orders.db", "--source", "urn:other"]);
    other.refuses(2, &["orders.db", "`urn:test`, not `urn:other`", "give the stored one"]);
    assert_eq!(desk.orders("SELECT source = 'urn:test' FROM counterfoil_meta"), 1);
}

#[test]
fn the_source_of_the_configuration_is_taken_and_must_stay() {
    let desk = Desk::empty();
    desk.write("counterfoil.toml", "[store]\nurl = \"sqlite:a.db\"\nsource = \"urn:shop\"\n");
    assert!(desk.run(&["init"]).is_done().out.ends_with("its source is urn:shop\n"));
    desk.write("counterfoil.toml", "[store]\nurl = \"sqlite:a.db\"\nsource = \"urn:b\"\n");
    let said = desk.run(&["status"]);
    said.refuses(2, &["`store.source` is \"urn:b\"", "\"urn:shop\"", "write its own"]);
    // Who names a store may look at it, but not send from it by this configuration.
    desk.run(&["status", "--store", "sqlite:a.db"]).is_done();
    let destination = "[destination.a]\ntransport = \"http\"\nurl = \"http://127.0.0.1:9\"\n\
                       idempotent = false\n";
    desk.write("counterfoil.toml", &format!("[store]\nsource = \"urn:b\"\n{destination}"));
    let said = desk.run(&["relay", "--until-idle", "--store", "sqlite:a.db"]);
    said.refuses(2, &["`store.source` is \"urn:b\"", "\"urn:shop\""]);
}

#[test]
fn without_a_source_a_store_gets_a_urn_of_its_own() {
    let desk = Desk::empty();
    let said = desk.run(&["init", "--store", "sqlite:a.db"]);
    assert!(said.is_done().out.contains("its source is urn:uuid:"), "{said:?}");
}

#[test]
fn the_schema_can_be_printed_and_makes_a_store() {
    let desk = Desk::empty();
    let said = desk.run(&["init", "--sql", "--source", "urn:printed"]);
    let connection = rusqlite::Connection::open(desk.path("a.db")).unwrap();
    connection.execute_batch(&said.is_done().out).unwrap();
    drop(connection);
    let status = desk.run(&["status", "--json", "--store", "sqlite:a.db"]).json();
    assert_eq!(status["destinations"], serde_json::json!({}));
}

#[test]
fn a_store_is_named_by_flag_then_variable_then_configuration() {
    let desk = Desk::empty();
    for name in ["flag", "variable", "file"] {
        let store = format!("sqlite:{name}.db");
        let source = format!("urn:{name}");
        desk.run(&["init", "--store", &store, "--source", &source]).is_done();
    }
    desk.run(&["status"]).refuses(2, &["no store is named", "--store", "COUNTERFOIL_STORE"]);
    desk.write("counterfoil.toml", "[store]\nurl = \"sqlite:file.db\"\n");
    let source = |args: &[&str], variable: Option<&str>| {
        let mut command = desk.command(&[&["init"], args].concat());
        variable.map(|value| command.env("COUNTERFOIL_STORE", value));
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().rsplit(' ').next().unwrap().to_owned()
    };
    let variable = Some("sqlite:variable.db");
    assert_eq!(source(&["--store", "sqlite:flag.db"], variable), "urn:flag");
    assert_eq!(source(&[], variable), "urn:variable");
    assert_eq!(source(&[], None), "urn:file");
    desk.write("other.toml", "[store]\nurl = { env = \"WHERE\" }\n");
    let said = desk.run(&["status", "--config", "other.toml"]);
    said.refuses(2, &["other.toml:2:7", "`store.url`", "WHERE is not set"]);
    let said = desk.run(&["status", "--config", "none.toml"]);
    said.refuses(2, &["none.toml cannot be read", "--config"]);
}

#[test]
fn a_store_that_cannot_be_opened_is_named() {
    let desk = Desk::empty();
    let missing = desk.run(&["status", "--store", "sqlite:none.db"]);
    missing.refuses(2, &["none.db", "no such file", "counterfoil init"]);
    assert!(!desk.path("none.db").exists(), "reading must not create it");
    let folder = desk.run(&["init", "--store", "sqlite:no/such/folder.db"]);
    folder.refuses(2, &["folder.db"]);
    desk.write("text.db", "this is no database, but long enough to look like a file of its own");
    let text = desk.run(&["init", "--store", "sqlite:text.db"]);
    text.refuses(2, &["text.db", "not a SQLite database"]);
    let postgres = desk.run(&["status", "--store", "postgres://me:hunter2@db/orders"]);
    postgres.refuses(2, &["--store", "holds a password"]);
    assert!(!postgres.err.contains("hunter2"));
    let roles = ["init", "--roles", "--store", "sqlite:a.db"];
    desk.run(&roles).refuses(2, &["--roles", "SQLite has none"]);
}

#[test]
fn wrong_words_exit_2_and_help_exits_0() {
    let desk = Desk::empty();
    desk.run(&["deliver"]).refuses(2, &["`deliver` is no verb", "--help"]);
    // The nearest word would be `relay`, which is no advice for a command in doubt.
    let early = desk.run(&["up"]);
    early.refuses(2, &["`up` is not yet there", "counterfoil --help"]);
    assert_eq!(desk.run(&["relay", "--onyl", "a"]).code, Some(2));
    assert!(desk.run(&["--help"]).is_done().out.contains("Exit codes"));
    assert!(desk.run(&["--version"]).is_done().out.starts_with("counterfoil "));
    assert!(desk.run(&["drill", "--help"]).is_done().out.contains("--orders"));
}

#[test]
fn with_json_as_log_format_an_error_is_an_object_too() {
    let desk = Desk::empty();
    let said = desk.run(&["status", "--store", "sqlite:none.db", "--log-format", "json"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    let object: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(object["level"], "ERROR");
    assert!(object["message"].as_str().unwrap().contains("none.db"), "{object}");
}
