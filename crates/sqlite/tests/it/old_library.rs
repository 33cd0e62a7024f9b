//! Programs with an older SQLite write the same file: Python's library and the sqlite3 shell.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use counterfoil_sqlite::{open_own, schema_sql};

use crate::guards::Fixture;

/// Words that SQLite 3.37 does not know, or that a trigger may not rely on.
const NEWER: [&str; 27] = [
    "->",
    "json",
    "unixepoch",
    "subsec",
    "unhex",
    "octet_length",
    "timediff",
    "concat(",
    "concat_ws",
    "string_agg",
    "format(",
    "is distinct",
    "is not distinct",
    "right join",
    "full join",
    "full outer",
    "returning",
    "if not exists(",
    "median",
    "percentile",
    "unistr",
    "within group",
    "filter (",
    "generated always",
    "glob_",
    "auxiliary",
    "jsonb",
];

/// What Python runs; each line that it prints is compared.
const CASES: &str = r#"
import sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
def run(sql, *values):
    try:
        return str(store.execute(sql, values).rowcount)
    except sqlite3.Error as error:
        return type(error).__name__ + " " + str(error)[:6]
row = " INTO counterfoil_outbox(command_id, destination, kind, body) VALUES (?, ?, ?, ?)"
own = " INTO counterfoil_outbox(n, command_id, destination, kind, body) VALUES (?, ?, ?, ?, ?)"
for verb in ["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL",
             "INSERT OR ROLLBACK", "REPLACE"]:
    print(run(verb + row, verb, "d", "k", "b"), run(verb + row, verb, "d", "k", b"b"),
          run(verb + row, verb, "d", "k", "z"), run(verb + row, "a-1", "d", "k", "b"),
          run(verb + row, "e-1", "d", "k", "b"), run(verb + row, None, "d", "k", "b"),
          run(verb + row, "x", "d", "k", None), run(verb + row, "x\x00y", "d", "k", "b"),
          run(verb + own, 1, "x", "d", "k", "b"), run(verb + own, -1, "x", "d", "k", "b"),
          run(verb + " INTO counterfoil_tally VALUES ('d', 'completed', 9)"),
          run(verb + " INTO counterfoil_archived SELECT * FROM counterfoil_archived"))
    report = verb + " INTO counterfoil_report(command_id, outcome, token) VALUES (?, ?, ?)"
    print(run(report, verb, "done", None), run(report, "nobody", "completed", None),
          run(report, verb, "completed", 5), run(report, verb, "completed", None),
          run(report, verb, "rejected", None), run(report, verb, "completed", 5))
    inbox = verb + " INTO counterfoil_inbox(source, key, digest) VALUES ('s', ?, 'd')"
    print(run(inbox, verb), run(inbox, verb).replace("UNIQUE", "unique"))
print(run("UPDATE counterfoil_outbox SET body = 'x'"), run("DELETE FROM counterfoil_outbox"),
      run("UPDATE counterfoil_delivery SET state = 'x'"), run("DELETE FROM counterfoil_delivery"))
ordered = " INTO counterfoil_outbox(command_id, destination, kind, body, ordering_key) " \
    "VALUES (?, 'd', 'k', 'b', ?)"
print(run("INSERT" + ordered, "o-1", "K"), run("REPLACE" + ordered, "o-2", "K"),
      run("REPLACE" + ordered, "o-1", "K"), run("INSERT OR IGNORE" + ordered, "o-2", "L"),
      run("UPDATE counterfoil_lane SET last = last + 1"), run("DELETE FROM counterfoil_lane"),
      store.execute("SELECT group_concat(key_seq || ':' || (available_at IS NULL)) FROM ("
                    "SELECT * FROM counterfoil_delivery WHERE ordering_key = 'K' ORDER BY key_seq)"
                    ).fetchone()[0])
print(run("INSERT INTO counterfoil_input(stream, id, kind, name) VALUES ('t', 'i', 'start', 'n')"))
print(store.execute("PRAGMA integrity_check").fetchone()[0])
"#;

fn python(script: &str, store: &Path) -> String {
    let ran = Command::new("python3").args(["-c", script]).arg(store).output();
    let ran = ran.expect("this test needs Python 3 with its sqlite3 module: install python3");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    String::from_utf8(ran.stdout).unwrap()
}

fn shell(store: &Path, sql: &str) -> (String, String) {
    let mut shell = Command::new("sqlite3")
        .arg(store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this test needs the sqlite3 shell: install sqlite3");
    shell.stdin.take().unwrap().write_all(sql.as_bytes()).unwrap();
    let ended = shell.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(ended.stdout), text(ended.stderr))
}

