//! The guard on PostgreSQL, over both drivers: the same answers as on SQLite.
//!
//! Guarantees: each test has a schema of its own. Needs a server, named by
//! `COUNTERFOIL_TEST_POSTGRES`.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use counterfoil_core::domain::{Digest, Span};
use counterfoil_core::port::AsyncInboxRows;
use counterfoil_inbox::{Begun, InboxError, RETENTION, begin_async};
use counterfoil_postgres::{InboxSql, InboxTxError, migrate};
use sqlx::{Connection as _, Executor as _, PgConnection, Postgres};
use tokio_postgres::{Client, NoTls};

const TWINS: usize = 32;

pub(crate) fn url() -> String {
    let usual = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable";
    std::env::var("COUNTERFOIL_TEST_POSTGRES").unwrap_or_else(|_| usual.into())
}

pub(crate) async fn connect() -> Client {
    let connected = tokio_postgres::connect(&url(), NoTls).await;
    let (client, connection) = connected.unwrap_or_else(|error| {
        panic!("no PostgreSQL at {}: {error}; start one, or name it", url())
    });
    tokio::spawn(connection);
    client
}

/// A schema of one test, with the receiver's own table `shipment`.
pub(crate) struct Schema(pub(crate) String);

impl Schema {
    pub(crate) async fn new() -> Self {
        let schema = Self::unmade();
        let mut client = connect().await;
        migrate(&mut client, &schema.0, None).await.unwrap();
        client.batch_execute(&schema.sql("CREATE TABLE cf.shipment(key text)")).await.unwrap();
        schema
    }

    pub(crate) fn unmade() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
        Self(format!("test_inbox_{}_{since:x}_{next}", std::process::id()))
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        sql.replace("cf.", &format!("{}.", self.0))
    }

    pub(crate) async fn number(&self, sql: &str) -> i64 {
        connect().await.query_one(&self.sql(sql), &[]).await.unwrap().get(0)
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let sql = format!("SET lock_timeout = '30s'; DROP SCHEMA IF EXISTS {} CASCADE", self.0);
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async { connect().await.batch_execute(&sql).await })
        });
        drop(dropping.join());
    }
}

/// A connection of one of the two drivers.
enum Db {
    Tokio(Client),
    Sqlx(PgConnection),
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    Finish,
    Reject,
    /// Committed without an outcome.
    Leave,
    Drop,
}

impl Db {
    async fn tokio() -> Self {
        Self::Tokio(connect().await)
    }

    async fn both() -> [Self; 2] {
        [Self::tokio().await, Self::Sqlx(PgConnection::connect(&url()).await.unwrap())]
    }

    async fn run(&mut self, sql: &str) {
        match self {
            Self::Tokio(client) => client.batch_execute(sql).await.unwrap(),
            Self::Sqlx(connection) => {
                let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned()));
                connection.execute(sql).await.unwrap();
            }
        }
    }

    /// One transaction: takes `key`, writes a shipment, and ends as `then` says; what it was.
    async fn take(&mut self, schema: &Schema, key: &str, body: &[u8], then: Then) -> String {
        self.take_for(schema, key, body, then, RETENTION).await
    }

    async fn take_for(
        &mut self,
        schema: &Schema,
        key: &str,
        body: &[u8],
        then: Then,
        retention: Span,
    ) -> String {
        let (sql, digest) = (InboxSql::of_schema(&schema.0), Digest::of(body));
        let ship = schema.sql("INSERT INTO cf.shipment VALUES ('s')");
        match self {
            Self::Tokio(client) => {
                let tx = client.transaction().await.unwrap();
                let begun = begin_async(sql.on(&tx), "src", key, digest, retention).await;
                let (said, _) = judged(begun, then, async |rows| {
                    rows.execute(&ship, &[]).await.unwrap();
                })
                .await;
                match then {
                    Then::Drop => tx.rollback().await.unwrap(),
                    _ => tx.commit().await.unwrap(),
                }
                said
            }
            Self::Sqlx(connection) => {
                let tx = connection.begin().await.unwrap();
                let lent: sqlx::Transaction<'_, Postgres> = tx;
                let begun = begin_async(sql.on_sqlx(lent), "src", key, digest, retention).await;
                let (said, rows) = judged(begun, then, async |rows| {
                    let ship = sqlx::raw_sql(sqlx::AssertSqlSafe(ship.clone()));
                    (&mut ***rows).execute(ship).await.unwrap();
                })
                .await;
                if let Some(rows) = rows {
                    rows.into_inner().commit().await.unwrap();
                }
                said
            }
        }
    }
}

