//! Commands as strangers insert them: which values are taken, and which are refused.

use crate::guards::{Fixture, VERBS};

const TIMES: [&str; 3] = ["not_before", "expires_at", "recorded_at"];

pub(crate) fn insert(verb: &str, values: &str) -> String {
    format!("{verb} counterfoil_outbox(command_id, destination, kind, body) VALUES ({values})")
}

pub(crate) fn with(verb: &str, column: &str, value: &str) -> String {
    format!(
        "{verb} counterfoil_outbox(command_id, destination, kind, body, {column}) \
         VALUES ('new', 'd', 'k', 'b', {value})"
    )
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
        for key in ["''", "'a' || char(0)", "'a' || char(10)"] {
            fixture.refused(&with(verb, "ordering_key", key), "CF0113");
        }
        let long = format!("'{}'", "k".repeat(256));
        fixture.refused(&with(verb, "ordering_key", &long), "CF0113");
        // STRICT is first to say no.
        fixture.refused(&with(verb, "ordering_key", "x'41'"), "");
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
            for column in TIMES {
                fixture.refused(&with(verb, column, time), "CF0115");
            }
        }
        fixture.refused(&with(verb, "recorded_at", "NULL"), "CF0115");
        for time in ["'tomorrow'", "1764421200000000.5", "x'01'"] {
            fixture.refused(&with(verb, "not_before", time), "cannot store");
            fixture.refused(&with(verb, "expires_at", time), "cannot store");
        }
        for time in [999_999_999_999_999_i64, 10_000_000_000_000_000] {
            for column in TIMES {
                fixture.refused(&with(verb, column, &time.to_string()), "CF0115");
            }
        }
        for headers in ["''", "'a: b'", "'[]'", "'{'", "'{}' || char(0) || '}'", "'null'"] {
            fixture.refused(&with(verb, "headers", headers), "CF0116");
        }
        fixture.refused(&with(verb, "headers", &format!("'{{{}}}'", "x".repeat(65535))), "CF0116");
        for digest in [
            format!("'{}'", "0A".repeat(32)),
            format!("'{}'", "0a".repeat(31)),
            format!("'{}'", "0".repeat(65)),
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
fn the_longest_and_the_outermost_values_are_taken() {
    let fixture = Fixture::empty();
    let row = |at: usize, column: &str, value: &str| {
        with("INSERT INTO", column, value).replace("'new'", &format!("'new-{at}'"))
    };
    let headers = format!("'{{{}}}'", "x".repeat(65_534));
    let digest = format!("'{}'", "0123456789abcdef".repeat(4));
    for (at, (column, value)) in [
        ("not_before", "1000000000000000"),
        ("not_before", "9999999999999999"),
        ("not_before", "'1764421200000000'"),
        ("expires_at", "1000000000000000"),
        ("expires_at", "9999999999999999"),
        ("expires_at", "'1764421200000000'"),
        ("expires_at", "NULL"),
        ("recorded_at", "1000000000000000"),
        ("recorded_at", "9999999999999999"),
        ("headers", &headers),
        ("core_digest", &digest),
        ("content_type", &format!("'{}'", "x".repeat(255))),
        ("stream", "NULL"),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(fixture.ok(&row(at, column, value)), 1, "{column} = {value}");
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
