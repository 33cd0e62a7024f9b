//! The suite that every store must pass, on a PostgreSQL server.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use counterfoil_core::domain::Span;
use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::port::{BoxFuture, Clock as _};
use counterfoil_postgres::PostgresStore;
use counterfoil_testkit::ManualClock;
use counterfoil_testkit::exercise_store::{Hands, Spoil, WorkflowHands};

use crate::server::{TestSchema, connect_to};

/// Moves the server's time of one schema; told by code that cannot wait for a server.
struct ServerClock {
    moves: Option<Sender<(i64, Sender<()>)>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerClock {
    /// A clock that stands where the schema's time was set.
    fn of(schema: &TestSchema) -> Self {
        let (moves, told) = channel::<(i64, Sender<()>)>();
        let sql = format!("UPDATE {}.manual_clock SET now = now + $1", schema.name());
        let url = schema.url().to_owned();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let client = connect_to(&url).await;
                // Blocking, though the connection's task waits meanwhile: it has nothing to do.
                while let Ok((micros, done)) = told.recv() {
                    client.execute(&sql, &[&micros]).await.unwrap();
                    done.send(()).unwrap();
                }
            });
        });
        Self { moves: Some(moves), thread: Some(thread) }
    }

    fn advance(&self, micros: i64) {
        let (done, moved) = channel();
        self.moves.as_ref().unwrap().send((micros, done)).unwrap();
        moved.recv().unwrap();
    }
}

