//! A schema of each test on the machine's PostgreSQL.
//!
//! Guarantees: dropped at the end; its time stands still where a test asks for that.
//! `COUNTERFOIL_TEST_POSTGRES` names the server; one that is not there fails the test.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use counterfoil_postgres::{Options, migrate};
use tokio_postgres::{Client, NoTls};

const USUAL: &str = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable";

pub(crate) fn url() -> String {
    std::env::var("COUNTERFOIL_TEST_POSTGRES").unwrap_or_else(|_| USUAL.into())
}

async fn connect() -> Client {
    let connected = tokio_postgres::connect(&url(), NoTls).await;
    let (client, connection) = connected.unwrap_or_else(|error| {
        panic!("no PostgreSQL at {}: {error}; start one, or name it", url())
    });
    tokio::spawn(connection);
    client
}

/// A schema of one test.
pub(crate) struct Schema(pub(crate) String);

impl Schema {
    pub(crate) async fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_cf_{}_{:x}_{next}", std::process::id(), since.as_nanos());
        migrate(&mut connect().await, &name, None).await.unwrap();
        Self(name)
    }

    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        options.schema.clone_from(&self.0);
        options
    }

    async fn run(&self, sql: &str) {
        connect().await.batch_execute(&sql.replace("cf.", &format!("{}.", self.0))).await.unwrap();
    }

    /// Stops the server's time for this schema.
    pub(crate) async fn stop_time(&self, micros: i64) {
        let sql = format!(
            "CREATE TABLE cf.manual_clock(now bigint NOT NULL);
             INSERT INTO cf.manual_clock VALUES ({micros});
             CREATE OR REPLACE FUNCTION cf.micros() RETURNS bigint LANGUAGE sql VOLATILE AS
             $$ SELECT now FROM cf.manual_clock $$;"
        );
        self.run(&sql).await;
    }

    /// Moves the server's time that stands still.
    pub(crate) async fn move_time(&self, micros: i64) {
        self.run(&format!("UPDATE cf.manual_clock SET now = now + {micros}")).await;
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let name = self.0.clone();
        // The test's own runtime may be at its end.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let Ok((client, connection)) = tokio_postgres::connect(&url(), NoTls).await else {
                    return;
                };
                tokio::spawn(connection);
                let sql = format!(
                    "SELECT pg_terminate_backend(l.pid) FROM pg_locks l
                     JOIN pg_class c ON c.oid = l.relation
                     WHERE c.relnamespace = to_regnamespace('{name}')
                       AND l.pid <> pg_backend_pid();
                     DROP SCHEMA IF EXISTS {name} CASCADE"
                );
                if let Err(error) = client.batch_execute(&sql).await {
                    eprintln!("{name} was not dropped: {error}");
                }
            });
        });
        drop(dropping.join());
    }
}
