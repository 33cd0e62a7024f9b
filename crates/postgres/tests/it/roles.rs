//! Each role may do what its name says, whatever its session claims to be.

use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::domain::{Command, OrderingKey, Span};
use counterfoil_core::port::store::Recorded;
use counterfoil_core::port::workflow::Decision;
use counterfoil_core::port::{Actor, Store as _, Workflows as _};
use counterfoil_postgres::{PostgresStore, roles_sql};

use crate::server::{Stranger, TestSchema, refusal, url};
use crate::workflow;

const DENIED: &str = "42501";
const INSERT: &str = "INSERT INTO cf.outbox(command_id, destination, kind, body)";

/// A schema with its roles, a command `a`, and a user in each role.
async fn with_roles() -> TestSchema {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let roles = roles_sql(schema.name()).unwrap();
    stranger.client.batch_execute(&roles).await.unwrap();
    stranger.client.batch_execute(&roles).await.unwrap();
    for role in ["writer", "worker", "relay", "operator", "auditor"] {
        let sql = format!("CREATE ROLE cf_{role}_user LOGIN PASSWORD 'secret' IN ROLE cf_{role}");
        stranger.run(&sql).await.unwrap();
    }
    stranger.run(&format!("{INSERT} VALUES ('a', 'd', 'k', 'secret')")).await.unwrap();
    schema
}

async fn user(schema: &TestSchema, role: &str) -> Stranger {
    schema.stranger_as(&format!("{}_{role}_user", schema.name()), "secret").await
}

async fn run(stranger: &Stranger, sql: &str) -> String {
    match stranger.run(sql).await.map_err(|error| refusal(&error)) {
        Ok(()) => "ok".into(),
        Err(said) if said.starts_with("CF0") => said,
        Err(said) => said[..5].to_owned(),
    }
}

async fn expect(stranger: &Stranger, asked: &[(&str, &str)]) {
    for (sql, wanted) in asked {
        assert_eq!(run(stranger, sql).await, *wanted, "{sql}");
    }
}

#[tokio::test]
async fn a_writer_records_and_reads_ids_only() {
    let schema = with_roles().await;
    let writer = user(&schema, "writer").await;
    let insert = |id: &str, tail: &str| format!("{INSERT} VALUES ('{id}', 'd', 'k', '') {tail}");
    expect(
        &writer,
        &[
            (&insert("b", ""), "ok"),
            (&insert("b", "ON CONFLICT DO NOTHING"), "ok"),
            (&insert("c", "ON CONFLICT (command_id) DO NOTHING"), "ok"),
            (&insert("a", ""), "CF0104"),
            (&insert("c", "ON CONFLICT (command_id) DO UPDATE SET kind = 'x'"), DENIED),
            (&insert("e", "RETURNING body"), DENIED),
            ("SELECT cf.enqueue('f', 'd', 'k', '{}'::json, ordering_key => 'K')", "ok"),
            ("SELECT cf.enqueue('a', 'd', 'k', 'guess')", "CF0104"),
            ("INSERT INTO cf.input(stream, id, kind, name) VALUES ('s', 'i', 'start', 'n')", "ok"),
            ("SELECT command_id FROM cf.outbox", "ok"),
            ("SELECT body FROM cf.outbox", DENIED),
            ("SELECT FROM cf.delivery", DENIED),
            (
                "INSERT INTO cf.outbox(command_id, destination, kind, body, stream)
              VALUES ('g', 'd', 'k', '', 's')",
                DENIED,
            ),
            ("INSERT INTO cf.delivery(n, destination, state) VALUES (99, 'd', 'pending')", DENIED),
            ("INSERT INTO cf.report(command_id, outcome) VALUES ('a', 'completed')", DENIED),
            ("SELECT cf.complete('a')", DENIED),
            ("SELECT cf.complete('a', 'r'::text)", DENIED),
            ("SELECT cf.reported('a', 'completed', NULL, NULL, NULL)", DENIED),
            ("SELECT cf.reported_late('a', 1, 'completed', NULL, NULL, NULL)", DENIED),
            ("DELETE FROM cf.outbox", DENIED),
            ("TRUNCATE cf.outbox", DENIED),
            ("INSERT INTO cf.inbox(source, key, digest) VALUES ('s', 'k', 'd')", DENIED),
        ],
    )
    .await;
    let open = schema.stranger().await;
    assert_eq!(open.number("SELECT count(*) FROM cf.delivery").await, 4);
}

