//! Commands as strangers insert them: which values are taken, which are refused, and what a
//! repeat of an id comes to in each state of its command.

use crate::guards::{Fixture, PASS, VERBS};

const NOT_YET: [(&str, &str); 2] =
    [("ordering_key", "'lane-1'"), ("expires_at", "1764421200000000")];

fn insert(verb: &str, values: &str) -> String {
    format!("{verb} counterfoil_outbox(command_id, destination, kind, body) VALUES ({values})")
}

fn with(verb: &str, column: &str, value: &str) -> String {
    format!(
        "{verb} counterfoil_outbox(command_id, destination, kind, body, {column}) \
         VALUES ('new', 'd', 'k', 'b', {value})"
    )
}

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
fn what_is_our_own_is_refused_by_every_verb() {
    let fixture = Fixture::with_states();
    for verb in VERBS {
        for n in ["0", "-1", "-2", "1", "9", "12", "999", "'7'", "9223372036854775807", "-9.0"] {
            for alias in ["n", "rowid", "oid", "_rowid_"] {
                fixture.refused(&with(verb, alias, n), "CF0101");
            }
        }
        for (column, value) in
            [("stream", "'s'"), ("seq", "1"), ("idx", "0"), ("erased_at", "1764421200000000")]
        {
            fixture.refused(&with(verb, column, value), "CF0101");
        }
        for (column, value) in NOT_YET {
            let code = if column == "ordering_key" { "CF0113" } else { "CF0114" };
            fixture.refused(&with(verb, column, value), code);
        }
    }
}

#[test]
fn ids_and_names_are_bounded_text_without_control_characters() {
    let fixture = Fixture::empty();
    let long = format!("'{}'", "x".repeat(256));
    for verb in VERBS {
        for bad in ["NULL", "''", &long, &format!("'{}'", "订".repeat(86))] {
            fixture.refused(&insert(verb, &format!("{bad}, 'd', 'k', 'b'")), "CF0102");
            fixture.refused(&insert(verb, &format!("'id', {bad}, 'k', 'b'")), "CF0105");
            fixture.refused(&insert(verb, &format!("'id', 'd', {bad}, 'b'")), "CF0105");
            fixture.refused(&with(verb, "content_type", bad), "CF0106");
        }
        for byte in (0x00..0x20).chain([0x7f]) {
            for bad in [format!("CAST(x'61{byte:02x}62' AS TEXT)"), format!("char({byte})")] {
                for values in [format!("{bad}, 'd', 'k', 'b'"), format!("'id', 'd', {bad}, 'b'")] {
                    fixture.refused(&insert(verb, &values), "CF0107");
                }
            }
        }
        fixture.refused(&insert(verb, "'id', 'd' || char(0), 'k', 'b'"), "CF0107");
        fixture.refused(&with(verb, "content_type", "'text/plain' || char(13, 10)"), "CF0107");
        // STRICT itself says this one, before any guard, and whatever the verb.
        fixture.refused(&insert(verb, "x'6964', 'd', 'k', 'b'"), "cannot store BLOB value");
        fixture.refused(&insert(verb, "'id', x'64', 'k', 'b'"), "cannot store BLOB value");
    }
}

#[test]
fn bodies_times_headers_and_digests_are_checked_by_every_verb() {
    let fixture = Fixture::empty();
    for verb in VERBS {
        for body in ["NULL", "5", "5.5"] {
            fixture.refused(&insert(verb, &format!("'id', 'd', 'k', {body}")), "CF0108");
        }
        fixture.refused(&insert(verb, "'id', 'd', 'k', zeroblob(16777217)"), "CF0109");
        for time in ["0", "-1", "1764421200", "1764421200000", "1764421200000000000"] {
            fixture.refused(&with(verb, "not_before", time), "CF0115");
            fixture.refused(&with(verb, "recorded_at", time), "CF0115");
        }
        fixture.refused(&with(verb, "recorded_at", "NULL"), "CF0115");
        for time in ["'tomorrow'", "1764421200000000.5", "x'01'"] {
            fixture.refused(&with(verb, "not_before", time), "cannot store");
        }
        for headers in ["''", "'a: b'", "'[]'", "'{'", "'{}' || char(0) || '}'", "'null'"] {
            fixture.refused(&with(verb, "headers", headers), "CF0116");
        }
        fixture.refused(&with(verb, "headers", &format!("'{{{}}}'", "x".repeat(65536))), "CF0116");
        for digest in [
            format!("'{}'", "0A".repeat(32)),
            format!("'{}'", "0a".repeat(31)),
            format!("'{}' || char(0) || 'ZZ0'", "0".repeat(60)),
            format!("'{}'", "0g".repeat(32)),
            "''".into(),
        ] {
            fixture.refused(&with(verb, "core_digest", &digest), "CF0117");
        }
    }
}

