//! A file of each version before, with commands in every state, becomes one of this version.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::{Span, Terms};
use counterfoil_core::port::Store as _;
use counterfoil_core::port::{Notice, Observer};
use counterfoil_relay::{Relay, Served};
use counterfoil_sqlite::{Options, SCHEMA_VERSION, SqliteStore, migrate};
use counterfoil_testkit::every_state::{
    CompletesAll, EXPIRING, IN_LANES, PLAIN, Standing, destinations, fill, help,
};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tempfile::TempDir;

use crate::guards::{columns, tables};

/// The versions that brought expiries and lanes.
const EXPIRIES: i64 = 6;
const LANES: i64 = 7;

/// What no relay writes: tombstones, a receiver's keys, and what waits for a workflow.
const STRANGE: &str = "
    INSERT INTO counterfoil_archived(command_id, destination, kind, ordering_key, digest, outcome,
      rounds, file) VALUES ('a-1', 'to-archive', 'k', NULL, zeroblob(32), 'completed', 1, 'f');
    INSERT INTO counterfoil_tally VALUES ('to-archive', 'completed', 1);
    INSERT INTO counterfoil_inbox(source, key, digest, outcome, result, received_at, expires_at)
      VALUES ('urn:x', 'k-1', 'digest', 'completed', 'r', 1764421200000000, 9000000000000000),
      ('urn:x', 'k-2', x'00', NULL, NULL, 1764421200000000, NULL);
    INSERT INTO counterfoil_input(stream, id, kind, name, body, recorded_at)
      VALUES ('t', 'a-1', 'signal', 'a', 'b', 1764421200000000);
    INSERT INTO counterfoil_stream(stream, workflow, version, status, head)
      VALUES ('s', 'w', 1, 'running', 2);
    INSERT INTO counterfoil_snapshot VALUES ('s', 'w', 1, 2, '{}', 1764421200000000);
    INSERT INTO counterfoil_lane_freed VALUES ('to-lanes', 'B');";

/// The schema files in order, as they lie there: a new one is tried by itself.
fn files() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql/sqlite/schema");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert_eq!(paths.len(), usize::try_from(SCHEMA_VERSION).unwrap());
    paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// A file that this program has filled.
async fn filled(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("filled.db");
    let store = SqliteStore::init(&path, None).unwrap();
    fill(&store).await;
    drop(store);
    as_own_program(&path).execute_batch(STRANGE).unwrap();
    path
}

/// A connection as the library has it: triggers off.
fn as_own_program(path: &Path) -> Connection {
    let own = Connection::open(path).unwrap();
    own.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    own
}

