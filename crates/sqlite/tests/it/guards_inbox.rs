//! The inbox as receivers write it: a key once, an outcome once, nothing forgotten too early.

use crate::guards::{Fixture, VERBS};

const KEY: &str = "(source, key, digest, expires_at) VALUES";

#[test]
fn a_key_is_inserted_once_and_its_outcome_stored_once() {
    let fixture = Fixture::empty();
    fixture.ok(&format!("INSERT INTO counterfoil_inbox{KEY} ('s', 'k', 'd', 9000000000000000)"));
    let finish = "UPDATE counterfoil_inbox SET outcome = 'completed', result = 'job 7' \
                  WHERE source = 's' AND key = 'k'";
    assert_eq!(fixture.ok(finish), 1);
    fixture.ok(finish);
    for change in [
        "outcome = 'rejected'",
        "outcome = NULL, result = NULL",
        "result = 'job 8'",
        "result = NULL",
        "digest = 'other'",
        "source = 'other'",
        "key = 'other'",
        "received_at = received_at + 1",
    ] {
        for or in ["", "OR IGNORE", "OR REPLACE", "OR FAIL", "OR ROLLBACK"] {
            fixture.refused(&format!("UPDATE {or} counterfoil_inbox SET {change}"), "CF0406");
        }
    }
}

#[test]
fn a_repeated_key_is_seen_by_every_verb_and_replaced_by_none() {
    let fixture = Fixture::with_states();
    for recursive in [false, true] {
        fixture.stranger.pragma_update(None, "recursive_triggers", recursive).unwrap();
        for (digest, expires) in [("digest", "9000000000000000"), ("other", "9000000000000001")] {
            let row = format!("counterfoil_inbox{KEY} ('urn:x', 'k-1', '{digest}', {expires})");
            for verb in VERBS {
                let sql = format!("{verb} {row}");
                match verb {
                    "INSERT OR IGNORE INTO" => fixture.ignored(&sql),
                    "INSERT OR REPLACE INTO" | "REPLACE INTO" => {
                        fixture.refused(&sql, if recursive { "CF0408" } else { "CF0405" });
                    }
                    _ => fixture.refused(&sql, "UNIQUE constraint failed: counterfoil_inbox"),
                }
            }
            fixture.ignored(&format!("INSERT INTO {row} ON CONFLICT DO NOTHING"));
            for set in ["digest = 'new'", "outcome = 'rejected'", "result = 'new'"] {
                let upsert = format!("INSERT INTO {row} ON CONFLICT DO UPDATE SET {set}");
                fixture.refused(&upsert, "CF0406");
            }
        }
    }
    // What a repeat left behind does not stand in a new key's way, nor in its own after a purge.
    for verb in VERBS {
        fixture.ok(&format!("{verb} counterfoil_inbox{KEY} ('s', '{verb}', 'd', NULL)"));
    }
}

#[test]
fn a_key_is_deleted_after_its_retention_only_and_may_then_come_again() {
    let fixture = Fixture::with_states();
    fixture.refused("DELETE FROM counterfoil_inbox", "CF0408");
    fixture.ok(&format!("INSERT INTO counterfoil_inbox{KEY} ('s', 'ever', 'd', NULL)"));
    fixture.refused("DELETE FROM counterfoil_inbox WHERE key = 'ever'", "CF0408");
    let old = format!("INSERT INTO counterfoil_inbox{KEY} ('s', 'old', 'd', 1764421200000000)");
    fixture.ok(&old);
    fixture.ok(
        "INSERT OR IGNORE INTO counterfoil_inbox(source, key, digest) VALUES ('s', 'old', 'd')",
    );
    fixture.refused("DELETE FROM counterfoil_inbox WHERE source = 's'", "CF0408");
    assert_eq!(fixture.ok("DELETE FROM counterfoil_inbox WHERE key = 'old'"), 1);
    fixture.ok(&old);
    fixture.ok("UPDATE counterfoil_inbox SET expires_at = expires_at + 1 WHERE key = 'old'");
    fixture.refused("UPDATE counterfoil_inbox SET expires_at = 1764421200000000", "CF0407");
    fixture.refused("UPDATE counterfoil_inbox SET expires_at = 5 WHERE key = 'old'", "CF0404");
    fixture.ok("UPDATE counterfoil_inbox SET expires_at = NULL WHERE key = 'old'");
}

#[test]
fn values_are_checked_by_every_verb() {
    let fixture = Fixture::empty();
    let long = format!("'{}'", "x".repeat(256));
    for verb in VERBS {
        for bad in ["NULL", "''", "'a' || char(0) || 'b'", "char(10)", "char(127)", &long] {
            fixture.refused(
                &format!("{verb} counterfoil_inbox{KEY} ({bad}, 'k', 'd', NULL)"),
                "CF0401",
            );
            fixture.refused(
                &format!("{verb} counterfoil_inbox{KEY} ('s', {bad}, 'd', NULL)"),
                "CF0401",
            );
        }
        for bad in ["NULL", "''", "1", "1.5", "zeroblob(256)"] {
            fixture.refused(
                &format!("{verb} counterfoil_inbox{KEY} ('s', 'k', {bad}, NULL)"),
                "CF0402",
            );
        }
        for bad in ["0", "1764421200", "1764421200000000000"] {
            fixture.refused(
                &format!("{verb} counterfoil_inbox{KEY} ('s', 'k', 'd', {bad})"),
                "CF0404",
            );
        }
        for (outcome, result) in
            [("'accepted'", "NULL"), ("NULL", "'r'"), ("'completed'", "1"), ("'completed'", "1.5")]
        {
            fixture.refused(
                &format!(
                    "{verb} counterfoil_inbox(source, key, digest, outcome, result) \
                     VALUES ('s', 'k', 'd', {outcome}, {result})"
                ),
                "CF0403",
            );
        }
    }
}

#[test]
fn times_results_and_updates_are_held_to_the_same_bounds() {
    let fixture = Fixture::with_states();
    fixture.ok(&format!("INSERT INTO counterfoil_inbox{KEY} ('s', 'k', 'd', 1764421200000000)"));
    let insert = |column: &str, value: &str| {
        format!(
            "INSERT INTO counterfoil_inbox(source, key, digest, outcome, {column}) \
             VALUES ('s', 'new', 'd', 'rejected', {value})"
        )
    };
    let update = |set: &str| format!("UPDATE counterfoil_inbox SET {set} WHERE key = 'k'");
    for time in ["0", "999999999999999", "10000000000000000", "1764421200000000000"] {
        fixture.refused(&insert("received_at", time), "CF0404");
        fixture.refused(&insert("expires_at", time), "CF0404");
        fixture.refused(&update(&format!("expires_at = {time}")), "CF0404");
    }
    fixture.refused(&insert("received_at", "NULL"), "CF0404");
    for result in ["1", "1.5", "zeroblob(16777217)"] {
        fixture.refused(&insert("result", result), "CF0403");
        let set = format!("outcome = 'completed', result = {result}");
        fixture.refused(&update(&set), "CF0403");
    }
    for set in ["result = 'r'", "outcome = 'accepted'", "outcome = ''"] {
        fixture.refused(&update(set), "CF0403");
    }
    fixture.ok(&insert("result", "zeroblob(16777216)"));
    fixture.ok(&update("outcome = 'rejected', result = zeroblob(16777216)"));
}
