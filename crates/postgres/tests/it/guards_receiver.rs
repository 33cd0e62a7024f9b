//! What a stranger may change in the inbox and as an input, by every verb.

use crate::server::{Stranger, TestSchema, refusal};

async fn run(stranger: &Stranger, sql: &str) -> String {
    match stranger.execute(sql, &[]).await {
        Ok(rows) => format!("{rows}"),
        Err(error) => match refusal(&error) {
            said if said.starts_with("CF0") => said,
            said => said[..5].to_owned(),
        },
    }
}

const KEY: &str = "INSERT INTO cf.inbox(source, key, digest, expires_at)
    VALUES ('s', 'k', 'one', cf.micros() + 3600000000)";

#[tokio::test]
async fn a_key_keeps_its_digest_and_its_outcome() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    for (sql, wanted) in [
        (KEY, "1"),
        (KEY, "23505"),
        (&format!("{KEY} ON CONFLICT DO NOTHING"), "0"),
        (&format!("{KEY} ON CONFLICT (source, key) DO UPDATE SET digest = 'two'"), "CF0406"),
        ("UPDATE cf.inbox SET digest = 'two'", "CF0406"),
        ("UPDATE cf.inbox SET source = 't'", "CF0406"),
        ("UPDATE cf.inbox SET key = 'l'", "CF0406"),
        ("UPDATE cf.inbox SET received_at = received_at + 1", "CF0406"),
        ("UPDATE cf.inbox SET outcome = 'done'", "CF0403"),
        ("UPDATE cf.inbox SET result = 'r'", "CF0403"),
        ("UPDATE cf.inbox SET expires_at = 5", "CF0404"),
        ("UPDATE cf.inbox SET expires_at = expires_at - 1", "CF0407"),
        ("UPDATE cf.inbox SET expires_at = expires_at + 1", "1"),
        ("UPDATE cf.inbox SET outcome = 'completed', result = 'r'", "1"),
        ("UPDATE cf.inbox SET result = 'q'", "CF0406"),
        ("UPDATE cf.inbox SET outcome = 'rejected'", "CF0406"),
        ("UPDATE cf.inbox SET outcome = NULL, result = NULL", "CF0406"),
        ("DELETE FROM cf.inbox", "CF0408"),
        ("TRUNCATE cf.inbox", "CF0408"),
        ("UPDATE cf.inbox SET expires_at = NULL", "1"),
        ("DELETE FROM cf.inbox", "CF0408"),
        (
            "INSERT INTO cf.inbox(source, key, digest, expires_at)
             VALUES ('s', 'old', 'one', 1764421200000000)",
            "1",
        ),
        ("DELETE FROM cf.inbox WHERE key = 'old'", "1"),
    ] {
        assert_eq!(run(&stranger, sql).await, wanted, "{sql}");
    }
    assert_eq!(stranger.number("SELECT count(*) FROM cf.inbox").await, 1);
}

#[tokio::test]
async fn the_same_input_twice_is_one_by_every_verb() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let insert = |name: &str, body: &str| {
        format!(
            "INSERT INTO cf.input(stream, id, kind, name, body)
             VALUES ('s', 'i', 'start', '{name}', '{body}')"
        )
    };
    assert_eq!(run(&stranger, &insert("n", "one")).await, "1");
    for tail in [
        "",
        "ON CONFLICT DO NOTHING",
        "ON CONFLICT (stream, id) DO UPDATE SET body = excluded.body",
    ] {
        for (name, body, wanted) in
            [("n", "one", "0"), ("n", "two", "CF0304"), ("m", "one", "CF0304")]
        {
            let sql = format!("{} {tail}", insert(name, body));
            assert_eq!(run(&stranger, &sql).await, wanted, "{sql}");
        }
    }
    for sql in ["UPDATE cf.input SET name = 'm'", "DELETE FROM cf.input", "TRUNCATE cf.input"] {
        assert_eq!(run(&stranger, sql).await, "CF0305", "{sql}");
    }
}

#[tokio::test]
async fn a_decided_input_is_known_by_its_event() {
    let schema = TestSchema::new().await;
    let (stranger, forger) = (schema.stranger().await, schema.forger().await);
    forger
        .run(
            "INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at)
             VALUES ('s', 1, 'signal:n', 'one', 'i', 0, 1764421200000000)",
        )
        .await
        .unwrap();
    for (kind, name, body, wanted) in [
        ("signal", "n", "'one'", "0"),
        ("signal", "n", "'two'", "CF0304"),
        ("signal", "n", "NULL", "CF0304"),
        ("signal", "m", "'one'", "CF0304"),
        ("cancel", "n", "'one'", "CF0304"),
    ] {
        let sql = format!(
            "INSERT INTO cf.input(stream, id, kind, name, body)
             VALUES ('s', 'i', '{kind}', '{name}', {body})"
        );
        assert_eq!(run(&stranger, &sql).await, wanted, "{kind}:{name} {body}");
    }
    // Archived, it is known by its digest.
    let archive = "UPDATE cf.event SET body = '', file = 'f', digest = sha256('one')";
    assert_eq!(run(&stranger, archive).await, "CF0111", "where a body lies is nobody's to say");
    forger.run(archive).await.unwrap();
    for (name, body, wanted) in [
        ("n", "'one'", "0"),
        ("n", "''", "CF0304"),
        ("n", "NULL", "CF0304"),
        ("m", "'one'", "CF0304"),
    ] {
        let sql = format!(
            "INSERT INTO cf.input(stream, id, kind, name, body)
             VALUES ('s', 'i', 'signal', '{name}', {body})"
        );
        assert_eq!(run(&stranger, &sql).await, wanted, "{name} {body}");
    }
    assert_eq!(stranger.number("SELECT count(*) FROM cf.input").await, 0);
}
