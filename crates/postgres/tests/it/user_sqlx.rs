//! The door on a connection of `sqlx`: the same answers as on `tokio_postgres`.

use counterfoil_core::domain::{Command, CommandId, OrderingKey, Token};
use counterfoil_core::port::store::{Recorded, Reported, WriteRefused};
use counterfoil_postgres::{
    EnqueueError, OutboxSql, SCHEMA_VERSION, SqlxOutbox as _, migrate_sqlx,
};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use crate::server::{TestSchema, wait_for_lock};

const BODY: &[u8] = b"a\0b\\134c'\"\xff\xfe";

fn command(id: &str, body: &[u8]) -> Command {
    Command::bytes(id, "shipping", "order.paid", body).unwrap()
}

async fn connect(schema: &TestSchema) -> (OutboxSql, PgConnection) {
    let connection = PgConnection::connect(schema.url()).await.unwrap();
    (OutboxSql::of_schema(schema.name()), connection)
}

#[tokio::test]
async fn an_intent_is_recorded_repeated_or_in_conflict_and_the_transaction_goes_on() {
    for isolation in ["READ COMMITTED", "SERIALIZABLE"] {
        let schema = TestSchema::new().await;
        let (sql, mut connection) = connect(&schema).await;
        let begin = AssertSqlSafe(format!("BEGIN ISOLATION LEVEL {isolation}"));
        let mut order = connection.begin_with(begin).await.unwrap();
        for body in [BODY, &vec![0; 1 << 20]] {
            for key in [None, Some(OrderingKey::new("K").unwrap())] {
                let mut intent = command(&format!("{}{}", body.len(), key.is_some()), body);
                intent.ordering_key = key;
                let mut outbox = sql.on_sqlx(&mut order);
                assert_eq!(outbox.enqueue(&intent).await.unwrap(), Recorded::Recorded);
                assert_eq!(outbox.enqueue(&intent).await.unwrap(), Recorded::Repeated);
                intent.body = b"other".to_vec();
                let refused = outbox.enqueue(&intent).await.unwrap_err();
                let is_conflict = |error: &EnqueueError| {
                    matches!(error, EnqueueError::Refused(WriteRefused::Conflict { .. }))
                };
                assert!(is_conflict(&refused), "{refused}");
            }
        }
        order.commit().await.unwrap();
        let stranger = schema.stranger().await;
        assert_eq!(stranger.number("SELECT count(*) FROM cf.delivery").await, 4);
        let rows = stranger.query("SELECT body FROM cf.outbox ORDER BY n", &[]).await.unwrap();
        assert_eq!(rows[0].get::<_, &[u8]>(0), BODY);
    }
}

#[tokio::test]
async fn a_rollback_leaves_nothing_and_without_a_transaction_nothing_is_written() {
    let schema = TestSchema::new().await;
    let (sql, mut connection) = connect(&schema).await;
    let mut order = connection.begin().await.unwrap();
    sql.on_sqlx(&mut order).enqueue(&command("a", b"1")).await.unwrap();
    order.rollback().await.unwrap();
    let id = CommandId::new("a").unwrap();
    let mut outbox = sql.on_sqlx(&mut connection);
    let (all, none) = ([command("a", b"1")], EnqueueError::NoTransaction.to_string());
    let refused = [
        outbox.enqueue(&all[0]).await.unwrap_err(),
        outbox.enqueue_all(&all).await.unwrap_err(),
        outbox.complete(&id, None, "", None).await.unwrap_err(),
        outbox.reject(&id, None, "", None).await.unwrap_err(),
    ];
    assert!(refused.iter().all(|error| error.to_string() == none), "{refused:?}");
    let stranger = schema.stranger().await;
    assert_eq!(stranger.number("SELECT count(*) FROM cf.outbox").await, 0);
}

#[tokio::test]
async fn several_are_recorded_all_or_none_and_an_archived_id_is_compared() {
    let schema = TestSchema::new().await;
    let forger = schema.forger().await;
    forger
        .run(
            "INSERT INTO cf.archived(rounds, command_id, destination, kind, outcome, file, digest)
             VALUES (1, 'old', 'shipping', 'order.paid', 'rejected', 'f', sha256('body'))",
        )
        .await
        .unwrap();
    let (sql, mut connection) = connect(&schema).await;
    let mut order = connection.begin().await.unwrap();
    let mut outbox = sql.on_sqlx(&mut order);
    let mut with_key = command("b", BODY);
    with_key.ordering_key = Some(OrderingKey::new("K").unwrap());
    let all = [command("old", b"body"), command("a", b"1"), with_key];
    let said = outbox.enqueue_all(&all).await.unwrap();
    assert_eq!(said, [Recorded::Repeated, Recorded::Recorded, Recorded::Recorded]);
    let bad = [command("c", b"1"), command("old", b"other")];
    let refused = outbox.enqueue_all(&bad).await.unwrap_err();
    assert!(matches!(refused, EnqueueError::Refused(WriteRefused::Conflict { .. })), "{refused}");
    order.commit().await.unwrap();
    let ids = "SELECT string_agg(command_id, ',' ORDER BY n) FROM cf.outbox";
    assert_eq!(forger.text(ids).await.as_deref(), Some("a,b"));
}

