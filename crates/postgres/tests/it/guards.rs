//! One id is one intent, by whatever verb a stranger writes the outbox.

use crate::server::{Stranger, TestSchema, refusal};

const ISOLATIONS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// Ways to insert one command; those of servers before 15 know no MERGE.
const VERBS: [(&str, &str); 10] = [
    ("plain", "INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ($ROW)"),
    (
        "do nothing",
        "INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ($ROW)
         ON CONFLICT DO NOTHING",
    ),
    (
        "do nothing by id",
        "INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ($ROW)
         ON CONFLICT (command_id) DO NOTHING",
    ),
    (
        "upsert",
        "INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ($ROW)
         ON CONFLICT (command_id) DO UPDATE SET body = excluded.body",
    ),
    (
        "returning",
        "INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ($ROW) RETURNING n",
    ),
    (
        "several rows",
        "INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ($ROW), ($ROW)",
    ),
    (
        "insert select",
        "INSERT INTO cf.outbox(command_id, destination, kind, body)
         SELECT v.* FROM (VALUES ($ROW)) v, generate_series(1, 3) ORDER BY 1",
    ),
    (
        "with",
        "WITH made AS (INSERT INTO cf.outbox(command_id, destination, kind, body)
           VALUES ($ROW) RETURNING 1) SELECT FROM made",
    ),
    (
        "merge",
        "MERGE INTO cf.outbox USING (VALUES ($ROW)) v(a, b, c, d) ON false
         WHEN NOT MATCHED THEN INSERT (command_id, destination, kind, body) VALUES (a, b, c, d)",
    ),
    (
        "copy",
        "COPY cf.outbox(command_id, destination, kind, body)
         FROM PROGRAM 'echo \"$CSV\"' (FORMAT csv)",
    ),
];

fn statement(verb: &str, id: &str, destination: &str, body: &str) -> String {
    let row = format!("'{id}'::text, '{destination}'::text, 'k'::text, '{body}'::bytea");
    verb.replace("$ROW", &row).replace("$CSV", &format!("{id},{destination},k,{body}"))
}

/// Runs it in a transaction of its own; the rows it says it wrote.
async fn run(stranger: &Stranger, isolation: &str, sql: &str) -> Result<u64, String> {
    stranger.run(&format!("BEGIN ISOLATION LEVEL {isolation}")).await.unwrap();
    let done = stranger.execute(sql, &[]).await.map_err(|error| refusal(&error));
    stranger.run(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await.unwrap();
    done
}

async fn standing(stranger: &Stranger, id: &str) -> (i64, i64) {
    let outbox = format!("SELECT count(*) FROM cf.outbox WHERE command_id = '{id}'");
    let delivery = format!(
        "SELECT count(*) FROM cf.delivery WHERE state = 'pending' AND round = 1 AND token = 0
         AND available_at IS NOT NULL
         AND n = (SELECT n FROM cf.outbox WHERE command_id = '{id}')"
    );
    (stranger.number(&outbox).await, stranger.number(&delivery).await)
}

async fn knows_merge(stranger: &Stranger) -> bool {
    stranger.number("SELECT current_setting('server_version_num')").await >= 150_000
}

#[tokio::test]
async fn one_id_is_one_intent_by_every_verb() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let has_merge = knows_merge(&stranger).await;
    for isolation in ISOLATIONS {
        for (name, verb) in VERBS.iter().filter(|(name, _)| has_merge || *name != "merge") {
            let what = format!("{name}, {isolation}");
            let id = what.replace([' ', ','], "_");
            let fresh = run(&stranger, isolation, &statement(verb, &id, "d", "one")).await;
            assert!(fresh.is_ok(), "{what}: {fresh:?}");
            assert_eq!(standing(&stranger, &id).await, (1, 1), "{what}");

            let equal = run(&stranger, isolation, &statement(verb, &id, "d", "one")).await;
            assert_eq!(equal, Ok(0), "equal content, {what}");
            for (destination, body) in [("d", "two"), ("e", "one")] {
                let sql = statement(verb, &id, destination, body);
                let other = run(&stranger, isolation, &sql).await;
                assert_eq!(other, Err("CF0104".into()), "other content, {what}");
            }
            assert_eq!(standing(&stranger, &id).await, (1, 1), "{what}");
        }
    }
}

#[tokio::test]
async fn an_archived_or_erased_id_is_refused_by_every_verb() {
    let schema = TestSchema::new().await;
    let (stranger, forger) = (schema.stranger().await, schema.forger().await);
    forger
        .run(
            "INSERT INTO cf.archived(command_id, destination, kind, digest, outcome, rounds, file)
             VALUES ('gone', 'd', 'k', sha256('one'), 'completed', 1, 'f');
             INSERT INTO cf.outbox(command_id, destination, kind, body, erased_at)
             VALUES ('erased', 'd', 'k', 'one', 1764421200000000)",
        )
        .await
        .unwrap();
    let has_merge = knows_merge(&stranger).await;
    for (name, verb) in VERBS.iter().filter(|(name, _)| has_merge || *name != "merge") {
        for (id, code) in [("gone", "CF0103"), ("erased", "CF0112")] {
            let done = run(&stranger, "READ COMMITTED", &statement(verb, id, "d", "one")).await;
            assert_eq!(done, Err(code.into()), "{name}");
        }
    }
}