#[test]
fn what_fits_is_kept_byte_for_byte_and_gets_its_delivery() {
    let fixture = Fixture::empty();
    let ids = ["'订单-1'", "'🧾'", "' '", "CAST(x'ff80' AS TEXT)", "'q''\"%\\'"]
        .map(str::to_owned)
        .into_iter()
        .chain([format!("'{}'", "x".repeat(255)), format!("'{}'", "订".repeat(85))]);
    let bodies = ["''", "x''", "x'00ff00'", "'a' || char(0) || 'b'", "zeroblob(16777216)"];
    for (at, id) in ids.enumerate() {
        let body = bodies[at % bodies.len()];
        assert_eq!(fixture.ok(&insert("INSERT INTO", &format!("{id}, 'd', 'k', {body}"))), 1);
        let same = format!(
            "SELECT command_id = {id} AND CAST(body AS BLOB) = CAST({body} AS BLOB) \
             AND typeof(body) = typeof({body}) || '' FROM counterfoil_outbox WHERE n = {}",
            at + 1
        );
        assert_eq!(fixture.text(&format!("SELECT CAST(({same}) AS TEXT)")), "1", "{id}");
    }
    fixture.ok(
        "INSERT INTO counterfoil_outbox(command_id, destination, kind, body, headers, not_before, \
         content_type, n) VALUES (7, 'd', 'k', 'b', ' {\"a\":\"b\"}' || char(10), \
         1764421200000001, 'text/plain', NULL)",
    );
    let newest = "FROM counterfoil_delivery ORDER BY n DESC LIMIT 1";
    assert_eq!(
        fixture.text(&format!(
            "SELECT state || round || attempts || in_doubt || token || ' ' || available_at {newest}"
        )),
        "pending1000 1764421200000001"
    );
    let open = "SELECT CAST(count(*) = 8 AND min(available_at = coalesce(not_before, recorded_at)) \
                AS TEXT) FROM counterfoil_outbox JOIN counterfoil_delivery USING (n)";
    assert_eq!(fixture.text(open), "1");
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

#[test]
fn inside_a_users_own_trigger_and_with_an_untrusted_schema_the_rules_are_the_same() {
    let fixture = Fixture::empty();
    fixture
        .stranger
        .execute_batch(
            "PRAGMA trusted_schema = OFF; CREATE TABLE orders(id TEXT, body TEXT);
             CREATE TRIGGER paid AFTER INSERT ON orders BEGIN
               INSERT INTO counterfoil_outbox(command_id, destination, kind, body)
               VALUES (NEW.id, 'd', 'k', NEW.body); END;",
        )
        .unwrap();
    for verb in VERBS {
        fixture.ok(&format!("{verb} orders VALUES ('o-1', 'b')"));
        let other = fixture.stranger.execute(&format!("{verb} orders VALUES ('o-1', 'z')"), []);
        assert!(other.unwrap_err().to_string().contains("CF0104"), "{verb}");
    }
    assert_eq!(fixture.text("SELECT CAST(count(*) AS TEXT) FROM counterfoil_delivery"), "1");
}

#[test]
fn a_pass_opens_events_and_their_commands_once_and_nothing_else() {
    let fixture = Fixture::with_states();
    let arm = || {
        fixture
            .stranger
            .execute_batch(&format!(
                "CREATE TEMP TABLE IF NOT EXISTS counterfoil_pass(id INTEGER PRIMARY KEY); \
                 REPLACE INTO temp.counterfoil_pass VALUES ({PASS})"
            ))
            .unwrap();
    };
    let event = |verb: &str, seq: i64, cause: &str, commands: i64| {
        format!(
            "{verb} counterfoil_event VALUES \
             ('s', {seq}, 'k', 'b', {cause}, {commands}, 1764421200000000)"
        )
    };
    let command = |id: &str, seq: i64, idx: i64| {
        format!(
            "INSERT INTO counterfoil_outbox(command_id, stream, seq, idx, destination, kind, body) \
             VALUES ('{id}', 's', {seq}, {idx}, 'd', 'k', 'b')"
        )
    };
    for verb in VERBS {
        arm();
        fixture.refused(&event(verb, 1, "NULL", 0), "CF0119");
        fixture.refused(&event(verb, 3, "NULL", 0), "CF0119");
        fixture.refused(&event(verb, 2, "'start-1'", 0), "CF0119");
        fixture.refused(&event(verb, 2, "''", 0), "CF0119");
        fixture.refused(&event(verb, 2, "NULL", -1), "CF0119");
        fixture.refused(&with(verb, "n", "1"), "CF0101");
        fixture.refused(&with(verb, "stream", "'s'"), "CF0118");
        fixture.refused("UPDATE counterfoil_event SET body = 'x'", "CF0111");
        fixture.refused("DELETE FROM counterfoil_outbox", "CF0110");
        fixture.refused("DELETE FROM counterfoil_delivery", "CF0120");
    }
    fixture.ok(&event("INSERT INTO", 2, "'c'", 2));
    fixture.refused(&command("s:2:2", 2, 2), "CF0118");
    fixture.refused(&command("s:1:0", 1, 0), "CF0118");
    fixture.refused(&command("s:2:-1", 2, -1), "CF0118");
    fixture.ok(&command("s:2:0", 2, 0));
    fixture.refused(&command("s:2:1", 2, 1), "CF0101");
    fixture.refused(&event("INSERT INTO", 3, "NULL", 0), "CF0111");
    arm();
    fixture.ok(&command("s:2:1", 2, 1));
}
