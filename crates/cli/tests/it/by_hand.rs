//! Rows that a hand wrote past all guards, and a relay that meets them among good ones.
//!
//! Guarantees: the hand is a plain connection with triggers off, the relay the program. Does not:
//! repeat each case of the store's own tests.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::program::Desk;

/// What was written: id, kind, body, content type, headers and where to, as SQL; the delivery's
/// destination and state; and what the reason says.
const RUBBISH: [(&str, &str, &str, &str); 12] = [
    ("CAST(x'ff41' AS TEXT), 'k', 'b', 'a/b', NULL, 'shipping'", "shipping", "pending", "UTF-8"),
    ("'a' || char(10), 'k', 'b', 'a/b', NULL, 'shipping'", "shipping", "pending", "control"),
    ("'', 'k', 'b', 'a/b', NULL, 'shipping'", "shipping", "pending", "empty"),
    ("hex(zeroblob(200)), 'k', 'b', 'a/b', NULL, 'shipping'", "shipping", "pending", "400 bytes"),
    ("'kind', 'k' || char(7), 'b', 'a/b', NULL, 'shipping'", "shipping", "pending", "control"),
    ("'long', 'k', zeroblob(201), 'a/b', NULL, 'shipping'", "shipping", "pending", "201 bytes"),
    ("'type', 'k', 'b', CAST(x'fe' AS TEXT), NULL, 'shipping'", "shipping", "pending", "content"),
    ("'heads', 'k', 'b', 'a/b', CAST(x'fe' AS TEXT), 'shipping'", "shipping", "pending", "headers"),
    ("'number', 'k', 7, 'a/b', NULL, 'shipping'", "shipping", "pending", "body is a number"),
    ("'real', 'k', 7.5, 'a/b', NULL, 'shipping'", "shipping", "pending", "body is a number"),
    ("'astray', 'k', 'b', 'a/b', NULL, 'billing'", "shipping", "pending", "\"billing\""),
    ("'state', 'k', 'b', 'a/b', NULL, 'shipping'", "shipping", "lost", "\"lost\" is none"),
];

/// Good ones around each of them.
const GOOD: usize = RUBBISH.len() + 1;

fn put(desk: &Desk) -> Connection {
    let own = Connection::open(desk.path("orders.db")).unwrap();
    own.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    let due = |n: usize| 1_764_421_200_000_000 + n;
    let insert = |n: usize, row: &str, to: &str, state: &str| {
        own.execute_batch(&format!(
            "INSERT INTO counterfoil_outbox(command_id, kind, body, content_type, headers,
               destination, n) VALUES ({row}, {n});
             INSERT INTO counterfoil_delivery(n, destination, state, available_at)
               VALUES ({n}, '{to}', '{state}', {});",
            due(n)
        ))
        .unwrap();
    };
    for good in 0..GOOD {
        let row = format!("'good-{good}', 'k', 'b', 'text/plain', NULL, 'shipping'");
        insert(2 * good + 1, &row, "shipping", "pending");
    }
    for ((row, to, state, _), n) in RUBBISH.iter().zip(1..) {
        insert(2 * n, row, to, state);
    }
    own
}

#[test]
fn each_parks_alone_for_its_own_reason_and_its_batch_goes_on() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "[announce]\nto = \"ops\"\n");
    let config = std::fs::read_to_string(desk.path("counterfoil.toml")).unwrap();
    // One claim takes them all.
    let config = config.replace("workers = 4", "workers = 64\nbody_bytes_max = \"200B\"");
    desk.write("counterfoil.toml", &config);
    let own = put(&desk);
    let said = desk.run(&["relay", "--until-idle"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let jobs = desk.shipping("SELECT count(*) FROM jobs WHERE key GLOB 'good-*'");
    assert_eq!(jobs, i64::try_from(GOOD).unwrap(), "{said:?}");
    assert_eq!(desk.shipping("SELECT count(*) FROM jobs"), jobs, "no rubbish was sent");
    for ((row, .., words), n) in RUBBISH.iter().zip(1..) {
        let sql = "SELECT state, last_outcome FROM counterfoil_delivery WHERE n = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (state, reason): (String, String) = own.query_row(sql, [2 * n], read).unwrap();
        // A state that is none may have been a send.
        let parked = if row.contains("'state'") { "uncertain" } else { "dead" };
        assert_eq!(state, parked, "{row}: {reason}");
        let is_own = reason.starts_with("unreadable: ") && reason.contains(words);
        assert!(is_own, "{row}: {reason}");
    }
    let alerts = "SELECT count(*) FROM counterfoil_outbox WHERE destination = 'ops'";
    assert_eq!(desk.orders(alerts), i64::try_from(RUBBISH.len()).unwrap());
    assert!(said.err.matches("parked").count() >= RUBBISH.len(), "{said:?}");
}
