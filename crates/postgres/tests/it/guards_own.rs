//! A stranger writes none of Counterfoil's own tables, by no verb.

use crate::server::{Stranger, TestSchema, refusal};

/// Each table, the code that guards it, and a row.
const TABLES: [(&str, &str, &str); 15] = [
    ("delivery", "CF0120", "(n, state, destination) VALUES (7, 'pending', 'd')"),
    (
        "receipt",
        "CF0121",
        "(n, round, token, recorded_at, attempts, outcome, source, destination)
         VALUES (7, 1, 0, 1764421200000000, 0, 'completed', 'me', 'd')",
    ),
    (
        "contradiction",
        "CF0122",
        "(command_id, round, outcome, source, recorded_at)
         VALUES ('a', 1, 'completed', 'me', 1764421200000000)",
    ),
    (
        "event",
        "CF0111",
        "(stream, seq, kind, body, commands, recorded_at)
         VALUES ('s', 1, 'k', '', 0, 1764421200000000)",
    ),
    (
        "attempt",
        "CF0123",
        "(n, round, token, purpose, outcome, ended_at)
         VALUES (7, 1, 1, 'send', 'unknown', 1764421200000000)",
    ),
    ("stream", "CF0124", "(stream, head) VALUES ('s', 1)"),
    (
        "snapshot",
        "CF0125",
        "(stream, name, version, seq, state, recorded_at)
         VALUES ('s', 'n', 1, 1, '', 1764421200000000)",
    ),
    ("lane", "CF0126", "(destination, ordering_key, last) VALUES ('d', 'k', 1)"),
    ("lane_freed", "CF0126", "(destination, ordering_key) VALUES ('d', 'k')"),
    ("destination", "CF0127", "(name) VALUES ('d')"),
    ("tally", "CF0128", "(destination, outcome, count) VALUES ('d', 'completed', 1)"),
    (
        "archived",
        "CF0129",
        "(command_id, destination, kind, digest, outcome, rounds, file)
         VALUES ('a', 'd', 'k', '', 'completed', 1, 'f')",
    ),
    (
        "operator_action",
        "CF0130",
        "(verb, about, actor, recorded_at) VALUES ('retry', 'a', 'me', 1764421200000000)",
    ),
    ("meta", "CF0131", "(k, version, source, store) VALUES (1, 1, 's', 's')"),
    ("seal", "CF0132", "(k, version, recorded_at, seal) VALUES (1, 1, 1764421200000000, '{}')"),
];

async fn refuses(stranger: &Stranger, sql: &str, code: &str) {
    let refused = stranger.run(sql).await.map_err(|error| refusal(&error));
    assert_eq!(refused, Err(code.into()), "{sql}");
}

#[tokio::test]
async fn no_verb_of_a_stranger_writes_them() {
    let schema = TestSchema::new().await;
    let (stranger, forger) = (schema.stranger().await, schema.forger().await);
    for (table, code, row) in TABLES {
        let insert = format!("INSERT INTO cf.{table}{row}");
        if table != "meta" {
            forger.run(&insert).await.unwrap();
        }
        let column = row.trim_start_matches('(').split([',', ')']).next().unwrap();
        for sql in [
            insert.clone(),
            format!("{insert} ON CONFLICT DO NOTHING"),
            format!("INSERT INTO cf.{table} OVERRIDING SYSTEM VALUE SELECT * FROM cf.{table}"),
            format!("COPY cf.{table}({column}) FROM PROGRAM 'true'"),
            format!("UPDATE cf.{table} SET {column} = {column}"),
            format!("DELETE FROM cf.{table}"),
            format!("TRUNCATE cf.{table}"),
            format!("WITH gone AS (DELETE FROM cf.{table} RETURNING 1) SELECT FROM gone"),
        ] {
            refuses(&stranger, &sql, code).await;
        }
        assert_eq!(stranger.number(&format!("SELECT count(*) FROM cf.{table}")).await, 1);
    }
    if stranger.number("SELECT current_setting('server_version_num')").await >= 150_000 {
        for (table, code, _) in TABLES {
            let merge = "USING (SELECT 1) v ON true WHEN MATCHED THEN DELETE";
            refuses(&stranger, &format!("MERGE INTO cf.{table} {merge}"), code).await;
        }
    }
}

/// None is forgotten: a table of the schema is guarded here, or strangers may write it.
#[tokio::test]
async fn each_table_is_one_or_the_other() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let rows = stranger
        .client
        .query(
            "SELECT relname::text FROM pg_class WHERE relkind = 'r'
             AND relnamespace = to_regnamespace($1)",
            &[&schema.name()],
        )
        .await
        .unwrap();
    for row in rows {
        let table: String = row.get(0);
        let is_own = TABLES.iter().any(|(own, _, _)| *own == table);
        let is_written = ["outbox", "inbox", "input"].contains(&table.as_str());
        assert!(is_own != is_written, "{table}");
    }
}

/// A trigger of the user's own, on a table of theirs, is a stranger too.
#[tokio::test]
async fn a_users_trigger_is_a_stranger() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    stranger
        .run(
            "CREATE TABLE cf.orders(id text);
             CREATE FUNCTION cf.order_made() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               INSERT INTO cf.outbox(command_id, destination, kind, body)
               VALUES (NEW.id, 'd', 'k', '');
               DELETE FROM cf.delivery; RETURN NULL; END $$;
             CREATE TRIGGER made AFTER INSERT ON cf.orders FOR EACH ROW
             EXECUTE FUNCTION cf.order_made()",
        )
        .await
        .unwrap();
    refuses(&stranger, "INSERT INTO cf.orders VALUES ('a')", "CF0120").await;
}

/// Whether a session is our own is asked of the server's operators, not of what stands before them
/// in a stranger's search_path.
#[tokio::test]
async fn a_search_path_of_a_stranger_opens_nothing() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    stranger
        .run(
            "CREATE FUNCTION cf.always(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
             CREATE OPERATOR cf.= (LEFTARG = text, RIGHTARG = text, FUNCTION = cf.always);
             CREATE FUNCTION cf.current_setting(text, boolean) RETURNS text
             LANGUAGE sql AS $$ SELECT 'on'::text $$",
        )
        .await
        .unwrap();
    stranger.run(&format!("SET search_path = {}, pg_catalog", schema.name())).await.unwrap();
    assert_eq!(stranger.text("SELECT current_setting('x', true)").await.as_deref(), Some("on"));
    refuses(
        &stranger,
        "INSERT INTO cf.outbox(destination, kind, body) VALUES ('d', 'k', '')",
        "CF0102",
    )
    .await;
    let delivery = "INSERT INTO cf.delivery(n, state, destination) VALUES (7, 'pending', 'd')";
    refuses(&stranger, delivery, "CF0120").await;
}
