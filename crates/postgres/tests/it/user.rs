//! The door on a transaction of `tokio_postgres`: intents and reports beside the user's own rows.

use counterfoil_core::domain::{Command, CommandId, Micros, OrderingKey, Token};
use counterfoil_core::port::store::{Recorded, Reported, WriteRefused};
use counterfoil_postgres::{EnqueueError, Outbox as _, OutboxSql};
use tokio_postgres::{Client, IsolationLevel, Transaction};

use crate::server::{Stranger, TestSchema, wait_for_lock};

/// A body that no text can hold, and one that an escape would break.
const BODIES: [&[u8]; 3] = [b"a\0b\\134c'\"\xff\xfe", b"", br#"{"path":"C:\\x\\0"}"#];

fn command(id: &str, body: &[u8]) -> Command {
    let command = Command::bytes(id, "shipping", "order.paid", body).unwrap();
    command.content_type("application/octet-stream")
}

async fn begin(client: &mut Client, isolation: IsolationLevel) -> Transaction<'_> {
    client.build_transaction().isolation_level(isolation).start().await.unwrap()
}

/// Each way to call the door: unprepared, and prepared by the connection.
async fn ways(schema: &TestSchema) -> (OutboxSql, Stranger) {
    let user = schema.stranger().await;
    user.run("CREATE TABLE IF NOT EXISTS cf.orders(id text PRIMARY KEY)").await.unwrap();
    (OutboxSql::of_schema(schema.name()), user)
}

#[tokio::test]
async fn an_intent_is_recorded_repeated_or_in_conflict_and_the_transaction_goes_on() {
    for isolation in [IsolationLevel::ReadCommitted, IsolationLevel::Serializable] {
        for prepare in [false, true] {
            let schema = TestSchema::new().await;
            let (sql, mut user) = ways(&schema).await;
            let orders = user.sql("INSERT INTO cf.orders VALUES ('A-1')");
            let prepared = sql.prepare(&user.client).await.unwrap();
            let order = begin(&mut user.client, isolation).await;
            let outbox = if prepare { prepared.on(&order) } else { sql.on(&order) };
            for (at, body) in BODIES.into_iter().enumerate() {
                let id = format!("order.paid:{at}");
                assert_eq!(outbox.enqueue(&command(&id, body)).await.unwrap(), Recorded::Recorded);
                assert_eq!(outbox.enqueue(&command(&id, body)).await.unwrap(), Recorded::Repeated);
                let other = outbox.enqueue(&command(&id, b"other")).await.unwrap_err();
                let conflict = WriteRefused::Conflict { id: id.clone() };
                assert!(matches!(&other, EnqueueError::Refused(said) if *said == conflict));
                assert!(!other.is_retryable());
            }
            order.execute(&orders, &[]).await.unwrap();
            order.commit().await.unwrap();
            let made = "SELECT o.body, d.state FROM cf.outbox o JOIN cf.delivery d USING (n)
                ORDER BY n";
            let rows = user.query(made, &[]).await.unwrap();
            let stored: Vec<&[u8]> = rows.iter().map(|row| row.get(0)).collect();
            assert_eq!(stored, BODIES);
            assert!(rows.iter().all(|row| row.get::<_, &str>(1) == "pending"));
            assert_eq!(user.number("SELECT count(*) FROM cf.orders").await, 1);
        }
    }
}

#[tokio::test]
async fn a_rollback_leaves_nothing() {
    let schema = TestSchema::new().await;
    let (sql, mut user) = ways(&schema).await;
    let order = begin(&mut user.client, IsolationLevel::ReadCommitted).await;
    let lane = command("b", b"2").ordering_key(OrderingKey::new("K").unwrap());
    sql.on(&order).enqueue(&command("a", b"1")).await.unwrap();
    sql.on(&order).enqueue(&lane).await.unwrap();
    order.rollback().await.unwrap();
    for table in ["outbox", "delivery", "lane"] {
        assert_eq!(user.number(&format!("SELECT count(*) FROM cf.{table}")).await, 0, "{table}");
    }
}