/// A file as a program of that version would have left it: what came later is not there.
fn of_version(version: i64, files: &[String], folder: &TempDir, filled: &Path) -> PathBuf {
    let path = folder.path().join(format!("{version}.db"));
    let old = as_own_program(&path);
    old.pragma_update(None, "journal_mode", "wal").unwrap();
    for file in &files[..usize::try_from(version).unwrap()] {
        old.execute_batch(file).unwrap();
    }
    old.execute("ATTACH ?1 AS filled", [filled.to_str().unwrap()]).unwrap();
    let later = format!(
        "SELECT n FROM filled.counterfoil_outbox
         WHERE (expires_at IS NOT NULL AND {version} < {EXPIRIES})
           OR (ordering_key IS NOT NULL AND {version} < {LANES})"
    );
    let gone = format!("SELECT destination FROM filled.counterfoil_outbox WHERE n IN ({later})");
    for table in tables(&old).iter().filter(|table| *table != "counterfoil_meta") {
        let columns = columns(&old, table);
        let which = match table.as_str() {
            "counterfoil_lane" if version < LANES => "false".to_owned(),
            "counterfoil_lane" | "counterfoil_lane_freed" => "true".to_owned(),
            "counterfoil_tally" => format!("destination NOT IN ({gone})"),
            _ if columns.iter().any(|column| column == "n") => format!("n NOT IN ({later})"),
            _ => "true".to_owned(),
        };
        // In version 7 whoever had the turn carried a 1.
        let value = |column: &String| match column.as_str() {
            "turn" if version == LANES => "turn IS NOT NULL OR NULL".to_owned(),
            _ => column.clone(),
        };
        let values: Vec<_> = columns.iter().map(value).collect();
        let sql = format!(
            "INSERT INTO main.{table}({}) SELECT {} FROM filled.{table} WHERE {which}",
            columns.join(", "),
            values.join(", ")
        );
        old.execute_batch(&sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
    path
}

/// What strangers write by the means of a version, and where it stands after a relay.
fn written_by_strangers(stranger: &Connection, version: i64) -> Vec<Standing> {
    let mut written = Vec::new();
    let insert = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body";
    if version >= 2 {
        let sql = format!("{insert}) VALUES ('by-hand', 'to-pending', 'k', 'b')");
        stranger.execute_batch(&sql).unwrap();
        written.push(("by-hand", "pending", "completed"));
    }
    if version >= 3 {
        let sql = format!(
            "{insert}) VALUES ('reported', 'to-pending', 'k', 'b');
             INSERT INTO counterfoil_report(command_id, outcome) VALUES ('reported', 'rejected')"
        );
        stranger.execute_batch(&sql).unwrap();
        written.push(("reported", "rejected", "rejected"));
    }
    if version >= LANES {
        let sql = format!("{insert}, ordering_key) VALUES ('lane-6', 'to-lanes', 'k', 'b', 'B')");
        stranger.execute_batch(&sql).unwrap();
        written.push(("lane-6", "pending", "completed"));
    }
    written
}

/// Every row in the columns of a version, but for `turn`, whose meaning has changed.
fn rows(path: &Path, of: &[(String, Vec<String>)]) -> Vec<String> {
    let store = Connection::open(path).unwrap();
    let mut all = Vec::new();
    for (table, columns) in of {
        let columns = columns.iter().filter(|column| *column != "turn");
        let columns: Vec<_> = columns.map(|column| format!("quote({column})")).collect();
        let sql = format!("SELECT '{table} ' || {} FROM {table}", columns.join(" || ', ' || "));
        let mut query = store.prepare(&format!("{sql} ORDER BY 1")).unwrap();
        all.extend(query.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap));
    }
    all
}

struct Deaf;

impl Observer for Deaf {
    fn notice(&self, _notice: &Notice) {}
}

/// A relay that serves them all, until it is idle.
async fn relay(store: &SqliteStore) {
    let served = destinations().into_iter().map(|(destination, contract)| {
        let mut terms = Terms::new(contract);
        terms.pace.initial = Span::from_millis(1);
        Served::new(destination, Arc::new(terms), Arc::new(CompletesAll))
    });
    let options = counterfoil_relay::Options::default().until_idle(true);
    let relay = Relay::new(store.clone(), served.collect(), options, Deaf);
    relay.run(std::future::pending()).await.unwrap();
}

async fn holds(store: &SqliteStore, when: &str) {
    let mut report = audit(store, AuditOptions::default()).await.unwrap();
    // Nothing archives yet: the tombstone is a test's, and its tally has no receipt.
    report.violations.retain(|one| one.ids != ["to-archive"]);
    assert!(report.violations.is_empty(), "{when}: {report:?}");
}

async fn stand(store: &SqliteStore, all: &[Standing], when: &str) {
    for (id, _, state) in all {
        let story = store.show(id).await.unwrap().unwrap_or_else(|| panic!("no story of {id}"));
        assert_eq!(story.listed.state, *state, "{id}, {when}");
    }
}

/// Two at once; what each found.
fn upgrade(path: &Path) -> Vec<i64> {
    let start = Barrier::new(2);
    let mut found: Vec<i64> = std::thread::scope(|scope| {
        let one = || {
            let mut connection = Connection::open(path).unwrap();
            start.wait();
            migrate(&mut connection, None).unwrap().found
        };
        let both = [scope.spawn(one), scope.spawn(one)];
        both.map(|one| one.join().unwrap()).to_vec()
    });
    found.sort_unstable();
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_each_version_goes_on_as_one_of_this_version() {
    let (files, folder) = (files(), tempfile::tempdir().unwrap());
    let source = filled(&folder).await;
    for version in 1..=SCHEMA_VERSION {
        let when = format!("from version {version}");
        let path = of_version(version, &files, &folder, &source);
        let stranger = Connection::open(&path).unwrap();
        let strange = written_by_strangers(&stranger, version);
        let tables: Vec<_> = tables(&stranger)
            .into_iter()
            .filter(|table| table != "counterfoil_meta")
            .map(|table| (table.clone(), columns(&stranger, &table)))
            .collect();
        let before = rows(&path, &tables);
        assert!(before.len() > 60, "{before:#?}");

        assert_eq!(upgrade(&path), [version, SCHEMA_VERSION], "{when}");
        assert_eq!(rows(&path, &tables), before, "{when}");
        let store = SqliteStore::open(&path, Options::default()).unwrap();
        holds(&store, &when).await;
        // Its connection was open all the time, as that of a service is.
        let new = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body)
                   VALUES ('new', 'to-pending', 'k', '{}')";
        assert_eq!(stranger.execute(new, []).unwrap(), 1);

        relay(&store).await;
        let mut all = [&PLAIN[..], &strange].concat();
        if version >= EXPIRIES {
            all.extend(EXPIRING);
        }
        if version >= LANES {
            all.extend(IN_LANES);
        }
        stand(&store, &all, &when).await;
        holds(&store, &when).await;
        help(&store).await;
        relay(&store).await;
        let open = "SELECT count(*) FROM counterfoil_delivery";
        assert_eq!(stranger.query_row(open, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{when}");
        stand(&store, &[("new", "", "completed")], &when).await;
        if version >= LANES {
            stand(&store, &[("lane-2", "", "completed")], &when).await;
        }
        holds(&store, &when).await;
    }
}
