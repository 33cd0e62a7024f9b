//! The functions `enqueue`, `complete` and `reject`, as any language calls them.

use std::time::Duration;

use crate::server::{Stranger, TestSchema, refusal};

async fn call(stranger: &Stranger, call: &str) -> String {
    match stranger.query(&format!("SELECT cf.{call}"), &[]).await {
        Ok(rows) => rows[0].get(0),
        Err(error) => refusal(&error),
    }
}

#[tokio::test]
async fn enqueue_says_recorded_once_and_repeated_after() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    for isolation in ["READ COMMITTED", "SERIALIZABLE"] {
        let id = isolation.replace(' ', "_");
        stranger.run(&format!("BEGIN ISOLATION LEVEL {isolation}")).await.unwrap();
        for (said, wanted) in [
            (format!("enqueue('{id}', 'd', 'k', '{{\"a\": 1}}')"), "recorded"),
            (format!("enqueue('{id}', 'd', 'k', '{{\"a\": 1}}'::text)"), "repeated"),
            (format!("enqueue('{id}', 'd', 'k', '{{\"a\": 1}}'::json)"), "repeated"),
            (format!("enqueue('{id}', 'd', 'k', '{{ \"a\":1 }}'::jsonb)"), "repeated"),
            (format!("enqueue('{id}', 'd', 'k', '\\x7b2261223a20317d'::bytea)"), "repeated"),
        ] {
            assert_eq!(call(&stranger, &said).await, wanted, "{said}");
        }
        stranger.run("COMMIT").await.unwrap();
        let other = format!("enqueue('{id}', 'd', 'k', '{{}}')");
        assert_eq!(call(&stranger, &other).await, "CF0104");
    }
    assert_eq!(stranger.number("SELECT count(*) FROM cf.delivery").await, 2);
}

#[tokio::test]
async fn a_conflict_is_a_unique_violation() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    assert_eq!(call(&stranger, "enqueue('a', 'd', 'k', 'one')").await, "recorded");
    for sql in [
        "SELECT cf.enqueue('a', 'd', 'k', 'two')",
        "INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ('a', 'd', 'k', 'two')",
    ] {
        let refused = stranger.run(sql).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "23505", "{sql}");
    }
}

#[tokio::test]
async fn the_optional_arguments_are_named() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let full = "enqueue('a', 'd', 'k', '{}'::json, ordering_key => 'K', content_type => 'x/y',
        headers => '{\"b\": \"c\"}', not_before => '2026-01-01 00:00:00.000001+00',
        expires_at => '2027-01-01 00:00:00+00', core_digest => repeat('0f', 32))";
    assert_eq!(call(&stranger, full).await, "recorded");
    let row = "SELECT concat_ws('|', ordering_key, content_type, headers, not_before, expires_at,
        core_digest) FROM cf.outbox";
    let wanted =
        format!("K|x/y|{{\"b\": \"c\"}}|1767225600000001|1798761600000000|{}", "0f".repeat(32));
    assert_eq!(stranger.text(row).await, Some(wanted));
    // The core, not the body, is compared where both have one.
    let same = "enqueue('a', 'd', 'k', '{\"t\":1}'::json, ordering_key => 'K',
        core_digest => repeat('0f', 32))";
    assert_eq!(call(&stranger, same).await, "repeated");
    for (over, code) in [
        ("not_before => 'infinity'", "CF0115"),
        ("expires_at => '1970-01-01'", "CF0115"),
        ("headers => '[1]'", "CF0116"),
        ("content_type => NULL", "CF0106"),
        ("ordering_key => ''", "CF0113"),
        ("core_digest => 'x'", "CF0117"),
    ] {
        let said = format!("enqueue('b', 'd', 'k', '{{}}'::json, {over})");
        assert_eq!(call(&stranger, &said).await, code, "{over}");
    }
    assert_eq!(call(&stranger, "enqueue('b', 'd', 'k', NULL::bytea)").await, "CF0108");
}

#[tokio::test]
async fn an_archived_id_is_compared_by_its_digest() {
    let schema = TestSchema::new().await;
    let (stranger, forger) = (schema.stranger().await, schema.forger().await);
    forger
        .run(
            "INSERT INTO cf.archived(command_id, destination, kind, digest, outcome, rounds, file)
             VALUES ('gone', 'd', 'k', sha256('one'), 'rejected', 1, 'f');
             INSERT INTO cf.outbox(command_id, destination, kind, body, erased_at)
             VALUES ('erased', 'd', 'k', 'one', 1764421200000000)",
        )
        .await
        .unwrap();
    for (said, wanted) in [
        ("enqueue('gone', 'd', 'k', 'one')", "repeated"),
        ("enqueue('gone', 'd', 'k', 'two')", "CF0104"),
        ("enqueue('gone', 'e', 'k', 'one')", "CF0104"),
        ("enqueue('gone', 'd', 'k', 'one', ordering_key => 'K')", "CF0104"),
        ("enqueue('erased', 'd', 'k', 'one')", "CF0112"),
    ] {
        assert_eq!(call(&stranger, said).await, wanted, "{said}");
    }
    assert_eq!(stranger.number("SELECT count(*) FROM cf.outbox").await, 1);
}