/// As `enqueue()` and plain SQL make them: one law for all ways in.
#[tokio::test]
async fn the_door_makes_the_rows_that_plain_sql_makes() {
    let schema = TestSchema::new().await;
    schema.set_time(1_764_421_200_000_000).await;
    let (sql, mut user) = ways(&schema).await;
    let later = Micros::new(1_764_421_260_000_000);
    let order = begin(&mut user.client, IsolationLevel::ReadCommitted).await;
    for (id, key) in [("d1", None), ("d2", Some("K")), ("d3", Some("K"))] {
        let mut whole = command(id, b"body").not_before(later);
        whole.expires_at = Some(later);
        whole.ordering_key = key.map(|key| OrderingKey::new(key).unwrap());
        sql.on(&order).enqueue(&whole).await.unwrap();
    }
    order.commit().await.unwrap();
    user.run(
        "INSERT INTO cf.outbox(command_id, destination, kind, body, content_type, not_before,
           expires_at, ordering_key)
         SELECT id, 'shipping', 'order.paid', 'body', 'application/octet-stream',
           1764421260000000, 1764421260000000, key
         FROM (VALUES ('s1', NULL), ('s2', 'L'), ('s3', 'L')) AS given(id, key)",
    )
    .await
    .unwrap();
    let made = "SELECT (to_jsonb(o) - 'n' - 'command_id' - 'ordering_key')::text
        || (to_jsonb(d) - 'n' - 'ordering_key')::text
      FROM cf.outbox o JOIN cf.delivery d USING (n) WHERE command_id LIKE $1 ORDER BY command_id";
    let rows = async |like: &str| -> Vec<String> {
        let rows = user.query(made, &[&like]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    let (door, plain) = (rows("d%").await, rows("s%").await);
    assert_eq!(door.len(), 3);
    assert_eq!(door, plain);
}

#[tokio::test]
async fn an_archived_id_is_compared_and_an_erased_one_is_a_conflict() {
    let schema = TestSchema::new().await;
    let (sql, mut user) = ways(&schema).await;
    let forger = schema.forger().await;
    forger
        .run(
            "INSERT INTO cf.archived(rounds, command_id, destination, kind, outcome, file, digest)
             VALUES (1, 'old', 'shipping', 'order.paid', 'rejected', 'f', sha256('body'));
             INSERT INTO cf.outbox(command_id, destination, kind, body, erased_at)
             VALUES ('gone', 'shipping', 'order.paid', '', 1764421200000000)",
        )
        .await
        .unwrap();
    let order = begin(&mut user.client, IsolationLevel::ReadCommitted).await;
    let outbox = sql.on(&order);
    assert_eq!(outbox.enqueue(&command("old", b"body")).await.unwrap(), Recorded::Repeated);
    for (id, body) in [("old", b"other".as_slice()), ("gone", b"")] {
        let refused = outbox.enqueue(&command(id, body)).await.unwrap_err();
        assert!(matches!(refused, EnqueueError::Refused(WriteRefused::Conflict { .. })), "{id}");
    }
    assert_eq!(outbox.enqueue(&command("new", b"")).await.unwrap(), Recorded::Recorded);
    order.commit().await.unwrap();
    assert_eq!(user.number("SELECT count(*) FROM cf.outbox").await, 2);
}

#[tokio::test]
async fn a_body_of_a_megabyte_passes_and_a_longer_one_is_refused_before_it_is_sent() {
    let schema = TestSchema::new().await;
    let (sql, mut user) = ways(&schema).await;
    let order = begin(&mut user.client, IsolationLevel::ReadCommitted).await;
    let whole = vec![0; 1 << 20];
    sql.on(&order).enqueue(&command("a", &whole)).await.unwrap();
    let longer = vec![0; (1 << 20) + 1];
    let refused = sql.on(&order).enqueue(&command("b", &longer)).await.unwrap_err();
    assert!(matches!(refused, EnqueueError::Refused(WriteRefused::Command(_))));
    order.commit().await.unwrap();
    assert_eq!(user.number("SELECT octet_length(body) FROM cf.outbox").await, 1 << 20);
}

#[tokio::test]
async fn several_are_recorded_all_or_none() {
    let schema = TestSchema::new().await;
    let (sql, mut user) = ways(&schema).await;
    let order = begin(&mut user.client, IsolationLevel::ReadCommitted).await;
    let outbox = sql.on(&order);
    outbox.enqueue(&command("b", b"2")).await.unwrap();
    let three = [command("a", b"1"), command("b", b"2"), command("c", b"\0")];
    let said = outbox.enqueue_all(&three).await.unwrap();
    assert_eq!(said, [Recorded::Recorded, Recorded::Repeated, Recorded::Recorded]);
    let bad = [command("d", b"1"), command("b", b"other"), command("e", b"1")];
    let refused = outbox.enqueue_all(&bad).await.unwrap_err();
    assert!(matches!(refused, EnqueueError::Refused(WriteRefused::Conflict { id }) if id == "b"));
    assert_eq!(outbox.enqueue_all(&[]).await.unwrap(), []);
    order.commit().await.unwrap();
    let ids = user.text("SELECT string_agg(command_id, ',' ORDER BY n) FROM cf.outbox").await;
    assert_eq!(ids.as_deref(), Some("b,a,c"));
    assert_eq!(user.number("SELECT count(*) FROM cf.delivery").await, 3);
}

/// The function is a guard by itself: whoever calls it past the library meets the same rules.
#[tokio::test]
async fn the_function_refuses_what_the_guard_refuses() {
    let schema = TestSchema::new().await;
    let user = schema.stranger().await;
    let over = |change: &str| {
        let (name, value) = change.split_once('=').unwrap();
        let given = [
            ("id", "'a'"),
            ("destination", "'d'"),
            ("kind", "'k'"),
            ("body", "''"),
            ("key", "NULL"),
            ("type", "'x/y'"),
            ("headers", "NULL"),
            ("not_before", "NULL"),
            ("expires_at", "NULL"),
            ("core", "NULL"),
        ];
        let values = given.map(|(of, usual)| if of == name { value } else { usual });
        format!("SELECT cf.record({})", values.join(", "))
    };
    for (change, code) in [
        ("id=NULL", "CF0102"),
        ("id=repeat('x', 256)", "CF0102"),
        ("id=E'a\\nb'", "CF0107"),
        ("destination=''", "CF0105"),
        ("kind=NULL", "CF0105"),
        ("type=NULL", "CF0106"),
        ("body=NULL", "CF0108"),
        ("body=convert_to(repeat('x', 16777217), 'UTF8')", "CF0109"),
        ("key=''", "CF0113"),
        ("not_before=1764421200", "CF0115"),
        ("expires_at=1764421200000", "CF0115"),
        ("headers='[1]'", "CF0116"),
        ("core='x'", "CF0117"),
    ] {
        let refused = user.run(&over(change)).await.unwrap_err();
        assert_eq!(crate::server::refusal(&refused), code, "{change}");
    }
    assert_eq!(user.number("SELECT count(*) FROM cf.outbox").await, 0);
    // Whatever the session claims: a command with a key has its delivery, and what was set stays.
    user.run("SET row_security = off; SET check_function_bodies = off").await.unwrap();
    user.run("SET counterfoil.compare = 'x'; SET counterfoil.own = 'y'").await.unwrap();
    for change in ["id='a'", "key='K'"] {
        user.run(&over(change).replace("'a'", &format!("'{}'", change.len()))).await.unwrap();
    }
    assert_eq!(user.number("SELECT count(*) FROM cf.delivery").await, 2);
    for (setting, wanted) in [("own", "y"), ("compare", "x")] {
        let sql = format!("SELECT current_setting('counterfoil.{setting}')");
        assert_eq!(user.text(&sql).await.as_deref(), Some(wanted));
    }
}

#[tokio::test]
async fn a_twin_in_flight_is_waited_for_and_compared() {
    let schema = TestSchema::new().await;
    for (key, body, wanted) in [
        (None, "one", Some(Recorded::Repeated)),
        (None, "two", None),
        (Some("K"), "one", Some(Recorded::Repeated)),
        (Some("K"), "two", None),
    ] {
        let (sql, mut first) = ways(&schema).await;
        let (_, mut second) = ways(&schema).await;
        let id = format!("{key:?}{body}");
        let with_key = |body: &str| {
            let mut command = command(&id, body.as_bytes());
            command.ordering_key = key.map(|key| OrderingKey::new(key).unwrap());
            command
        };
        let holder = begin(&mut first.client, IsolationLevel::ReadCommitted).await;
        sql.on(&holder).enqueue(&with_key("one")).await.unwrap();
        let pid: i32 = holder.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
        let waiting = begin(&mut second.client, IsolationLevel::ReadCommitted).await;
        let twin = with_key(body);
        let (said, ()) = tokio::join!(async { sql.on(&waiting).enqueue(&twin).await }, async {
            wait_for_pid(&schema, pid).await;
            holder.commit().await.unwrap();
        });
        match wanted {
            Some(wanted) => assert_eq!(said.unwrap(), wanted),
            None => assert!(matches!(said, Err(EnqueueError::Refused(_))), "{said:?}"),
        }
        waiting.commit().await.unwrap();
    }
}

async fn wait_for_pid(schema: &TestSchema, pid: i32) {
    let watcher = schema.stranger().await;
    let sql =
        format!("SELECT count(*) FROM pg_stat_activity WHERE {pid} = ANY(pg_blocking_pids(pid))");
    for _ in 0..6_000 {
        if watcher.number(&sql).await > 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("nobody waits");
}

#[tokio::test]
async fn above_read_committed_a_twin_in_flight_is_retryable() {
    let schema = TestSchema::new().await;
    let (sql, mut second) = ways(&schema).await;
    let first = schema.stranger().await;
    let twin = "SELECT cf.record('a', 'shipping', 'order.paid', 'one', NULL,
        'application/octet-stream', NULL, NULL, NULL, NULL)";
    first.run(&format!("BEGIN; {twin}")).await.unwrap();
    let order = begin(&mut second.client, IsolationLevel::Serializable).await;
    order.query("SELECT 1", &[]).await.unwrap();
    let mine = command("a", b"one");
    let (said, ()) = tokio::join!(async { sql.on(&order).enqueue(&mine).await }, async {
        wait_for_lock(&first).await;
        first.run("COMMIT").await.unwrap();
    });
    assert!(said.unwrap_err().is_retryable());
    order.rollback().await.unwrap();
    let again = begin(&mut second.client, IsolationLevel::Serializable).await;
    assert_eq!(sql.on(&again).enqueue(&mine).await.unwrap(), Recorded::Repeated);
}

#[tokio::test]
async fn a_report_ends_a_command_once() {
    let schema = TestSchema::new().await;
    let (sql, mut user) = ways(&schema).await;
    let id = CommandId::new("a").unwrap();
    for (isolation, keep) in
        [(IsolationLevel::ReadCommitted, false), (IsolationLevel::Serializable, true)]
    {
        let work = begin(&mut user.client, isolation).await;
        let outbox = sql.on(&work);
        outbox.enqueue(&command("a", b"1")).await.unwrap();
        let result: &[u8] = b"\0\xff";
        for wanted in [Reported::Recorded, Reported::Repeated] {
            assert_eq!(outbox.complete(&id, Some(result), "", None).await.unwrap(), wanted);
        }
        let said = outbox.reject(&id, None, "no", None).await.unwrap();
        assert_eq!(said, Reported::Contradiction);
        if keep {
            work.commit().await.unwrap();
        } else {
            work.rollback().await.unwrap();
        }
    }
    let rows = user.query("SELECT outcome, result, evidence FROM cf.receipt", &[]).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].get::<_, &[u8]>(1), b"\0\xff");
    assert_ne!(rows[0].get::<_, &str>(2), "");
    assert_eq!(user.number("SELECT count(*) FROM cf.delivery").await, 0);
}

