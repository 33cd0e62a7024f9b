//! What an insert into the outbox makes: a delivery, and its place in a lane.

use crate::server::{Stranger, TestSchema, refusal, wait_for_lock};

/// The deliveries as `id state available turn key_seq`, in order of n.
async fn deliveries(stranger: &Stranger) -> Vec<String> {
    let sql = "SELECT concat_ws(' ', o.command_id, d.state, d.available_at IS NOT NULL,
          coalesce(d.turn::text, '-'), coalesce(d.key_seq::text, '-'))
        FROM cf.delivery d JOIN cf.outbox o USING (n) ORDER BY n";
    stranger.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_delivery_is_due_when_its_command_is() {
    let schema = TestSchema::new().await;
    schema.set_time(1_764_421_200_000_000).await;
    let stranger = schema.stranger().await;
    stranger
        .run(
            "INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ('a', 'd', 'k', '');
             INSERT INTO cf.outbox(command_id, destination, kind, body, not_before, expires_at)
             VALUES ('b', 'd', 'k', '', 1764421200000005, 1764421200000009)",
        )
        .await
        .unwrap();
    let sql = "SELECT string_agg(concat_ws(' ', available_at, coalesce(expires_at, 0), destination,
        round, attempts, asks, in_doubt, token), ', ' ORDER BY n) FROM cf.delivery";
    let wanted = "1764421200000000 0 d 1 0 0 0 0, 1764421200000005 1764421200000009 d 1 0 0 0 0";
    assert_eq!(stranger.text(sql).await.as_deref(), Some(wanted));
}

#[tokio::test]
async fn one_command_of_a_lane_has_the_turn() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    stranger
        .run(
            "INSERT INTO cf.outbox(command_id, destination, kind, body, ordering_key) VALUES
             ('a', 'd', 'k', '', 'A'), ('b', 'd', 'k', '', 'A'), ('c', 'd', 'k', '', 'B'),
             ('d', 'e', 'k', '', 'A')",
        )
        .await
        .unwrap();
    let wanted = ["a pending t 1 1", "b pending f - 2", "c pending t 1 1", "d pending t 1 1"];
    assert_eq!(deliveries(&stranger).await, wanted);
    let lanes = "SELECT string_agg(destination || ordering_key || last, ' '
        ORDER BY destination, ordering_key) FROM cf.lane";
    assert_eq!(stranger.text(lanes).await.as_deref(), Some("dA2 dB1 eA1"));
    // A lane that is empty gives the turn to whoever comes, and goes on counting.
    stranger
        .run("INSERT INTO cf.report(command_id, outcome) VALUES ('c', 'completed')")
        .await
        .unwrap();
    stranger
        .run(
            "INSERT INTO cf.outbox(command_id, destination, kind, body, ordering_key)
             VALUES ('f', 'd', 'k', '', 'B')",
        )
        .await
        .unwrap();
    assert_eq!(deliveries(&stranger).await.last().unwrap(), "f pending t 1 2");
}

/// Places of a lane follow commits, not the order in which numbers were drawn.
#[tokio::test]
async fn a_lower_number_that_commits_later_stands_later() {
    let schema = TestSchema::new().await;
    let (early, late) = (schema.stranger().await, schema.stranger().await);
    let insert = |id: &str, key: &str| {
        format!(
            "INSERT INTO cf.outbox(command_id, destination, kind, body, ordering_key)
             VALUES ('{id}', 'd', 'k', '', {key})"
        )
    };
    // Without a key nobody waits: the lower number is not there yet, and then it is.
    early.run("BEGIN").await.unwrap();
    early.run(&insert("low", "NULL")).await.unwrap();
    late.run(&insert("high", "NULL")).await.unwrap();
    assert_eq!(deliveries(&late).await, ["high pending t - -"]);
    early.run("COMMIT").await.unwrap();
    assert_eq!(deliveries(&late).await, ["low pending t - -", "high pending t - -"]);

    // With one, the second waits for the first to commit, or to go.
    early.run("BEGIN").await.unwrap();
    early.run(&insert("first", "'A'")).await.unwrap();
    let second = insert("second", "'A'");
    let (waited, ()) = tokio::join!(late.run(&second), async {
        wait_for_lock(&early).await;
        early.run("COMMIT").await.unwrap();
    });
    waited.unwrap();
    assert_eq!(deliveries(&late).await[2..], ["first pending t 1 1", "second pending f - 2"]);

    early.run("BEGIN").await.unwrap();
    early.run(&insert("gone", "'B'")).await.unwrap();
    let heir = insert("heir", "'B'");
    let (waited, ()) = tokio::join!(late.run(&heir), async {
        wait_for_lock(&early).await;
        early.run("ROLLBACK").await.unwrap();
    });
    waited.unwrap();
    assert_eq!(deliveries(&late).await[4..], ["heir pending t 1 1"]);
}

/// Above READ COMMITTED a writer that saw the lane before another's commit tries again.
#[tokio::test]
async fn a_lane_that_moved_is_a_serialization_failure() {
    for isolation in ["REPEATABLE READ", "SERIALIZABLE"] {
        let schema = TestSchema::new().await;
        let (first, second) = (schema.stranger().await, schema.stranger().await);
        let insert = |id: &str| {
            format!(
                "INSERT INTO cf.outbox(command_id, destination, kind, body, ordering_key)
                 VALUES ('{id}', 'd', 'k', '', 'A')"
            )
        };
        first.run(&insert("a")).await.unwrap();
        second.run(&format!("BEGIN ISOLATION LEVEL {isolation}; SELECT 1")).await.unwrap();
        second.number("SELECT count(*) FROM cf.delivery").await;
        first.run(&insert("b")).await.unwrap();
        let refused = second.run(&insert("c")).await.map_err(|error| refusal(&error));
        assert_eq!(refused.map_err(|said| said[..5].to_owned()), Err("40001".into()));
    }
}

/// What a user rolls back to a savepoint takes its delivery along, and the guards stand after it.
#[tokio::test]
async fn a_savepoint_takes_both_back() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let other = "INSERT INTO cf.outbox(command_id, destination, kind, body)
        VALUES ('a', 'd', 'k', 'other')";
    stranger
        .run(
            "BEGIN;
             INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ('a', 'd', 'k', '');
             SAVEPOINT s;
             INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ('b', 'd', 'k', '');
             ROLLBACK TO s",
        )
        .await
        .unwrap();
    assert_eq!(refusal(&stranger.run(other).await.unwrap_err()), "CF0104");
    stranger.run("ROLLBACK TO s").await.unwrap();
    assert_eq!(refusal(&stranger.run("DELETE FROM cf.delivery").await.unwrap_err()), "CF0120");
    stranger.run("ROLLBACK TO s; COMMIT").await.unwrap();
    assert_eq!(deliveries(&stranger).await, ["a pending t - -"]);
}
