//! A file of the version before, with rows in every state, becomes one of this version.

use std::path::PathBuf;

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::Micros;
use counterfoil_core::port::Store as _;
use counterfoil_core::port::store::Swept;
use counterfoil_sqlite::{
    Options, SCHEMA_VERSION, SqliteStore, init, migrate, open_own, open_reader,
};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tempfile::TempDir;

use crate::guards::{Fixture, STATES};
use crate::store::{claim, completed, declare, settle_all};

/// The schema files of version 5.
const VERSION_5: [&str; 5] = [
    include_str!("../../../../sql/sqlite/schema/0001_tables.sql"),
    include_str!("../../../../sql/sqlite/schema/0002_outbox.sql"),
    include_str!("../../../../sql/sqlite/schema/0003_report.sql"),
    include_str!("../../../../sql/sqlite/schema/0004_receiver.sql"),
    include_str!("../../../../sql/sqlite/schema/0005_own.sql"),
];

/// The file that made version 6 of it.
const VERSION_6: &str = include_str!("../../../../sql/sqlite/schema/0006_expiry.sql");

/// A file of version 5, and what its own program wrote with triggers off.
fn version_5(rows: &str) -> (TempDir, PathBuf) {
    older(&VERSION_5, rows)
}

/// A file of version 6 alike.
fn version_6(rows: &str) -> (TempDir, PathBuf) {
    let files: Vec<_> = VERSION_5.into_iter().chain([VERSION_6]).collect();
    older(&files, rows)
}

/// The file that made version 7 of that.
const VERSION_7: &str = include_str!("../../../../sql/sqlite/schema/0007_lanes.sql");

fn older(files: &[&str], rows: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let old = Connection::open(&path).unwrap();
    old.pragma_update(None, "journal_mode", "wal").unwrap();
    for file in files {
        old.execute_batch(file).unwrap();
    }
    old.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    old.execute_batch(rows).unwrap();
    (folder, path)
}

