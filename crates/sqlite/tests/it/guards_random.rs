//! Random statements of strangers, between random work of relays, never break a law of the store.
//!
//! A failing run prints the shortest list of statements that fails.

use proptest::prelude::*;

use crate::guards::{Fixture, VERBS};

/// Values that are sometimes right: ids of every state, small numbers, times, tokens.
fn value() -> impl Strategy<Value = String> {
    let words = "NULL 0 1 -1 2 8 9 92 98 1764421200000000 'pending-1' 'sending-1' 'again-1' \
                 'completed-1' 'dead-1' 'a-1' 'e-1' 'new-1' 'new-2' 'd' 'k' 'b' 'z' 'pending' \
                 'completed' 'rejected' 'report' 'r' 'e' x'00' x'62' 1.5 's' 'start-1' 'signal'";
    proptest::sample::select(words.split_whitespace().collect::<Vec<_>>()).prop_map(Into::into)
}

const COLUMNS: [(&str, &str); 11] = [
    ("lane", "destination ordering_key last n"),
    ("lane_freed", "destination ordering_key"),
    (
        "outbox",
        "n command_id stream seq idx destination kind body core_digest not_before expires_at \
         ordering_key",
    ),
    ("delivery", "n destination state round attempts token available_at expires_at"),
    ("receipt", "n round outcome result evidence source destination attempts token recorded_at"),
    ("report", "command_id outcome result evidence token"),
    ("reporting", "command_id outcome result evidence token"),
    ("tally", "destination outcome count"),
    ("contradiction", "command_id round outcome result evidence source recorded_at"),
    ("archived", "command_id destination kind digest outcome rounds file"),
    ("event", "stream seq kind body cause commands recorded_at"),
];

/// Mostly what a program would write, so that many succeed.
fn sensible() -> impl Strategy<Value = String> {
    let verb = proptest::sample::select(VERBS.to_vec());
    (verb, value(), value(), value(), proptest::option::of(value()), any::<bool>()).prop_map(
        |(verb, id, text, other, token, command)| {
            if command {
                let key = if other.len() > 3 { "'x'" } else { "NULL" };
                format!(
                    "{verb} counterfoil_outbox(command_id, destination, kind, body, ordering_key) \
                     VALUES ({id}, 'd', 'k', {text}, {key})"
                )
            } else {
                let token = token.unwrap_or_else(|| "NULL".into());
                format!(
                    "{verb} counterfoil_report(command_id, outcome, result, token) \
                     VALUES ({id}, {text}, {other}, {token})"
                )
            }
        },
    )
}

/// Rows of our own, whole and plausible: what a stranger would forge on purpose.
fn forged() -> impl Strategy<Value = String> {
    let verb = proptest::sample::select(VERBS.to_vec());
    (verb, 1..14_i64, 1..4_i64, 0..3_u8).prop_map(|(verb, n, round, what)| match what {
        0 => format!(
            "{verb} counterfoil_receipt(n, round, outcome, evidence, source, destination, \
             attempts, token, recorded_at) \
             VALUES ({n}, {round}, 'completed', 'e', 'report', 'd', 1, 9{n}, 1764421200000000)"
        ),
        1 => format!(
            "{verb} counterfoil_delivery(n, destination, state, round, available_at) \
             VALUES ({n}, 'd', 'pending', {round}, 1764421200000000)"
        ),
        _ => format!("DELETE FROM counterfoil_delivery WHERE n = {n}"),
    })
}

/// Any verb against any table with any values.
fn wild() -> impl Strategy<Value = String> {
    let verb = proptest::sample::select(VERBS.to_vec());
    let values = proptest::collection::vec((value(), any::<bool>()), 12);
    let after = proptest::sample::select(vec!["", "", "", "ON CONFLICT DO NOTHING"]);
    (0..COLUMNS.len(), verb, values, after, 0..4_u8).prop_map(
        |(table, verb, values, after, what)| {
            let (table, columns) = COLUMNS[table];
            let chosen: Vec<(&str, &String)> = columns
                .split_whitespace()
                .zip(&values)
                .filter(|(_, (_, taken))| *taken || what == 0)
                .map(|(column, (value, _))| (column, value))
                .collect();
            let names = chosen.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            let given = chosen.iter().map(|(_, v)| v.as_str()).collect::<Vec<_>>().join(", ");
            let set = chosen.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>();
            match what {
                _ if chosen.is_empty() => format!("DELETE FROM counterfoil_{table}"),
                2 => format!("UPDATE OR REPLACE counterfoil_{table} SET {}", set.join(", ")),
                3 => format!("DELETE FROM counterfoil_{table} WHERE {}", set.join(" OR ")),
                _ => format!("{verb} counterfoil_{table}({names}) VALUES ({given}) {after}"),
            }
        },
    )
}

