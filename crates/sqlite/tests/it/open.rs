//! Opening and migrating a file: what is refused, and that what is opened is durable.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use counterfoil_sqlite::{
    OpenError, SCHEMA_VERSION, check_library, init, migrate, open_own, open_reader, read_schema,
    schema_sql,
};
use rusqlite::Connection;

use crate::guards::Fixture;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    (dir, path)
}

/// The code of the refusal, which names the file and a way out.
#[track_caller]
fn code(opened: Result<(Connection, counterfoil_sqlite::Schema), OpenError>) -> &'static str {
    let error = opened.map(|_| ()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains(": ") && !said.contains('\n'), "{said}");
    error.code()
}

#[track_caller]
fn refused(path: &Path, expected: [&str; 3]) {
    let before = std::fs::read(path).ok();
    assert_eq!(
        [code(open_own(path)), code(open_reader(path)), code_or_ok(init(path, None))],
        expected
    );
    if expected[2] != "ok" {
        assert_eq!(std::fs::read(path).ok(), before, "the file was changed");
    }
}

fn code_or_ok(opened: Result<(Connection, counterfoil_sqlite::Schema), OpenError>) -> &'static str {
    opened.map_or_else(|error| error.code(), |_| "ok")
}

#[test]
fn a_file_that_is_missing_empty_or_foreign_is_named() {
    let (dir, path) = folder();
    assert_eq!(code(open_own(&path)), "CF0501");
    assert!(!path.exists(), "opening made a file");
    refused(&path, ["CF0501", "CF0501", "ok"]);
    refused(dir.path(), ["CF0502"; 3]);
    refused(&dir.path().join("no/such/folder.db"), ["CF0501", "CF0501", "CF0516"]);

    assert_eq!(code(init(Path::new(":memory:"), None)), "CF0510");

    let empty = dir.path().join("empty.db");
    std::fs::write(&empty, "").unwrap();
    refused(&empty, ["CF0507", "CF0507", "ok"]);

    let notes = dir.path().join("notes.txt");
    std::fs::write(&notes, "not a database, but long enough to be one. ".repeat(99)).unwrap();
    refused(&notes, ["CF0503"; 3]);

    let business = dir.path().join("orders.db");
    Connection::open(&business).unwrap().execute_batch("CREATE TABLE orders(id)").unwrap();
    refused(&business, ["CF0507", "CF0507", "ok"]);
}

#[test]
fn a_utf_16_database_is_refused_and_not_touched() {
    let (_dir, path) = folder();
    let orders = Connection::open(&path).unwrap();
    orders.execute_batch("PRAGMA encoding = 'UTF-16le'; CREATE TABLE orders(id)").unwrap();
    drop(orders);
    refused(&path, ["CF0505"; 3]);
}

#[test]
fn another_version_of_the_schema_is_refused() {
    let (_dir, path) = folder();
    let (own, schema) = init(&path, None).unwrap();
    assert_eq!((schema.version, schema.found), (SCHEMA_VERSION, 0));
    own.execute_batch("UPDATE counterfoil_meta SET version = 99").unwrap();
    drop(own);
    refused(&path, ["CF0508"; 3]);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 0).unwrap();
    let (_dir, old) = folder();
    let own = Connection::open(&old).unwrap();
    own.execute_batch(include_str!("../../../../sql/sqlite/schema/0001_tables.sql")).unwrap();
    drop(own);
    refused(&old, ["CF0509", "CF0509", "ok"]);
    assert_eq!(open_own(&old).unwrap().1.version, SCHEMA_VERSION);
}

#[test]
fn an_old_library_is_refused() {
    for (version, name) in [(3_037_000, "3.37.0"), (3_051_002, "3.51.2")] {
        let error = check_library(version).unwrap_err();
        assert_eq!(error.code(), "CF0506");
        assert!(error.to_string().contains(name), "{error}");
    }
    check_library(3_051_003).unwrap();
    check_library(rusqlite::version_number()).unwrap();
}

#[test]
fn our_own_connections_are_durable_and_without_triggers_and_readers_cannot_write() {
    let (_dir, path) = folder();
    drop(init(&path, None).unwrap());
    let (own, _) = open_own(&path).unwrap();
    let number =
        |name: &str| own.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("synchronous"), 2);
    assert_eq!(number("busy_timeout"), 10_000);
    let mode: String = own.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    own.execute_batch(
        "INSERT INTO counterfoil_outbox(command_id, destination, kind, body)
         VALUES ('a', 'd', 'k', 'b')",
    )
    .unwrap();
    let made: i64 =
        own.query_row("SELECT count(*) FROM counterfoil_delivery", [], |row| row.get(0)).unwrap();
    assert_eq!(made, 0, "a trigger fired");
    let (reader, _) = open_reader(&path).unwrap();
    assert!(reader.execute("DELETE FROM counterfoil_outbox", []).is_err());
    assert!(reader.execute("CREATE TABLE t(a)", []).is_err());
}

