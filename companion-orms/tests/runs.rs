//! Each example of the docs is run: what it commits stands whole, and what fails leaves nothing.
//!
//! PostgreSQL is the server that `COUNTERFOIL_TEST_POSTGRES` names, else the one on loopback; each
//! test has a database of its own there.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by a panic")]
#![allow(missing_docs, reason = "tests are named, not documented")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use counterfoil_orms::{diesel_postgres, sea_orm_postgres, sea_orm_sqlite};
use diesel_async::{AsyncConnection as _, AsyncPgConnection};
use sea_orm::{ConnectionTrait as _, Database as SeaOrm, DatabaseConnection, DbBackend, Statement};

/// The schema as it lies there.
fn schema(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql").join(folder).join("schema");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_numbered = |path: &std::path::PathBuf| {
        path.file_name().unwrap().to_str().unwrap().as_bytes()[..4].iter().all(u8::is_ascii_digit)
    };
    let mut paths: Vec<_> = paths.filter(is_numbered).collect();
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// A database of one test; dropped at its end.
struct Server {
    name: String,
    url: String,
    admin: DatabaseConnection,
}

impl Server {
    async fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("test_orms_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let url = std::env::var("COUNTERFOIL_TEST_POSTGRES").unwrap_or_else(|_| {
            "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable".into()
        });
        let admin = SeaOrm::connect(&url).await.unwrap();
        admin
            .execute_unprepared(&format!("CREATE DATABASE {name} TEMPLATE template0"))
            .await
            .unwrap();
        let (before, options) = url.split_once('?').unwrap_or((&url, ""));
        let server = before.rsplit_once('/').unwrap().0;
        let server = Self { url: format!("{server}/{name}?{options}"), name, admin };
        let db = server.sea_orm().await;
        db.execute_unprepared("CREATE SCHEMA counterfoil; SET counterfoil.own = 'on'")
            .await
            .unwrap();
        let files = schema("postgres").join("\n").replace("cf.", "counterfoil.");
        let made = format!("BEGIN; SET LOCAL counterfoil.own = 'on'; {files} COMMIT;");
        db.execute_unprepared(&made).await.unwrap();
        db.execute_unprepared("CREATE TABLE orders(id text PRIMARY KEY, paid boolean NOT NULL)")
            .await
            .unwrap();
        server
    }

    async fn sea_orm(&self) -> DatabaseConnection {
        SeaOrm::connect(&self.url).await.unwrap()
    }

    async fn drop(self) {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        self.admin.execute_unprepared(&drop).await.unwrap();
    }
}

/// Paid orders and recorded commands.
async fn counts(db: &DatabaseConnection, backend: DbBackend, outbox: &str) -> (i64, i64) {
    let sql = format!(
        "SELECT (SELECT count(*) FROM orders WHERE paid) AS paid, (SELECT count(*) FROM {outbox}
         WHERE kind = 'order.paid' AND destination = 'shipping') AS told"
    );
    let row = db.query_one_raw(Statement::from_string(backend, sql)).await.unwrap().unwrap();
    (row.try_get("", "paid").unwrap(), row.try_get("", "told").unwrap())
}

async fn order(db: &DatabaseConnection, id: &str) {
    db.execute_unprepared(&format!("INSERT INTO orders VALUES ('{id}', false)")).await.unwrap();
}

/// The same id with other content stands already, so that the second statement fails.
async fn other_content(db: &DatabaseConnection, id: &str, outbox: &str) {
    let body = if outbox.contains('.') { "'\\x00'" } else { "x'00'" };
    let sql = format!(
        "INSERT INTO {outbox}(command_id, destination, kind, body)
         VALUES ('order.paid:{id}', 'elsewhere', 'other', {body})"
    );
    db.execute_unprepared(&sql).await.unwrap();
}

const POSTGRES: &str = "counterfoil.outbox";
const SQLITE: &str = "counterfoil_outbox";

#[tokio::test]
async fn sea_orm_on_postgres() {
    let server = Server::new().await;
    let db = server.sea_orm().await;
    for id in ["A-001", "A-002"] {
        order(&db, id).await;
    }
    sea_orm_postgres::pay(&db, "A-001").await.unwrap();
    sea_orm_postgres::pay(&db, "A-001").await.unwrap();
    assert_eq!(counts(&db, DbBackend::Postgres, POSTGRES).await, (1, 1), "the same intent");
    other_content(&db, "A-002", POSTGRES).await;
    let refused = sea_orm_postgres::pay(&db, "A-002").await.unwrap_err().to_string();
    assert!(refused.contains("CF0104"), "{refused}");
    assert_eq!(counts(&db, DbBackend::Postgres, POSTGRES).await, (1, 1), "rolled back whole");
    db.close().await.unwrap();
    server.drop().await;
}

#[tokio::test]
async fn diesel_on_postgres() {
    let server = Server::new().await;
    let db = server.sea_orm().await;
    for id in ["A-001", "A-002"] {
        order(&db, id).await;
    }
    let mut diesel = AsyncPgConnection::establish(&server.url).await.unwrap();
    diesel_postgres::pay(&mut diesel, "A-001").await.unwrap();
    diesel_postgres::pay(&mut diesel, "A-001").await.unwrap();
    assert_eq!(counts(&db, DbBackend::Postgres, POSTGRES).await, (1, 1), "the same intent");
    other_content(&db, "A-002", POSTGRES).await;
    let refused = diesel_postgres::pay(&mut diesel, "A-002").await.unwrap_err().to_string();
    assert!(refused.contains("CF0104"), "{refused}");
    assert_eq!(counts(&db, DbBackend::Postgres, POSTGRES).await, (1, 1), "rolled back whole");
    drop(diesel);
    db.close().await.unwrap();
    server.drop().await;
}

#[tokio::test]
async fn sea_orm_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orders.db");
    let db = SeaOrm::connect(format!("sqlite:{}?mode=rwc", file.display())).await.unwrap();
    for sql in schema("sqlite") {
        db.execute_unprepared(&sql).await.unwrap();
    }
    let orders = "CREATE TABLE orders(id TEXT PRIMARY KEY, paid INTEGER NOT NULL)";
    db.execute_unprepared(orders).await.unwrap();
    for id in ["A-001", "A-002"] {
        order(&db, id).await;
    }
    sea_orm_sqlite::pay(&db, "A-001").await.unwrap();
    sea_orm_sqlite::pay(&db, "A-001").await.unwrap();
    assert_eq!(counts(&db, DbBackend::Sqlite, SQLITE).await, (1, 1), "the same intent");
    other_content(&db, "A-002", SQLITE).await;
    let refused = sea_orm_sqlite::pay(&db, "A-002").await.unwrap_err().to_string();
    assert!(refused.contains("CF0104"), "{refused}");
    assert_eq!(counts(&db, DbBackend::Sqlite, SQLITE).await, (1, 1), "rolled back whole");
    db.close().await.unwrap();
}