async fn judged<R: AsyncInboxRows<Error = InboxTxError>>(
    begun: Result<Begun<R>, InboxError<InboxTxError>>,
    then: Then,
    work: impl AsyncFnOnce(&mut R),
) -> (String, Option<R>) {
    match begun {
        Ok(Begun::First(mut first)) => {
            work(first.rows()).await;
            let rows = match then {
                Then::Finish => Some(first.finish_async(b"\0done\xff").await.unwrap()),
                Then::Reject => Some(first.finish_rejected_async(b"sold out").await.unwrap()),
                Then::Leave | Then::Drop => None,
            };
            ("first".into(), rows)
        }
        Ok(Begun::Repeat(stored)) if stored.is_refusal => {
            (format!("refused {}", String::from_utf8_lossy(&stored.result)), None)
        }
        Ok(Begun::Repeat(stored)) => {
            assert_eq!(stored.result, b"\0done\xff");
            ("repeat".into(), None)
        }
        Ok(Begun::Conflict) => ("conflict".into(), None),
        Ok(Begun::Unfinished { .. }) => ("unfinished".into(), None),
        Ok(Begun::Busy) => ("busy".into(), None),
        Err(error) => (format!("{} {error}", error.code()), None),
    }
}

#[tokio::test]
async fn a_key_is_first_once_and_then_what_was_stored() {
    for mut db in Db::both().await {
        let schema = Schema::new().await;
        for (key, body, then, wanted) in [
            ("a", "1", Then::Drop, "first"),
            ("a", "2", Then::Finish, "first"),
            ("a", "2", Then::Finish, "repeat"),
            ("a", "1", Then::Finish, "conflict"),
            ("b", "1", Then::Reject, "first"),
            ("b", "1", Then::Finish, "refused sold out"),
            ("b", "2", Then::Finish, "conflict"),
            ("", "1", Then::Finish, "CF0704"),
        ] {
            let said = db.take(&schema, key, body.as_bytes(), then).await;
            assert!(said.starts_with(wanted), "{key:?} {body}: {said}");
        }
        assert_eq!(schema.number("SELECT count(*) FROM cf.shipment").await, 2);
        assert_eq!(schema.number("SELECT count(*) FROM cf.inbox").await, 2);
    }
}

#[tokio::test]
async fn what_was_committed_without_an_outcome_is_unfinished() {
    let (schema, mut db) = (Schema::new().await, Db::tokio().await);
    assert_eq!(db.take(&schema, "a", b"1", Then::Leave).await, "first");
    for mut db in Db::both().await {
        assert_eq!(db.take(&schema, "a", b"1", Then::Finish).await, "unfinished");
        assert_eq!(db.take(&schema, "a", b"2", Then::Finish).await, "conflict");
    }
}

#[tokio::test]
async fn a_key_whose_retention_is_over_is_first_again_and_is_purged() {
    for mut db in Db::both().await {
        let schema = Schema::new().await;
        let short = Span::from_micros(1);
        for key in ["a", "b", "c"] {
            assert_eq!(db.take_for(&schema, key, b"1", Then::Finish, short).await, "first");
        }
        assert_eq!(db.take(&schema, "a", b"2", Then::Finish).await, "first");
        assert_eq!(db.take(&schema, "a", b"2", Then::Finish).await, "repeat");
        let sql = InboxSql::of_schema(&schema.0);
        let purged = match &mut db {
            Db::Tokio(client) => {
                let tx = client.transaction().await.unwrap();
                let rows = sql.on(&tx);
                assert!(rows.look("src", "b").await.unwrap().is_none());
                assert!(rows.look("src", "a").await.unwrap().is_some());
                let purged = [rows.purge(1).await.unwrap(), rows.purge(9).await.unwrap()];
                tx.commit().await.unwrap();
                purged
            }
            Db::Sqlx(connection) => {
                let mut tx = connection.begin().await.unwrap();
                let mut rows = sql.on_sqlx(&mut *tx);
                assert!(rows.look("src", "b").await.unwrap().is_none());
                assert!(rows.look("src", "a").await.unwrap().is_some());
                let purged = [rows.purge(1).await.unwrap(), rows.purge(9).await.unwrap()];
                tx.commit().await.unwrap();
                purged
            }
        };
        assert_eq!(purged, [1, 1]);
        assert_eq!(schema.number("SELECT count(*) FROM cf.inbox").await, 1);
    }
}

