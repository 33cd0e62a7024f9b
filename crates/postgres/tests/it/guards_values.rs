//! Every value that a stranger may write is held to its rule, and the bounds themselves fit.

use crate::server::{Stranger, TestSchema, refusal};

/// Inserts one row with a column's value over the usual ones; how it went.
async fn insert(
    stranger: &Stranger,
    table: &str,
    usual: &[(&str, &str)],
    over: &[(&str, String)],
) -> String {
    let mut row: Vec<(&str, String)> =
        usual.iter().map(|(column, value)| (*column, (*value).to_owned())).collect();
    for (column, value) in over {
        row.retain(|(known, _)| known != column);
        row.push((column, value.clone()));
    }
    let columns: Vec<&str> = row.iter().map(|(column, _)| *column).collect();
    let values: Vec<&str> = row.iter().map(|(_, value)| value.as_str()).collect();
    let (columns, values) = (columns.join(", "), values.join(", "));
    let overriding = if columns.contains("arrival") || row.iter().any(|(column, _)| *column == "n")
    {
        "OVERRIDING SYSTEM VALUE"
    } else {
        ""
    };
    let sql = format!("INSERT INTO cf.{table}({columns}) {overriding} VALUES ({values})");
    match stranger.execute(&sql, &[]).await {
        Ok(rows) => format!("{rows}"),
        Err(error) => refusal(&error),
    }
}

fn long(bytes: usize) -> String {
    format!("repeat('x', {bytes})")
}

const OUTBOX: [(&str, &str); 4] = [
    ("command_id", "gen_random_uuid()::text"),
    ("destination", "'d'"),
    ("kind", "'k'"),
    ("body", "'{}'"),
];