#[tokio::test]
async fn a_core_digest_in_both_rows_is_compared_instead_of_the_body() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let insert = |core: &str, body: &str| {
        format!(
            "INSERT INTO cf.outbox(command_id, destination, kind, core_digest, body)
             VALUES ('a', 'd', 'k', {core}, '{body}')"
        )
    };
    let (one, two) = (format!("'{}'", "1".repeat(64)), format!("'{}'", "2".repeat(64)));
    for (core, body, wanted) in [
        (one.as_str(), "with trace 1", Ok(1)),
        (&one, "with trace 2", Ok(0)),
        (&two, "with trace 1", Err("CF0104".to_owned())),
        ("NULL", "with trace 1", Ok(0)),
        ("NULL", "with trace 2", Err("CF0104".to_owned())),
    ] {
        assert_eq!(run(&stranger, "READ COMMITTED", &insert(core, body)).await, wanted, "{body}");
    }
}

/// Destination, kind and ordering key are compared besides the content; headers and times are not.
#[tokio::test]
async fn the_address_is_compared_and_the_rest_is_not() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let columns = "command_id, body, destination, kind, ordering_key, headers, not_before";
    let time = "1764421200000000";
    for (rest, wanted) in [
        ("'d', 'k', 'K', NULL, NULL", Ok(1)),
        ("'d', 'k', 'K', '{}', NULL", Ok(0)),
        (&format!("'d', 'k', 'K', NULL, {time}"), Ok(0)),
        ("'e', 'k', 'K', NULL, NULL", Err("CF0104".to_owned())),
        ("'d', 'l', 'K', NULL, NULL", Err("CF0104".to_owned())),
        ("'d', 'k', 'L', NULL, NULL", Err("CF0104".to_owned())),
        ("'d', 'k', NULL, NULL, NULL", Err("CF0104".to_owned())),
    ] {
        let sql = format!("INSERT INTO cf.outbox({columns}) VALUES ('a', 'one', {rest})");
        assert_eq!(run(&stranger, "READ COMMITTED", &sql).await, wanted, "{rest}");
    }
}

#[tokio::test]
async fn the_outbox_is_append_only() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let insert = statement(VERBS[0].1, "a", "d", "one");
    stranger.run(&insert).await.unwrap();
    let mut verbs = vec![
        "UPDATE cf.outbox SET body = 'two'",
        "UPDATE cf.outbox SET recorded_at = recorded_at",
        "DELETE FROM cf.outbox",
        "TRUNCATE cf.outbox",
        "TRUNCATE cf.outbox CASCADE",
    ];
    if knows_merge(&stranger).await {
        verbs.push("MERGE INTO cf.outbox USING (SELECT 1) v ON true WHEN MATCHED THEN DELETE");
        verbs.push(
            "MERGE INTO cf.outbox USING (SELECT 1) v ON true
             WHEN MATCHED THEN UPDATE SET body = 'two'",
        );
    }
    for verb in verbs {
        let refused = stranger.run(verb).await.map_err(|error| refusal(&error));
        assert_eq!(refused, Err("CF0110".into()), "{verb}");
    }
    assert_eq!(standing(&stranger, "a").await, (1, 1));
}

/// What plain SQL cannot see: the docs say so, and say to use `enqueue`.
#[tokio::test]
async fn a_twin_in_flight_is_met_by_the_index() {
    let schema = TestSchema::new().await;
    for (at, (name, verb)) in VERBS.iter().take(4).enumerate() {
        let (first, second) = (schema.stranger().await, schema.stranger().await);
        let id = format!("twin{at}");
        first.run("BEGIN").await.unwrap();
        first.run(&statement(verb, &id, "d", "one")).await.unwrap();
        let other = statement(verb, &id, "d", "two");
        let (met, ()) = tokio::join!(second.execute(&other, &[]), async {
            crate::server::wait_for_lock(&first).await;
            first.run("COMMIT").await.unwrap();
        });
        let met = met.map_err(|error| refusal(&error)[..6].to_owned());
        let wanted = match *name {
            "plain" => Err("23505 ".into()),
            "upsert" => Err("CF0110".into()),
            _ => Ok(0),
        };
        assert_eq!(met, wanted, "{name}");
        assert_eq!(standing(&first, &id).await, (1, 1), "{name}");
    }
}
