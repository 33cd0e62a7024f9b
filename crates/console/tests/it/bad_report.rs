//! Reports that break a rule, and requests that are none.
//!
//! Guarantees: each gets its status, names its rule, and writes nothing. Does not: try every value;
//! the crate's own tests do.

use counterfoil_core::port::Workflows;
use serde_json::json;

use crate::client::{request, send};
use crate::scene::{OPS, SHOP, Scene, in_memory, options};

over_both_stores!(
    a_report_that_breaks_a_rule_names_member_and_rule,
    what_is_no_json_object_is_400,
    the_limits_of_the_guards_hold,
    another_media_type_is_415,
    other_methods_are_405_with_allow_and_other_paths_404,
);

async fn a_report_that_breaks_a_rule_names_member_and_rule<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    for (body, field, rule) in [
        (json!({"outcome": "completed"}), "command_id", "must be given"),
        (json!({"command_id": 7, "outcome": "completed"}), "command_id", "is a string"),
        (json!({"command_id": "", "outcome": "completed"}), "command_id", "1 to 255 bytes"),
        (json!({"command_id": "a\u{1}", "outcome": "completed"}), "command_id", "U+0001"),
        (json!({"command_id": "a\u{7f}", "outcome": "completed"}), "command_id", "U+007F"),
        (json!({"command_id": "é".repeat(128), "outcome": "completed"}), "command_id", "256 bytes"),
        (json!({"command_id": "a"}), "outcome", "\"completed\" or \"rejected\""),
        (json!({"command_id": "a", "outcome": "accepted"}), "outcome", "only what is known"),
        (json!({"command_id": "a", "outcome": "completed", "evidence": 7}), "evidence", "string"),
        (json!({"command_id": "a", "outcome": "completed", "token": 0}), "token", "fence"),
        (json!({"command_id": "a", "outcome": "completed", "token": "x"}), "token", "digits"),
        (json!({"command_id": "a", "outcome": "completed", "results": 1}), "results", "known are"),
    ] {
        let answered = scene.report(&body).await;
        let detail = answered.refused(422, "CF1011");
        assert_eq!(answered.json()["field"], field);
        assert!(detail.starts_with(field) && detail.contains(rule), "{detail}");
    }
    let twice = r#"{"command_id":"a","outcome":"completed","outcome":"rejected"}"#;
    scene.post(&[SHOP], twice).await.refused(422, "CF1011");
    assert_eq!(scene.story("a").await["state"], "pending");
}

async fn what_is_no_json_object_is_400<S: Workflows>(scene: Scene<S>) {
    for body in ["", "{", "[]", "null", "7", "{}{}", "\u{feff}{}", "command_id=a&outcome=completed"]
    {
        let detail = scene.post(&[SHOP], body).await.refused(400, "CF1010");
        assert!(!detail.contains("command_id=a"), "no body is shown back: {detail}");
    }
    scene.post(&[SHOP], b"{\"command_id\":\"\xff\"}").await.refused(400, "CF1010");
    // However deep, it is read without recursion.
    let deep = format!(r#"{{"command_id":"a","outcome":{}"#, "[".repeat(500_000));
    scene.post(&[SHOP], deep).await.refused(400, "CF1010");
}

async fn the_limits_of_the_guards_hold<S: Workflows>(scene: Scene<S>) {
    let longest = "é".repeat(127) + "a";
    scene.enqueue(&longest).await;
    let report = |evidence: usize| {
        let evidence = "x".repeat(evidence);
        json!({"command_id": longest, "outcome": "completed", "evidence": evidence})
    };
    let answered = scene.report(&report(65_537)).await;
    let detail = answered.refused(422, "CF1011");
    assert!(detail.contains("64 KiB"), "{detail}");
    scene.report(&report(65_536)).await.says("recorded");
}

async fn another_media_type_is_415<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    let body = json!({"command_id": "a", "outcome": "completed"}).to_string();
    for media_type in [
        "Content-Type: text/plain",
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: application/jsonp",
        "Content-Type:",
        "Content-Type: application/json\r\nContent-Type: application/json",
        "Content-Type: application/json\r\nContent-Encoding: gzip",
    ] {
        scene.post(&[SHOP, media_type], &body).await.refused(415, "CF1007");
    }
    let given = "Content-Type: Application/JSON; charset=utf-8";
    scene.post(&[SHOP, given], &body).await.says("recorded");
}

async fn other_methods_are_405_with_allow_and_other_paths_404<S: Workflows>(scene: Scene<S>) {
    for (line, allow) in [
        ("GET /v1/receipts", "POST"),
        ("PUT /v1/receipts", "POST"),
        ("OPTIONS /v1/receipts", "POST"),
        ("DELETE /v1/commands/a", "GET,HEAD"),
        ("POST /v1/status", "GET,HEAD"),
        ("POST /livez", "GET,HEAD"),
        ("BREW /readyz", "GET,HEAD"),
    ] {
        let answered = send(scene.at, request(line, &[OPS], b"")).await;
        answered.refused(405, "CF1005");
        assert_eq!(answered.header("allow"), Some(allow), "{line}");
    }
    for path in ["/", "/v1", "/v1/commands/", "/v1/commands/a/b", "/v2/status", "/v1/receipts/a"] {
        scene.get(path, &[OPS]).await.refused(404, "CF1004");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_however_its_length_is_told() {
    let mut options = options();
    options.body_bytes_max = 1000;
    let scene = in_memory(options).await;
    scene.enqueue("a").await;
    let report = |pad: usize| {
        let bare = r#"{"command_id":"a","outcome":"completed","result":""}"#.len();
        let result = "x".repeat(pad - bare);
        format!(r#"{{"command_id":"a","outcome":"completed","result":"{result}"}}"#)
    };
    let detail = scene.post(&[SHOP], report(1001)).await.refused(413, "CF1006");
    assert!(detail.contains("1000"), "{detail}");
    let head = format!(
        "POST /v1/receipts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{SHOP}\r\n\
         Content-Type: application/json\r\n"
    );
    // Told before: not one byte of it is waited for.
    let told = format!("{head}Content-Length: 999999999999\r\n\r\n");
    send(scene.at, told).await.refused(413, "CF1006");
    let chunked = |body: &str| {
        let (one, two) = body.split_at(500);
        let chunk = |part: &str| format!("{:x}\r\n{part}\r\n", part.len());
        let chunks = chunk(one) + &chunk(two);
        format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
    };
    send(scene.at, chunked(&report(1001))).await.refused(413, "CF1006");
    send(scene.at, chunked(&report(1000))).await.says("recorded");
    scene.post(&[SHOP], report(1000)).await.says("repeated");
}
