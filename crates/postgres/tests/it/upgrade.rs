//! A store of each version before, with commands in every state, becomes one of this version.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::{Span, Terms};
use counterfoil_core::port::Store as _;
use counterfoil_postgres::{PostgresStore, SCHEMA_VERSION, Schema, SchemaError, migrate};
use counterfoil_relay::{Relay, Served};
use counterfoil_testkit::every_state::{
    CompletesAll, EXPIRING, IN_LANES, PLAIN, Standing, destinations, fill, help,
};

use crate::fault::scene::Heard;
use crate::server::{Stranger, TestSchema, connect};

/// What no relay writes: tombstones, a receiver's keys, and what waits for a workflow.
const STRANGE: &str = "
    INSERT INTO cf.archived(command_id, destination, kind, digest, outcome, rounds, file)
      VALUES ('a-1', 'to-archive', 'k', sha256('b'), 'completed', 1, 'f');
    INSERT INTO cf.tally(destination, outcome, count) VALUES ('to-archive', 'completed', 1);
    INSERT INTO cf.inbox(source, key, digest, outcome, result, received_at, expires_at) VALUES
      ('urn:x', 'k-1', sha256('b'), 'completed', 'r', 1764421200000000, 9000000000000000),
      ('urn:x', 'k-2', sha256('b'), NULL, NULL, 1764421200000000, NULL);
    INSERT INTO cf.input(stream, id, kind, name, body, workflow, recorded_at) VALUES
      ('t', 'a-1', 'signal', 'a', 'b', NULL, 1764421200000000),
      ('u', 'a-2', 'start', 'trip', 'b', 'trip', 1764421200000000),
      ('r', 'a-3', 'signal', 'a', 'b', 'w/3', 1764421200000000);
    INSERT INTO cf.stream(stream, workflow, version, status, head) VALUES
      ('s', 'w', 1, 'open', 2), ('r', 'w', 3, 'running', 2);
    INSERT INTO cf.snapshot(stream, name, version, seq, state, recorded_at)
      VALUES ('s', 'w', 1, 2, '{}', 1764421200000000);
    INSERT INTO cf.lane_freed(destination, ordering_key) VALUES ('to-lanes', 'B');";

/// The schema files in order, as they lie there: a new one is tried by itself.
fn files() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql/postgres/schema");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_numbered = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.as_bytes()[..4].iter().all(u8::is_ascii_digit)
    };
    let mut paths: Vec<_> = paths.filter(is_numbered).collect();
    paths.sort();
    assert_eq!(paths.len(), usize::try_from(SCHEMA_VERSION).unwrap());
    paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// A store that this program has filled.
async fn filled() -> TestSchema {
    let schema = TestSchema::new().await;
    fill(&schema.store().await).await;
    schema.forger().await.run(STRANGE).await.unwrap();
    schema
}

/// A store as a program of that version would have made it, empty.
async fn of_version(version: i32, files: &[String]) -> TestSchema {
    let schema = TestSchema::unmade();
    let forger = schema.forger().await;
    forger.run(&format!("CREATE SCHEMA {}", schema.name())).await.unwrap();
    for file in &files[..usize::try_from(version).unwrap()] {
        // As a migration does, which is one transaction.
        forger
            .run(&format!("BEGIN; SET LOCAL search_path = pg_catalog; {file} COMMIT"))
            .await
            .unwrap();
    }
    schema
}