/// The fence: whoever lost the lease loses the effect, too.
#[tokio::test]
async fn a_stale_token_aborts_the_transaction() {
    let schema = TestSchema::new().await;
    let (sql, mut user) = ways(&schema).await;
    let forger = schema.forger().await;
    let (id, none) = (CommandId::new("a").unwrap(), CommandId::new("none").unwrap());
    let order = begin(&mut user.client, IsolationLevel::ReadCommitted).await;
    sql.on(&order).enqueue(&command("a", b"1")).await.unwrap();
    order.commit().await.unwrap();
    forger.run("UPDATE cf.delivery SET state = 'sending', token = 7").await.unwrap();
    let insert = user.sql("INSERT INTO cf.orders VALUES ('effect')");
    let prepared = sql.prepare(&user.client).await.unwrap();
    for token in [6, 8] {
        let work = begin(&mut user.client, IsolationLevel::ReadCommitted).await;
        work.execute(&insert, &[]).await.unwrap();
        let stale = prepared.on(&work).complete(&id, None, "", Some(Token::new(token))).await;
        let says = |error: &EnqueueError| {
            matches!(error, EnqueueError::StaleToken { id, token: said }
                if id == "a" && *said == token)
        };
        assert!(stale.as_ref().is_err_and(says), "{stale:?}");
        // It is aborted, whatever the user does now.
        assert!(work.execute(&insert, &[]).await.is_err());
        work.commit().await.unwrap();
    }
    assert_eq!(user.number("SELECT count(*) FROM cf.orders").await, 0);
    let work = begin(&mut user.client, IsolationLevel::ReadCommitted).await;
    work.execute(&insert, &[]).await.unwrap();
    let said = prepared.on(&work).reject(&id, None, "sold out", Some(Token::new(7))).await;
    assert_eq!(said.unwrap(), Reported::Recorded);
    work.commit().await.unwrap();
    assert_eq!(user.number("SELECT count(*) FROM cf.orders").await, 1);
    let work = begin(&mut user.client, IsolationLevel::ReadCommitted).await;
    let said = sql.on(&work).complete(&none, None, "", None).await.unwrap_err();
    assert!(matches!(said, EnqueueError::NoSuchCommand { .. }), "{said:?}");
}

