//! The view `report`: what a worker says in its own transaction ends a command, once.

use crate::server::{Stranger, TestSchema, refusal, wait_for_lock};

async fn report(stranger: &Stranger, values: &str) -> String {
    let columns = "command_id, outcome, result, evidence, token";
    let sql = format!("INSERT INTO cf.report({columns}) VALUES ({values})");
    stranger.run(&sql).await.map_or_else(|error| refusal(&error), |()| "ok".into())
}

/// A schema with open commands `a` and `b`, the first claimed under the token 5.
async fn with_commands() -> (TestSchema, Stranger) {
    let schema = TestSchema::new().await;
    let (stranger, forger) = (schema.stranger().await, schema.forger().await);
    stranger
        .run(
            "INSERT INTO cf.outbox(command_id, destination, kind, body)
             VALUES ('a', 'd', 'k', ''), ('b', 'd', 'k', '')",
        )
        .await
        .unwrap();
    forger
        .run(
            "UPDATE cf.delivery SET state = 'sending', token = 5, attempts = 2,
             first_sent_at = 1764421200000000, digest = sha256(''), row_digest = sha256('r')
             WHERE n = (SELECT n FROM cf.outbox WHERE command_id = 'a')",
        )
        .await
        .unwrap();
    (schema, stranger)
}

const LEFT: &str = "SELECT concat_ws(' ', (SELECT count(*) FROM cf.delivery),
    (SELECT count(*) FROM cf.receipt), (SELECT coalesce(sum(count), 0) FROM cf.tally),
    (SELECT count(*) FROM cf.contradiction))";

#[tokio::test]
async fn a_report_ends_a_command_once() {
    let (_schema, stranger) = with_commands().await;
    assert_eq!(report(&stranger, "'a', 'completed', 'seven', 'done', 5").await, "ok");
    let receipt = "SELECT concat_ws(' ', r.round, outcome, convert_from(result, 'UTF8'), evidence,
        source, destination, attempts, token, first_sent_at, digest = sha256(''),
        row_digest = sha256('r')) FROM cf.receipt r";
    let wanted = "1 completed seven done report d 2 5 1764421200000000 t t";
    assert_eq!(stranger.text(receipt).await.as_deref(), Some(wanted));
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("1 1 1 0"));
    // Again, and with a result of its own: the first stands.
    assert_eq!(report(&stranger, "'a', 'completed', 'seven', 'done', NULL").await, "ok");
    assert_eq!(report(&stranger, "'a', 'completed', 'eight', NULL, NULL").await, "ok");
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("1 1 1 0"));
    // Another outcome is kept, once.
    for _ in 0..2 {
        assert_eq!(report(&stranger, "'a', 'rejected', NULL, 'no', NULL").await, "ok");
        assert_eq!(stranger.text(LEFT).await.as_deref(), Some("1 1 1 1"));
    }
    assert_eq!(report(&stranger, "'a', 'rejected', NULL, 'never', NULL").await, "ok");
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("1 1 1 2"));
}

#[tokio::test]
async fn every_value_is_checked_before_anything_is_written() {
    let (_schema, stranger) = with_commands().await;
    for (values, code) in [
        ("'a', 'accepted', NULL, NULL, NULL", "CF0201"),
        ("'a', NULL, NULL, NULL, NULL", "CF0201"),
        ("'nobody', 'completed', NULL, NULL, NULL", "CF0202"),
        ("NULL, 'completed', NULL, NULL, NULL", "CF0202"),
        ("'nobody', 'completed', NULL, NULL, 5", "CF0202"),
        ("'a', 'completed', NULL, NULL, 4", "CF0203"),
        ("'a', 'completed', NULL, NULL, 6", "CF0203"),
        ("'b', 'completed', NULL, NULL, 5", "CF0203"),
        ("'a', 'completed', convert_to(repeat('x', 16777217), 'UTF8'), NULL, NULL", "CF0204"),
        ("'a', 'completed', NULL, repeat('x', 65537), NULL", "CF0204"),
        ("'a', 'completed', NULL, NULL, 0", "CF0205"),
        ("'a', 'completed', NULL, NULL, -5", "CF0205"),
    ] {
        assert_eq!(report(&stranger, values).await, code, "{values}");
    }
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("2 0 0 0"));
    for sql in ["UPDATE cf.report SET outcome = 'rejected'", "DELETE FROM cf.report"] {
        assert!(stranger.run(sql).await.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn a_token_fences_also_what_has_ended() {
    let (_schema, stranger) = with_commands().await;
    assert_eq!(report(&stranger, "'a', 'completed', NULL, NULL, 5").await, "ok");
    assert_eq!(report(&stranger, "'a', 'completed', NULL, NULL, 5").await, "CF0203");
}

#[tokio::test]
async fn an_earlier_rounds_report_changes_nothing() {
    let (schema, stranger) = with_commands().await;
    assert_eq!(report(&stranger, "'a', 'completed', 'r', 'e', NULL").await, "ok");
    let forger = schema.forger().await;
    forger
        .run(
            "INSERT INTO cf.delivery(n, destination, state, round, token, available_at)
             SELECT n, 'd', 'pending', 2, 9, 1764421200000000 FROM cf.outbox
             WHERE command_id = 'a'",
        )
        .await
        .unwrap();
    assert_eq!(report(&stranger, "'a', 'completed', 'r', 'e', NULL").await, "ok");
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("2 1 1 0"));
    // With the newest token it speaks of this round.
    assert_eq!(report(&stranger, "'a', 'completed', 'r', 'e', 9").await, "ok");
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("1 2 2 0"));
}