/// What a relay or a person does meanwhile, with triggers off.
const RELAY: [&str; 3] = [
    "UPDATE counterfoil_delivery SET state = 'sending', token = token + 1, attempts = attempts + 1
       WHERE n = (SELECT n FROM counterfoil_delivery ORDER BY token LIMIT 1)",
    "UPDATE counterfoil_delivery SET state = 'uncertain', in_doubt = 1, available_at = NULL
       WHERE n = (SELECT n FROM counterfoil_delivery WHERE state = 'sending' LIMIT 1)",
    // redeliver the oldest ended command
    "BEGIN IMMEDIATE;
     UPDATE counterfoil_tally SET count = count - 1 WHERE (destination, outcome) =
       (SELECT destination, outcome FROM counterfoil_receipt r WHERE NOT EXISTS
         (SELECT 1 FROM counterfoil_delivery d WHERE d.n = r.n) ORDER BY n, round DESC LIMIT 1);
     INSERT INTO counterfoil_delivery(n, destination, state, round, token, available_at,
         ordering_key, key_seq)
       SELECT n, destination, 'pending', round + 1, token,
         CASE WHEN key_seq IS NULL THEN 1764421200000000 END,
         (SELECT ordering_key FROM counterfoil_outbox o WHERE o.n = r.n), key_seq
       FROM counterfoil_receipt r WHERE NOT EXISTS
         (SELECT 1 FROM counterfoil_delivery d WHERE d.n = r.n) ORDER BY n, round DESC LIMIT 1;
     COMMIT;",
];

/// Each broken law as a row; none in a sound store.
const LAWS: [&str; 8] = [
    "SELECT 'a gap in a lane: ' || l.ordering_key FROM counterfoil_lane l
     WHERE l.ordering_key <> 'key' AND l.last <> (SELECT count(DISTINCT coalesce(
         (SELECT key_seq FROM counterfoil_delivery d WHERE d.n = o.n),
         (SELECT max(key_seq) FROM counterfoil_receipt r WHERE r.n = o.n)))
       FROM counterfoil_outbox o
       WHERE o.destination = l.destination AND o.ordering_key = l.ordering_key)",
    "SELECT 'in none or two: ' || command_id FROM counterfoil_outbox o
     LEFT JOIN counterfoil_delivery d ON d.n = o.n
     WHERE CASE WHEN d.n IS NULL
       THEN NOT EXISTS (SELECT 1 FROM counterfoil_receipt r WHERE r.n = o.n)
       ELSE EXISTS (SELECT 1 FROM counterfoil_receipt r WHERE r.n = o.n AND r.round >= d.round)
     END",
    "SELECT 'orphan ' || n FROM (SELECT n FROM counterfoil_delivery UNION ALL
       SELECT n FROM counterfoil_receipt) WHERE n NOT IN (SELECT n FROM counterfoil_outbox)",
    "SELECT 'another expiry ' || d.n FROM counterfoil_delivery d JOIN counterfoil_outbox o
       ON o.n = d.n WHERE d.expires_at IS NOT o.expires_at",
    "SELECT 'archived and here ' || command_id FROM counterfoil_archived JOIN counterfoil_outbox
       USING (command_id)",
    "SELECT 'open + tally <> outbox + archived' WHERE
       (SELECT count(*) FROM counterfoil_delivery) + (SELECT sum(count) FROM counterfoil_tally)
       <> (SELECT count(*) FROM counterfoil_outbox) + (SELECT count(*) FROM counterfoil_archived)",
    "SELECT 'tally ' || destination || outcome FROM counterfoil_tally t WHERE count <>
       (SELECT count(*) FROM counterfoil_receipt r WHERE r.outcome = t.outcome
         AND r.destination = t.destination AND NOT EXISTS
           (SELECT 1 FROM counterfoil_delivery d WHERE d.n = r.n) AND r.round =
           (SELECT max(round) FROM counterfoil_receipt r2 WHERE r2.n = r.n))
       + (SELECT count(*) FROM counterfoil_archived a WHERE a.outcome = t.outcome)",
    "SELECT 'a report is left' FROM counterfoil_reporting",
];

fn kept(fixture: &Fixture) -> Vec<String> {
    let moving = ["delivery", "tally", "lane", "lane_freed"].map(|t| format!("counterfoil_{t}"));
    let all = fixture.rows_but(&moving.each_ref().map(String::as_str));
    all.into_iter().filter(|row| !row.starts_with("counterfoil_input")).collect()
}

/// The tables that no stranger's statement adds to.
fn own(rows: &[String]) -> Vec<&String> {
    let theirs = ["outbox:", "receipt:", "contradiction:"].map(|t| format!("counterfoil_{t}"));
    rows.iter().filter(|row| !theirs.iter().any(|table| row.starts_with(table))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96, failure_persistence: None, ..ProptestConfig::default()
    })]
    #[test]
    fn no_statement_of_strangers_breaks_a_law(
        statements in proptest::collection::vec(
            prop_oneof![
                3 => sensible(),
                4 => wild(),
                2 => forged(),
                1 => proptest::sample::select(RELAY.to_vec()).prop_map(|sql| format!("own:{sql}")),
            ],
            1..30,
        ),
        recursive in any::<bool>(),
    ) {
        let fixture = Fixture::with_states();
        fixture.stranger.pragma_update(None, "recursive_triggers", recursive).unwrap();
        let mut before = kept(&fixture);
        for statement in &statements {
            match statement.strip_prefix("own:") {
                Some(sql) => fixture.own.execute_batch(sql).unwrap(),
                None => drop(fixture.stranger.execute(statement, [])),
            }
            let after = kept(&fixture);
            for row in &before {
                prop_assert!(after.contains(row), "changed or gone: {row} by {statement}");
            }
            prop_assert_eq!(own(&before), own(&after), "{}", statement);
            before = after;
            for law in LAWS {
                let broken = fixture.own.query_row(law, [], |row| row.get::<_, String>(0));
                prop_assert!(broken.is_err(), "{broken:?} by {statement}");
            }
        }
    }
}