#[tokio::test]
async fn a_writer_may_record_and_not_report() {
    let schema = TestSchema::new().await;
    let owner = schema.stranger().await;
    let roles = counterfoil_postgres::roles_sql(schema.name()).unwrap();
    owner.client.batch_execute(&roles).await.unwrap();
    owner
        .run(
            "CREATE ROLE cf_shop LOGIN PASSWORD 'secret' IN ROLE cf_writer; \
              CREATE ROLE cf_nobody LOGIN PASSWORD 'secret'; \
              GRANT USAGE ON SCHEMA cf.x TO cf_nobody"
                .replace("cf.x", schema.name())
                .as_str(),
        )
        .await
        .unwrap();
    let sql = OutboxSql::of_schema(schema.name());
    for (user, may) in [("shop", true), ("nobody", false)] {
        let mut shop = schema.stranger_as(&format!("{}_{user}", schema.name()), "secret").await;
        let order = begin(&mut shop.client, IsolationLevel::ReadCommitted).await;
        let said = sql.on(&order).enqueue(&command("a", b"1")).await;
        assert_eq!(said.is_ok(), may, "{said:?}");
        let id = CommandId::new("a").unwrap();
        let denied = sql.on(&order).complete(&id, None, "", None).await.unwrap_err();
        assert!(denied.to_string().contains("42501") || !may, "{denied}");
    }
}
