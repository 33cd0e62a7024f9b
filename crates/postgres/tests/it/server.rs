//! The server of the tests, and a schema of its own for each test.
//!
//! `COUNTERFOIL_TEST_POSTGRES` names the server; without it `DEFAULT_URL` is used. A server that
//! is not there fails the test. A schema is dropped at the end, with the roles made for it.

#![allow(dead_code, reason = "each subject takes what it needs")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use counterfoil_postgres::{Options, PostgresStore, migrate};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Error, NoTls, Row};

const DEFAULT_URL: &str = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable";

/// The URL of the server.
pub(crate) fn url() -> String {
    std::env::var("COUNTERFOIL_TEST_POSTGRES").unwrap_or_else(|_| DEFAULT_URL.into())
}

/// A plain connection to `url`, with none of our settings.
pub(crate) async fn connect_to(url: &str) -> Client {
    let connected = tokio_postgres::connect(url, NoTls).await;
    let (client, connection) = connected.unwrap_or_else(|error| {
        panic!(
            "no PostgreSQL at {url}: {error}. Install one (Debian: apt-get install postgresql), \
             start it, and name it by COUNTERFOIL_TEST_POSTGRES"
        )
    });
    tokio::spawn(connection);
    client
}

/// A plain connection to the server of the tests.
pub(crate) async fn connect() -> Client {
    connect_to(&url()).await
}

/// A name that no other test has.
pub(crate) fn random_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("test_cf_{}_{:x}_{next}", std::process::id(), since.as_nanos())
}

/// A schema of one test.
pub(crate) struct TestSchema {
    name: String,
    url: String,
}

impl TestSchema {
    /// A schema with the newest tables, empty.
    pub(crate) async fn new() -> Self {
        Self::new_at(url()).await
    }

    /// The same in the database that `url` names.
    pub(crate) async fn new_at(url: String) -> Self {
        let schema = Self { name: random_name(), url };
        schema.migrate(None).await;
        schema
    }

    /// A name, and nothing made under it.
    pub(crate) fn unmade() -> Self {
        Self { name: random_name(), url: url() }
    }

    /// A schema of a name in another database; it is dropped with that.
    pub(crate) async fn named_at(name: &str, url: String) -> Self {
        let schema = Self { name: name.into(), url };
        schema.migrate(None).await;
        schema
    }

    /// Creates or upgrades it.
    pub(crate) async fn migrate(&self, source: Option<&str>) {
        let mut client = connect_to(&self.url).await;
        migrate(&mut client, &self.name, source).await.unwrap();
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The server's URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The options of a store in this schema.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        options.schema.clone_from(&self.name);
        options
    }

    /// The store in this schema.
    pub(crate) async fn store(&self) -> PostgresStore {
        PostgresStore::open(&self.url, self.options()).await.unwrap()
    }

    /// A stranger's connection: plain, with none of our settings.
    pub(crate) async fn stranger(&self) -> Stranger {
        self.stranger_at(&self.url).await
    }

    /// A stranger's connection by another URL, such as one with another user.
    pub(crate) async fn stranger_at(&self, url: &str) -> Stranger {
        Stranger { client: connect_to(url).await, schema: self.name.clone() }
    }

    /// A connection of another user of the server.
    pub(crate) async fn stranger_as(&self, user: &str, password: &str) -> Stranger {
        let mut config: Config = self.url.parse().unwrap();
        let (client, connection) =
            config.user(user).password(password).connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        Stranger { client, schema: self.name.clone() }
    }

    /// A connection that the guards trust, for tests that forge rows.
    pub(crate) async fn forger(&self) -> Stranger {
        let forger = self.stranger().await;
        forger.run("SET counterfoil.own = 'on'").await.unwrap();
        forger
    }

    /// Stops the server's time at `micros`, for this schema only; again to move it.
    pub(crate) async fn set_time(&self, micros: i64) {
        let forger = self.forger().await;
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS cf.manual_clock(k int PRIMARY KEY, now bigint NOT NULL);
             INSERT INTO cf.manual_clock VALUES (1, {micros})
             ON CONFLICT(k) DO UPDATE SET now = excluded.now;
             GRANT SELECT ON cf.manual_clock TO public;
             CREATE OR REPLACE FUNCTION cf.micros() RETURNS bigint LANGUAGE sql VOLATILE AS
             $$ SELECT now FROM cf.manual_clock $$;"
        );
        forger.run(&sql).await.unwrap();
    }
}

