//! The door on `sqlx`, held to what the door on `rusqlite` answers, on real files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

use counterfoil_core::domain::{Command, CommandId, OrderingKey, Token};
use counterfoil_core::port::store::{Recorded, Reported, WriteRefused};
use counterfoil_sqlite::Outbox as _;
use counterfoil_sqlite_sqlx::{EnqueueError, SqlxOutbox as _};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, SqliteConnection};
use tempfile::TempDir;

const BODY: &[u8] = b"a\0b\\134c'\"\xff\xfe";

fn command(id: &str, body: &[u8]) -> Command {
    Command::bytes(id, "shipping", "order.paid", body).unwrap()
}

struct Shop {
    _dir: TempDir,
    rusqlite: rusqlite::Connection,
    sqlx: SqliteConnection,
}

impl Shop {
    async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orders.db");
        let mut rusqlite = rusqlite::Connection::open(&path).unwrap();
        rusqlite.pragma_update(None, "journal_mode", "WAL").unwrap();
        counterfoil_sqlite::migrate(&mut rusqlite, None).unwrap();
        rusqlite.execute_batch("CREATE TABLE orders(id TEXT PRIMARY KEY)").unwrap();
        let sqlx = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        Self { _dir: dir, rusqlite, sqlx }
    }

    fn number(&self, sql: &str) -> i64 {
        self.rusqlite.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

const IMMEDIATE: &str = "BEGIN IMMEDIATE";

fn is_conflict(error: &EnqueueError) -> bool {
    matches!(error, EnqueueError::Refused(WriteRefused::Conflict { .. }))
}

#[tokio::test]
async fn an_intent_is_recorded_repeated_or_in_conflict_and_the_transaction_goes_on() {
    let mut shop = Shop::open().await;
    let long = vec![0; 1 << 20];
    let mut order = shop.sqlx.begin_with(IMMEDIATE).await.unwrap();
    for (at, body) in [BODY, br#"{"path":"C:\\x"}"#, b"", &long].into_iter().enumerate() {
        for key in [None, Some(OrderingKey::new("K").unwrap())] {
            let mut intent = command(&format!("{at}{}", key.is_some()), body);
            intent.ordering_key = key;
            assert_eq!(order.enqueue(&intent).await.unwrap(), Recorded::Recorded);
            assert_eq!(order.enqueue(&intent).await.unwrap(), Recorded::Repeated);
            intent.body = b"other".to_vec();
            assert!(is_conflict(&order.enqueue(&intent).await.unwrap_err()));
        }
    }
    let json = Command::json("json", "shipping", "order.paid", &"text").unwrap();
    order.enqueue(&json).await.unwrap();
    (&mut *order).execute("INSERT INTO orders VALUES ('A-1')").await.unwrap();
    order.commit().await.unwrap();
    assert_eq!(shop.number("SELECT count(*) FROM counterfoil_delivery"), 9);
    assert_eq!(shop.number("SELECT count(*) FROM orders"), 1);
    let stored = "SELECT body FROM counterfoil_outbox WHERE command_id = '0false'";
    let stored: Vec<u8> = shop.rusqlite.query_row(stored, [], |row| row.get(0)).unwrap();
    assert_eq!(stored, BODY);
    // The other door sees the same intents, and SQL sees the same types.
    let order = shop.rusqlite.transaction().unwrap();
    assert_eq!(order.enqueue(&json).unwrap(), Recorded::Repeated);
    let mut other = json.clone();
    other.id = Some(CommandId::new("other").unwrap());
    order.enqueue(&other).unwrap();
    let types = "SELECT count(DISTINCT typeof(body)) FROM counterfoil_outbox
        WHERE command_id IN ('json', 'other')";
    assert_eq!(order.query_row(types, [], |row| row.get::<_, i64>(0)), Ok(1));
}

#[tokio::test]
async fn a_rollback_leaves_nothing_and_without_a_transaction_nothing_is_written() {
    let mut shop = Shop::open().await;
    let mut order = shop.sqlx.begin_with(IMMEDIATE).await.unwrap();
    order.enqueue(&command("a", b"1")).await.unwrap();
    order.rollback().await.unwrap();
    let (id, all) = (CommandId::new("a").unwrap(), [command("a", b"1")]);
    let none = EnqueueError::NoTransaction.to_string();
    let refused = [
        shop.sqlx.enqueue(&all[0]).await.unwrap_err(),
        shop.sqlx.enqueue_all(&all).await.unwrap_err(),
        shop.sqlx.complete(&id, None, "", None).await.unwrap_err(),
        shop.sqlx.reject(&id, None, "", None).await.unwrap_err(),
    ];
    assert!(refused.iter().all(|error| error.to_string() == none), "{refused:?}");
    assert_eq!(shop.number("SELECT count(*) FROM counterfoil_outbox"), 0);
}

#[tokio::test]
async fn several_are_recorded_all_or_none_and_an_archived_id_is_compared() {
    let mut shop = Shop::open().await;
    let own = shop.rusqlite.transaction().unwrap();
    own.db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER).unwrap();
    own.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    let digest = counterfoil_core::domain::Digest::of(b"body");
    own.execute(
        "INSERT INTO counterfoil_archived(command_id, destination, kind, ordering_key, digest,
           outcome, rounds, file)
         VALUES ('old', 'shipping', 'order.paid', NULL, ?1, 'rejected', 1, 'f')",
        [digest.as_bytes().as_slice()],
    )
    .unwrap();
    own.commit().unwrap();
    let mut order = shop.sqlx.begin_with(IMMEDIATE).await.unwrap();
    let all = [command("old", b"body"), command("a", b"1"), command("b", b"2")];
    let said = order.enqueue_all(&all).await.unwrap();
    assert_eq!(said, [Recorded::Repeated, Recorded::Recorded, Recorded::Recorded]);
    let bad = [command("c", b"1"), command("old", b"other")];
    assert!(is_conflict(&order.enqueue_all(&bad).await.unwrap_err()));
    order.commit().await.unwrap();
    assert_eq!(shop.number("SELECT count(*) FROM counterfoil_outbox"), 2);
}

