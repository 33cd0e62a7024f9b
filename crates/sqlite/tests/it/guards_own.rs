//! What strangers cannot write: every verb, against every table and every state of a command.

use rusqlite::Connection;

use crate::guards::{Fixture, VERBS, columns, tables};

/// The tables that strangers only read, and the code that says so.
const OWN: [(&str, &str); 15] = [
    ("delivery", "CF0120"),
    ("receipt", "CF0121"),
    ("contradiction", "CF0122"),
    ("attempt", "CF0123"),
    ("event", "CF0111"),
    ("stream", "CF0124"),
    ("snapshot", "CF0125"),
    ("lane", "CF0126"),
    ("lane_freed", "CF0126"),
    ("destination", "CF0127"),
    ("tally", "CF0128"),
    ("archived", "CF0129"),
    ("operator_action", "CF0130"),
    ("meta", "CF0131"),
    ("seal", "CF0132"),
];

/// Statements that write into a table of our own: copies, new rows, NULLs, upserts, changes.
fn attacks(connection: &Connection, table: &str) -> Vec<String> {
    let columns = columns(connection, table);
    let list = columns.join(", ");
    let moved = columns
        .iter()
        .map(|column| {
            format!(
                "CASE typeof({column}) WHEN 'integer' THEN {column} + 1000 \
                 WHEN 'text' THEN {column} || 'x' ELSE {column} END"
            )
        })
        .collect::<Vec<_>>()
        .join(", ");
    let own = columns.iter().map(|c| format!("{c} = {c}")).collect::<Vec<_>>().join(", ");
    let mut attacks = Vec::new();
    for verb in VERBS {
        attacks.push(format!("{verb} {table}({list}) SELECT {list} FROM {table} LIMIT 1"));
        attacks.push(format!("{verb} {table}({list}) SELECT {moved} FROM {table} LIMIT 1"));
        attacks.push(format!("{verb} {table} DEFAULT VALUES"));
    }
    for conflict in ["DO NOTHING".to_owned(), format!("DO UPDATE SET {own}")] {
        for values in [&list, &moved] {
            attacks.push(format!(
                "INSERT INTO {table}({list}) SELECT {values} FROM {table} WHERE true LIMIT 1 \
                 ON CONFLICT {conflict}"
            ));
        }
    }
    for or in ["", "OR ABORT", "OR FAIL", "OR IGNORE", "OR REPLACE", "OR ROLLBACK"] {
        attacks.push(format!("UPDATE {or} {table} SET {own}"));
        // SQLite itself refuses NULL in an integer key, before any guard.
        for column in columns.iter().filter(|c| !["n", "id", "k"].contains(&c.as_str())) {
            attacks.push(format!("UPDATE {or} {table} SET {column} = NULL"));
        }
    }
    attacks.push(format!("DELETE FROM {table}"));
    attacks.push(format!("DELETE FROM {table} WHERE true"));
    attacks
}

#[test]
fn strangers_only_read_what_is_our_own_whatever_the_verb() {
    let fixture = Fixture::with_states();
    for recursive in [false, true] {
        fixture.stranger.pragma_update(None, "recursive_triggers", recursive).unwrap();
        for (name, code) in OWN {
            let table = format!("counterfoil_{name}");
            for attack in attacks(&fixture.own, &table) {
                fixture.refused(&attack, code);
            }
        }
    }
}

#[test]
fn the_attacks_reach_every_table_that_strangers_may_not_write() {
    let fixture = Fixture::with_states();
    let theirs = ["outbox", "inbox", "input", "reporting"];
    for table in tables(&fixture.own) {
        let name = table.trim_start_matches("counterfoil_");
        let known = theirs.contains(&name) || OWN.iter().any(|(own, _)| *own == name);
        assert!(known, "{table} has no row in this test");
        let rows = fixture.text(&format!("SELECT CAST(count(*) AS TEXT) FROM {table}"));
        assert!(rows != "0" || name == "reporting", "{table} has no row to attack");
    }
}

