//! The suite that every store must pass, on a SQLite file.

use std::path::PathBuf;
use std::sync::Arc;

use counterfoil_core::domain::Span;
use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::port::{BoxFuture, Clock as _};
use counterfoil_sqlite::{Options, SqliteStore, init, open_own};
use counterfoil_testkit::ManualClock;
use counterfoil_testkit::exercise_store::{Hands, Spoil, WorkflowHands};
use rusqlite::{Connection, params};
use tempfile::TempDir;

pub(crate) struct SqliteHands {
    folder: TempDir,
    pub(crate) clock: ManualClock,
    store: SqliteStore,
    /// Sees every commit of the others as a change of `data_version`.
    stranger: std::sync::Mutex<Connection>,
}

impl SqliteHands {
    fn path(&self) -> PathBuf {
        self.folder.path().join("s.db")
    }

    pub(crate) fn own(&self) -> Connection {
        open_own(&self.path()).unwrap().0
    }
}

pub(crate) async fn make() -> SqliteHands {
    make_in(tempfile::tempdir().unwrap())
}

pub(crate) fn make_in(folder: TempDir) -> SqliteHands {
    let path = folder.path().join("s.db");
    init(&path, Some("urn:test")).unwrap();
    let clock = ManualClock::default();
    let store = open(&path, &clock);
    let stranger = Connection::open(&path).unwrap().into();
    SqliteHands { folder, clock, store, stranger }
}

fn open(path: &std::path::Path, clock: &ManualClock) -> SqliteStore {
    let clock = Arc::new(clock.clone());
    SqliteStore::open_with_clock(path, Options::default(), clock).unwrap()
}

impl Hands for SqliteHands {
    type Store = SqliteStore;

    fn store(&self) -> SqliteStore {
        self.store.clone()
    }

    fn reopen(&self) -> BoxFuture<'_, SqliteStore> {
        Box::pin(async { open(&self.path(), &self.clock) })
    }

    fn advance(&self, span: Span) {
        self.clock.advance(span);
    }

    fn step_machine(&self, micros: i64) -> bool {
        self.clock.step_machine(micros);
        true
    }

    fn acts(&self) -> BoxFuture<'_, Vec<String>> {
        let acts = "SELECT verb || ' ' || about || ' by ' || actor || ': ' || reason \
                    FROM counterfoil_operator_action ORDER BY id";
        let own = self.own();
        let mut acts = own.prepare(acts).unwrap();
        let acts: Vec<String> =
            acts.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        Box::pin(async { acts })
    }

    fn put_unreadable<'a>(&'a self, destination: &'a str) -> BoxFuture<'a, Option<String>> {
        // Bytes as text: what a C program writes that knows no UTF-8.
        let put = "INSERT INTO counterfoil_outbox(\
                     command_id, destination, kind, body, recorded_at) \
                   VALUES (CAST(x'62616420ff206964' AS TEXT), ?1, 'k', 'b', ?2)";
        let now = self.clock.machine().get();
        self.stranger.lock().unwrap().execute(put, params![destination, now]).unwrap();
        Box::pin(async { Some("bad \u{fffd} id".to_owned()) })
    }

    fn lose_outbox_row<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        let lose = "DELETE FROM counterfoil_outbox WHERE command_id = ?1";
        assert_eq!(self.own().execute(lose, [command_id]).unwrap(), 1);
        Box::pin(async {})
    }

    fn hide_outbox_row<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        let hide = "UPDATE counterfoil_outbox SET kind = '', body = 'evil' WHERE command_id = ?1";
        assert_eq!(self.own().execute(hide, [command_id]).unwrap(), 1);
        Box::pin(async {})
    }

    fn lose_delivery<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        let lose = "DELETE FROM counterfoil_delivery WHERE n =
                      (SELECT n FROM counterfoil_outbox WHERE command_id = ?1)";
        assert_eq!(self.own().execute(lose, [command_id]).unwrap(), 1);
        Box::pin(async {})
    }

    fn lose_receipt<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        let lose = "DELETE FROM counterfoil_receipt WHERE n =
                      (SELECT n FROM counterfoil_outbox WHERE command_id = ?1)";
        assert_eq!(self.own().execute(lose, [command_id]).unwrap(), 1);
        Box::pin(async {})
    }

    fn lose_tombstone<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        let lose = "DELETE FROM counterfoil_archived WHERE command_id = ?1";
        assert_eq!(self.own().execute(lose, [command_id]).unwrap(), 1);
        Box::pin(async {})
    }

    fn commits(&self) -> BoxFuture<'_, u64> {
        let stranger = self.stranger.lock().unwrap();
        let version: i64 = stranger.query_row("PRAGMA data_version", [], |row| row.get(0)).unwrap();
        Box::pin(async move { version.unsigned_abs() })
    }

    fn query_of<'a>(&'a self, ids: &'a [&'a str]) -> BoxFuture<'a, Option<String>> {
        let own = self.own();
        own.execute_batch("CREATE TABLE mine(at INTEGER PRIMARY KEY, id TEXT)").unwrap();
        for id in ids {
            own.execute("INSERT INTO mine(id) VALUES (?1)", [id]).unwrap();
        }
        Box::pin(async { Some("SELECT id FROM mine ORDER BY at".to_owned()) })
    }
}

impl WorkflowHands for SqliteHands {
    fn forge_input<'a>(
        &'a self,
        stream: &'a str,
        id: &'a str,
        kind: InputKind,
        name: &'a str,
    ) -> BoxFuture<'a, ()> {
        let now = self.clock.machine().get();
        let forge = "INSERT INTO counterfoil_input(stream, id, kind, name, workflow, recorded_at) \
                     SELECT ?1, ?2, ?3, ?4, (SELECT workflow || '/' || version \
                       FROM counterfoil_stream WHERE stream = ?1), ?5";
        self.own().execute(forge, params![stream, id, kind.name(), name, now]).unwrap();
        Box::pin(async {})
    }

    fn set_aside<'a>(&'a self, stream: &'a str, id: &'a str) -> BoxFuture<'a, ()> {
        let aside = "UPDATE counterfoil_input SET workflow = NULL WHERE stream = ?1 AND id = ?2";
        assert_eq!(self.own().execute(aside, [stream, id]).unwrap(), 1);
        Box::pin(async {})
    }

    fn spoil<'a>(&'a self, spoil: &'a Spoil) -> BoxFuture<'a, ()> {
        let sql = spoil.sql.replace("cf.", "counterfoil_");
        assert_eq!(self.own().execute(&sql, []).unwrap(), 1, "{sql}");
        Box::pin(async {})
    }
}

counterfoil_testkit::store_suite!(make);
counterfoil_testkit::archive_suite!(make);
counterfoil_testkit::audit_suite!(make);
counterfoil_testkit::workflow_suite!(make);