/// Every row of every table but meta, in the columns of version 5.
fn rows(path: &PathBuf) -> Vec<String> {
    let store = Connection::open(path).unwrap();
    let list = |sql: &str| -> Vec<String> {
        let mut query = store.prepare(sql).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE \
                  'counterfoil_%' AND name <> 'counterfoil_meta' ORDER BY name";
    let mut rows = Vec::new();
    for table in list(tables) {
        let columns = format!(
            "SELECT name FROM pragma_table_info('{table}') \
             WHERE NOT ('{table}' = 'counterfoil_delivery' AND name IN ('expires_at', 'turn')) \
               AND NOT ('{table}' = 'counterfoil_lane' AND name = 'n') \
               AND NOT ('{table}' = 'counterfoil_archived' AND name = 'row_digest') \
               AND NOT ('{table}' = 'counterfoil_event' AND name IN \
                 ('decided', 'file', 'digest')) \
               AND NOT ('{table}' = 'counterfoil_input' AND name IN ('workflow', 'recorded_at')) \
               AND NOT ('{table}' = 'counterfoil_stream' AND name IN \
                 ('lease_owner', 'lease_until', 'reason', 'input', 'changed_at'))"
        );
        let columns = list(&columns).join(") || ', ' || quote(");
        rows.extend(list(&format!("SELECT '{table} ' || quote({columns}) FROM {table}")));
    }
    rows
}

#[test]
fn every_row_of_the_version_before_stays_as_it_was() {
    let (_folder, path) = version_5(STATES);
    let before = rows(&path);
    assert!(before.len() > 30, "{before:#?}");
    let refused = open_own(&path).map(drop).unwrap_err();
    assert_eq!(refused.code(), "CF0509", "{refused}");
    assert_eq!(open_reader(&path).map(drop).unwrap_err().code(), "CF0509");
    let (own, schema) = init(&path, None).unwrap();
    assert_eq!((schema.found, schema.version), (5, SCHEMA_VERSION));
    assert_eq!(rows(&path), before);
    let kept = "SELECT count(*) FROM counterfoil_delivery WHERE expires_at IS NOT NULL";
    assert_eq!(own.query_row(kept, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    let checked: String = own.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(checked, "ok");
    assert_eq!(init(&path, None).unwrap().1.found, SCHEMA_VERSION, "twice changes nothing");
}

#[test]
fn an_upgraded_file_has_the_schema_of_a_new_one() {
    let (_folder, path) = version_5(STATES);
    // A person's own tool, with triggers on.
    migrate(&mut Connection::open(&path).unwrap(), None).unwrap();
    let objects = |connection: &Connection| -> Vec<String> {
        let sql = "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema \
                   ORDER BY type, name";
        let mut query = connection.prepare(sql).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let new = Fixture::empty();
    assert_eq!(objects(&open_own(&path).unwrap().0), objects(&new.own));
}

#[test]
fn the_guards_of_an_upgraded_file_take_an_expiry_and_nothing_else_new() {
    let (_folder, path) = version_5(STATES);
    let stranger = Connection::open(&path).unwrap();
    let insert = |id: &str, column: &str, value: &str| {
        let sql = format!(
            "INSERT INTO counterfoil_outbox(command_id, destination, kind, body, {column}) \
             VALUES ('{id}', 'd', 'k', 'b', {value})"
        );
        stranger.execute(&sql, []).map_err(|error| error.to_string())
    };
    let refused = insert("new", "expires_at", "1764421200000000").unwrap_err();
    assert!(refused.contains("CF0114"), "{refused}");
    // The stranger's connection stays open, as a long-running service's does.
    init(&path, None).unwrap();
    assert_eq!(insert("new", "expires_at", "1764421200000000"), Ok(1));
    assert!(insert("newer", "expires_at", "1764421200").unwrap_err().contains("CF0115"));
    assert!(insert("newer", "ordering_key", "''").unwrap_err().contains("CF0113"));
    assert_eq!(insert("pending-1", "not_before", "1764421200000000"), Ok(0), "it stands");
    let meta = stranger.execute("UPDATE counterfoil_meta SET version = 5", []).unwrap_err();
    assert!(meta.to_string().contains("CF0131"), "{meta}");
    let copied = "SELECT d.expires_at FROM counterfoil_delivery d JOIN counterfoil_outbox o \
                  ON o.n = d.n WHERE o.command_id = 'new'";
    let copied: i64 = stranger.query_row(copied, [], |row| row.get(0)).unwrap();
    assert_eq!(copied, 1_764_421_200_000_000);
}

/// What a relay of the version before had claimed and what waited goes on, and the laws hold.
#[tokio::test]
async fn work_goes_on_in_an_upgraded_file() {
    let minute_ago = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) - 60000000";
    let rows = "INSERT INTO counterfoil_outbox(n, command_id, destination, kind, body) VALUES
           (1, 'waits', 'shipping', 'k', 'b'), (2, 'sent', 'shipping', 'k', 'b'),
           (3, 'done', 'shipping', 'k', 'b');
         INSERT INTO counterfoil_delivery(n, destination, state, round, round_since, attempts,
           token, available_at, lease_until, lease_owner, first_sent_at, last_lease_until) VALUES
           (1, 'shipping', 'pending', 1, NULL, 0, 0, NOW, NULL, NULL, NULL, NULL),
           (2, 'shipping', 'sending', 1, NOW, 1, NOW, NOW + 1, NOW + 1, 'old relay', NOW, NOW + 1);
         INSERT INTO counterfoil_receipt(n, round, outcome, evidence, source, destination,
           attempts, token, recorded_at) VALUES
           (3, 1, 'completed', 'e', 'report', 'shipping', 1, NOW, NOW);
         INSERT INTO counterfoil_tally VALUES ('shipping', 'completed', 1);";
    let (_folder, path) = version_5(&rows.replace("NOW", minute_ago));
    SqliteStore::init(&path, None).unwrap();
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    declare(&store).await;
    assert_eq!(store.sweep(10, None).await.unwrap(), Swept::default());
    let claimed = store.exchange(claim(10)).await.unwrap().claimed;
    let taken: Vec<_> = claimed.iter().map(|claimed| claimed.taken_over).collect();
    assert_eq!(taken, [false, true], "the lease of the old relay ran out");
    let settled = settle_all(&store, &claimed, completed()).await.settled;
    assert_eq!(settled.len(), 2);
    let report = audit(&store, AuditOptions::default()).await.unwrap();
    assert_eq!(report.violations, []);
    assert_eq!(store.restored(Micros::EARLIEST, "ada").await.unwrap(), 0);
}

/// Ordering keys came with version 7; a service that keeps its connection open may use them at
/// once, and what expires goes on to expire.
#[tokio::test]
async fn a_file_of_version_6_takes_ordering_keys() {
    let (_folder, path) = version_6(STATES);
    let stranger = Connection::open(&path).unwrap();
    let insert = |id: &str, column: &str, value: &str| {
        let sql = format!(
            "INSERT INTO counterfoil_outbox(command_id, destination, kind, body, {column}) \
             VALUES ('{id}', 'shipping', 'k', 'b', {value})"
        );
        stranger.execute(&sql, []).map_err(|error| error.to_string())
    };
    assert_eq!(insert("expires", "expires_at", "1764421200000000"), Ok(1));
    assert!(insert("o-1", "ordering_key", "'A'").unwrap_err().contains("CF0113"));
    let before = rows(&path);
    let (_, schema) = init(&path, None).unwrap();
    assert_eq!((schema.found, schema.version), (6, SCHEMA_VERSION));
    assert_eq!(rows(&path), before);
    let new = Fixture::empty();
    let indexes = "SELECT group_concat(sql) FROM (SELECT sql FROM sqlite_schema \
                   WHERE type = 'index' ORDER BY name)";
    let upgraded: String = stranger.query_row(indexes, [], |row| row.get(0)).unwrap();
    assert_eq!(upgraded, new.text(indexes));
    assert_eq!(insert("o-1", "ordering_key", "'A'"), Ok(1));
    assert_eq!(insert("o-2", "ordering_key", "'A'"), Ok(1));
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    declare(&store).await;
    let swept = store.sweep(10, None).await.unwrap();
    assert_eq!(swept.expired, [("expires".to_owned(), "shipping".to_owned())]);
    let claimed = store.exchange(claim(10)).await.unwrap().claimed;
    let ids: Vec<_> = claimed.iter().map(|one| one.command.command_id.as_str()).collect();
    assert_eq!(ids, ["o-1"], "one at a time");
}

/// In version 7 whoever had the turn carried a 1; now it carries the number of its lane.
#[tokio::test]
async fn lanes_of_version_7_go_on_where_they_were() {
    let rows = "INSERT INTO counterfoil_outbox(n, command_id, destination, kind, body,
           ordering_key) VALUES (1, 'a-1', 'shipping', 'k', 'b', 'A'),
           (2, 'b-1', 'shipping', 'k', 'b', 'B'), (3, 'a-2', 'shipping', 'k', 'b', 'A'),
           (4, 'b-2', 'shipping', 'k', 'b', 'B'), (5, 'c-1', 'shipping', 'k', 'b', 'C');
         INSERT INTO counterfoil_lane VALUES ('shipping', 'A', 2), ('shipping', 'B', 2),
           ('shipping', 'C', 1), ('shipping', 'archived', 9);
         INSERT INTO counterfoil_delivery(n, destination, state, available_at, turn, ordering_key,
           key_seq) VALUES (1, 'shipping', 'pending', 1764421200000000, 1, 'A', 1),
           (2, 'shipping', 'pending', 1764421200000000, 1, 'B', 1),
           (3, 'shipping', 'pending', NULL, NULL, 'A', 2),
           (4, 'shipping', 'pending', NULL, NULL, 'B', 2),
           (5, 'shipping', 'pending', 1764421200000000, 1, 'C', 1);";
    let files: Vec<_> = VERSION_5.into_iter().chain([VERSION_6, VERSION_7]).collect();
    let (_folder, path) = older(&files, rows);
    // A person's own tool, with triggers on.
    migrate(&mut Connection::open(&path).unwrap(), None).unwrap();
    let stranger = Connection::open(&path).unwrap();
    for (id, key) in [("a-3", "A"), ("c-2", "C"), ("d-1", "archived"), ("d-2", "archived")] {
        let sql = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body,
             ordering_key) VALUES (?1, 'shipping', 'k', 'b', ?2)";
        assert_eq!(stranger.execute(sql, [id, key]).unwrap(), 1);
    }
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    declare(&store).await;
    for wanted in [&["a-1", "b-1", "c-1", "d-1"][..], &["a-2", "b-2", "c-2", "d-2"], &["a-3"], &[]]
    {
        let claimed = store.exchange(claim(10)).await.unwrap().claimed;
        let mut ids: Vec<_> = claimed.iter().map(|one| one.command.command_id.as_str()).collect();
        ids.sort_unstable();
        assert_eq!(ids, wanted);
        settle_all(&store, &claimed, completed()).await;
    }
}
