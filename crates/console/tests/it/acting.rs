//! What an operator does to a command: retry, resolve, cancel, redeliver.
//!
//! Guarantees: each verb done and refused, by its role only, with its actor on record. Does not:
//! repeat the state machine's table; its own tests do.

use counterfoil_core::domain::Outcome;
use counterfoil_core::port::Workflows;
use serde_json::{Value, json};

use crate::client::{Answered, request, send};
use crate::scene::{EYE, OPS, SHOP, Scene, completed, in_memory, options};

over_both_stores!(
    a_dead_command_is_retried_once_and_on_record,
    a_retry_that_may_act_twice_needs_the_persons_word,
    a_person_says_what_became_of_a_command,
    a_command_is_withdrawn_only_while_it_surely_did_not_act,
    an_ended_command_is_sent_again_in_a_new_round,
    what_is_not_there_or_archived_is_told_apart,
    only_operators_act,
    of_32_twins_of_one_retry_one_is_done,
);

async fn verb<S: Workflows>(scene: &Scene<S>, id: &str, verb: &str, body: &Value) -> Answered {
    by(scene, OPS, id, verb, &body.to_string()).await
}

async fn by<S: Workflows>(
    scene: &Scene<S>,
    caller: &str,
    id: &str,
    verb: &str,
    body: &str,
) -> Answered {
    let line = format!("POST /v1/commands/{id}/{verb}");
    send(scene.at, request(&line, &[caller], body.as_bytes())).await
}

fn is_done(answered: &Answered, before: &str, after: &str) {
    assert_eq!(answered.status, 200, "{answered:?}");
    let done = json!({"status": "done", "before": before, "after": after});
    assert_eq!(answered.json(), done);
}

/// A command that its receiver knows with other content: parked, and not in doubt.
async fn conflict<S: Workflows>(scene: &Scene<S>, id: &str) {
    scene.enqueue(id).await;
    let claimed = scene.claim().await;
    scene.settle(&claimed, Outcome::Conflict { reason: "other content".into() }).await;
    assert_eq!(scene.story(id).await["state"], "conflict");
}

async fn a_dead_command_is_retried_once_and_on_record<S: Workflows>(scene: Scene<S>) {
    conflict(&scene, "a").await;
    is_done(&verb(&scene, "a", "retry", &json!({"reason": "mended"})).await, "conflict", "pending");
    let again = verb(&scene, "a", "retry", &json!({})).await;
    let detail = again.refused(409, "CF1030");
    assert!(detail.contains("nothing was changed"), "{detail}");
    let story = scene.story("a").await;
    assert_eq!((&story["state"], &story["round"]), (&json!("pending"), &json!(2)));
    let actions = story["actions"].as_array().unwrap();
    assert_eq!(actions.len(), 1, "{actions:?}");
    assert_eq!(actions[0]["what"], "retry");
    assert_eq!(actions[0]["outcome"], "api ops");
    assert_eq!(actions[0]["reason"], "mended");
}

async fn a_retry_that_may_act_twice_needs_the_persons_word<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    verb(&scene, "a", "retry", &json!({})).await.refused(409, "CF1030");
    let claimed = scene.claim().await;
    verb(&scene, "a", "retry", &json!({})).await.refused(409, "CF1030");
    scene.settle(&claimed, completed()).await;
    verb(&scene, "a", "retry", &json!({})).await.refused(409, "CF1036");
    let said = verb(&scene, "a", "retry", &json!({"may_act_twice": true})).await;
    assert!(said.refused(422, "CF1011").contains("reason"));
}

