//! A dump of the data, loaded into a schema that `init` has made, is the same store again.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::server::{TestDatabase, TestSchema, refusal};

/// A program of PostgreSQL: from the path, or from where Debian keeps it.
fn program(name: &str) -> PathBuf {
    let found = Command::new(name).arg("--version").stdout(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return name.into();
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut at: Vec<PathBuf> = versions.map(|dir| dir.path().join("bin").join(name)).collect();
    at.retain(|path| path.exists());
    at.sort();
    at.pop().unwrap_or_else(|| panic!("no {name}: install the client of PostgreSQL"))
}

fn dump(url: &str, args: &[&str]) -> String {
    let done = Command::new(program("pg_dump"))
        .args(["--data-only", "-d", url])
        .args(args)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Loads a script and stops at the first refusal.
fn load(url: &str, script: &str) -> Result<(), String> {
    let mut psql = Command::new(program("psql"))
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = psql.stdin.take().unwrap();
    // It may stop before it has read all.
    drop(stdin.write_all(script.as_bytes()));
    drop(stdin);
    let done = psql.wait_with_output().unwrap();
    if done.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&done.stderr).into_owned())
}

const TABLES: [&str; 18] = [
    "archived",
    "attempt",
    "contradiction",
    "delivery",
    "destination",
    "event",
    "inbox",
    "input",
    "lane",
    "lane_freed",
    "meta",
    "operator_action",
    "outbox",
    "receipt",
    "seal",
    "snapshot",
    "stream",
    "tally",
];

/// A store in which something stands in each table.
async fn filled() -> TestSchema {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    stranger
        .run(
            "INSERT INTO cf.outbox(command_id, destination, kind, body, ordering_key) VALUES
             ('open', 'd', 'k', 'one', NULL), ('ended', 'd', 'k', 'two', NULL),
             ('head', 'd', 'k', '', 'K'), ('next', 'd', 'k', '', 'K'), ('gone', 'd', 'k', '', 'K');
             SELECT cf.complete('ended', 'r'::text), cf.reject('ended'), cf.complete('gone');
             INSERT INTO cf.inbox(source, key, digest) VALUES ('s', 'k', 'd');
             INSERT INTO cf.input(stream, id, kind, name) VALUES ('s', 'i', 'start', 'n')",
        )
        .await
        .unwrap();
    schema
        .forger()
        .await
        .run(
            "UPDATE cf.delivery SET state = 'uncertain', available_at = NULL, attempts = 2,
               in_doubt = 1 WHERE ordering_key IS NULL;
             INSERT INTO cf.outbox(command_id, stream, seq, idx, destination, kind, body)
             VALUES ('e:1:0', 'e', 1, 0, 'd', 'k', '');
             INSERT INTO cf.receipt(n, round, token, recorded_at, attempts, outcome, source,
               destination) SELECT n, 1, 0, 1764421200000000, 0, 'completed', 'x', 'd'
               FROM cf.outbox WHERE command_id = 'e:1:0';
             INSERT INTO cf.event(stream, seq, kind, body, commands, recorded_at)
             VALUES ('e', 1, 'k', '', 1, 1764421200000000);
             INSERT INTO cf.attempt(n, round, token, purpose, outcome, ended_at)
             VALUES (1, 1, 1, 'send', 'unknown', 1764421200000000);
             INSERT INTO cf.archived(command_id, destination, kind, digest, outcome, rounds, file,
               row_digest) VALUES ('old', 'd', 'k', '', 'completed', 1, 'f', sha256('row'));
             INSERT INTO cf.seal(k, version, recorded_at, seal)
             VALUES (1, 7, 1764421200000000, '{}');
             INSERT INTO cf.destination(name) VALUES ('d');
             INSERT INTO cf.operator_action(verb, about, actor, recorded_at)
             VALUES ('retry', 'a', 'me', 1764421200000000);
             INSERT INTO cf.lane_freed(destination, ordering_key) VALUES ('d', 'K');
             INSERT INTO cf.stream(stream, head) VALUES ('e', 1);
             INSERT INTO cf.stream(stream, head, workflow, version, status, lease_owner,
               lease_until, reason, input, changed_at)
             VALUES ('w', 1, 'n', 1, 'quarantined', 'r', 1764421200000000, 'why', 'i', 1);
             INSERT INTO cf.input(stream, id, kind, name, due_at, workflow, recorded_at)
             VALUES ('w', 'timer:1:x', 'timer', 'x', 1764421200000000, 'n/1', 1764421200000000),
               ('w', 'receipt:1:0', 'receipt', 'completed', NULL, NULL, 1764421200000000);
             INSERT INTO cf.event(stream, seq, kind, body, commands, decided, recorded_at)
             VALUES ('w', 1, 'start:n', '', 1, '{\"events\":1}', 1764421200000000);
             INSERT INTO cf.snapshot(stream, name, version, seq, state, recorded_at)
             VALUES ('e', 'n', 1, 1, '', 1764421200000000)",
        )
        .await
        .unwrap();
    schema
}