#[tokio::test]
async fn a_report_is_fenced_by_its_token() {
    let mut shop = Shop::open().await;
    let id = CommandId::new("a").unwrap();
    let mut order = shop.sqlx.begin_with(IMMEDIATE).await.unwrap();
    order.enqueue(&command("a", b"1")).await.unwrap();
    order.commit().await.unwrap();
    let triggers = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    shop.rusqlite.set_db_config(triggers, false).unwrap();
    let claim = "UPDATE counterfoil_delivery SET state = 'sending', token = 7";
    shop.rusqlite.execute_batch(claim).unwrap();
    let mut work = shop.sqlx.begin_with(IMMEDIATE).await.unwrap();
    (&mut *work).execute("INSERT INTO orders VALUES ('effect')").await.unwrap();
    let stale = work.complete(&id, None, "", Some(Token::new(6))).await.unwrap_err();
    assert!(matches!(stale, EnqueueError::StaleToken { token: 6, .. }), "{stale}");
    work.rollback().await.unwrap();
    let mut work = shop.sqlx.begin_with(IMMEDIATE).await.unwrap();
    let done = work.complete(&id, Some(b"\0\xff"), "label 7", Some(Token::new(7))).await;
    assert_eq!(done.unwrap(), Reported::Recorded);
    let again = work.complete(&id, Some(b"\0\xff"), "label 7", None).await;
    assert_eq!(again.unwrap(), Reported::Repeated);
    let other = work.reject(&id, Some(b"no"), "no", None).await;
    assert_eq!(other.unwrap(), Reported::Contradiction);
    let missing = CommandId::new("none").unwrap();
    let missing = work.complete(&missing, None, "", None).await.unwrap_err();
    assert!(matches!(missing, EnqueueError::NoSuchCommand { .. }), "{missing}");
    work.commit().await.unwrap();
    assert_eq!(shop.number("SELECT count(*) FROM counterfoil_receipt"), 1);
    assert_eq!(shop.number("SELECT count(*) FROM orders"), 0);
}