/// After another round ended otherwise, the first round's words contradict nothing; others do.
#[tokio::test]
async fn the_newest_round_is_contradicted() {
    let (schema, stranger) = with_commands().await;
    assert_eq!(report(&stranger, "'a', 'completed', 'r', 'e', NULL").await, "ok");
    let again = "INSERT INTO cf.receipt(n, round, token, recorded_at, attempts, outcome, source,
        destination) SELECT n, 2, 9, 1764421200000000, 1, 'rejected', 'x', 'd' FROM cf.outbox
        WHERE command_id = 'a'";
    schema.forger().await.run(again).await.unwrap();
    assert_eq!(report(&stranger, "'a', 'completed', 'r', 'e', NULL").await, "ok");
    assert_eq!(report(&stranger, "'a', 'rejected', NULL, NULL, NULL").await, "ok");
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("1 2 1 0"));
    assert_eq!(report(&stranger, "'a', 'completed', 'other', 'e', NULL").await, "ok");
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("1 2 1 1"));
    assert_eq!(stranger.number("SELECT round FROM cf.contradiction").await, 2);
}

/// A report lends nobody our own rights: what follows in its transaction is guarded as before.
#[tokio::test]
async fn after_a_report_the_guards_stand() {
    for outcome in ["completed", "rejected"] {
        let (_schema, stranger) = with_commands().await;
        assert_eq!(report(&stranger, "'a', 'completed', NULL, NULL, 5").await, "ok");
        // The first time it ends `b`, the second it contradicts `a`.
        let id = if outcome == "completed" { "b" } else { "a" };
        stranger.run("BEGIN").await.unwrap();
        let values = format!("'{id}', '{outcome}', NULL, NULL, NULL");
        assert_eq!(report(&stranger, &values).await, "ok");
        let forged = stranger.run("DELETE FROM cf.delivery").await.unwrap_err();
        assert_eq!(refusal(&forged), "CF0120", "{outcome}");
        stranger.run("ROLLBACK").await.unwrap();
    }
}

#[tokio::test]
async fn of_two_equal_contradictions_at_once_one_is_kept() {
    let (schema, first) = with_commands().await;
    let second = schema.stranger().await;
    assert_eq!(report(&first, "'a', 'completed', NULL, NULL, 5").await, "ok");
    let other = "'a', 'rejected', NULL, 'no', NULL";
    first.run("BEGIN").await.unwrap();
    assert_eq!(report(&first, other).await, "ok");
    let (said, ()) = tokio::join!(report(&second, other), async {
        wait_for_lock(&first).await;
        first.run("COMMIT").await.unwrap();
    });
    assert_eq!(said, "ok");
    assert_eq!(first.text(LEFT).await.as_deref(), Some("1 1 1 1"));
}

#[tokio::test]
async fn an_archived_command_takes_contradictions_only() {
    let (schema, stranger) = with_commands().await;
    let forger = schema.forger().await;
    forger
        .run(
            "INSERT INTO cf.archived(command_id, destination, kind, digest, outcome, rounds, file)
             VALUES ('gone', 'd', 'k', '', 'accepted', 3, 'f')",
        )
        .await
        .unwrap();
    assert_eq!(report(&stranger, "'gone', 'completed', NULL, NULL, 5").await, "CF0203");
    assert_eq!(report(&stranger, "'gone', 'completed', NULL, NULL, NULL").await, "ok");
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("2 0 0 0"));
    assert_eq!(report(&stranger, "'gone', 'rejected', NULL, NULL, NULL").await, "ok");
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("2 0 0 1"));
    assert_eq!(stranger.number("SELECT round FROM cf.contradiction").await, 3);
}