#[test]
fn nothing_in_the_schema_is_newer_than_sqlite_3_37() {
    let sql: String = schema_sql(None)
        .unwrap()
        .lines()
        .map(|line| line.split("--").next().unwrap_or("").to_lowercase() + "\n")
        .collect();
    // What messages say is no SQL.
    let code: String = sql.split('\'').step_by(2).collect();
    for word in NEWER {
        assert!(!code.contains(word), "`{word}` is newer than SQLite 3.37");
    }
    for (at, _) in code.match_indices("raise(") {
        let inside = code[at..].split(')').next().unwrap_or("");
        let literal = matches!(inside, "raise(abort, " | "raise(ignore");
        assert!(literal, "RAISE takes a literal message only: {inside}");
    }
    for (at, _) in code.match_indices(" in (") {
        let constants = code[at..].split(')').next().unwrap_or("").matches(',').count() + 1;
        assert!(constants <= 2, "IN with more than two constants builds an index a row");
    }
}

#[test]
fn every_message_has_a_code_a_rule_and_a_way_out() {
    let sql = schema_sql(None).unwrap();
    let mut seen = std::collections::BTreeMap::new();
    for raise in sql.split("RAISE(ABORT, '").skip(1) {
        let message = raise.split("')").next().unwrap_or("");
        let (code, text) = message.split_once(' ').unwrap();
        assert!(code.len() == 6 && code.starts_with("CF0"), "{message}");
        let way_out = text.contains(": ") && !text.ends_with('.');
        assert!(way_out, "{message}");
        seen.entry(code.to_owned()).or_insert_with(Vec::new).push(text.to_owned());
    }
    assert!(seen.len() > 40, "{}", seen.len());
}

#[test]
fn python_writes_by_the_same_rules() {
    let fixture = Fixture::with_states();
    let said = python(CASES, &fixture.path);
    let mut lines = said.lines();
    for verb in
        ["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "OR FAIL", "OR ROLLBACK", "REPLACE"]
    {
        let codes = "CF0104 CF0103 CF0112 CF0102 CF0108 CF0107 CF0101 CF0101 CF0128 CF0129";
        let refused = |codes: &str| {
            let each = codes.split(' ').map(|code| format!("IntegrityError {code}"));
            each.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(lines.next().unwrap(), format!("1 0 {}", refused(codes)), "{verb}");
        let report = format!("{} 0 0 {}", refused("CF0201 CF0202 CF0203"), refused("CF0203"));
        assert_eq!(lines.next().unwrap(), report, "{verb}");
        let inbox = match verb {
            "INSERT OR IGNORE" => "1 0",
            "INSERT OR REPLACE" | "REPLACE" => "1 IntegrityError CF0405",
            _ => "1 IntegrityError unique",
        };
        assert_eq!(lines.next().unwrap(), inbox, "{verb}");
    }
    let own =
        "IntegrityError CF0110 IntegrityError CF0110 IntegrityError CF0120 IntegrityError CF0120";
    assert_eq!(lines.next().unwrap(), own);
    let lanes = "1 1 0 IntegrityError CF0104 IntegrityError CF0126 IntegrityError CF0126 1:0,2:1";
    assert_eq!(lines.next().unwrap(), lanes);
    assert_eq!(lines.collect::<Vec<_>>(), ["1", "ok"]);
    let kept = "SELECT CAST(count(*) AS TEXT) FROM counterfoil_contradiction";
    assert_eq!(fixture.text(kept), "7");
}

#[test]
fn python_can_make_the_store_from_the_printed_schema() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let script = dir.path().join("schema.sql");
    std::fs::write(&script, schema_sql(Some("urn:example:orders")).unwrap()).unwrap();
    python(
        &format!(
            "import sqlite3, sys\n\
             sqlite3.connect(sys.argv[1]).executescript(open({:?}).read())",
            script.to_str().unwrap()
        ),
        &path,
    );
    assert_eq!(open_own(&path).unwrap().1.source, "urn:example:orders");
}

#[test]
fn the_shell_writes_by_the_same_rules() {
    let fixture = Fixture::with_states();
    let (said, errors) = shell(
        &fixture.path,
        "INSERT INTO counterfoil_outbox(command_id, destination, kind, body)
           VALUES ('订单-1', 'd', 'k', '{}');
         INSERT INTO counterfoil_outbox(command_id, destination, kind, body)
           VALUES ('订单-1', 'd', 'k', '{}');
         SELECT changes(), count(*) FROM counterfoil_delivery;
         REPLACE INTO counterfoil_outbox(command_id, destination, kind, body)
           VALUES ('订单-1', 'd', 'k', '[]');
         DELETE FROM counterfoil_receipt;
         INSERT INTO counterfoil_report(command_id, outcome) VALUES ('订单-1', 'completed');
         SELECT outcome, source FROM counterfoil_receipt WHERE n = 13;",
    );
    assert_eq!(said, "0|9\ncompleted|report\n");
    assert!(errors.contains("CF0104") && errors.contains("CF0121"), "{errors}");
}
