//! What a report does: the first ends the command, the same again is repeated, another is kept.
//!
//! Guarantees: over both stores, through real sockets. Does not: fence; see `token`.

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::Outcome;
use counterfoil_core::port::Workflows;
use serde_json::{Value, json};

use crate::client::{request, send};
use crate::scene::{OPS, Scene, completed};

over_both_stores!(
    the_first_report_ends_a_command_and_the_same_again_is_repeated,
    a_command_may_be_rejected,
    a_report_before_the_settle_wins_and_the_settle_repeats_it,
    a_report_after_a_settle_is_compared_with_it,
    another_outcome_is_409_and_kept_and_the_audit_shows_it,
    an_archived_id_is_compared_with_its_tombstone,
    what_is_said_of_an_archived_one_is_audited_and_resolved,
    a_command_never_heard_of_is_404,
    the_result_is_the_text_that_was_sent,
    an_operator_may_report_too,
);

fn done(id: &str) -> Value {
    json!({"command_id": id, "outcome": "completed", "result": {"job": 7}, "evidence": "job 7"})
}

fn refused(id: &str) -> Value {
    json!({"command_id": id, "outcome": "rejected", "evidence": "no such address"})
}

async fn the_first_report_ends_a_command_and_the_same_again_is_repeated<S: Workflows>(
    scene: Scene<S>,
) {
    scene.enqueue("a").await;
    scene.report(&done("a")).await.says("recorded");
    let first = scene.story("a").await;
    assert_eq!(first["state"], "completed");
    assert_eq!(first["receipt"]["source"], "api shop");
    assert_eq!(first["receipt"]["evidence"], "job 7");
    assert_eq!(first["receipt"]["result"], r#"{"job":7}"#);
    scene.report(&done("a")).await.says("repeated");
    let other_words = json!({"command_id": "a", "outcome": "completed"});
    scene.report(&other_words).await.says("repeated");
    assert_eq!(scene.story("a").await, first);
}

async fn a_command_may_be_rejected<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    scene.report(&refused("a")).await.says("recorded");
    scene.report(&refused("a")).await.says("repeated");
    assert_eq!(scene.story("a").await["state"], "rejected");
}

async fn a_report_before_the_settle_wins_and_the_settle_repeats_it<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    let claimed = scene.claim().await;
    scene.report(&done("a")).await.says("recorded");
    scene.settle(&claimed, completed()).await;
    let story = scene.story("a").await;
    assert_eq!(story["receipts"].as_array().map(Vec::len), Some(1));
    assert_eq!(story["receipt"]["source"], "api shop");
    assert!(audit(&scene.store, AuditOptions::default()).await.unwrap().holds);
}

async fn a_report_after_a_settle_is_compared_with_it<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    let claimed = scene.claim().await;
    scene.settle(&claimed, completed()).await;
    scene.report(&done("a")).await.says("repeated");
    scene.report(&refused("a")).await.refused(409, "CF1013");
    // Taken on, and then done: what a destination with completion = "receipt" is about.
    scene.enqueue("b").await;
    let claimed = scene.claim().await;
    scene.settle(&claimed, Outcome::Accepted { evidence: "HTTP 202".into() }).await;
    assert_eq!(scene.story("b").await["state"], "published");
    scene.report(&done("b")).await.says("recorded");
    assert_eq!(scene.story("b").await["state"], "completed");
}

async fn another_outcome_is_409_and_kept_and_the_audit_shows_it<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    scene.report(&done("a")).await.says("recorded");
    assert!(audit(&scene.store, AuditOptions::default()).await.unwrap().holds);
    for _ in 0..2 {
        let detail = scene.report(&refused("a")).await.refused(409, "CF1013");
        assert!(detail.contains("contradiction"), "{detail}");
    }
    let story = scene.story("a").await;
    assert_eq!(story["state"], "completed", "the first one counts");
    let tries: Vec<_> = story["tries"].as_array().unwrap().iter().collect();
    assert_eq!(tries.len(), 1, "kept once: {tries:?}");
    assert_eq!(tries[0]["what"], "contradiction");
    assert_eq!(tries[0]["reason"], "no such address");
    let report = audit(&scene.store, AuditOptions::default()).await.unwrap();
    let codes: Vec<_> = report.violations.iter().map(|violation| violation.code).collect();
    assert_eq!((report.holds, codes), (false, vec!["CF0822"]));
}

async fn an_archived_id_is_compared_with_its_tombstone<S: Workflows>(scene: Scene<S>) {
    scene.bury("old", "completed");
    scene.report(&done("old")).await.says("repeated");
    scene.report(&refused("old")).await.refused(409, "CF1013");
    let fenced = json!({"command_id": "old", "outcome": "completed", "token": 7});
    scene.report(&fenced).await.refused(409, "CF1015");
}

async fn what_is_said_of_an_archived_one_is_audited_and_resolved<S: Workflows>(scene: Scene<S>) {
    scene.bury("old", "completed");
    let said = json!({"outcome": "completed", "evidence": "asked them"});
    let resolve = async || {
        let line = "POST /v1/commands/old/resolve";
        send(scene.at, request(line, &[OPS], said.to_string().as_bytes())).await
    };
    resolve().await.refused(409, "CF1041");
    scene.report(&refused("old")).await.refused(409, "CF1013");
    let told = scene.get("/v1/audit", &[OPS]).await.json();
    assert!(told.to_string().contains("CF0822"), "{told}");
    assert_eq!(resolve().await.status, 200);
    let told = scene.get("/v1/audit", &[OPS]).await.json();
    assert!(!told.to_string().contains("CF0822"), "{told}");
    assert_eq!(told["acknowledged"], 1);
    resolve().await.refused(409, "CF1041");
}

async fn a_command_never_heard_of_is_404<S: Workflows>(scene: Scene<S>) {
    scene.report(&done("never")).await.refused(404, "CF1012");
    let fenced = json!({"command_id": "never", "outcome": "completed", "token": 7});
    scene.report(&fenced).await.refused(404, "CF1012");
    scene.get("/v1/commands/never", &[OPS]).await.refused(404, "CF1012");
}

async fn the_result_is_the_text_that_was_sent<S: Workflows>(scene: Scene<S>) {
    for (id, text) in [
        ("object", r#"{"b" : 1.50, "a":[1e2,18446744073709551616]}"#),
        ("string", r#""job \u00e9 订单""#),
        ("number", "7"),
        ("false", "false"),
    ] {
        scene.enqueue(id).await;
        let body = format!(r#"{{"result": {text} ,"command_id":"{id}","outcome":"completed"}}"#);
        scene.post(&[OPS], body).await.says("recorded");
        assert_eq!(scene.story(id).await["receipt"]["result"], text);
    }
    for (id, more) in [("none", ""), ("null", r#","result":null"#)] {
        scene.enqueue(id).await;
        let body = format!(r#"{{"command_id":"{id}","outcome":"completed"{more}}}"#);
        scene.post(&[OPS], body).await.says("recorded");
        let story = scene.story(id).await;
        assert_eq!(story["receipt"]["result"], Value::Null);
        assert_eq!(story["receipt"]["evidence"], "reported over HTTP");
    }
}

async fn an_operator_may_report_too<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    scene.post(&[OPS], done("a").to_string()).await.says("recorded");
    assert_eq!(scene.story("a").await["receipt"]["source"], "api ops");
}
