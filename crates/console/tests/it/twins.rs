//! Twins: one report at once, from many connections.
//!
//! Guarantees: one is recorded and the others repeated, however they interleave. Does not: time
//! anything.

use std::sync::Arc;

use counterfoil_core::port::Workflows;
use serde_json::json;
use tokio::sync::Barrier;

use crate::client::{request, send};
use crate::scene::{SHOP, Scene};

over_both_stores!(of_32_twins_one_is_recorded, of_32_that_disagree_one_outcome_stands);

const TWINS: usize = 32;

/// The statuses and bodies of reports with these outcomes, all sent at once.
async fn at_once<S: Workflows>(
    scene: &Scene<S>,
    outcome: impl Fn(usize) -> &'static str,
) -> Vec<(u16, String)> {
    scene.enqueue("twin").await;
    let barrier = Arc::new(Barrier::new(TWINS));
    let twin = |n| {
        let (barrier, at) = (Arc::clone(&barrier), scene.at);
        let body = json!({"command_id": "twin", "outcome": outcome(n)}).to_string();
        let request = request("POST /v1/receipts", &[SHOP], body.as_bytes());
        tokio::spawn(async move {
            barrier.wait().await;
            let answered = send(at, request).await;
            (answered.status, String::from_utf8(answered.body).unwrap())
        })
    };
    let twins: Vec<_> = (0..TWINS).map(twin).collect();
    let mut answers = Vec::new();
    for twin in twins {
        answers.push(twin.await.unwrap());
    }
    answers
}

fn count(answers: &[(u16, String)], status: u16, says: &str) -> usize {
    answers.iter().filter(|(found, body)| *found == status && body.contains(says)).count()
}

async fn of_32_twins_one_is_recorded<S: Workflows>(scene: Scene<S>) {
    let answers = at_once(&scene, |_| "completed").await;
    assert_eq!(count(&answers, 200, "recorded"), 1, "{answers:?}");
    assert_eq!(count(&answers, 200, "repeated"), TWINS - 1, "{answers:?}");
    assert_eq!(scene.story("twin").await["receipts"].as_array().map(Vec::len), Some(1));
}

async fn of_32_that_disagree_one_outcome_stands<S: Workflows>(scene: Scene<S>) {
    let answers = at_once(&scene, |n| if n % 2 == 0 { "completed" } else { "rejected" }).await;
    assert_eq!(count(&answers, 200, "recorded"), 1, "{answers:?}");
    assert_eq!(count(&answers, 200, "repeated"), TWINS / 2 - 1, "{answers:?}");
    assert_eq!(count(&answers, 409, "CF1013"), TWINS / 2, "{answers:?}");
    let story = scene.story("twin").await;
    assert_eq!(story["receipts"].as_array().map(Vec::len), Some(1));
    assert_eq!(story["tries"].as_array().map(Vec::len), Some(1), "one contradiction is kept");
}
