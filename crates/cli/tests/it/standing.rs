//! Commands in each state that a verb may meet, and what the design says each verb does there.
//!
//! Guarantees: the destinations are paused, so that every row stands as it was put. Does not: act.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::program::{Desk, configuration};

/// What a row stands as: its name, where to, and its delivery or its receipt.
pub(crate) struct Standing {
    pub(crate) name: &'static str,
    to: &'static str,
    /// State, in doubt, whether it was sent; or outcome.
    stands: Result<(&'static str, bool, bool), &'static str>,
    /// By verb: the state after it, or the code of the refusal.
    pub(crate) then: [&'static str; 8],
}

pub(crate) const VERBS: [&str; 8] =
    ["retry", "retry2", "completed", "rejected", "not_done", "cancel", "redeliver", "redeliver2"];

const fn open(
    name: &'static str,
    to: &'static str,
    stands: (&'static str, bool, bool),
    then: [&'static str; 8],
) -> Standing {
    Standing { name, to, stands: Ok(stands), then }
}

const fn ended(
    name: &'static str,
    to: &'static str,
    outcome: &'static str,
    then: [&'static str; 8],
) -> Standing {
    Standing { name, to, stands: Err(outcome), then }
}

/// The design's section 4, word by word. `keyless` acts at every call, `keyed` folds repeats.
#[rustfmt::skip]
pub(crate) const TABLE: [Standing; 19] = [
    open("pending", "keyless", ("pending", false, false),
        ["CF1030", "CF1030", "completed", "CF1034", "CF1034", "cancelled", "CF1037", "CF1037"]),
    open("pending-in-doubt", "keyed", ("pending", true, true),
        ["CF1030", "CF1030", "completed", "rejected", "pending", "CF1033", "CF1037", "CF1037"]),
    open("sending", "keyed", ("sending", false, true),
        ["CF1030", "CF1030", "completed", "CF1032", "CF1032", "CF1032", "CF1037", "CF1037"]),
    open("sending-in-doubt", "keyed", ("sending", true, true),
        ["CF1030", "CF1030", "completed", "CF1032", "CF1032", "CF1032", "CF1037", "CF1037"]),
    open("asking", "keyless", ("asking", true, true),
        ["CF1030", "CF1030", "completed", "CF1032", "CF1032", "CF1032", "CF1037", "CF1037"]),
    open("published", "keyless", ("published", false, true),
        ["CF1030", "CF1030", "completed", "rejected", "pending", "CF1035", "CF1037", "CF1037"]),
    open("dead", "keyless", ("dead", false, false),
        ["pending", "pending", "completed", "rejected", "pending", "cancelled", "CF1037",
            "CF1037"]),
    open("dead-expired", "keyless", ("dead", false, false),
        ["CF1038", "CF1038", "completed", "rejected", "pending", "cancelled", "CF1037", "CF1037"]),
    open("uncertain", "keyless", ("uncertain", true, true),
        ["CF1031", "pending", "completed", "rejected", "pending", "CF1033", "CF1037", "CF1037"]),
    open("uncertain-keyed", "keyed", ("uncertain", true, true),
        ["pending", "pending", "completed", "rejected", "pending", "CF1033", "CF1037", "CF1037"]),
    open("conflict", "keyless", ("conflict", false, true),
        ["pending", "pending", "completed", "rejected", "pending", "cancelled", "CF1037",
            "CF1037"]),
    open("conflict-in-doubt", "keyless", ("conflict", true, true),
        ["CF1031", "pending", "completed", "rejected", "pending", "CF1033", "CF1037", "CF1037"]),
    ended("completed", "keyless", "completed",
        ["CF1036", "CF1036", "CF1036", "CF1036", "CF1036", "CF1036", "CF1031", "pending"]),
    ended("completed-keyed", "keyed", "completed",
        ["CF1036", "CF1036", "CF1036", "CF1036", "CF1036", "CF1036", "pending", "pending"]),
    ended("rejected", "keyed", "rejected",
        ["CF1036", "CF1036", "CF1036", "CF1036", "CF1036", "CF1036", "pending", "pending"]),
    ended("expired", "keyed", "expired",
        ["CF1036", "CF1036", "CF1036", "CF1036", "CF1036", "CF1036", "CF1038", "CF1038"]),
    ended("erased", "keyed", "completed",
        ["CF1039", "CF1039", "CF1036", "CF1036", "CF1036", "CF1036", "CF1039", "CF1039"]),
    ended("archived", "keyed", "archived", ["CF1041"; 8]),
    ended("never", "keyed", "never", ["CF1012"; 8]),
];

pub(crate) fn id(verb: &str, standing: &Standing) -> String {
    format!("{verb}.{}", standing.name)
}

/// One row of SQL each, as a relay, an archive and a person would have left them.
fn put(desk: &Desk) {
    let own = Connection::open(desk.path("orders.db")).unwrap();
    own.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    let (now, mut n) = (desk.orders("SELECT max(clock) FROM counterfoil_meta"), 0);
    let later = now + 3_600_000_000;
    for verb in VERBS {
        for standing in &TABLE {
            let (id, to) = (id(verb, standing), standing.to);
            if standing.name == "never" {
                continue;
            }
            if standing.name == "archived" {
                let sql = "INSERT INTO counterfoil_archived VALUES
                           (?1, ?2, 'k', NULL, zeroblob(32), 'completed', 1, 'f', NULL)";
                own.execute(sql, [&id, to]).unwrap();
                continue;
            }
            n += 1;
            let expires = (standing.name == "dead-expired").then_some(now - 1);
            let erased = (standing.name == "erased").then_some(now);
            let sql = "INSERT INTO counterfoil_outbox(n, command_id, destination, kind, body,
                         expires_at, erased_at) VALUES (?1, ?2, ?3, 'k', '1', ?4, ?5)";
            own.execute(sql, (n, &id, to, expires, erased)).unwrap();
            match standing.stands {
                Ok((state, in_doubt, sent)) => {
                    let machine = ["pending", "sending", "asking", "published"].contains(&state);
                    let leased = state == "sending";
                    let sql = "INSERT INTO counterfoil_delivery(n, destination, state, attempts,
                                 in_doubt, available_at, token, lease_until, lease_owner,
                                 first_sent_at) VALUES (?1, ?2, ?3, 1, ?4, ?5, 7, ?6, ?7, ?8)";
                    let due = machine.then_some(later);
                    let lease = (leased.then_some(later), leased.then_some("r"));
                    let first = sent.then_some(now);
                    own.execute(sql, (n, to, state, in_doubt, due, lease.0, lease.1, first))
                        .unwrap();
                }
                Err(outcome) => {
                    let sql = "INSERT INTO counterfoil_receipt(n, round, outcome, source,
                                 destination, attempts, token, first_sent_at, recorded_at)
                               VALUES (?1, 1, ?2, 'relay', ?3, 1, 7, ?4, ?4)";
                    own.execute(sql, (n, outcome, to, now)).unwrap();
                }
            }
        }
    }
}

/// A desk whose contracts are stored and whose destinations are paused, with all rows.
pub(crate) fn desk() -> Desk {
    let desk = Desk::new();
    let one = |name: &str, idempotent: &str| {
        let ask = if name == "keyless" { "on_refusal = \"park\"" } else { "" };
        let text = configuration(1, idempotent, ask);
        text.replace("[destination.shipping]", &format!("[destination.{name}]"))
    };
    let (keyless, keyed) = (one("keyless", "false"), one("keyed", "\"forever\""));
    let keyed = keyed.split_once("[destination").unwrap().1;
    let token = "{ name = \"ops\", role = \"operator\", value = { file = \"secret\" } }";
    let api = format!("[api]\nlisten = \"127.0.0.1:0\"\ntokens = [{token}]");
    desk.write("secret", "0123456789abcdef0123456789abcdef\n");
    desk.write("counterfoil.toml", &format!("{keyless}\n[destination{keyed}\n{api}\n"));
    desk.run(&["relay", "--until-idle"]).is_done();
    for to in ["keyless", "keyed"] {
        desk.run(&["pause", to, "--reason", "held still", "--actor", "test"]).is_done();
    }
    put(&desk);
    desk
}

/// What was done, on record by whom; and what was refused, not.
pub(crate) fn check_record(desk: &Desk, actor: &str) {
    let own = Connection::open(desk.path("orders.db")).unwrap();
    let count = |query: &str, values: [&str; 4]| -> i64 {
        own.query_row(query, values, |row| row.get(0)).unwrap()
    };
    let mut done = 0;
    for (at, verb) in VERBS.iter().enumerate() {
        let name = match *verb {
            "completed" | "rejected" | "not_done" => "resolve",
            verb => verb.trim_end_matches('2'),
        };
        for standing in TABLE.iter().filter(|standing| !standing.then[at].starts_with("CF")) {
            done += 1;
            let sql = "SELECT count(*) FROM counterfoil_operator_action WHERE verb = ?1
                       AND about = ?2 AND actor = ?3 AND after = ?4 AND reason = 'why'";
            let found = count(sql, [name, &id(verb, standing), actor, standing.then[at]]);
            assert_eq!(found, 1, "{}", id(verb, standing));
        }
    }
    let all = "SELECT count(*) FROM counterfoil_operator_action WHERE verb <> 'pause'";
    assert_eq!(desk.orders(all), done, "what is refused leaves no record");
}