/// What our own sessions say of themselves is not believed of a writer.
#[tokio::test]
async fn a_writer_cannot_claim_to_be_a_relay() {
    let schema = with_roles().await;
    let open = schema.stranger().await;
    let mut made = 1;
    for claim in [
        "SET counterfoil.own = 'on'",
        "SET row_security = off; SET check_function_bodies = off",
        "SET counterfoil.own = 'on'; SET row_security = off; SET check_function_bodies = off",
    ] {
        let writer = user(&schema, "writer").await;
        writer.run(claim).await.unwrap();
        let id = |n: i32| format!("{made}:{n}");
        expect(
            &writer,
            &[
                (&format!("{INSERT} VALUES ('', 'd', 'k', '')"), "CF0102"),
                (&format!("{INSERT} VALUES ('a', 'd', 'k', 'other')"), "CF0104"),
                (&format!("{INSERT} VALUES ('{}', 'd', 'k', '')", id(1)), "ok"),
                (&format!("SELECT cf.enqueue('{}', 'd', 'k', '')", id(2)), "ok"),
                ("SELECT cf.enqueue('', 'd', 'k', '')", "CF0102"),
                (
                    "INSERT INTO cf.input(stream, id, kind, name)
                  VALUES ('s', 'i', 'timer', 'n')",
                    "CF0301",
                ),
            ],
        )
        .await;
        made += 2;
        let delivered = open.number("SELECT count(*) FROM cf.delivery").await;
        assert_eq!(delivered, made, "{claim}");
    }
    // Nor in the middle of a statement.
    let writer = user(&schema, "writer").await;
    let claims = format!(
        "{INSERT} SELECT CASE WHEN set_config('counterfoil.own', 'on', false) = 'on'
         THEN 'm' || g END, 'd', 'k', '' FROM generate_series(1, 3) g"
    );
    assert_eq!(run(&writer, &claims).await, "ok");
    assert_eq!(open.number("SELECT count(*) FROM cf.delivery").await, made + 3);
}

#[tokio::test]
async fn a_worker_reports_and_keeps_the_inbox() {
    let schema = with_roles().await;
    let worker = user(&schema, "worker").await;
    let keep = "INSERT INTO cf.inbox(source, key, digest) VALUES ('s', 'k', 'd')";
    expect(
        &worker,
        &[
            (keep, "ok"),
            ("UPDATE cf.inbox SET outcome = 'completed', result = 'r' WHERE key = 'k'", "ok"),
            ("UPDATE cf.inbox SET digest = 'e'", DENIED),
            ("DELETE FROM cf.inbox", "CF0408"),
            ("SET counterfoil.own = 'on'", "ok"),
            ("DELETE FROM cf.inbox", "CF0408"),
            ("UPDATE cf.inbox SET outcome = 'rejected'", "CF0406"),
            ("INSERT INTO cf.inbox(source, key, digest) VALUES ('', 'k', 'd')", "CF0401"),
            (
                "INSERT INTO cf.report(command_id, outcome, token) VALUES ('a', 'completed', 5)",
                "CF0203",
            ),
            ("SELECT cf.complete('a', '{}'::json)", "ok"),
            ("SELECT cf.reject('a', 'no'::text)", "ok"),
            ("INSERT INTO cf.report(command_id, outcome) VALUES ('a', 'completed')", "ok"),
            (&format!("{INSERT} VALUES ('b', 'd', 'k', '')"), DENIED),
            ("SELECT FROM cf.outbox", DENIED),
            ("UPDATE cf.receipt SET outcome = 'rejected'", DENIED),
            ("DELETE FROM cf.delivery", DENIED),
        ],
    )
    .await;
    let left = schema.stranger().await;
    assert_eq!(left.number("SELECT count(*) FROM cf.contradiction").await, 1);
}