#[test]
fn a_stranger_cannot_forge_the_delivery_that_only_the_insert_makes() {
    let fixture = Fixture::with_states();
    let forged = |n: i64| {
        format!(
            "INSERT INTO counterfoil_delivery(n, destination, state, available_at) \
             SELECT {n}, 'd', 'pending', recorded_at FROM counterfoil_outbox WHERE n = {n}"
        )
    };
    // A command that has ended, one that is open, and one that was just inserted.
    fixture.ok("INSERT INTO counterfoil_outbox(command_id, destination, kind, body) \
                VALUES ('new', 'd', 'k', 'b')");
    let newest = fixture.stranger.last_insert_rowid();
    for n in [1, 9, newest] {
        fixture
            .stranger
            .execute_batch(&format!(
                "CREATE TEMP TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY); \
             REPLACE INTO temp.t VALUES ({n})"
            ))
            .unwrap();
        fixture.refused(&forged(n), "CF0120");
    }
    fixture.ok("INSERT INTO counterfoil_report(command_id, outcome) VALUES ('new', 'completed')");
    fixture.refused(&forged(newest), "CF0120");
}

#[test]
fn even_where_a_delivery_was_lost_a_stranger_can_make_only_the_first_one_of_his_own_row() {
    let fixture = Fixture::with_states();
    fixture.own.execute_batch("DELETE FROM counterfoil_delivery WHERE n = 1").unwrap();
    let made = |column: &str, value: &str| {
        format!(
            "INSERT INTO counterfoil_delivery(n, destination, state, available_at{column}) \
             SELECT n, destination, 'pending', recorded_at{value} \
             FROM counterfoil_outbox WHERE n = 1"
        )
    };
    fixture.refused(&made("", ""), "CF0120");
    let spend = "CREATE TEMP TABLE t(id INTEGER PRIMARY KEY); INSERT INTO temp.t VALUES (1)";
    fixture.stranger.execute_batch(spend).unwrap();
    for forged in [
        "round = 2",
        "round_since = 1764421200000000",
        "attempts = 1",
        "asks = 1",
        "in_doubt = 1",
        "ordering_key = 'x'",
        "key_seq = 1",
        "turn = 1",
        "token = 1",
        "lease_until = 1764421200000000",
        "lease_owner = 'x'",
        "first_sent_at = 1764421200000000",
        "last_lease_until = 1764421200000000",
        "digest = x'00'",
        "row_digest = x'00'",
        "last_outcome = 'x'",
    ] {
        let (column, value) = forged.split_once(" = ").unwrap();
        fixture.refused(&made(&format!(", {column}"), &format!(", {value}")), "CF0120");
    }
    for (right, forged) in [
        ("'pending'", "'sending'"),
        ("'pending'", "NULL"),
        ("recorded_at FROM", "recorded_at + 1 FROM"),
        ("recorded_at FROM", "NULL FROM"),
        ("SELECT n, destination", "SELECT n, 'other'"),
    ] {
        let sql = made("", "").replace("  ", " ").replace(right, forged);
        assert!(sql.contains(forged), "{sql}");
        fixture.refused(&sql, "CF0120");
    }
}

#[test]
fn the_outbox_is_neither_changed_nor_emptied() {
    let fixture = Fixture::with_states();
    for or in ["", "OR ABORT", "OR FAIL", "OR IGNORE", "OR REPLACE", "OR ROLLBACK"] {
        for column in columns(&fixture.own, "counterfoil_outbox") {
            let update = format!("UPDATE {or} counterfoil_outbox SET {column} =");
            fixture.refused(&format!("{update} {column}"), "CF0110");
            // STRICT may be first to say no.
            for value in ["NULL", "'x'", "1", "x'00'"] {
                fixture.refused(&format!("{update} {value}"), "");
            }
        }
    }
    for n in 1..=12 {
        fixture.refused(&format!("DELETE FROM counterfoil_outbox WHERE n = {n}"), "CF0110");
    }
    fixture.refused("DELETE FROM counterfoil_outbox", "CF0110");
}