#[test]
fn a_store_keeps_its_source_and_its_id() {
    let (dir, path) = folder();
    let (_, schema) = init(&path, None).unwrap();
    let id = &schema.store;
    assert_eq!(schema.source, format!("urn:uuid:{id}"));
    let shape: Vec<usize> = id.split('-').map(str::len).collect();
    assert!(shape == [8, 4, 4, 4, 12] && id.as_bytes()[14] == b'4', "{id}");
    assert!(id.bytes().all(|b| b == b'-' || b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
    let again = init(&path, None).unwrap().1;
    assert_eq!((&again.store, &again.source, again.found), (id, &schema.source, SCHEMA_VERSION));
    init(&path, Some(&schema.source)).unwrap();
    assert_eq!(code(init(&path, Some("urn:example:orders"))), "CF0512");

    let named = dir.path().join("named.db");
    assert_eq!(init(&named, Some("urn:example:it's")).unwrap().1.source, "urn:example:it's");
    assert_ne!(&open_own(&named).unwrap().1.store, id);
    for bad in ["", "two words", "urn:订单", "a\nb", &"x".repeat(256), "<x>", "a\"b"] {
        let fresh = dir.path().join("fresh.db");
        assert_eq!(code(init(&fresh, Some(bad))), "CF0513", "{bad}");
        assert!(!fresh.exists());
    }
}

#[test]
fn a_connection_with_triggers_can_migrate_too() {
    let (_dir, path) = folder();
    let mut plain = Connection::open(&path).unwrap();
    assert_eq!(migrate(&mut plain, Some("urn:example:x")).unwrap().source, "urn:example:x");
    assert_eq!(migrate(&mut plain, None).unwrap().found, SCHEMA_VERSION);
}

#[test]
fn a_writer_that_holds_the_file_is_busy_and_nothing_else() {
    let (_dir, path) = folder();
    drop(init(&path, None).unwrap());
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Opening waits for nobody's write.
    let (own, _) = open_own(&path).unwrap();
    own.busy_timeout(std::time::Duration::ZERO).unwrap();
    let busy = own.execute_batch("BEGIN IMMEDIATE").unwrap_err();
    assert_eq!(busy.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy));
}

/// Runs one test of this binary in another process, with these variables.
fn child(test: &str, variables: &[(&str, &Path)]) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("open::{test}"), "--nocapture", "--test-threads=1"]);
    child.envs(variables.iter().map(|(name, value)| (name, value.as_os_str())));
    child
}

#[test]
fn eight_processes_migrate_one_file_at_once_and_all_succeed() {
    const NAME: &str = "COUNTERFOIL_TEST_MIGRATE";
    if let Some(path) = std::env::var_os(NAME) {
        init(Path::new(&path), Some("urn:example:orders")).unwrap();
        return;
    }
    let (_dir, path) = folder();
    let name = "eight_processes_migrate_one_file_at_once_and_all_succeed";
    let quiet = |mut child: Command| child.stdout(Stdio::null()).spawn().unwrap();
    let children: Vec<_> = (0..8).map(|_| quiet(child(name, &[(NAME, &path)]))).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let (own, schema) = open_own(&path).unwrap();
    assert_eq!(schema.source, "urn:example:orders");
    let sound: String = own.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[cfg(unix)]
#[test]
fn a_file_or_folder_without_write_rights_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    const NAME: &str = "COUNTERFOIL_TEST_READ_ONLY";
    if let Some(dir) = std::env::var_os(NAME) {
        let dir = Path::new(&dir);
        for folder in ["file", "folder"] {
            let path = dir.join(folder).join("store.db");
            assert_eq!(code(open_own(&path)), "CF0504", "{folder}");
            assert_eq!(code(init(&path, None)), "CF0504", "{folder}");
        }
        assert_eq!(code(init(&dir.join("folder/new.db"), None)), "CF0516");
        assert_eq!(code(open_own(&dir.join("hidden/store.db"))), "CF0516");
        return;
    }
    let (dir, _) = folder();
    let rights = |path: &str, mode| {
        let rights = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(dir.path().join(path), rights).unwrap();
    };
    for folder in ["file", "folder", "hidden"] {
        std::fs::create_dir(dir.path().join(folder)).unwrap();
        drop(init(&dir.path().join(folder).join("store.db"), None).unwrap());
    }
    rights("file/store.db", 0o444);
    rights("file", 0o777);
    rights("folder/store.db", 0o666);
    rights("folder", 0o555);
    rights("hidden", 0o000);
    rights("", 0o755);
    let mut nobody =
        child("a_file_or_folder_without_write_rights_is_refused", &[(NAME, dir.path())]);
    // Rights do not bind root, who runs tests in containers: then the child is nobody.
    if std::fs::File::open(dir.path().join("hidden/store.db")).is_ok() {
        nobody.uid(65534).gid(65534);
    }
    let ended = nobody.output().unwrap();
    rights("hidden", 0o755);
    rights("folder", 0o755);
    let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn the_printed_schema_is_the_schema_of_init() {
    let fixture = Fixture::empty();
    let printed = Connection::open_in_memory().unwrap();
    printed.execute_batch(&schema_sql(Some("urn:example:it's")).unwrap()).unwrap();
    let objects = |connection: &Connection| -> Vec<String> {
        let mut query = connection
            .prepare("SELECT type || ' ' || name || coalesce(sql, '') FROM sqlite_schema")
            .unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(objects(&printed), objects(&fixture.own));
    let meta = read_schema(&printed).unwrap();
    assert_eq!((meta.source.as_str(), meta.version), ("urn:example:it's", SCHEMA_VERSION));
}