#[tokio::test]
async fn a_report_is_fenced_by_its_token() {
    let schema = TestSchema::new().await;
    let (sql, mut connection) = connect(&schema).await;
    let (id, none) = (CommandId::new("a").unwrap(), CommandId::new("none").unwrap());
    let mut order = connection.begin().await.unwrap();
    sql.on_sqlx(&mut order).enqueue(&command("a", b"1")).await.unwrap();
    order.commit().await.unwrap();
    let forger = schema.forger().await;
    forger.run("UPDATE cf.delivery SET state = 'sending', token = 7").await.unwrap();
    let mut work = connection.begin().await.unwrap();
    let stale = sql.on_sqlx(&mut work).complete(&id, None, "", Some(Token::new(6))).await;
    let token_of =
        |error: &EnqueueError| matches!(error, EnqueueError::StaleToken { token: 6, .. });
    assert!(stale.as_ref().is_err_and(token_of), "{stale:?}");
    assert!((&mut *work).execute("SELECT 1").await.is_err(), "it must be aborted");
    work.rollback().await.unwrap();
    let mut work = connection.begin().await.unwrap();
    let mut outbox = sql.on_sqlx(&mut work);
    let done = outbox.complete(&id, Some(b"\0\xff"), "label 7", Some(Token::new(7))).await;
    assert_eq!(done.unwrap(), Reported::Recorded);
    let again = outbox.complete(&id, Some(b"\0\xff"), "label 7", None).await;
    assert_eq!(again.unwrap(), Reported::Repeated);
    let other = outbox.reject(&id, None, "no", None).await;
    assert_eq!(other.unwrap(), Reported::Contradiction);
    work.commit().await.unwrap();
    assert_eq!(forger.number("SELECT count(*) FROM cf.receipt WHERE result = '\\x00ff'").await, 1);
    let mut work = connection.begin().await.unwrap();
    let missing = sql.on_sqlx(&mut work).complete(&none, None, "", None).await.unwrap_err();
    assert!(matches!(missing, EnqueueError::NoSuchCommand { .. }), "{missing}");
}

#[tokio::test]
async fn a_twin_in_flight_is_waited_for() {
    let schema = TestSchema::new().await;
    let (sql, mut connection) = connect(&schema).await;
    let first = schema.stranger().await;
    let twin = "SELECT cf.record('a', 'shipping', 'order.paid', 'one', NULL,
        'application/octet-stream', NULL, NULL, NULL, NULL)";
    first.run(&format!("BEGIN; {twin}")).await.unwrap();
    let mut order = connection.begin().await.unwrap();
    let mine = command("a", b"one");
    let mut outbox = sql.on_sqlx(&mut order);
    let (said, ()) = tokio::join!(outbox.enqueue(&mine), async {
        wait_for_lock(&first).await;
        first.run("COMMIT").await.unwrap();
    });
    assert_eq!(said.unwrap(), Recorded::Repeated);
    order.commit().await.unwrap();
}

/// By either driver, and again: one schema, with the source that was given first.
#[tokio::test]
async fn a_pool_of_sqlx_migrates_as_a_client_does() {
    let (by_sqlx, by_client) = (TestSchema::unmade(), TestSchema::new().await);
    let pool = sqlx::PgPool::connect(by_sqlx.url()).await.unwrap();
    let source = Some("urn:example:orders");
    let made = migrate_sqlx(&pool, by_sqlx.name(), source).await.unwrap();
    assert_eq!((made.version, made.found), (SCHEMA_VERSION, 0));
    by_sqlx.migrate(source).await;
    let again = migrate_sqlx(&pool, by_sqlx.name(), None).await.unwrap();
    assert_eq!((again.found, again.source.as_str()), (SCHEMA_VERSION, "urn:example:orders"));
    let other = migrate_sqlx(&pool, by_sqlx.name(), Some("urn:other")).await.unwrap_err();
    assert_eq!(other.code(), "CF0512");
    let name = migrate_sqlx(&pool, "pg_x", None).await.unwrap_err();
    assert_eq!(name.code(), "CF0519");
    let objects = async |schema: &TestSchema| {
        let sql = "SELECT count(*) FROM pg_class WHERE relnamespace = 'cf.'::regnamespace";
        let sql = sql.replace("cf.", schema.name());
        schema.stranger().await.number(&sql).await
    };
    assert_eq!(objects(&by_sqlx).await, objects(&by_client).await);
    by_client.forger().await.run("UPDATE cf.meta SET version = 99").await.unwrap();
    let newer = migrate_sqlx(&pool, by_client.name(), None).await.unwrap_err();
    assert_eq!(newer.code(), "CF0508");
}
