//! What is told: counts, and a command's story.
//!
//! Guarantees: the shapes of the contract. Does not: repeat what the stores' suites check.

use counterfoil_core::domain::Outcome;
use counterfoil_core::port::Workflows;
use serde_json::{Value, json};

use crate::scene::{EYE, Scene, in_a_file, in_memory, options};

over_both_stores!(
    status_counts_by_destination_and_state,
    show_has_the_members_of_the_contract,
    an_id_in_the_path_is_percent_encoded,
);

async fn status_counts_by_destination_and_state<S: Workflows>(scene: Scene<S>) {
    let status = |answered: crate::client::Answered| {
        assert_eq!(answered.header("cache-control"), Some("no-store"));
        let all = answered.json();
        json!({"destinations": all["destinations"], "unserved": all["unserved"]})
    };
    let empty = json!({"destinations": {}, "unserved": {}});
    assert_eq!(status(scene.get("/v1/status", &[EYE]).await), empty);
    for id in ["a", "b", "c"] {
        scene.enqueue(id).await;
    }
    scene.report(&json!({"command_id": "a", "outcome": "completed"})).await.says("recorded");
    let counts = json!({"destinations": {"shop": {"pending": 2, "completed": 1}}, "unserved": {}});
    assert_eq!(status(scene.get("/v1/status", &[EYE]).await), counts);
}

#[tokio::test]
async fn what_is_not_served_is_told_where_it_is_known() {
    let mut options = options();
    options.served = Some(vec!["mail".into()]);
    let scene = in_memory(options).await;
    scene.enqueue("a").await;
    let status = scene.get("/v1/status", &[EYE]).await.json();
    assert_eq!(status["unserved"], json!({"shop": 1}));
}

async fn show_has_the_members_of_the_contract<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    let claimed = scene.claim().await;
    let story = scene.story("a").await;
    assert_eq!(story["state"], "sending");
    assert_eq!(story["token"], claimed.delivery.token.get());
    assert_eq!(story["lease_owner"], "relay-1");
    scene.settle(&claimed, Outcome::unknown("reset")).await;
    let story = scene.story("a").await;
    for (member, value) in [
        ("command_id", json!("a")),
        ("destination", json!("shop")),
        ("kind", json!("order.paid")),
        ("state", json!("pending")),
        ("round", json!(1)),
        ("attempts", json!(1)),
        ("in_doubt", json!(true)),
        ("receipt", Value::Null),
        ("receipts", json!([])),
        ("actions", json!([])),
        ("body", json!("{}")),
        ("expires_at", Value::Null),
        ("archived", json!(false)),
    ] {
        assert_eq!(story.get(member), Some(&value), "{member}");
    }
    assert_eq!(story["tries"][0]["reason"], "reset");
    let due = story["available_at"].as_str().unwrap();
    assert!(due.ends_with('Z') && due.contains('T'), "{due}");
}

async fn an_id_in_the_path_is_percent_encoded<S: Workflows>(scene: Scene<S>) {
    for (id, path) in [
        ("order.paid:A-001", "order.paid:A-001"),
        ("a/b", "a%2Fb"),
        ("a b?c#d%", "a%20b%3Fc%23d%25"),
        ("订单", "%E8%AE%A2%E5%8D%95"),
        ("..", "%2E%2E"),
        ("+", "+"),
    ] {
        scene.enqueue(id).await;
        assert_eq!(scene.story(path).await["command_id"], id);
    }
    scene.get("/v1/commands/%FF", &[EYE]).await.refused(400, "CF1010");
    scene.get("/v1/commands/a%0Ab", &[EYE]).await.refused(404, "CF1012");
}

#[tokio::test]
async fn of_an_archived_command_its_tombstone_is_told() {
    let scene = in_a_file(options()).await;
    scene.bury("old", "completed");
    let body = json!({"command_id": "old", "outcome": "rejected"});
    scene.report(&body).await.refused(409, "CF1013");
    let story = scene.story("old").await;
    assert_eq!((&story["archived"], &story["state"]), (&json!(true), &json!("completed")));
    assert_eq!(story["tries"][0]["what"], "contradiction");
}
