//! Reports of workers that share the database: what ends a command, what contradicts, what is
//! refused.

use crate::guards::{Fixture, VERBS};

const OPEN: &str = "pending sending published dead uncertain conflict asking again";

fn report(verb: &str, id: &str, outcome: &str, token: &str) -> String {
    format!(
        "{verb} counterfoil_report(command_id, outcome, result, evidence, token) \
         VALUES ({id}, {outcome}, 'job 7', 'worker 3', {token})"
    )
}

/// Runs the statement and gives the rows that went (`-`) and came (`+`), times left out.
fn change(fixture: &Fixture, sql: &str) -> Vec<String> {
    let before = fixture.rows();
    fixture.ok(sql);
    let after = fixture.rows();
    let short = |sign: &str, row: &String| {
        let row = row.trim_start_matches("counterfoil_");
        let row = row.split(", 17644212").next().unwrap_or(row);
        let cut = row.rfind(", 17").filter(|at| row.len() - at > 16).unwrap_or(row.len());
        format!("{sign}{}", &row[..cut])
    };
    let gone = before.iter().filter(|row| !after.contains(row)).map(|row| short("-", row));
    let come = after.iter().filter(|row| !before.contains(row)).map(|row| short("+", row));
    gone.chain(come).collect()
}

#[test]
fn a_report_ends_an_open_command_of_any_state_whatever_the_verb() {
    let fixture = Fixture::with_states();
    for verb in VERBS {
        for state in OPEN.split_whitespace() {
            for outcome in ["completed", "rejected"] {
                let recursive = outcome == "completed";
                fixture.stranger.pragma_update(None, "recursive_triggers", recursive).unwrap();
                let id = format!("'{state}-1'");
                let sql = report(verb, &id, &format!("'{outcome}'"), "NULL");
                fixture.stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
                let changed = change(&fixture, &sql).join("\n");
                fixture.stranger.execute_batch("ROLLBACK").unwrap();
                let receipt = format!("'{outcome}', 'job 7', 'worker 3', 'report', 'd'");
                assert!(changed.contains(&receipt), "{sql}: {changed}");
                let tally = if outcome == "completed" { "5" } else { "2" };
                assert!(
                    changed.contains(&format!("+tally: 'd', '{outcome}', {tally}")),
                    "{changed}"
                );
                assert!(changed.contains("-delivery: "), "{changed}");
                assert_eq!(changed.lines().count(), 4, "{sql}: {changed}");
            }
        }
    }
}

#[test]
fn a_receipt_of_a_report_carries_what_the_delivery_knew() {
    let fixture = Fixture::with_states();
    fixture
        .own
        .execute_batch(
            "UPDATE counterfoil_delivery SET first_sent_at = 1764421200000003, attempts = 4,
             digest = x'01', row_digest = x'02' WHERE n = 8",
        )
        .unwrap();
    fixture.ok(&report("INSERT INTO", "'again-1'", "'completed'", "98"));
    let known = "SELECT round || ' ' || attempts || ' ' || token || ' ' || first_sent_at || ' ' \
                 || hex(digest) || hex(row_digest) \
                 FROM counterfoil_receipt WHERE n = 8 AND round = 2";
    assert_eq!(fixture.text(known), "2 4 98 1764421200000003 0102");
    let now = "SELECT CAST(abs(recorded_at / 1000000 - strftime('%s', 'now')) < 60 AS TEXT) \
               FROM counterfoil_receipt WHERE n = 8 AND round = 2";
    assert_eq!(fixture.text(now), "1");
}

#[test]
fn evidence_and_result_have_defaults_and_an_id_in_bytes_is_the_same_id() {
    let fixture = Fixture::with_states();
    fixture
        .ok("INSERT INTO counterfoil_report(command_id, outcome) VALUES ('dead-1', 'completed')");
    fixture.ok("INSERT INTO counterfoil_report(command_id, outcome, evidence) \
                VALUES (CAST('pending-1' AS BLOB), 'completed', '')");
    for n in [1, 4] {
        let said =
            format!("SELECT evidence || typeof(result) FROM counterfoil_receipt WHERE n = {n}");
        assert_eq!(fixture.text(&said), "reported through counterfoil_reportnull");
    }
}

#[test]
fn the_first_report_wins_and_another_outcome_is_kept_once_as_a_contradiction() {
    for verb in VERBS {
        let fixture = Fixture::with_states();
        for (id, outcome) in
            [("completed-1", "completed"), ("rejected-1", "rejected"), ("a-1", "completed")]
        {
            fixture.ignored(&report(verb, &format!("'{id}'"), &format!("'{outcome}'"), "NULL"));
        }
        for (id, outcome) in [
            ("completed-1", "rejected"),
            ("rejected-1", "completed"),
            ("a-1", "rejected"),
            ("e-1", "rejected"),
        ] {
            let other = report(verb, &format!("'{id}'"), &format!("'{outcome}'"), "NULL");
            assert_eq!(
                change(&fixture, &other),
                [format!("+contradiction: '{id}', 1, '{outcome}', 'job 7', 'worker 3', 'report'")],
            );
            fixture.ignored(&other);
        }
    }
}