#[tokio::test]
async fn a_relay_takes_nothing_from_what_is_kept() {
    let schema = with_roles().await;
    let relay = user(&schema, "relay").await;
    expect(
        &relay,
        &[
            ("DELETE FROM cf.delivery", "CF0120"),
            ("SET counterfoil.own = 'on'", "ok"),
            ("SELECT FROM cf.receipt FOR UPDATE", "ok"),
            ("SELECT FROM cf.archived FOR UPDATE", "ok"),
            ("UPDATE cf.delivery SET attempts = 1", "ok"),
            ("DELETE FROM cf.outbox", DENIED),
            ("UPDATE cf.outbox SET body = ''", DENIED),
            ("DELETE FROM cf.receipt", DENIED),
            ("DELETE FROM cf.event", DENIED),
            ("DELETE FROM cf.contradiction", DENIED),
            ("DELETE FROM cf.operator_action", DENIED),
            ("UPDATE cf.meta SET source = 'x'", DENIED),
            ("TRUNCATE cf.delivery", DENIED),
            ("ALTER TABLE cf.outbox DISABLE TRIGGER ALL", DENIED),
            ("DROP TRIGGER outbox_guard ON cf.outbox", DENIED),
            ("CREATE TABLE cf.mine(a int)", DENIED),
            ("RESET counterfoil.own", "ok"),
            (&format!("{INSERT} VALUES ('b', 'd', 'k', '')"), "ok"),
            ("SELECT cf.complete('b')", "ok"),
        ],
    )
    .await;
    // And the library works with nothing but this role: it draws numbers by itself.
    let config = url().replace("postgres@", &format!("{}_relay_user:secret@", schema.name()));
    let store = PostgresStore::open(&config, schema.options()).await.unwrap();
    let key = OrderingKey::new("K").unwrap();
    let command = Command::bytes("own", "d", "k", "body").unwrap().ordering_key(key);
    let recorded = store.enqueue(vec![command]).await.unwrap();
    assert_eq!(recorded, [Ok(Recorded::Recorded)]);
    // A workflow, from its start by a writer to a command that a worker ends.
    let started =
        "INSERT INTO cf.input(stream, id, kind, name) VALUES ('t', 'start', 'start', 'trip')
        ON CONFLICT DO NOTHING";
    let (writer, worker) = (user(&schema, "writer").await, user(&schema, "worker").await);
    expect(&writer, &[(started, "ok"), (started, "ok")]).await;
    let first = Decision { commands: vec![workflow::book()], ..workflow::started() };
    workflow::commit(&store, workflow::step(&store, "t", 0, vec![first])).await;
    expect(&worker, &[("SELECT cf.complete('t:1:0')", "ok"), (started, DENIED)]).await;
    workflow::send(&store, "u", "a", InputKind::Signal).await;
    assert_eq!(store.keep_inputs(9, Span::ZERO).await.unwrap().expired, 1);
    assert_eq!(workflow::due(&store).await, ["t receipt:1:0"]);
    assert!(workflow::quarantine(&store, "t", 1).await);
    let actor = Actor { name: "ann".into(), reason: String::new() };
    assert!(store.retry_workflow(&workflow::stream("t"), actor).await.unwrap());
    let id = workflow::decided("receipt:1:0", InputKind::Receipt, "completed");
    workflow::commit(&store, workflow::step(&store, "t", 1, vec![id])).await;
}

