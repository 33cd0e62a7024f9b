//! Reports that carry `Counterfoil-Token`: only the newest of an open command counts.
//!
//! Guarantees: also that a fenced report whose answer was lost may be sent again. Does not: cover
//! what tokens are; see `domain::lease`.

use counterfoil_core::domain::Span;
use counterfoil_core::port::Workflows;
use serde_json::{Value, json};

use crate::scene::{Scene, completed};

over_both_stores!(
    the_newest_token_reports_as_a_number_or_as_digits,
    a_stale_token_is_409_and_changes_nothing,
    a_fenced_report_sent_again_is_repeated,
    a_fenced_report_of_a_command_that_ended_otherwise_is_409,
    a_token_of_what_the_relay_settled_is_repeated,
    a_command_never_claimed_has_no_token,
);

fn fenced(id: &str, outcome: &str, token: impl Into<Value>) -> Value {
    json!({"command_id": id, "outcome": outcome, "token": token.into()})
}

async fn the_newest_token_reports_as_a_number_or_as_digits<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("number").await;
    let token = scene.claim().await.delivery.token.get();
    scene.report(&fenced("number", "completed", token)).await.says("recorded");
    scene.enqueue("digits").await;
    let token = scene.claim().await.delivery.token.get();
    scene.report(&fenced("digits", "completed", token.to_string())).await.says("recorded");
    assert_eq!(scene.story("digits").await["state"], "completed");
}

async fn a_stale_token_is_409_and_changes_nothing<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    let first = scene.claim().await.delivery.token.get();
    scene.clock.advance(Span::from_secs(31));
    let second = scene.claim().await.delivery.token.get();
    let before = scene.story("a").await;
    for stale in [first, second + 1, 1] {
        let detail = scene.report(&fenced("a", "completed", stale)).await.refused(409, "CF1014");
        assert!(detail.contains("nothing was written"), "{detail}");
    }
    assert_eq!(scene.story("a").await, before);
    scene.report(&fenced("a", "completed", second)).await.says("recorded");
}

async fn a_fenced_report_sent_again_is_repeated<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    let token = scene.claim().await.delivery.token.get();
    scene.report(&fenced("a", "rejected", token)).await.says("recorded");
    let before = scene.story("a").await;
    scene.report(&fenced("a", "rejected", token)).await.says("repeated");
    assert_eq!(scene.story("a").await, before);
}

async fn a_fenced_report_of_a_command_that_ended_otherwise_is_409<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    let first = scene.claim().await.delivery.token.get();
    scene.clock.advance(Span::from_secs(31));
    let second = scene.claim().await.delivery.token.get();
    scene.report(&fenced("a", "completed", second)).await.says("recorded");
    let before = scene.story("a").await;
    for (outcome, token) in [("completed", first), ("rejected", second), ("rejected", first)] {
        let answered = scene.report(&fenced("a", outcome, token)).await;
        answered.refused(409, "CF1015");
    }
    assert_eq!(scene.story("a").await, before);
}

async fn a_token_of_what_the_relay_settled_is_repeated<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    let claimed = scene.claim().await;
    scene.settle(&claimed, completed()).await;
    let token = claimed.delivery.token.get();
    scene.report(&fenced("a", "completed", token)).await.says("repeated");
    scene.report(&fenced("a", "rejected", token)).await.refused(409, "CF1015");
}

async fn a_command_never_claimed_has_no_token<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    scene.report(&fenced("a", "completed", 1)).await.refused(409, "CF1014");
    assert_eq!(scene.story("a").await["state"], "pending");
}