#[test]
fn a_token_fences_in_every_state() {
    for verb in VERBS {
        let fixture = Fixture::with_states();
        for (n, state) in (1..).zip(OPEN.split_whitespace()) {
            let id = format!("'{state}-1'");
            for token in [90 + n - 1, 90 + n + 1, 88, 1, i64::MAX] {
                fixture.refused(&report(verb, &id, "'completed'", &token.to_string()), "CF0203");
            }
        }
        for ended in ["completed-1", "rejected-1", "contradicted-1", "e-1", "a-1"] {
            for token in ["89", "90", "91", "92"] {
                let sql = report(verb, &format!("'{ended}'"), "'completed'", token);
                fixture.refused(&sql, "CF0203");
            }
        }
        fixture.ok(&report(verb, "'sending-1'", "'completed'", "92"));
        fixture.refused(&report(verb, "'sending-1'", "'completed'", "92"), "CF0203");
        // As it stood in the header.
        fixture.ok(&report(verb, "'published-1'", "'completed'", "'93'"));
    }
}

#[test]
fn values_are_refused_before_anything_is_written_whatever_the_verb() {
    let fixture = Fixture::with_states();
    for verb in VERBS {
        for outcome in
            ["NULL", "'done'", "''", "'accepted'", "'Completed'", "x'636f6d706c65746564'", "1"]
        {
            fixture.refused(&report(verb, "'sending-1'", outcome, "NULL"), "CF0201");
        }
        for id in ["NULL", "'nobody'", "''", "7", "x'00'"] {
            fixture.refused(&report(verb, id, "'completed'", "NULL"), "CF0202");
            fixture.refused(&report(verb, id, "'completed'", "92"), "CF0202");
        }
        for token in ["0", "-1", "92.0", "x'3932'", "'92x'", "''", "'+92'", "' 92'"] {
            fixture.refused(&report(verb, "'sending-1'", "'completed'", token), "CF0205");
        }
        let with = |result: &str, evidence: &str| {
            format!(
                "{verb} counterfoil_report(command_id, outcome, result, evidence) \
                 VALUES ('sending-1', 'completed', {result}, {evidence})"
            )
        };
        for (result, evidence) in [
            ("1", "'e'"),
            ("1.5", "'e'"),
            ("zeroblob(16777217)", "'e'"),
            ("'r'", "x'65'"),
            ("'r'", "1"),
            ("'r'", "CAST(zeroblob(65537) AS TEXT)"),
        ] {
            fixture.refused(&with(result, evidence), "CF0204");
        }
    }
}

#[test]
fn a_report_that_repeats_an_earlier_rounds_receipt_changes_nothing() {
    let fixture = Fixture::with_states();
    let late = "INSERT INTO counterfoil_report(command_id, outcome, result, evidence) \
                VALUES ('again-1', 'completed', 'r', 'e')";
    fixture.ignored(late);
    // The newest token speaks of this round, in the same words or not.
    fixture.ok("INSERT INTO counterfoil_report(command_id, outcome, result, evidence, token) \
         VALUES ('again-1', 'completed', 'r', 'e', 98)");
    let rounds = "SELECT group_concat(round) FROM counterfoil_receipt WHERE n = 8";
    assert_eq!(fixture.text(rounds), "1,2");
    fixture.ignored(late);
}

#[test]
fn a_report_that_differs_from_an_earlier_rounds_receipt_in_anything_ends_this_round() {
    for differs in ["'rejected', 'r', 'e'", "'completed', 'z', 'e'", "'completed', 'r', 'z'"] {
        let fixture = Fixture::with_states();
        fixture.ok(&format!(
            "INSERT INTO counterfoil_report(command_id, outcome, result, evidence) \
             VALUES ('again-1', {differs})"
        ));
        let ended = "SELECT CAST(count(*) AS TEXT) FROM counterfoil_receipt WHERE n = 8";
        assert_eq!(fixture.text(ended), "2", "{differs}");
    }
}