/// A session of our own that calls it gets a delivery like everybody else.
#[tokio::test]
async fn enqueue_makes_a_delivery_for_our_own_sessions_too() {
    let schema = TestSchema::new().await;
    let forger = schema.forger().await;
    forger.run("BEGIN").await.unwrap();
    assert_eq!(call(&forger, "enqueue('a', 'd', 'k', 'one')").await, "recorded");
    assert_eq!(forger.number("SELECT count(*) FROM cf.delivery").await, 1);
    assert_eq!(forger.text("SELECT current_setting('counterfoil.own')").await.unwrap(), "on");
}

/// After enqueue the plain rules are in force again, in the same transaction.
#[tokio::test]
async fn enqueue_leaves_the_guard_as_it_was() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    stranger.run("BEGIN; SELECT cf.enqueue('a', 'd', 'k', 'one')").await.unwrap();
    let other = "INSERT INTO cf.outbox(command_id, destination, kind, body)
        VALUES ('a', 'd', 'k', 'two')";
    assert_eq!(refusal(&stranger.run(other).await.unwrap_err()), "CF0104");
}

/// A caller that compares by itself is told nothing, and its transaction goes on.
#[tokio::test]
async fn whoever_compares_is_not_refused() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    stranger.run("SELECT cf.enqueue('a', 'd', 'k', 'one')").await.unwrap();
    stranger.run("BEGIN; SET LOCAL counterfoil.compare = 'caller'").await.unwrap();
    let other = "INSERT INTO cf.outbox(command_id, destination, kind, body)
        VALUES ('a', 'd', 'k', 'two')";
    assert_eq!(stranger.execute(other, &[]).await.unwrap(), 0);
    assert_eq!(call(&stranger, "enqueue('b', 'd', 'k', 'one')").await, "recorded");
    stranger.run("COMMIT").await.unwrap();
    assert_eq!(refusal(&stranger.run(other).await.unwrap_err()), "CF0104");
}

#[tokio::test]
async fn complete_and_reject_say_what_they_did() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    for id in ["a", "b", "c", "d", "e"] {
        call(&stranger, &format!("enqueue('{id}', 'd', 'k', '')")).await;
    }
    schema.forger().await.run("UPDATE cf.delivery SET token = 1764421200000001").await.unwrap();
    for (said, wanted) in [
        ("complete('a', '{\"job\":7}'::json, token => 1764421200000001)", "recorded"),
        ("complete('a', '{\"job\":7}'::json)", "repeated"),
        ("complete('a', token => 1764421200000001)", "CF0203"),
        ("reject('a')", "contradiction"),
        ("reject('b', 'no'::text, evidence => 'asked')", "recorded"),
        ("complete('b')", "contradiction"),
        ("complete('c', '\\x00ff'::bytea)", "recorded"),
        ("complete('d', '{\"a\":1}'::jsonb, 'seen')", "recorded"),
        ("complete('e', NULL)", "recorded"),
        ("complete('f')", "CF0202"),
    ] {
        assert_eq!(call(&stranger, said).await, wanted, "{said}");
    }
    let results = "SELECT string_agg(coalesce(encode(result, 'escape'), '-') || '=' || outcome, ' '
        ORDER BY n) FROM cf.receipt";
    let wanted =
        "{\"job\":7}=completed no=rejected \\000\\377=completed {\"a\": 1}=completed -=completed";
    assert_eq!(stranger.text(results).await.as_deref(), Some(wanted));
}

/// Bodies arrive byte for byte: text as its UTF-8, bytes as they are.
#[tokio::test]
async fn a_body_is_the_bytes_that_were_bound() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let long = "x".repeat(1 << 20);
    let texts = [r#"{"path":"C:\\dir\101","q":"say \"hi\""}"#, "\\x41", "订单 🚀", "", &long];
    for (at, text) in texts.iter().enumerate() {
        let id = format!("text{at}");
        let sql = "SELECT cf.enqueue($1, 'd', 'k', $2::text)";
        stranger.query(sql, &[&id, text]).await.unwrap();
        assert_eq!(body(&stranger, &id).await, text.as_bytes(), "{at}");
        // As the contract says it for a plain INSERT.
        let id = format!("converted{at}");
        let sql = "INSERT INTO cf.outbox(command_id, destination, kind, body)
            VALUES ($1, 'd', 'k', convert_to($2, 'UTF8'))";
        stranger.execute(sql, &[&id, text]).await.unwrap();
        assert_eq!(body(&stranger, &id).await, text.as_bytes(), "{at}");
    }
    let long = vec![0xff; 1 << 20];
    let bodies = [b"\x00\xff\xfe\\\\x41\x00".as_slice(), b"\x80", &long];
    for (at, bytes) in bodies.iter().enumerate() {
        let id = format!("bytes{at}");
        for (sql, wanted) in [
            ("SELECT cf.enqueue($1, 'd', 'k', $2::bytea)", "recorded"),
            ("SELECT cf.enqueue($1, 'd', 'k', $2::bytea)", "repeated"),
        ] {
            let rows = stranger.query(sql, &[&id, bytes]).await.unwrap();
            assert_eq!(rows[0].get::<_, &str>(0), wanted);
        }
        assert_eq!(body(&stranger, &id).await, *bytes, "{at}");
    }
}

