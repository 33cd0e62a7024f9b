//! Lanes through plain SQL and through the library: the same places, by every verb.

use counterfoil_core::domain::{Command, OrderingKey};
use counterfoil_core::port::Store as _;
use counterfoil_core::port::store::Swept;
use counterfoil_sqlite::{Options, Outbox as _, SqliteStore};
use rusqlite::Connection;

use crate::guards::{Fixture, VERBS};
use crate::store::{claim, completed, declare, settle_all};

const UPSERTS: [&str; 3] = [
    "ON CONFLICT DO NOTHING",
    "ON CONFLICT(command_id) DO NOTHING",
    "ON CONFLICT(command_id) DO UPDATE SET ordering_key = 'other'",
];

fn ordered(verb: &str, id: &str, key: &str) -> String {
    format!(
        "{verb} counterfoil_outbox(command_id, destination, kind, body, ordering_key) \
         VALUES ('{id}', 'shipping', 'k', 'b', '{key}')"
    )
}

fn every_verb(id: &str, key: &str) -> Vec<String> {
    let upserts = UPSERTS.iter().map(|upsert| ordered("INSERT INTO", id, key) + " " + upsert);
    VERBS.iter().map(|verb| ordered(verb, id, key)).chain(upserts).collect()
}

fn list(connection: &Connection, sql: &str) -> Vec<String> {
    let mut query = connection.prepare(sql).unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Each open command with its key, its place, and whether it has the turn.
fn lanes(connection: &Connection) -> Vec<String> {
    list(
        connection,
        "SELECT o.command_id || ' ' || d.ordering_key || ' ' || d.key_seq
           || iif(d.available_at IS NULL, ' waits', ' due')
         FROM counterfoil_delivery d JOIN counterfoil_outbox o USING (n)
         WHERE d.ordering_key IS NOT NULL ORDER BY d.ordering_key, d.key_seq",
    )
}

fn last(connection: &Connection) -> Vec<String> {
    let sql = "SELECT ordering_key || ' ' || last FROM counterfoil_lane ORDER BY ordering_key";
    list(connection, sql)
}

fn command(id: &str, key: &str) -> Command {
    let key = OrderingKey::new(key).unwrap();
    Command::bytes(id, "shipping", "k", "b").unwrap().ordering_key(key)
}

#[test]
fn every_verb_takes_the_next_place_and_a_repeat_takes_none() {
    for recursive in [false, true] {
        let fixture = Fixture::empty();
        fixture.stranger.pragma_update(None, "recursive_triggers", recursive).unwrap();
        let all = every_verb("ID", "A").len();
        for at in 0..all {
            let id = format!("c-{at}");
            fixture.ok(&every_verb(&id, "A")[at]);
            for repeat in every_verb(&id, "A") {
                fixture.ignored(&repeat);
            }
            for moved in every_verb(&id, "B") {
                fixture.refused(&moved, "CF0104");
            }
        }
        let mut wanted: Vec<_> = (0..all).map(|at| format!("c-{at} A {} waits", at + 1)).collect();
        wanted[0] = "c-0 A 1 due".into();
        assert_eq!(lanes(&fixture.own), wanted);
        assert_eq!(last(&fixture.own), [format!("A {all}")]);
    }
}

#[test]
fn the_library_and_plain_sql_share_one_lane() {
    let fixture = Fixture::empty();
    fixture.ok(&ordered("INSERT INTO", "sql-1", "A"));
    fixture.stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
    fixture.stranger.enqueue(&command("rust-1", "A")).unwrap();
    fixture.stranger.enqueue(&command("rust-1", "A")).unwrap();
    fixture.stranger.enqueue(&command("rust-2", "B")).unwrap();
    fixture.stranger.execute_batch("COMMIT").unwrap();
    fixture.ok(&ordered("REPLACE INTO", "sql-2", "A"));
    let wanted = ["sql-1 A 1 due", "rust-1 A 2 waits", "sql-2 A 3 waits", "rust-2 B 1 due"];
    assert_eq!(lanes(&fixture.own), wanted);
    assert_eq!(last(&fixture.own), ["A 3", "B 1"]);
}

#[test]
fn what_is_rolled_back_leaves_no_gap() {
    let fixture = Fixture::empty();
    let user = &fixture.stranger;
    user.execute_batch("BEGIN IMMEDIATE").unwrap();
    fixture.ok(&ordered("INSERT INTO", "gone", "A"));
    user.execute_batch("ROLLBACK; BEGIN IMMEDIATE").unwrap();
    fixture.ok(&ordered("INSERT INTO", "kept", "A"));
    user.execute_batch("SAVEPOINT s").unwrap();
    fixture.ok(&ordered("INSERT INTO", "gone", "A"));
    user.enqueue(&command("gone too", "A")).unwrap();
    user.execute_batch("ROLLBACK TO s").unwrap();
    // A statement that fails half-way takes its places back, whatever the verb.
    for verb in VERBS {
        let two = ordered(verb, "gone", "A") + ", ('bad', 'shipping', 'k', 'b', '')";
        user.execute(&two, []).unwrap_err();
    }
    user.execute_batch("COMMIT").unwrap();
    fixture.ok(&ordered("INSERT INTO", "next", "A"));
    assert_eq!(lanes(&fixture.own), ["kept A 1 due", "next A 2 waits"]);
    assert_eq!(last(&fixture.own), ["A 2"]);
}

#[test]
fn writers_at_once_take_places_in_commit_order() {
    const EACH: usize = 60;
    let fixture = Fixture::empty();
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let path = &fixture.path;
            scope.spawn(move || {
                let own = Connection::open(path).unwrap();
                own.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
                for at in 0..EACH {
                    let id = format!("{writer}-{at}");
                    own.execute_batch("BEGIN IMMEDIATE").unwrap();
                    if writer == 0 {
                        own.enqueue(&command(&id, "A")).unwrap();
                    } else {
                        own.execute(&ordered("INSERT OR IGNORE INTO", &id, "A"), []).unwrap();
                    }
                    own.execute_batch("COMMIT").unwrap();
                }
            });
        }
    });
    let sound = "SELECT CAST(count(*) = 180 AND min(key_seq) = 1 AND max(key_seq) = 180
           AND count(DISTINCT key_seq) = 180 AND sum(available_at IS NOT NULL) = 1
           AND sum(available_at IS NOT NULL AND key_seq = 1) = 1 AS TEXT)
         FROM counterfoil_delivery";
    assert_eq!(fixture.text(sound), "1");
    let by_place = list(&fixture.own, "SELECT n || '' FROM counterfoil_delivery ORDER BY key_seq");
    let by_n = list(&fixture.own, "SELECT n || '' FROM counterfoil_delivery ORDER BY n");
    assert_eq!(by_place, by_n, "n is given in commit order, too");
    assert_eq!(last(&fixture.own), ["A 180"]);
}