/// Its tables, but for meta, and their columns.
async fn tables(stranger: &Stranger, schema: &TestSchema) -> Vec<(String, Vec<String>)> {
    let sql = "SELECT relname::text, array_agg(attname::text ORDER BY attnum)
        FROM pg_class c JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
        WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' AND relname <> 'meta'
        GROUP BY relname ORDER BY relname";
    let rows = stranger.client.query(sql, &[&schema.name()]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Copies every row of `from` in the columns that are there, and lets numbers go on behind them.
async fn copy(from: &TestSchema, to: &TestSchema) {
    let forger = to.forger().await;
    for (table, columns) in tables(&forger, to).await {
        let columns = columns.join(", ");
        forger
            .run(&format!(
                "INSERT INTO cf.{table}({columns}) OVERRIDING SYSTEM VALUE
                 SELECT {columns} FROM {}.{table}",
                from.name()
            ))
            .await
            .unwrap();
    }
    let numbered = format!(
        "DO $$ DECLARE t record; BEGIN
           FOR t IN SELECT attrelid::regclass AS name, attname AS number FROM pg_attribute
             JOIN pg_class c ON c.oid = attrelid
             WHERE relnamespace = to_regnamespace('{0}') AND attidentity <> '' LOOP
             EXECUTE format('SELECT setval(pg_get_serial_sequence(%L, %L),
               coalesce((SELECT max(%I) FROM %s), 1))', t.name, t.number, t.number, t.name);
           END LOOP; END $$",
        to.name()
    );
    forger.run(&numbered).await.unwrap();
}

/// What strangers write by the means of a version, and where it stands after a relay.
async fn written_by_strangers(stranger: &Stranger, version: i32) -> Vec<Standing> {
    let mut written = Vec::new();
    let insert = "INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES";
    if version >= 2 {
        stranger.run(&format!("{insert} ('by-hand', 'to-pending', 'k', 'b')")).await.unwrap();
        written.push(("by-hand", "pending", "completed"));
    }
    if version >= 5 {
        let report = "INSERT INTO cf.report(command_id, outcome) VALUES ('reported', 'rejected')";
        let both = format!("{insert} ('reported', 'to-pending', 'k', 'b'); {report}");
        stranger.run(&both).await.unwrap();
        written.push(("reported", "rejected", "rejected"));
    }
    if version >= 6 {
        let enqueue = "SELECT cf.enqueue('lane-6', 'to-lanes', 'k', 'b', ordering_key => 'B')";
        stranger.run(enqueue).await.unwrap();
        written.push(("lane-6", "pending", "completed"));
    }
    written
}

/// Every row in the columns that a version has.
async fn rows(stranger: &Stranger, tables: &[(String, Vec<String>)]) -> Vec<String> {
    let mut all = Vec::new();
    for (table, columns) in tables {
        let sql = format!("SELECT '{table} ' || ROW({})::text FROM cf.{table}", columns.join(", "));
        let rows = stranger.query(&format!("{sql} ORDER BY 1"), &[]).await.unwrap();
        all.extend(rows.iter().map(|row| row.get::<_, String>(0)));
    }
    all
}

/// A relay that serves them all, until it is idle.
async fn relay(store: &PostgresStore) {
    let served = destinations().into_iter().map(|(destination, contract)| {
        let mut terms = Terms::new(contract);
        terms.pace.initial = Span::from_millis(1);
        Served::new(destination, Arc::new(terms), Arc::new(CompletesAll))
    });
    let options = counterfoil_relay::Options::default().until_idle(true);
    let relay = Relay::new(store.clone(), served.collect(), options, Heard::default());
    relay.run(std::future::pending()).await.unwrap();
}

async fn holds(store: &PostgresStore, when: &str) {
    let mut report = audit(store, AuditOptions::default()).await.unwrap();
    // Nothing archives yet: the tombstone is a test's, and its tally has no receipt.
    report.violations.retain(|one| one.ids != ["to-archive"]);
    assert!(report.violations.is_empty(), "{when}: {report:?}");
}

async fn stand(store: &PostgresStore, all: &[Standing], when: &str) {
    for (id, _, state) in all {
        let story = store.show(id).await.unwrap().unwrap_or_else(|| panic!("no story of {id}"));
        assert_eq!(story.listed.state, *state, "{id}, {when}");
    }
}

/// Two processes at once, as two services that are deployed together.
async fn upgrade(name: &str) -> [Schema; 2] {
    let (mut one, mut other) = (connect().await, connect().await);
    let both = tokio::join!(migrate(&mut one, name, None), migrate(&mut other, name, None));
    [both.0.unwrap(), both.1.unwrap()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_of_each_version_goes_on_as_one_of_this_version() {
    let (files, source) = (files(), filled().await);
    for version in 1..=SCHEMA_VERSION {
        let when = format!("from version {version}");
        let schema = of_version(version, &files).await;
        copy(&source, &schema).await;
        let stranger = schema.stranger().await;
        let strange = written_by_strangers(&stranger, version).await;
        let tables = tables(&stranger, &schema).await;
        let before = rows(&stranger, &tables).await;
        assert!(before.len() > 100, "{before:#?}");

        let mut found = upgrade(schema.name()).await.map(|made| made.found);
        found.sort_unstable();
        assert_eq!(found, [version, SCHEMA_VERSION], "{when}");
        assert_eq!(rows(&stranger, &tables).await, before, "{when}");
        let waits = "SELECT string_agg(stream || ' ' || coalesce(workflow, '-'), ', ' ORDER BY id)
            FROM cf.input WHERE recorded_at BETWEEN 1764421200000000 AND cf.micros()";
        let waits = stranger.text(waits).await;
        assert_eq!(waits.as_deref(), Some("t -, u trip, r w/3"), "{when}");
        let store = schema.store().await;
        holds(&store, &when).await;
        // Its connection was open all the time, as that of a service is.
        stranger.run("SELECT cf.enqueue('new', 'to-pending', 'k', '{}'::json)").await.unwrap();

        relay(&store).await;
        let all = [&PLAIN[..], &IN_LANES, &EXPIRING, &strange].concat();
        stand(&store, &all, &when).await;
        holds(&store, &when).await;
        help(&store).await;
        relay(&store).await;
        let open = stranger.number("SELECT count(*) FROM cf.delivery").await;
        assert_eq!(open, 0, "{when}");
        stand(&store, &[("lane-2", "", "completed"), ("new", "", "completed")], &when).await;
        holds(&store, &when).await;
    }
}

/// Whatever it holds, it is left as it is, and told by both numbers.
#[tokio::test]
async fn a_newer_store_with_rows_is_left_alone() {
    let schema = filled().await;
    let forger = schema.forger().await;
    forger.run("UPDATE cf.meta SET version = version + 1").await.unwrap();
    let tables = tables(&forger, &schema).await;
    let before = rows(&forger, &tables).await;
    let refused = migrate(&mut connect().await, schema.name(), None).await.unwrap_err();
    let newer = SCHEMA_VERSION + 1;
    assert!(matches!(refused, SchemaError::Newer { found } if found == newer), "{refused:?}");
    let said = refused.to_string();
    let numbers = [newer.to_string(), SCHEMA_VERSION.to_string()];
    assert!(numbers.iter().all(|number| said.contains(number)), "{said}");
    assert_eq!(rows(&forger, &tables).await, before);
}