#[tokio::test]
async fn the_outbox_takes_what_the_rules_allow() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    for (column, value) in [
        ("command_id", long(255)),
        ("command_id", "'订单:1'".into()),
        ("destination", long(255)),
        ("kind", long(255)),
        ("content_type", long(255)),
        ("ordering_key", long(255)),
        ("body", "''".into()),
        ("body", "convert_to(repeat('x', 16777216), 'UTF8')".into()),
        ("headers", r#"'{}'"#.into()),
        ("headers", r#"' { "a" : "b\u00e9", "c": "" } '"#.into()),
        ("headers", "'{\"a\":\"' || repeat('x', 65536 - 8) || '\"}'".into()),
        ("headers", "NULL".into()),
        ("not_before", "1000000000000000".into()),
        ("expires_at", "9999999999999999".into()),
        ("recorded_at", "1764421200000000".into()),
        ("core_digest", "repeat('0f', 32)".into()),
    ] {
        let done = insert(&stranger, "outbox", &OUTBOX, &[(column, value.clone())]).await;
        assert_eq!(done, "1", "{column} = {value}");
    }
}

#[tokio::test]
async fn the_outbox_refuses_what_the_rules_do_not_allow() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    stranger
        .run(
            "INSERT INTO cf.outbox(command_id, destination, kind, body)
        VALUES ('seen', 'd', 'k', '')",
        )
        .await
        .unwrap();
    for (column, value, code) in [
        ("n", "-1", "CF0101"),
        ("n", "1000000", "CF0101"),
        ("erased_at", "1764421200000000", "CF0101"),
        ("stream", "'s'", "CF0101"),
        ("seq", "1", "CF0101"),
        ("idx", "0", "CF0101"),
        ("command_id", "''", "CF0102"),
        ("command_id", "NULL", "CF0102"),
        ("command_id", "repeat('x', 256)", "CF0102"),
        ("command_id", "repeat('单', 86)", "CF0102"),
        ("destination", "''", "CF0105"),
        ("destination", "NULL", "CF0105"),
        ("destination", "repeat('x', 256)", "CF0105"),
        ("kind", "''", "CF0105"),
        ("kind", "NULL", "CF0105"),
        ("kind", "repeat('x', 256)", "CF0105"),
        ("content_type", "''", "CF0106"),
        ("content_type", "NULL", "CF0106"),
        ("content_type", "repeat('x', 256)", "CF0106"),
        ("command_id", "E'a\\nb'", "CF0107"),
        ("command_id", "chr(1)", "CF0107"),
        ("destination", "E'd\\t'", "CF0107"),
        ("kind", "chr(31)", "CF0107"),
        ("content_type", "chr(127)", "CF0107"),
        ("body", "NULL", "CF0108"),
        ("body", "convert_to(repeat('x', 16777217), 'UTF8')", "CF0109"),
        ("ordering_key", "''", "CF0113"),
        ("ordering_key", "repeat('x', 256)", "CF0113"),
        ("ordering_key", "E'a\\rb'", "CF0113"),
        ("not_before", "1764421200", "CF0115"),
        ("not_before", "1764421200000", "CF0115"),
        ("expires_at", "1764421200000000000", "CF0115"),
        ("recorded_at", "0", "CF0115"),
        ("recorded_at", "NULL", "CF0115"),
        ("headers", "'{\"a\":\"' || repeat('x', 65536) || '\"}'", "CF0116"),
        ("headers", "''", "CF0116"),
        ("headers", "'[]'", "CF0116"),
        ("headers", "'null'", "CF0116"),
        ("headers", "'{\"a\":1}'", "CF0116"),
        ("headers", "'{\"a\":\"b\",\"c\":null}'", "CF0116"),
        ("headers", "'{\"a\"'", "CF0116"),
        ("headers", "'{\"a\":\"\\u0000\"}'", "CF0116"),
        ("headers", "repeat('[', 65536)", "CF0116"),
        ("core_digest", "repeat('0F', 32)", "CF0117"),
        ("core_digest", "repeat('0', 63)", "CF0117"),
        ("core_digest", "repeat('0', 64) || E'\\n'", "CF0117"),
    ] {
        let done = insert(&stranger, "outbox", &OUTBOX, &[(column, value.into())]).await;
        assert_eq!(done, code, "{column} = {value}");
    }
    // Nothing of all this stands; and a number that is given is refused also first in a session.
    assert_eq!(stranger.number("SELECT count(*) FROM cf.outbox").await, 1);
    assert_eq!(stranger.number("SELECT count(*) FROM cf.delivery").await, 1);
    let first = schema.stranger().await;
    let done = insert(&first, "outbox", &OUTBOX, &[("n", "3".into())]).await;
    assert_eq!(done, "CF0101");
}

#[tokio::test]
async fn a_copy_with_a_number_is_refused() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let copy = "COPY cf.outbox(n, command_id, destination, kind, body)
        FROM PROGRAM 'echo \"7,a,d,k,one\"' (FORMAT csv)";
    let refused = stranger.run(copy).await.map_err(|error| refusal(&error));
    assert_eq!(refused, Err("CF0101".into()));
}

const INBOX: [(&str, &str); 3] =
    [("source", "'s'"), ("key", "gen_random_uuid()::text"), ("digest", "'\\x00ff'")];

#[tokio::test]
async fn the_inbox_holds_its_values_to_their_rules() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    for (column, value, wanted) in [
        ("source", "repeat('x', 255)", "1"),
        ("digest", "repeat('x', 255)::bytea", "1"),
        ("outcome", "'completed'", "1"),
        ("expires_at", "NULL", "1"),
        ("source", "''", "CF0401"),
        ("source", "NULL", "CF0401"),
        ("key", "repeat('x', 256)", "CF0401"),
        ("key", "NULL", "CF0401"),
        ("key", "E'a\\n'", "CF0401"),
        ("digest", "NULL", "CF0402"),
        ("digest", "''", "CF0402"),
        ("digest", "repeat('x', 256)::bytea", "CF0402"),
        ("outcome", "'done'", "CF0403"),
        ("result", "'r'", "CF0403"),
        ("received_at", "1764421200", "CF0404"),
        ("received_at", "NULL", "CF0404"),
        ("expires_at", "1764421200000", "CF0404"),
    ] {
        let done = insert(&stranger, "inbox", &INBOX, &[(column, value.into())]).await;
        assert_eq!(done, wanted, "{column} = {value}");
    }
    let long = ("result", "convert_to(repeat('x', 16777217), 'UTF8')".to_owned());
    let over = [("outcome", "'rejected'".to_owned()), long];
    assert_eq!(insert(&stranger, "inbox", &INBOX, &over).await, "CF0403");
}