#[test]
fn a_stranger_moves_no_lane_not_even_after_an_insert_of_his_own() {
    let fixture = Fixture::empty();
    fixture.ok(&ordered("INSERT INTO", "a-1", "A"));
    fixture.ok("INSERT INTO counterfoil_report(command_id, outcome) VALUES ('a-1', 'completed')");
    fixture.ok(&ordered("INSERT INTO", "a-2", "A"));
    for verb in VERBS {
        for row in ["'shipping', 'A', 0", "'shipping', 'A', 9", "'shipping', 'B', 0"] {
            let insert = format!("{verb} counterfoil_lane VALUES ({row}, last_insert_rowid())");
            fixture.refused(&insert, "CF0126");
            let upsert = format!(
                "INSERT INTO counterfoil_lane VALUES ({row}, last_insert_rowid()) \
                 ON CONFLICT(destination, ordering_key) DO UPDATE SET last = last + 1"
            );
            fixture.refused(&upsert, "CF0126");
        }
    }
    for or in ["", "OR ABORT", "OR FAIL", "OR IGNORE", "OR REPLACE", "OR ROLLBACK"] {
        for set in ["last = last + 1", "last = last", "last = 0", "ordering_key = 'B'"] {
            fixture.refused(&format!("UPDATE {or} counterfoil_lane SET {set}"), "CF0126");
        }
    }
    fixture.refused("DELETE FROM counterfoil_lane", "CF0126");
    for verb in VERBS {
        for key in ["A", "B"] {
            let note = format!("{verb} counterfoil_lane_freed VALUES ('shipping', '{key}')");
            fixture.refused(&note, "CF0126");
        }
    }
}

/// A worker that shares the database ends whatever it likes; the next sweep gives the turn on.
#[tokio::test]
async fn what_a_strangers_report_frees_the_next_sweep_gives_on() {
    let fixture = Fixture::empty();
    let store = SqliteStore::open(&fixture.path, Options::default()).unwrap();
    declare(&store).await;
    for id in ["a-1", "a-2", "a-3", "a-4"] {
        fixture.ok(&ordered("INSERT INTO", id, "A"));
    }
    let report = |id: &str| {
        let columns = "counterfoil_report(command_id, outcome)";
        fixture.ok(&format!("INSERT INTO {columns} VALUES ('{id}', 'completed')"));
    };
    report("a-2");
    assert_eq!(store.sweep(10, None).await.unwrap(), Swept::default(), "a-1 has the turn");
    let first = store.exchange(claim(10)).await.unwrap().claimed;
    assert_eq!(first[0].command.command_id.as_str(), "a-1");
    report("a-1");
    assert_eq!(lanes(&fixture.own), ["a-3 A 3 waits", "a-4 A 4 waits"]);
    // The attempt that was in flight says the same, and gives the turn on; or else a sweep does.
    let swept = store.sweep(10, None).await.unwrap();
    assert_eq!((swept.promoted, lanes(&fixture.own)[0].as_str()), (1, "a-3 A 3 due"));
    assert_eq!(store.sweep(10, None).await.unwrap(), Swept::default());
    settle_all(&store, &first, completed()).await;
    let next = store.exchange(claim(10)).await.unwrap().claimed;
    assert_eq!(next.len(), 1, "one at a time: {next:?}");
    settle_all(&store, &next, completed()).await;
    fixture.ok(&ordered("INSERT INTO", "a-5", "A"));
    let found = store.exchange(claim(10)).await.unwrap().claimed;
    assert_eq!(found[0].command.command_id.as_str(), "a-4");
    assert_eq!(last(&fixture.own), ["A 5"]);
}