#[tokio::test]
async fn a_twin_that_is_held_longer_than_the_database_waits_is_busy() {
    let schema = Schema::new().await;
    let holder = connect().await;
    let take = "BEGIN; INSERT INTO cf.inbox(source, key, digest) VALUES ('src', 'a', sha256('1'))";
    holder.batch_execute(&schema.sql(take)).await.unwrap();
    for mut db in Db::both().await {
        db.run("SET lock_timeout = '20ms'").await;
        assert_eq!(db.take(&schema, "a", b"1", Then::Drop).await, "busy");
        // The connection serves on.
        assert_eq!(db.take(&schema, "b", b"1", Then::Drop).await, "first");
    }
    // Else the schema cannot be dropped.
    holder.batch_execute("ROLLBACK").await.unwrap();
}

/// Above READ COMMITTED a twin that committed meanwhile cannot be read: ask again.
#[tokio::test]
async fn a_twin_that_a_snapshot_cannot_see_is_busy() {
    for isolation in ["repeatable read", "serializable"] {
        let schema = Schema::new().await;
        let mut client = connect().await;
        let set = format!("SET default_transaction_isolation = '{isolation}'");
        client.batch_execute(&set).await.unwrap();
        let tx = client.transaction().await.unwrap();
        tx.query(&schema.sql("SELECT FROM cf.inbox"), &[]).await.unwrap();
        assert_eq!(Db::tokio().await.take(&schema, "a", b"1", Then::Finish).await, "first");
        let rows = InboxSql::of_schema(&schema.0).on(&tx);
        let begun = begin_async(rows, "src", "a", Digest::of(b"1"), RETENTION).await.unwrap();
        assert!(matches!(begun, Begun::Busy), "{begun:?}");
        tx.rollback().await.unwrap();
        let said = Db::Tokio(client).take(&schema, "a", b"1", Then::Finish).await;
        assert_eq!(said, "repeat");
    }
}

#[tokio::test]
async fn without_a_transaction_sqlx_takes_nothing() {
    let schema = Schema::new().await;
    let mut connection = PgConnection::connect(&url()).await.unwrap();
    let rows = InboxSql::of_schema(&schema.0).on_sqlx(&mut connection);
    let refused = begin_async(rows, "src", "a", Digest::of(b"1"), RETENTION).await.unwrap_err();
    assert!(matches!(refused, InboxError::Rows(InboxTxError::NoTransaction { .. })), "{refused}");
    assert_eq!(schema.number("SELECT count(*) FROM cf.inbox").await, 0);
}

#[test]
fn of_32_twins_on_both_drivers_one_acts() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let schema = runtime().block_on(Schema::new());
    let barrier = Barrier::new(TWINS);
    let twin = |at: usize| {
        runtime().block_on(async {
            let [tokio, sqlx] = Db::both().await;
            let mut db = if at.is_multiple_of(2) { tokio } else { sqlx };
            barrier.wait();
            db.take(&schema, "twin", b"{}", Then::Finish).await
        })
    };
    let mut said: Vec<String> = std::thread::scope(|scope| {
        let twins: Vec<_> = (0..TWINS)
            .map(|at| {
                let twin = &twin;
                scope.spawn(move || twin(at))
            })
            .collect();
        twins.into_iter().map(|twin| twin.join().unwrap()).collect()
    });
    said.sort();
    let mut wanted = vec!["repeat".to_owned(); TWINS];
    wanted[0] = "first".into();
    assert_eq!(said, wanted);
    assert_eq!(runtime().block_on(schema.number("SELECT count(*) FROM cf.shipment")), 1);
}
