//! A workflow's input as strangers write it: starts, signals and cancels, each id once.

use crate::guards::{Fixture, VERBS};

fn input(verb: &str, values: &str) -> String {
    format!("{verb} counterfoil_input(stream, id, kind, name, body) VALUES ({values})")
}

#[test]
fn starts_signals_and_cancels_are_taken_in_order_of_arrival() {
    let fixture = Fixture::empty();
    for (at, kind) in ["start", "signal", "cancel"].into_iter().enumerate() {
        fixture.ok(&input("INSERT INTO", &format!("'s', 'id-{at}', '{kind}', 'name', NULL")));
    }
    let kinds =
        "SELECT group_concat(kind) FROM (SELECT kind FROM counterfoil_input ORDER BY rowid)";
    assert_eq!(fixture.text(kinds), "start,signal,cancel");
}

#[test]
fn the_same_id_twice_is_the_same_input_also_after_it_was_decided() {
    let fixture = Fixture::with_states();
    for verb in VERBS {
        fixture.ignored(&input(verb, "'s', 'approve-1', 'signal', 'approve', 'b'"));
        // It stands as the cause of an event.
        fixture.ignored(&input(verb, "'s', 'start-1', 'start', 'trip', 'b'"));
        for other in [
            "'s', 'approve-1', 'signal', 'approve', 'z'",
            "'s', 'approve-1', 'signal', 'approve', NULL",
            "'s', 'approve-1', 'signal', 'refuse', 'b'",
            "'s', 'approve-1', 'cancel', 'approve', 'b'",
            "'s', 'start-1', 'start', 'trip', 'z'",
            "'s', 'start-1', 'start', 'trap', 'b'",
            "'s', 'start-1', 'signal', 'trip', 'b'",
        ] {
            fixture.refused(&input(verb, other), "CF0304");
        }
    }
    // Another id of a stream that has decided something is new.
    assert_eq!(fixture.ok(&input("INSERT INTO", "'s', 'start-2', 'start', 'trip', 'b'")), 1);
    let again = input("INSERT INTO", "'s', 'approve-1', 'signal', 'approve', 'z'");
    fixture.refused(&format!("{again} ON CONFLICT DO NOTHING"), "CF0304");
    fixture.refused(&format!("{again} ON CONFLICT DO UPDATE SET body = excluded.body"), "CF0304");
}

/// No SQL of SQLite computes a digest: what cannot be compared is no repeat, and no other input.
#[test]
fn an_input_whose_event_is_archived_is_refused_with_the_way_out() {
    let fixture = Fixture::with_states();
    let archive = "UPDATE counterfoil_event SET body = '', file = 'f', digest = zeroblob(32) \
                   WHERE cause = 'start-1'";
    fixture.own.execute_batch(archive).unwrap();
    for verb in VERBS {
        fixture.refused(&input(verb, "'s', 'start-1', 'start', 'trip', 'b'"), "CF0308");
        fixture.refused(&input(verb, "'s', 'start-1', 'start', 'trip', NULL"), "CF0308");
        fixture.refused(&input(verb, "'s', 'start-1', 'start', 'trap', 'b'"), "CF0304");
    }
    // Where a body lies is nobody's to say.
    for set in ["body = 'b', file = NULL, digest = NULL", "file = 'g'", "digest = NULL"] {
        fixture.refused(&format!("UPDATE counterfoil_event SET {set}"), "CF0111");
    }
}

#[test]
fn what_is_our_own_or_out_of_bounds_is_refused_by_every_verb() {
    let fixture = Fixture::with_states();
    let long = format!("'{}'", "x".repeat(201));
    let name = format!("'{}'", "x".repeat(241));
    for verb in VERBS {
        for kind in ["'receipt'", "'timer'", "NULL", "''", "'Start'"] {
            fixture.refused(&input(verb, &format!("'t', 'i', {kind}, 'n', 'b'")), "CF0301");
        }
        for (column, value) in [
            ("rowid", "1"),
            ("rowid", "-1"),
            ("rowid", "0"),
            ("due_at", "1"),
            ("workflow", "'n'"),
            ("recorded_at", "1764421200000000"),
            ("recorded_at", "NULL"),
        ] {
            let sql = format!(
                "{verb} counterfoil_input(stream, id, kind, name, {column}) \
                 VALUES ('t', 'i', 'start', 'n', {value})"
            );
            fixture.refused(&sql, "CF0301");
        }
        for bad in ["NULL", "''", "char(10)", "'a' || char(0)"] {
            fixture.refused(&input(verb, &format!("{bad}, 'i', 'start', 'n', 'b'")), "CF0302");
            fixture.refused(&input(verb, &format!("'t', {bad}, 'start', 'n', 'b'")), "CF0302");
            fixture.refused(&input(verb, &format!("'t', 'i', 'start', {bad}, 'b'")), "CF0302");
        }
        fixture.refused(&input(verb, &format!("{long}, 'i', 'start', 'n', 'b'")), "CF0302");
        fixture.refused(&input(verb, &format!("'t', 'i', 'signal', {name}, 'b'")), "CF0302");
        fixture.refused(&input(verb, "'t', 'i', 'start', 'trip/1', 'b'"), "CF0307");
        for own in ["receipt:1:0", "receipt:", "timer:1:late"] {
            let values = format!("'t', '{own}', 'signal', 'n', 'b'");
            fixture.refused(&input(verb, &values), "CF0306");
        }
        for body in ["1", "1.5", "zeroblob(16777217)"] {
            fixture.refused(&input(verb, &format!("'t', 'i', 'start', 'n', {body}")), "CF0303");
        }
    }
    for or in ["", "OR IGNORE", "OR REPLACE"] {
        fixture.refused(&format!("UPDATE {or} counterfoil_input SET body = 'z'"), "CF0305");
    }
    fixture.refused("DELETE FROM counterfoil_input", "CF0305");
}

/// What the guard lets its own trigger do, a stranger may repeat, and nothing else.
#[test]
fn nobody_says_for_whom_an_input_waits() {
    let fixture = Fixture::empty();
    let all = "INSERT INTO counterfoil_stream(stream, workflow, version, status, head) VALUES
                 ('run', 'trip', 2, 'running', 1), ('end', 'trip', 3, 'failed', 1),
                 ('aside', 'trip', 1, 'quarantined', 1), ('service', NULL, NULL, NULL, 7)";
    fixture.own.execute(all, []).unwrap();
    for (stream, kind, wanted) in [
        ("run", "signal", "trip/2"),
        ("run", "start", "trip/2"),
        ("end", "cancel", "trip/3"),
        ("aside", "signal", "none"),
        ("aside", "start", "none"),
        ("service", "start", "other"),
        ("service", "signal", "none"),
        ("new", "start", "other"),
        ("new", "signal", "none"),
    ] {
        for verb in VERBS {
            let id = format!("{kind}-{}", verb.len());
            let values = format!("'{stream}', '{id}', '{kind}', 'other', 'a/b'");
            fixture.stranger.execute(&input(verb, &values), []).unwrap();
            let waits = format!(
                "SELECT coalesce(workflow, 'none') FROM counterfoil_input \
                 WHERE stream = '{stream}' AND id = '{id}'"
            );
            assert_eq!(fixture.text(&waits), wanted, "{stream} {kind} {verb}");
        }
        let set = "UPDATE counterfoil_input SET workflow";
        for other in ["'trip/1'", "'x'", "NULL", "'trip/2', name = 'other2'"] {
            let sql = format!("{set} = {other} WHERE stream = '{stream}'");
            if format!("'{wanted}'") != other {
                fixture.refused(&sql, "CF0305");
            }
        }
    }
}