#[tokio::test]
async fn an_operator_may_remove_and_an_auditor_reads_and_seals() {
    let schema = with_roles().await;
    let operator = user(&schema, "operator").await;
    expect(
        &operator,
        &[
            ("DELETE FROM cf.outbox", "CF0110"),
            ("SET counterfoil.own = 'on'", "ok"),
            ("UPDATE cf.outbox SET body = '', erased_at = 1764421200000000", "ok"),
            ("DELETE FROM cf.delivery", "ok"),
            ("DELETE FROM cf.outbox", "ok"),
            ("DROP TABLE cf.outbox", DENIED),
            // Nobody hides what he did, or makes the store another one.
            ("UPDATE cf.operator_action SET reason = NULL", "ok"),
            ("UPDATE cf.operator_action SET actor = 'eve'", DENIED),
            ("DELETE FROM cf.operator_action", DENIED),
            ("UPDATE cf.meta SET version = 99", DENIED),
            ("DELETE FROM cf.archived", DENIED),
        ],
    )
    .await;
    let auditor = user(&schema, "auditor").await;
    let tables = "SELECT relname::text FROM pg_class WHERE relkind = 'r'
        AND relnamespace = to_regnamespace($1)";
    for row in auditor.client.query(tables, &[&schema.name()]).await.unwrap() {
        let table: String = row.get(0);
        // A seal is written by the library alone.
        let insert = if table == "seal" { "CF0132" } else { DENIED };
        expect(
            &auditor,
            &[
                (&format!("SELECT FROM cf.{table}"), "ok"),
                (&format!("INSERT INTO cf.{table} DEFAULT VALUES"), insert),
                (&format!("DELETE FROM cf.{table}"), DENIED),
            ],
        )
        .await;
    }
    expect(
        &auditor,
        &[
            ("INSERT INTO cf.report(command_id, outcome) VALUES ('a', 'completed')", DENIED),
            ("SELECT cf.complete('a')", DENIED),
            ("SELECT cf.enqueue('z', 'd', 'k', '')", DENIED),
        ],
    )
    .await;
}

/// A function of a trigger that runs as the owner believes its row. On a temp table of a writer's
/// own one of them made deliveries of commands that had ended, and another one took reports.
#[tokio::test]
async fn nobody_hangs_a_trigger_of_ours_on_a_table_of_his_own() {
    let schema = with_roles().await;
    let open = schema.stranger().await;
    open.run("SELECT cf.complete('a')").await.unwrap();
    for role in ["writer", "worker", "auditor"] {
        let user = user(&schema, role).await;
        user.run("CREATE TEMP TABLE mine(n bigint, ordering_key text, destination text)")
            .await
            .unwrap();
        user.run("CREATE TEMP VIEW seen AS SELECT * FROM mine").await.unwrap();
        for function in ["outbox_guard", "outbox_made", "lane_arrived", "input_guard"] {
            let hang = format!(
                "CREATE TRIGGER x AFTER INSERT ON mine FOR EACH ROW
                 EXECUTE FUNCTION cf.{function}()"
            );
            expect(&user, &[(&hang, DENIED)]).await;
        }
        let hang = "CREATE TRIGGER x INSTEAD OF INSERT ON seen FOR EACH ROW
            EXECUTE FUNCTION cf.report_insert()";
        expect(&user, &[(hang, DENIED)]).await;
    }
    // And whatever comes to run as the owner, but for the look that `enqueue` takes for its caller.
    let anybodys = "SELECT proname::text FROM pg_proc
        WHERE pronamespace = to_regnamespace($1) AND prosecdef
          AND (proacl IS NULL OR EXISTS (SELECT FROM aclexplode(proacl) WHERE grantee = 0))";
    let rows = open.client.query(anybodys, &[&schema.name()]).await.unwrap();
    let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(names, ["standing"]);
}

/// A user with no role at all has nothing, not even the schema.
#[tokio::test]
async fn nobody_else_has_any_right() {
    let schema = with_roles().await;
    let stranger = schema.stranger().await;
    stranger.run("CREATE ROLE cf_nobody LOGIN PASSWORD 'secret'").await.unwrap();
    let nobody = schema.stranger_as(&format!("{}_nobody", schema.name()), "secret").await;
    for sql in ["SELECT FROM cf.outbox", "SELECT cf.micros()", "SELECT cf.enqueue('z','d','k','')"]
    {
        expect(&nobody, &[(sql, DENIED)]).await;
    }
}
