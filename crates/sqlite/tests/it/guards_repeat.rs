//! The same id again: what it comes to in each state of its command, whatever the verb.

use crate::guards::{Fixture, VERBS};
use crate::guards_values::insert;

/// The four ways to end an upsert that a stranger may think of.
const UPSERTS: [&str; 4] = [
    "ON CONFLICT DO NOTHING",
    "ON CONFLICT(command_id) DO NOTHING",
    "ON CONFLICT(command_id) DO UPDATE SET body = excluded.body",
    "ON CONFLICT(n) DO UPDATE SET body = excluded.body",
];

/// Statements that insert this row, one for each verb.
fn every_verb(values: &str) -> Vec<String> {
    let plain = insert("INSERT INTO", values);
    let upserts = UPSERTS.iter().map(|upsert| format!("{plain} {upsert}"));
    VERBS.iter().map(|verb| insert(verb, values)).chain(upserts).collect()
}

#[test]
fn an_equal_repeat_inserts_nothing_and_succeeds_in_every_state_and_by_every_verb() {
    let fixture = Fixture::with_states();
    for state in "pending sending published dead uncertain conflict asking again completed \
                  rejected contradicted"
        .split_whitespace()
    {
        for sql in every_verb(&format!("'{state}-1', 'd', 'k', 'b'")) {
            fixture.ignored(&sql);
        }
        // The same bytes are the same content, as text or not.
        fixture.ignored(&insert("INSERT INTO", &format!("'{state}-1', 'd', 'k', x'62'")));
    }
}

#[test]
fn other_content_under_an_id_fails_in_every_state_and_by_every_verb() {
    let fixture = Fixture::with_states();
    for state in "pending sending published dead uncertain conflict asking again completed \
                  rejected contradicted"
        .split_whitespace()
    {
        for rest in ["'d', 'k', 'z'", "'other', 'k', 'b'", "'d', 'other', 'b'", "'d', 'k', ''"] {
            for sql in every_verb(&format!("'{state}-1', {rest}")) {
                fixture.refused(&sql, "CF0104");
            }
        }
    }
    let laned = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body, ordering_key)
                 VALUES ('laned', 'd', 'k', 'b', 'key')";
    fixture.own.execute_batch(laned).unwrap();
    for sql in every_verb("'laned', 'd', 'k', 'b'") {
        fixture.refused(&sql, "CF0104");
    }
    for sql in every_verb("'a-1', 'd', 'k', 'b'") {
        fixture.refused(&sql, "CF0103");
    }
    for sql in
        every_verb("'e-1', 'd', 'k', 'b'").into_iter().chain(every_verb("'e-1', 'd', 'k', ''"))
    {
        fixture.refused(&sql, "CF0112");
    }
}

#[test]
fn a_row_among_many_decides_for_the_whole_statement() {
    let fixture = Fixture::with_states();
    let three = "'x', 'd', 'k', 'b'), ('pending-1', 'd', 'k', 'z'), ('y', 'd', 'k', 'b'";
    for sql in every_verb(three) {
        fixture.refused(&sql, "CF0104");
    }
    let repeat = "'x', 'd', 'k', 'b'), ('pending-1', 'd', 'k', 'b'), ('y', 'd', 'k', 'b'";
    assert_eq!(fixture.ok(&insert("INSERT INTO", repeat)), 2);
}

#[test]
fn core_digests_compare_where_both_rows_have_one() {
    let fixture = Fixture::empty();
    let row = |id: &str, body: &str, digest: &str| {
        format!(
            "INSERT INTO counterfoil_outbox(command_id, destination, kind, body, core_digest) \
             VALUES ('{id}', 'd', 'k', '{body}', {digest})"
        )
    };
    let (one, two) = (format!("'{}'", "0a".repeat(32)), format!("'{}'", "0b".repeat(32)));
    fixture.ok(&row("core", "at 10:00", &one));
    fixture.ignored(&row("core", "at 10:01", &one));
    fixture.refused(&row("core", "at 10:00", &two), "CF0104");
    fixture.ignored(&row("core", "at 10:00", "NULL"));
    fixture.refused(&row("core", "at 10:01", "NULL"), "CF0104");
    fixture.ok(&row("plain", "b", "NULL"));
    fixture.ignored(&row("plain", "b", &one));
    fixture.refused(&row("plain", "z", &one), "CF0104");
}

#[test]
fn a_refusal_leaves_the_users_transaction_usable_whatever_the_verb() {
    for verb in VERBS {
        let fixture = Fixture::with_states();
        let user = &fixture.stranger;
        user.execute_batch(
            "CREATE TABLE orders(id); BEGIN IMMEDIATE; INSERT INTO orders VALUES (1)",
        )
        .unwrap();
        for values in ["'pending-1', 'd', 'k', 'z'", "'a-1', 'd', 'k', 'b'", "'x', NULL, 'k', 'b'"]
        {
            user.execute(&insert(verb, values), []).unwrap_err();
            assert!(!user.is_autocommit(), "{verb} ended the user's transaction");
        }
        fixture.ok(&insert(verb, "'new', 'd', 'k', 'b'"));
        user.execute_batch("COMMIT").unwrap();
        assert_eq!(fixture.text("SELECT CAST(count(*) AS TEXT) FROM orders"), "1");
        assert_eq!(fixture.text("SELECT CAST(max(n) AS TEXT) FROM counterfoil_delivery"), "13");
    }
}
