//! The pass of a decision inside the user's own transaction: what it opens, and what it does not.

use crate::guards::{Fixture, PASS, VERBS};
use crate::guards_values::with;

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
            "{verb} counterfoil_event(stream, seq, kind, body, cause, commands, recorded_at) \
             VALUES ('s', {seq}, 'k', 'b', {cause}, {commands}, 1764421200000000)"
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
        for (column, value) in [("file", "'f'"), ("digest", "zeroblob(32)"), ("decided", "'{}'")] {
            let sql = format!(
                "{verb} counterfoil_event(stream, seq, kind, body, commands, recorded_at, \
                 {column}) VALUES ('s', 2, 'k', '', 0, 1764421200000000, {value})"
            );
            fixture.refused(&sql, "CF0111");
        }
        fixture.refused(&with(verb, "n", "1"), "CF0101");
        let three = [
            ("'s'", "1", "NULL"),
            ("'s'", "NULL", "0"),
            ("NULL", "1", "0"),
            ("NULL", "NULL", "0"),
            ("NULL", "1", "NULL"),
            ("'s'", "NULL", "NULL"),
        ];
        for (stream, seq, idx) in three {
            let sql = with(verb, "stream, seq, idx", &format!("{stream}, {seq}, {idx}"));
            fixture.refused(&sql, "CF0118");
        }
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