#[test]
fn the_newest_round_decides_what_contradicts_and_every_round_what_repeats() {
    let fixture = Fixture::with_states();
    let say = |outcome: &str, result: &str, evidence: &str| {
        format!(
            "INSERT INTO counterfoil_report(command_id, outcome, result, evidence) \
             VALUES ('again-1', '{outcome}', '{result}', '{evidence}')"
        )
    };
    fixture.ok(&say("rejected", "r", "e"));
    // Round 1 ended completed, round 2 rejected.
    fixture.ignored(&say("rejected", "new", "words"));
    fixture.ignored(&say("completed", "r", "e"));
    for (result, evidence) in [("r", "other"), ("other", "e"), ("other", "other")] {
        let other = say("completed", result, evidence);
        let row = format!("'again-1', 2, 'completed', '{result}', '{evidence}', 'report'");
        assert_eq!(change(&fixture, &other), [format!("+contradiction: {row}")]);
        fixture.ignored(&other);
    }
    // Redelivered: what contradicted the round before may end this one, or contradict it.
    fixture
        .own
        .execute_batch(
            "INSERT INTO counterfoil_delivery(n, destination, state, round, token)
             VALUES (8, 'd', 'sending', 3, 99)",
        )
        .unwrap();
    fixture.ok(&say("completed", "r", "other"));
    let other = say("rejected", "r", "other");
    assert_eq!(change(&fixture, &other).len(), 1);
    fixture.ignored(&other);
    // The same words about another round are another contradiction.
    let moved = "UPDATE counterfoil_contradiction SET round = 1 WHERE round = 3";
    assert_eq!(fixture.own.execute(moved, []).unwrap(), 1);
    assert_eq!(change(&fixture, &other).len(), 1);
}

#[test]
fn the_same_words_with_the_other_outcome_contradict() {
    let fixture = Fixture::with_states();
    let rows = [("completed-1", "rejected"), ("rejected-1", "completed")];
    for (id, outcome) in rows {
        let sql = format!(
            "INSERT INTO counterfoil_report(command_id, outcome, result, evidence) \
             VALUES ('{id}', '{outcome}', 'r', 'e')"
        );
        assert_eq!(change(&fixture, &sql).len(), 1, "{id}");
        fixture.ignored(&sql);
    }
    // A contradiction of another outcome in the same words is another one.
    let accepted = "UPDATE counterfoil_contradiction SET outcome = 'accepted'";
    fixture.own.execute_batch(accepted).unwrap();
    let again = "INSERT INTO counterfoil_report(command_id, outcome, result, evidence) \
                 VALUES ('completed-1', 'rejected', 'r', 'e')";
    assert_eq!(change(&fixture, again).len(), 1);
}

#[test]
fn the_table_behind_the_view_is_the_same_door() {
    for verb in VERBS {
        let fixture = Fixture::with_states();
        let row = |values: &str| format!("{verb} counterfoil_reporting VALUES ({values})");
        fixture.refused(&row("'sending-1', 'done', NULL, 'e', NULL"), "CF0201");
        fixture.refused(&row("'sending-1', 'completed', NULL, NULL, NULL"), "CF0204");
        fixture.refused(&row("'sending-1', 'completed', NULL, 'e', 1"), "CF0203");
        fixture.refused(&row("'nobody', 'completed', NULL, 'e', NULL"), "CF0202");
        fixture.ok(&row("'sending-1', 'completed', NULL, 'e', 92"));
        assert_eq!(fixture.text("SELECT CAST(count(*) AS TEXT) FROM counterfoil_reporting"), "0");
        assert_eq!(fixture.text("SELECT CAST(count(*) AS TEXT) FROM counterfoil_delivery"), "7");
    }
}

#[test]
fn a_command_that_lost_its_delivery_is_named_and_not_swallowed() {
    let fixture = Fixture::with_states();
    fixture.own.execute_batch("DELETE FROM counterfoil_delivery WHERE n = 1").unwrap();
    fixture
        .own
        .execute_batch(
            "INSERT INTO counterfoil_receipt SELECT 2, 1, outcome, result, evidence, source,
             destination, attempts, token, first_sent_at, key_seq, digest, row_digest, recorded_at
             FROM counterfoil_receipt WHERE n = 9",
        )
        .unwrap();
    for verb in VERBS {
        fixture.refused(&report(verb, "'pending-1'", "'completed'", "NULL"), "CF0206");
        fixture.refused(&report(verb, "'sending-1'", "'completed'", "NULL"), "CF0206");
    }
}

#[test]
fn the_view_takes_plain_inserts_only() {
    let fixture = Fixture::with_states();
    let row = report("INSERT INTO", "'sending-1'", "'completed'", "NULL");
    fixture.refused(&format!("{row} ON CONFLICT DO NOTHING"), "cannot UPSERT a view");
    fixture.refused("UPDATE counterfoil_report SET outcome = 'completed'", "cannot modify");
    fixture.refused("DELETE FROM counterfoil_report", "cannot modify");
}