const INPUT: [(&str, &str); 4] =
    [("stream", "'s'"), ("id", "gen_random_uuid()::text"), ("kind", "'signal'"), ("name", "'n'")];

#[tokio::test]
async fn an_input_is_held_to_its_rules() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    for (column, value, wanted) in [
        ("stream", "repeat('x', 200)", "1"),
        ("kind", "'start'", "1"),
        ("kind", "'cancel'", "1"),
        ("body", "''", "1"),
        ("kind", "'timer'", "CF0301"),
        ("kind", "'receipt'", "CF0301"),
        ("kind", "NULL", "CF0301"),
        ("due_at", "1764421200000000", "CF0301"),
        ("arrival", "-5", "CF0301"),
        ("workflow", "'n'", "CF0301"),
        ("recorded_at", "1764421200000000", "CF0301"),
        ("id", "'receipt:1:0'", "CF0306"),
        ("id", "'timer:1:x'", "CF0306"),
        ("name", "repeat('x', 240)", "1"),
        ("name", "repeat('x', 241)", "CF0302"),
        ("name", "'n/1'", "1"),
        ("stream", "repeat('x', 201)", "CF0302"),
        ("stream", "NULL", "CF0302"),
        ("id", "''", "CF0302"),
        ("name", "NULL", "CF0302"),
        ("name", "E'\\x7f'", "CF0302"),
        ("body", "convert_to(repeat('x', 16777217), 'UTF8')", "CF0303"),
    ] {
        let done = insert(&stranger, "input", &INPUT, &[(column, value.into())]).await;
        assert_eq!(done, wanted, "{column} = {value}");
    }
    let slash = [("kind", "'start'".to_owned()), ("name", "'n/1'".to_owned())];
    assert_eq!(insert(&stranger, "input", &INPUT, &slash).await, "CF0307");
}

/// A subscriber of logical replication has rows, and a sequence that never drew. There a new
/// command was taken for one that stands, and `ON CONFLICT DO NOTHING` dropped it without a word.
#[tokio::test]
async fn a_number_that_stands_drops_no_command() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let insert = "INSERT INTO cf.outbox(command_id, destination, kind, body)";
    stranger
        .run(&format!("{insert} SELECT 'a' || g, 'd', 'k', '' FROM generate_series(1, 4) g"))
        .await
        .unwrap();
    stranger.run("SELECT setval('cf.outbox_n_seq', 1)").await.unwrap();
    for asked in [
        &format!("{insert} VALUES ('new', 'd', 'k', '') ON CONFLICT DO NOTHING"),
        &format!("{insert} VALUES ('new', 'd', 'k', '')"),
        "SELECT cf.enqueue('new', 'd', 'k', '{}'::json)",
    ] {
        let refused = stranger.run(asked).await.unwrap_err();
        assert!(refusal(&refused).starts_with("CF0133"), "{asked}: {refused:?}");
    }
    // The way out that it says.
    stranger.run("SELECT setval('cf.outbox_n_seq', max(n)) FROM cf.outbox").await.unwrap();
    stranger.run(&format!("{insert} VALUES ('new', 'd', 'k', '')")).await.unwrap();
    assert_eq!(stranger.number("SELECT count(*) FROM cf.delivery").await, 5);
}