async fn a_person_says_what_became_of_a_command<S: Workflows>(scene: Scene<S>) {
    let resolve = |outcome: &str| json!({"outcome": outcome, "evidence": "rang them"});
    scene.enqueue("a").await;
    verb(&scene, "a", "resolve", &resolve("rejected")).await.refused(409, "CF1034");
    let claimed = scene.claim().await;
    verb(&scene, "a", "resolve", &resolve("not_done")).await.refused(409, "CF1032");
    scene.settle(&claimed, Outcome::unknown("reset")).await;
    is_done(&verb(&scene, "a", "resolve", &resolve("not_done")).await, "pending", "pending");
    assert_eq!(scene.story("a").await["in_doubt"], false);
    let mut body = resolve("completed");
    body["result"] = json!({"job": 7});
    is_done(&verb(&scene, "a", "resolve", &body).await, "pending", "completed");
    let story = scene.story("a").await;
    assert_eq!(story["receipt"]["source"], "operator api ops");
    assert_eq!(story["receipt"]["evidence"], "rang them");
    assert_eq!(story["receipt"]["result"], r#"{"job":7}"#);
    verb(&scene, "a", "resolve", &resolve("rejected")).await.refused(409, "CF1036");
}

async fn a_command_is_withdrawn_only_while_it_surely_did_not_act<S: Workflows>(scene: Scene<S>) {
    let why = json!({"reason": "the order was cancelled"});
    scene.enqueue("a").await;
    let claimed = scene.claim().await;
    verb(&scene, "a", "cancel", &why).await.refused(409, "CF1032");
    scene.settle(&claimed, Outcome::unknown("reset")).await;
    verb(&scene, "a", "cancel", &why).await.refused(409, "CF1033");
    scene.enqueue("b").await;
    is_done(&verb(&scene, "b", "cancel", &why).await, "pending", "cancelled");
    assert_eq!(scene.story("b").await["receipt"]["evidence"], "the order was cancelled");
    verb(&scene, "b", "cancel", &why).await.refused(409, "CF1036");
    verb(&scene, "b", "cancel", &json!({})).await.refused(422, "CF1011");
}

async fn an_ended_command_is_sent_again_in_a_new_round<S: Workflows>(scene: Scene<S>) {
    let why = json!({"reason": "they lost it"});
    scene.enqueue("a").await;
    verb(&scene, "a", "redeliver", &why).await.refused(409, "CF1037");
    let claimed = scene.claim().await;
    scene.settle(&claimed, completed()).await;
    is_done(&verb(&scene, "a", "redeliver", &why).await, "completed", "pending");
    let story = scene.story("a").await;
    assert_eq!((&story["state"], &story["round"]), (&json!("pending"), &json!(2)));
    assert_eq!(story["receipts"].as_array().map(Vec::len), Some(1), "the old receipt stays");
}

async fn what_is_not_there_or_archived_is_told_apart<S: Workflows>(scene: Scene<S>) {
    scene.bury("old", "completed");
    for (name, body) in [
        ("retry", json!({})),
        ("resolve", json!({"outcome": "completed", "evidence": "e"})),
        ("cancel", json!({"reason": "r"})),
        ("redeliver", json!({"reason": "r"})),
    ] {
        verb(&scene, "never", name, &body).await.refused(404, "CF1012");
        verb(&scene, "old", name, &body).await.refused(409, "CF1041");
        by(&scene, OPS, "a", name, "[]").await.refused(400, "CF1010");
        by(&scene, OPS, "%ff", name, "{}").await.refused(400, "CF1010");
    }
}

async fn only_operators_act<S: Workflows>(scene: Scene<S>) {
    conflict(&scene, "a").await;
    for caller in [SHOP, EYE] {
        for name in ["retry", "resolve", "cancel", "redeliver"] {
            by(&scene, caller, "a", name, "{}").await.refused(403, "CF1002");
        }
    }
    by(&scene, "X-Nothing: here", "a", "retry", "{}").await.refused(401, "CF1001");
    assert_eq!(scene.story("a").await["actions"], json!([]));
}

#[tokio::test]
async fn without_tokens_the_actor_is_the_api() {
    let mut options = options();
    options.tokens.clear();
    let scene = in_memory(options).await;
    conflict(&scene, "a").await;
    by(&scene, "X-Nothing: here", "a", "retry", "{}").await;
    assert_eq!(scene.story("a").await["actions"][0]["outcome"], "api");
}

async fn of_32_twins_of_one_retry_one_is_done<S: Workflows>(scene: Scene<S>) {
    conflict(&scene, "a").await;
    let retry = request("POST /v1/commands/a/retry", &[OPS], b"{}");
    let mut twins = tokio::task::JoinSet::new();
    for _ in 0..32 {
        twins.spawn(send(scene.at, retry.clone()));
    }
    let answers = twins.join_all().await;
    let done = answers.iter().filter(|answered| answered.status == 200).count();
    assert_eq!(done, 1, "{answers:?}");
    for refused in answers.iter().filter(|answered| answered.status != 200) {
        refused.refused(409, "CF1030");
    }
    let story = scene.story("a").await;
    assert_eq!(story["round"], 2);
    assert_eq!(story["actions"].as_array().map(Vec::len), Some(1));
}