impl Drop for ServerClock {
    fn drop(&mut self) {
        drop(self.moves.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

pub(crate) struct PostgresHands {
    /// Before the schema, which cannot be dropped while its clock is moved.
    server_clock: ServerClock,
    clock: ManualClock,
    store: PostgresStore,
    pub(crate) schema: TestSchema,
}

pub(crate) async fn make() -> PostgresHands {
    let schema = TestSchema::unmade();
    schema.migrate(Some("urn:test")).await;
    let clock = ManualClock::default();
    schema.set_time(clock.machine().get()).await;
    let store = open(&schema, &clock).await;
    let server_clock = ServerClock::of(&schema);
    PostgresHands { server_clock, clock, store, schema }
}

async fn open(schema: &TestSchema, clock: &ManualClock) -> PostgresStore {
    let clock = Arc::new(clock.clone());
    PostgresStore::open_with_clock(schema.url(), schema.options(), clock).await.unwrap()
}

/// A number that is another one after each change of any row.
const FINGERPRINT: &str =
    "SELECT coalesce(sum(hashtextextended(x, 0) % 1000000007), 0)::bigint FROM (";

impl Hands for PostgresHands {
    type Store = PostgresStore;

    fn store(&self) -> PostgresStore {
        self.store.clone()
    }

    fn reopen(&self) -> BoxFuture<'_, PostgresStore> {
        Box::pin(open(&self.schema, &self.clock))
    }

    fn advance(&self, span: Span) {
        self.server_clock.advance(span.as_micros());
        self.clock.advance(span);
    }

    /// The server has the time.
    fn step_machine(&self, micros: i64) -> bool {
        self.clock.step_machine(micros);
        false
    }

    fn acts(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async {
            let acts = "SELECT verb || ' ' || about || ' by ' || actor || ': ' || reason \
                        FROM cf.operator_action ORDER BY id";
            let rows = self.schema.stranger().await.query(acts, &[]).await.unwrap();
            rows.iter().map(|row| row.get(0)).collect()
        })
    }

    /// The server stores no text that is not UTF-8; the guards, no id that cannot be read.
    fn put_unreadable<'a>(&'a self, destination: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            // As if a guard had been dropped, or a dump had come with it.
            let put = "WITH made AS (INSERT INTO cf.outbox(command_id, destination, kind, body) \
                         VALUES (E'bad \\x01 id', $1, 'k', 'b') RETURNING n, recorded_at) \
                       INSERT INTO cf.delivery(n, destination, state, available_at) \
                       SELECT n, $1, 'pending', recorded_at FROM made";
            let forger = self.schema.forger().await;
            assert_eq!(forger.execute(put, &[&destination]).await.unwrap(), 1);
            Some("bad \u{1} id".to_owned())
        })
    }

    fn lose_outbox_row<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let lose = "DELETE FROM cf.outbox WHERE command_id = $1";
            let forger = self.schema.forger().await;
            assert_eq!(forger.execute(lose, &[&command_id]).await.unwrap(), 1);
        })
    }

    fn hide_outbox_row<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let hide = "UPDATE cf.outbox SET kind = '', body = 'evil' WHERE command_id = $1";
            let forger = self.schema.forger().await;
            assert_eq!(forger.execute(hide, &[&command_id]).await.unwrap(), 1);
        })
    }

    fn lose_receipt<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let lose = "DELETE FROM cf.receipt WHERE n =
                          (SELECT n FROM cf.outbox WHERE command_id = $1)";
            let forger = self.schema.forger().await;
            assert_eq!(forger.execute(lose, &[&command_id]).await.unwrap(), 1);
        })
    }

    fn lose_delivery<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let lose = "DELETE FROM cf.delivery WHERE n =
                          (SELECT n FROM cf.outbox WHERE command_id = $1)";
            let forger = self.schema.forger().await;
            assert_eq!(forger.execute(lose, &[&command_id]).await.unwrap(), 1);
        })
    }

    fn lose_tombstone<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let lose = "DELETE FROM cf.archived WHERE command_id = $1";
            let forger = self.schema.forger().await;
            assert_eq!(forger.execute(lose, &[&command_id]).await.unwrap(), 1);
        })
    }

    fn commits(&self) -> BoxFuture<'_, u64> {
        Box::pin(async {
            let tables = [
                "outbox",
                "delivery",
                "receipt",
                "contradiction",
                "attempt",
                "event",
                "stream",
                "snapshot",
                "input",
                "lane",
                "lane_freed",
                "destination",
                "tally",
                "archived",
                "operator_action",
            ];
            let each =
                tables.map(|table| format!("SELECT t.xmin::text || t::text x FROM cf.{table} t"));
            let sql = format!("{FINGERPRINT}{}) rows", each.join(" UNION ALL "));
            let rows = self.schema.stranger().await.query(&sql, &[]).await.unwrap();
            rows[0].get::<_, i64>(0).cast_unsigned()
        })
    }

    fn query_of<'a>(&'a self, ids: &'a [&'a str]) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let stranger = self.schema.stranger().await;
            let table = "CREATE TABLE cf.mine(at int GENERATED ALWAYS AS IDENTITY, id text)";
            stranger.run(table).await.unwrap();
            for id in ids {
                stranger.execute("INSERT INTO cf.mine(id) VALUES ($1)", &[id]).await.unwrap();
            }
            Some(stranger.sql("SELECT id FROM cf.mine ORDER BY at"))
        })
    }
}

impl WorkflowHands for PostgresHands {
    fn forge_input<'a>(
        &'a self,
        stream: &'a str,
        id: &'a str,
        kind: InputKind,
        name: &'a str,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let forge = "INSERT INTO cf.input(stream, id, kind, name, workflow, recorded_at) \
                         SELECT $1, $2, $3, $4, (SELECT workflow || '/' || version FROM cf.stream \
                           WHERE stream = $1), cf.micros()";
            let forger = self.schema.forger().await;
            forger.execute(forge, &[&stream, &id, &kind.name(), &name]).await.unwrap();
        })
    }

    fn set_aside<'a>(&'a self, stream: &'a str, id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let aside = "UPDATE cf.input SET workflow = NULL WHERE stream = $1 AND id = $2";
            let forger = self.schema.forger().await;
            assert_eq!(forger.execute(aside, &[&stream, &id]).await.unwrap(), 1);
        })
    }

    fn spoil<'a>(&'a self, spoil: &'a Spoil) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let forger = self.schema.forger().await;
            assert_eq!(forger.execute(spoil.sql, &[]).await.unwrap(), 1, "{}", spoil.sql);
        })
    }
}

counterfoil_testkit::store_suite!(make);
counterfoil_testkit::archive_suite!(make);
counterfoil_testkit::audit_suite!(make);
counterfoil_testkit::workflow_suite!(make);
