//! A store of each kind, with its time in the test's hand.
//!
//! Guarantees: a case that is listed runs on all three. Does not: let time pass by itself.

use std::sync::Arc;

use counterfoil_core::domain::Span;
use counterfoil_core::port::Clock as _;
use counterfoil_postgres::PostgresStore;
use counterfoil_sqlite::{Options, SqliteStore, init};
use counterfoil_testkit::{ManualClock, MemoryStore};
use tempfile::TempDir;

use super::scene::Scene;
use super::server::Schema;

/// A store, and its time.
pub(crate) struct Site<S> {
    pub(crate) scene: Scene<S>,
    clock: ManualClock,
    /// Where the time is a server's.
    pub(crate) schema: Option<Schema>,
    _folder: Option<TempDir>,
}

impl<S> Site<S> {
    /// Lets time pass.
    pub(crate) async fn advance(&self, span: Span) {
        self.clock.advance(span);
        if let Some(schema) = &self.schema {
            schema.move_time(span.as_micros()).await;
        }
    }

    /// Steps the clock of the runner's machine.
    pub(crate) fn step_machine(&self, micros: i64) {
        self.clock.step_machine(micros);
    }
}

pub(crate) fn in_memory() -> Site<MemoryStore> {
    let clock = ManualClock::default();
    let scene = Scene::new(MemoryStore::new(clock.clone()));
    Site { scene, clock, schema: None, _folder: None }
}

pub(crate) fn on_sqlite() -> Site<SqliteStore> {
    let (clock, folder) = (ManualClock::default(), tempfile::tempdir().unwrap());
    let file = folder.path().join("w.db");
    init(&file, None).unwrap();
    let own = Arc::new(clock.clone());
    let store = SqliteStore::open_with_clock(&file, Options::default(), own).unwrap();
    Site { scene: Scene::new(store), clock, schema: None, _folder: Some(folder) }
}

pub(crate) async fn on_postgres() -> Site<PostgresStore> {
    let (clock, schema) = (ManualClock::default(), Schema::new().await);
    schema.stop_time(clock.machine().get()).await;
    let own = Arc::new(clock.clone());
    let url = super::server::url();
    let store = PostgresStore::open_with_clock(&url, schema.options(), own).await.unwrap();
    Site { scene: Scene::new(store), clock, schema: Some(schema), _folder: None }
}

/// Makes three tests of each case: in memory, on SQLite, on PostgreSQL.
macro_rules! on_every_store {
    ($($case:ident)*) => {
        mod in_memory {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::$case(crate::sites::in_memory()).await;
                }
            )*
        }
        mod on_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::$case(crate::sites::on_sqlite()).await;
                }
            )*
        }
        mod on_postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::$case(crate::sites::on_postgres().await).await;
                }
            )*
        }
    };
}
pub(crate) use on_every_store;
