//! What the tests of the guards stand on: a store with a command in each state, and a stranger.
//!
//! A stranger is a plain connection with triggers on. The states are made by a connection of our
//! own, as a relay, an archive or a person would leave them.

use counterfoil_sqlite::init;
use rusqlite::Connection;
use tempfile::TempDir;

/// Every way to say INSERT INTO.
pub(crate) const VERBS: [&str; 7] = [
    "INSERT INTO",
    "INSERT OR ABORT INTO",
    "INSERT OR FAIL INTO",
    "INSERT OR IGNORE INTO",
    "INSERT OR REPLACE INTO",
    "INSERT OR ROLLBACK INTO",
    "REPLACE INTO",
];

/// The pass that a decision inside the user's own transaction arms.
pub(crate) const PASS: i64 = -4_850_183_029_413_771_009;

/// One command of each state; `a-` and `e-` ids are archived and erased.
pub(crate) const STATES: &str = "
  INSERT INTO counterfoil_outbox(n, command_id, destination, kind, body) VALUES
    (1, 'pending-1', 'd', 'k', 'b'), (2, 'sending-1', 'd', 'k', 'b'),
    (3, 'published-1', 'd', 'k', 'b'), (4, 'dead-1', 'd', 'k', 'b'),
    (5, 'uncertain-1', 'd', 'k', 'b'), (6, 'conflict-1', 'd', 'k', 'b'),
    (7, 'asking-1', 'd', 'k', 'b'), (8, 'again-1', 'd', 'k', 'b'),
    (9, 'completed-1', 'd', 'k', 'b'), (10, 'rejected-1', 'd', 'k', 'b'),
    (11, 'contradicted-1', 'd', 'k', 'b'), (12, 'e-1', 'd', 'k', 'b');
  UPDATE counterfoil_outbox SET body = x'', erased_at = 1764421200000000 WHERE n = 12;
  INSERT INTO counterfoil_delivery(n, destination, state, round, attempts, in_doubt, token,
      available_at) VALUES
    (1, 'd', 'pending', 1, 0, 0, 0, 1764421200000000),
    (2, 'd', 'sending', 1, 1, 0, 92, 1764421200000000),
    (3, 'd', 'published', 1, 1, 0, 93, 1764421200000000), (4, 'd', 'dead', 1, 9, 0, 94, NULL),
    (5, 'd', 'uncertain', 1, 1, 1, 95, NULL), (6, 'd', 'conflict', 1, 1, 0, 96, NULL),
    (7, 'd', 'asking', 1, 1, 1, 97, 1764421200000000),
    (8, 'd', 'sending', 2, 1, 0, 98, 1764421200000000);
  INSERT INTO counterfoil_receipt(n, round, outcome, result, evidence, source, destination,
      attempts, token, recorded_at) VALUES
    (8, 1, 'completed', 'r', 'e', 'relay', 'd', 1, 88, 1),
    (9, 1, 'completed', 'r', 'e', 'relay', 'd', 1, 89, 1),
    (10, 1, 'rejected', 'r', 'e', 'report', 'd', 1, 90, 1),
    (11, 1, 'completed', 'r', 'e', 'relay', 'd', 1, 91, 1),
    (12, 1, 'completed', NULL, NULL, 'relay', 'd', 1, 92, 1);
  INSERT INTO counterfoil_tally VALUES ('d', 'completed', 4), ('d', 'rejected', 1);
  INSERT INTO counterfoil_contradiction VALUES
    ('contradicted-1', 1, 'rejected', NULL, 'e', 'report', 1);
  INSERT INTO counterfoil_archived(command_id, destination, kind, ordering_key,
      digest, outcome, rounds, file) VALUES
    ('a-1', 'd', 'k', NULL, zeroblob(32), 'completed', 1, 'f');
  INSERT INTO counterfoil_attempt VALUES (5, 1, 95, 'send', 'unknown', 'timeout', 1, 2);
  INSERT INTO counterfoil_event(stream, seq, kind, body, cause, commands, recorded_at)
    VALUES ('s', 1, 'start:trip', 'b', 'start-1', 0, 1764421200000000);
  INSERT INTO counterfoil_stream(stream, head) VALUES ('s', 1);
  INSERT INTO counterfoil_snapshot VALUES ('s', 'trip', 1, 1, '{}', 1764421200000000);
  INSERT INTO counterfoil_lane(destination, ordering_key, last) VALUES ('d', 'key', 1);
  INSERT INTO counterfoil_destination VALUES ('d', '{}', NULL, NULL, NULL);
  INSERT INTO counterfoil_operator_action VALUES (1, 'pause', 'd', 'me', 'why', NULL, NULL, 1);
  INSERT INTO counterfoil_inbox(source, key, digest, outcome, result, received_at, expires_at)
    VALUES ('urn:x', 'k-1', 'digest', 'completed', 'r', 1764421200000000, 9000000000000000);
  INSERT INTO counterfoil_input(stream, id, kind, name, body)
    VALUES ('s', 'approve-1', 'signal', 'approve', 'b');";