#[tokio::test]
async fn a_command_that_lost_its_delivery_says_so() {
    let (schema, stranger) = with_commands().await;
    schema.forger().await.run("DELETE FROM cf.delivery").await.unwrap();
    assert_eq!(report(&stranger, "'a', 'completed', NULL, NULL, NULL").await, "CF0206");
    let forger = schema.forger().await;
    forger
        .run(
            "INSERT INTO cf.delivery(n, destination, state) SELECT n, 'd', 'pending'
             FROM cf.outbox;
             INSERT INTO cf.receipt(n, round, token, recorded_at, attempts, outcome, source,
               destination) SELECT n, 1, 0, 1764421200000000, 0, 'completed', 'x', 'd'
             FROM cf.outbox",
        )
        .await
        .unwrap();
    assert_eq!(report(&stranger, "'a', 'completed', NULL, NULL, NULL").await, "CF0206");
}

/// By every verb that inserts; each row is a report.
#[tokio::test]
async fn every_insert_reports() {
    for (verb, left) in [
        (
            "INSERT INTO cf.report(command_id, outcome)
             VALUES ('a', 'completed'), ('b', 'completed'), ('a', 'rejected')",
            "0 2 2 1",
        ),
        ("INSERT INTO cf.report SELECT command_id, 'completed' FROM cf.outbox", "0 2 2 0"),
        (
            "WITH said AS (INSERT INTO cf.report(command_id, outcome) VALUES ('a', 'completed')
               RETURNING 1) SELECT FROM said",
            "1 1 1 0",
        ),
        (
            "INSERT INTO cf.report(command_id, outcome) VALUES ('a', 'completed')
             ON CONFLICT DO NOTHING",
            "1 1 1 0",
        ),
        (
            "COPY cf.report(command_id, outcome) FROM PROGRAM 'echo \"a,completed\"' (FORMAT csv)",
            "1 1 1 0",
        ),
    ] {
        let (_schema, stranger) = with_commands().await;
        stranger.run(verb).await.unwrap();
        assert_eq!(stranger.text(LEFT).await.as_deref(), Some(left), "{verb}");
    }
}

/// Above READ COMMITTED the second of two reports is to be run again.
#[tokio::test]
async fn a_report_that_came_second_is_a_serialization_failure() {
    for isolation in ["REPEATABLE READ", "SERIALIZABLE"] {
        let (schema, first) = with_commands().await;
        let second = schema.stranger().await;
        second.run(&format!("BEGIN ISOLATION LEVEL {isolation}")).await.unwrap();
        second.number("SELECT count(*) FROM cf.delivery").await;
        assert_eq!(report(&first, "'a', 'completed', NULL, NULL, 5").await, "ok");
        let said = report(&second, "'a', 'rejected', NULL, NULL, NULL").await;
        assert_eq!(said[..5], *"40001", "{isolation}");
        second.run("ROLLBACK").await.unwrap();
    }
}

/// Two reports at once: the second waits for the first, and is judged by what it left.
#[tokio::test]
async fn of_two_reports_at_once_the_first_wins() {
    for (end, outcome, left) in [
        ("COMMIT", "rejected", "1 1 1 1"),
        ("COMMIT", "completed", "1 1 1 0"),
        ("ROLLBACK", "rejected", "1 1 1 0"),
    ] {
        let (schema, first) = with_commands().await;
        let second = schema.stranger().await;
        first.run("BEGIN").await.unwrap();
        assert_eq!(report(&first, "'a', 'completed', NULL, NULL, 5").await, "ok");
        let values = format!("'a', '{outcome}', NULL, NULL, NULL");
        let (said, ()) = tokio::join!(report(&second, &values), async {
            wait_for_lock(&first).await;
            first.run(end).await.unwrap();
        });
        assert_eq!(said, "ok");
        assert_eq!(first.text(LEFT).await.as_deref(), Some(left), "{end} {outcome}");
    }
}

/// The report is part of the worker's own transaction.
#[tokio::test]
async fn a_workers_rollback_takes_its_report_back() {
    let (_schema, stranger) = with_commands().await;
    stranger.run("BEGIN").await.unwrap();
    assert_eq!(report(&stranger, "'a', 'completed', NULL, NULL, 5").await, "ok");
    stranger.run("ROLLBACK").await.unwrap();
    assert_eq!(stranger.text(LEFT).await.as_deref(), Some("2 0 0 0"));
    assert_eq!(report(&stranger, "'a', 'completed', NULL, NULL, 5").await, "ok");
}