/// All rows of all tables, in order.
async fn contents(schema: &TestSchema) -> Vec<String> {
    let stranger = schema.stranger().await;
    let mut contents = Vec::new();
    for table in TABLES {
        let sql = format!("SELECT string_agg(t::text, E'\\n' ORDER BY t::text) FROM cf.{table} t");
        let said = stranger.text(&sql).await;
        contents.push(format!("{table}: {}", said.expect(table)));
    }
    contents
}

async fn goes_on(schema: &TestSchema) {
    let stranger = schema.stranger().await;
    stranger.run("SELECT cf.enqueue('fresh', 'd', 'k', '', ordering_key => 'K')").await.unwrap();
    let newest = "SELECT max(n) FROM cf.outbox WHERE command_id <> 'fresh'";
    let fresh = "SELECT n FROM cf.outbox WHERE command_id = 'fresh'";
    assert!(stranger.number(fresh).await > stranger.number(newest).await);
    let place = "SELECT key_seq FROM cf.delivery ORDER BY n DESC LIMIT 1";
    assert_eq!(stranger.number(place).await, 4);
    let other = "SELECT cf.enqueue('open', 'd', 'k', 'other')";
    assert_eq!(refusal(&stranger.run(other).await.unwrap_err()), "CF0104");
}

#[tokio::test]
async fn a_data_only_dump_is_the_same_store_again() {
    let schema = filled().await;
    let wanted = contents(&schema).await;
    for args in [&[][..], &["--inserts"], &["--column-inserts"]] {
        let database = TestDatabase::new("").await;
        let other = TestSchema::named_at(schema.name(), database.url()).await;
        let script = dump(schema.url(), &[&["-n", schema.name()], args].concat());
        assert_eq!(load(other.url(), &script), Ok(()), "{args:?}");
        assert_eq!(contents(&other).await, wanted, "{args:?}");
        goes_on(&other).await;
    }
}

#[tokio::test]
async fn the_order_of_the_tables_does_not_matter() {
    let schema = filled().await;
    let wanted = contents(&schema).await;
    let dumps: Vec<String> = TABLES
        .iter()
        .map(|table| dump(schema.url(), &["-t", &format!("{}.{table}", schema.name())]))
        .collect();
    let backward: Vec<usize> = (0..TABLES.len()).rev().collect();
    // The odd ones first: another order altogether.
    let mixed: Vec<usize> =
        (1..TABLES.len()).step_by(2).chain((0..TABLES.len()).step_by(2)).collect();
    for order in [backward, mixed] {
        let database = TestDatabase::new("").await;
        let other = TestSchema::named_at(schema.name(), database.url()).await;
        for at in &order {
            assert_eq!(load(other.url(), &dumps[*at]), Ok(()), "{} of {order:?}", TABLES[*at]);
        }
        assert_eq!(contents(&other).await, wanted, "{order:?}");
        goes_on(&other).await;
    }
}

/// Deliveries dumped before a command ended, receipts after: it has ended.
#[tokio::test]
async fn a_receipt_ends_a_restored_delivery() {
    let schema = filled().await;
    let of = |table: &str| dump(schema.url(), &["-t", &format!("{}.{table}", schema.name())]);
    let deliveries = of("delivery");
    schema.stranger().await.run("SELECT cf.complete('open')").await.unwrap();
    let (receipts, outbox) = (of("receipt"), of("outbox"));
    for order in [[&deliveries, &receipts, &outbox], [&receipts, &deliveries, &outbox]] {
        let database = TestDatabase::new("").await;
        let other = TestSchema::named_at(schema.name(), database.url()).await;
        for script in order {
            assert_eq!(load(other.url(), script), Ok(()));
        }
        let left = other.stranger().await;
        let both = "SELECT count(*) FROM cf.delivery JOIN cf.receipt USING (n)";
        assert_eq!(left.number(both).await, 0);
        assert_eq!(left.number("SELECT count(*) FROM cf.delivery").await, 2);
        assert_eq!(left.number("SELECT count(*) FROM cf.tally").await, 0);
    }
}

/// The whole dump, into a database where nothing stands: triggers come last and meet no row.
#[tokio::test]
async fn a_full_dump_is_the_same_store_again() {
    let schema = filled().await;
    let wanted = contents(&schema).await;
    let done = Command::new(program("pg_dump"))
        .args(["-n", schema.name(), "-d", schema.url()])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let database = TestDatabase::new("").await;
    let script = String::from_utf8(done.stdout).unwrap();
    assert_eq!(load(&database.url(), &script), Ok(()));
    let other = TestSchema::named_at(schema.name(), database.url()).await;
    assert_eq!(contents(&other).await, wanted);
    goes_on(&other).await;
}

/// A dump of another version is refused at its meta row, before it can mix with what stands.
#[tokio::test]
async fn a_dump_of_another_version_is_refused() {
    let schema = filled().await;
    let script = dump(schema.url(), &["-t", &format!("{}.meta", schema.name())]);
    let database = TestDatabase::new("").await;
    let other = TestSchema::named_at(schema.name(), database.url()).await;
    other.forger().await.run("UPDATE cf.meta SET version = version + 1").await.unwrap();
    let refused = load(other.url(), &script).unwrap_err();
    assert!(refused.contains("CF0131"), "{refused}");
}