async fn body(stranger: &Stranger, id: &str) -> Vec<u8> {
    let sql = "SELECT body FROM cf.outbox WHERE command_id = $1";
    stranger.query(sql, &[&id]).await.unwrap()[0].get(0)
}

/// Connections enqueue the same ids at the same instant: one records, the rest repeat, none fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twins_at_one_instant_one_records() {
    const IDS: usize = 10_000;
    let schema = TestSchema::new().await;
    let mut writers = Vec::new();
    for _ in 0..3 {
        let stranger = schema.stranger().await;
        writers.push(tokio::spawn(async move {
            let sql = stranger.sql("SELECT cf.enqueue($1, 'd', 'k', $2::text)");
            let statement = stranger.client.prepare(&sql).await.unwrap();
            let mut recorded = 0;
            for id in 0..IDS {
                let id = format!("twin:{id}");
                let row = stranger.client.query_one(&statement, &[&id, &"body"]).await.unwrap();
                match row.get(0) {
                    "recorded" => recorded += 1,
                    said => assert_eq!(said, "repeated"),
                }
            }
            recorded
        }));
    }
    let mut recorded = 0;
    for writer in writers {
        let within = tokio::time::timeout(Duration::from_secs(600), writer);
        recorded += within.await.expect("twins took ten minutes").unwrap();
    }
    let stranger = schema.stranger().await;
    assert_eq!(recorded, IDS);
    assert_eq!(stranger.number("SELECT count(*) FROM cf.outbox").await, IDS as i64);
    assert_eq!(stranger.number("SELECT count(*) FROM cf.delivery").await, IDS as i64);
}

/// A twin in flight is waited for, and then told as what it is.
#[tokio::test]
async fn a_twin_in_flight_is_compared() {
    let schema = TestSchema::new().await;
    for (at, (end, body, wanted)) in [
        ("COMMIT", "one", "repeated"),
        ("COMMIT", "two", "CF0104"),
        ("ROLLBACK", "two", "recorded"),
    ]
    .into_iter()
    .enumerate()
    {
        let (first, second) = (schema.stranger().await, schema.stranger().await);
        first.run(&format!("BEGIN; SELECT cf.enqueue('t{at}', 'd', 'k', 'one')")).await.unwrap();
        let twin = format!("enqueue('t{at}', 'd', 'k', '{body}')");
        let (said, ()) = tokio::join!(call(&second, &twin), async {
            crate::server::wait_for_lock(&first).await;
            first.run(end).await.unwrap();
        });
        assert_eq!(said, wanted, "{end} {body}");
    }
}

/// Above READ COMMITTED the twin cannot be looked at; the transaction is to be run again.
#[tokio::test]
async fn a_twin_in_flight_is_a_serialization_failure_above_read_committed() {
    for isolation in ["REPEATABLE READ", "SERIALIZABLE"] {
        let schema = TestSchema::new().await;
        let (first, second) = (schema.stranger().await, schema.stranger().await);
        first.run("BEGIN; SELECT cf.enqueue('a', 'd', 'k', 'one')").await.unwrap();
        second.run(&format!("BEGIN ISOLATION LEVEL {isolation}")).await.unwrap();
        second.number("SELECT count(*) FROM cf.outbox").await;
        let (said, ()) = tokio::join!(call(&second, "enqueue('a', 'd', 'k', 'one')"), async {
            crate::server::wait_for_lock(&first).await;
            first.run("COMMIT").await.unwrap();
        });
        assert_eq!(said[..5], *"40001", "{isolation}");
        second.run("ROLLBACK").await.unwrap();
        assert_eq!(call(&second, "enqueue('a', 'd', 'k', 'one')").await, "repeated");
    }
}

/// Two services in one database, each with its own schema: the same id is two intents.
#[tokio::test]
async fn two_schemas_are_two_stores() {
    let (one, two) = (TestSchema::new().await, TestSchema::new().await);
    let (first, second) = (one.stranger().await, two.stranger().await);
    assert_eq!(call(&first, "enqueue('a', 'd', 'k', 'one')").await, "recorded");
    assert_eq!(call(&second, "enqueue('a', 'd', 'k', 'two')").await, "recorded");
    assert_eq!(call(&first, "complete('a')").await, "recorded");
    assert_eq!(second.number("SELECT count(*) FROM cf.delivery").await, 1);
    let sources = [&first, &second].map(|stranger| stranger.text("SELECT source FROM cf.meta"));
    let [one, two] = sources;
    assert_ne!(one.await, two.await);
}