impl Drop for TestSchema {
    fn drop(&mut self) {
        let (name, url) = (self.name.clone(), self.url.clone());
        // The test's own runtime may be at its end.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(drop_schema(&url, &name));
        });
        drop(dropping.join());
    }
}

/// A test that failed in the middle of a transaction holds locks that nobody will let go.
async fn drop_schema(url: &str, name: &str) {
    let Ok((client, connection)) = tokio_postgres::connect(url, NoTls).await else { return };
    tokio::spawn(connection);
    let sql = format!(
        "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
         WHERE c.relnamespace = to_regnamespace('{name}') AND l.pid <> pg_backend_pid();
         SET lock_timeout = '30s'; DROP SCHEMA IF EXISTS {name} CASCADE;
         DO $$ DECLARE r name; BEGIN
           FOR r IN SELECT rolname FROM pg_roles WHERE starts_with(rolname, '{name}_') LOOP
             EXECUTE format('DROP OWNED BY %I; DROP ROLE %I', r, r);
           END LOOP;
         END $$"
    );
    if let Err(error) = client.batch_execute(&sql).await {
        eprintln!("{name} was not dropped: {error}");
    }
}

/// A database of one test, beside the server's own; dropped at the end.
pub(crate) struct TestDatabase(String);

impl TestDatabase {
    /// Creates it from the server's plainest template; `with` says more, such as an encoding.
    pub(crate) async fn new(with: &str) -> Self {
        let name = random_name();
        let sql = format!("CREATE DATABASE {name} TEMPLATE template0 {with}");
        connect().await.batch_execute(&sql).await.unwrap();
        Self(name)
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        let url = url();
        format!("{}/{}", url.rsplit_once('/').unwrap().0, self.0)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.0);
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                if let Err(error) = connect().await.batch_execute(&sql).await {
                    eprintln!("{sql}: {error}");
                }
            });
        });
        drop(dropping.join());
    }
}

/// A stranger's connection; `cf.` in its statements stands for the schema.
pub(crate) struct Stranger {
    pub(crate) client: Client,
    schema: String,
}

impl Stranger {
    /// `sql` with the schema's name for each `cf.` (and `cf_` for its roles).
    pub(crate) fn sql(&self, sql: &str) -> String {
        // Roles first: the name of a schema begins like theirs.
        let roles = sql.replace(" cf_", &format!(" {}_", self.schema));
        roles.replace("cf.", &format!("{}.", self.schema))
    }

    /// Runs statements without parameters.
    pub(crate) async fn run(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(&self.sql(sql)).await
    }

    /// Runs a statement; how many rows it wrote.
    pub(crate) async fn execute(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Error> {
        self.client.execute(&self.sql(sql), params).await
    }

    /// The rows of a statement.
    pub(crate) async fn query(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        self.client.query(&self.sql(sql), params).await
    }

    /// The first number of the first row; 0 where there is none.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let sql = format!("SELECT coalesce(({sql})::bigint, 0)");
        self.client.query_one(&self.sql(&sql), &[]).await.unwrap().get(0)
    }

    /// The first text of the first row.
    pub(crate) async fn text(&self, sql: &str) -> Option<String> {
        let sql = format!("SELECT ({sql})::text");
        self.client.query_one(&self.sql(&sql), &[]).await.unwrap().get(0)
    }
}

/// Waits until some session waits for a lock of this connection's; a minute at most.
pub(crate) async fn wait_for_lock(holder: &Stranger) {
    let sql = "SELECT count(*) FROM pg_stat_activity
        WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))";
    for _ in 0..6_000 {
        if holder.number(sql).await > 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("nobody waits");
}

/// How a statement was refused: `CFnnnn` of ours, or SQLSTATE and the server's words.
pub(crate) fn refusal(error: &Error) -> String {
    let Some(said) = error.as_db_error() else { return error.to_string() };
    match said.message().get(..6) {
        Some(code) if code.starts_with("CF0") => code.to_owned(),
        _ => format!("{} {}", said.code().code(), said.message()),
    }
}