/// A store file with a command in each state, or empty.
pub(crate) struct Fixture {
    /// A connection as the library has it: triggers off.
    pub(crate) own: Connection,
    /// A connection as anybody has it: triggers on.
    pub(crate) stranger: Connection,
    /// Where the file is.
    pub(crate) path: std::path::PathBuf,
    _dir: TempDir,
}

impl Fixture {
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        let (own, _) = init(&path, None).unwrap();
        let stranger = Connection::open(&path).unwrap();
        Self { own, stranger, path, _dir: dir }
    }

    pub(crate) fn with_states() -> Self {
        let fixture = Self::empty();
        fixture.own.execute_batch(STATES).unwrap();
        // A note about a lane and a seal, which versions before 8 and 9 had no tables for.
        let later = "INSERT INTO counterfoil_lane_freed VALUES ('d', 'key');
                     INSERT INTO counterfoil_seal VALUES (1, 1, '{}', 1764421200000000);";
        fixture.own.execute_batch(later).unwrap();
        fixture
    }

    /// Every row of every table, so that "nothing changed" means all of it.
    pub(crate) fn rows(&self) -> Vec<String> {
        self.rows_but(&[])
    }

    /// Every row, but for some tables; as the stranger sees them, inside a transaction too.
    pub(crate) fn rows_but(&self, left_out: &[&str]) -> Vec<String> {
        let mut rows = Vec::new();
        for table in tables(&self.stranger).iter().filter(|t| !left_out.contains(&t.as_str())) {
            let columns = columns(&self.stranger, table)
                .iter()
                .map(|column| format!("quote(\"{column}\")"))
                .collect::<Vec<_>>()
                .join(" || ', ' || ");
            let sql = format!("SELECT '{table}: ' || {columns} FROM {table}");
            let mut query = self.stranger.prepare(&sql).unwrap();
            rows.extend(query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap));
        }
        rows
    }

    /// The stranger's statement is refused by this code, and nothing changes.
    #[track_caller]
    pub(crate) fn refused(&self, sql: &str, code: &str) {
        let before = self.rows();
        let answer = self.stranger.execute(sql, []);
        let said = match &answer {
            Ok(changed) => format!("ok, {changed} rows"),
            Err(error) => error.to_string(),
        };
        assert!(answer.is_err() && said.contains(code), "expected {code}, got {said}: {sql}");
        assert_eq!(self.rows(), before, "something was written: {sql}");
    }

    /// The stranger's statement succeeds, says this row count, and changes nothing.
    #[track_caller]
    pub(crate) fn ignored(&self, sql: &str) {
        let before = self.rows();
        match self.stranger.execute(sql, []) {
            Ok(changed) => assert_eq!(changed, 0, "{sql}"),
            Err(error) => panic!("{error}: {sql}"),
        }
        assert_eq!(self.rows(), before, "something was written: {sql}");
    }

    #[track_caller]
    pub(crate) fn ok(&self, sql: &str) -> usize {
        self.stranger.execute(sql, []).unwrap_or_else(|error| panic!("{error}: {sql}"))
    }

    #[track_caller]
    pub(crate) fn text(&self, sql: &str) -> String {
        let one = self.own.query_row(sql, [], |row| row.get::<_, Option<String>>(0));
        one.unwrap_or_else(|error| panic!("{error}: {sql}")).unwrap_or_else(|| "NULL".into())
    }
}

pub(crate) fn tables(connection: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'counterfoil%' \
               AND name <> 'counterfoil_inbox_stood' ORDER BY name";
    let mut query = connection.prepare(sql).unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

pub(crate) fn columns(connection: &Connection, table: &str) -> Vec<String> {
    let mut query = connection.prepare("SELECT name FROM pragma_table_info(?1)").unwrap();
    query.query_map([table], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}
