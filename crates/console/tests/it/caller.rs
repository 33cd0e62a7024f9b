//! Roles: who may do what, and what others hear.
//!
//! Guarantees: every path of the API against every role. Does not: know how tokens are compared;
//! the crate's own tests do.

use counterfoil_core::port::Workflows;
use serde_json::json;

use crate::client::{Answered, request, send};
use crate::scene::{EYE, OPS, SHOP, Scene, in_memory, options};

over_both_stores!(
    each_path_is_served_to_its_roles_only,
    a_caller_that_is_not_known_is_401_and_changes_nothing,
);

const STRANGERS: [&str; 6] = [
    "X-Nothing: here",
    "Authorization: Bearer secret-of-the-sho",
    "Authorization: Bearer secret-of-the-shop2",
    "Authorization: Bearer SECRET-OF-THE-SHOP",
    "Authorization: Basic c2hvcDpzZWNyZXQtb2YtdGhlLXNob3A=",
    "Authorization: secret-of-the-shop",
];

async fn ask<S: Workflows>(scene: &Scene<S>, line: &str, caller: &str) -> Answered {
    let body = json!({"command_id": "a", "outcome": "completed"}).to_string();
    let body = if line.starts_with("POST") { body } else { String::new() };
    send(scene.at, request(line, &[caller], body.as_bytes())).await
}

async fn each_path_is_served_to_its_roles_only<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    for (line, callers) in [
        ("GET /v1/status", [(SHOP, 403), (EYE, 200), (OPS, 200)]),
        ("HEAD /v1/status", [(SHOP, 403), (EYE, 200), (OPS, 200)]),
        ("GET /v1/commands/a", [(SHOP, 403), (EYE, 200), (OPS, 200)]),
        ("GET /v1/commands/never", [(SHOP, 403), (EYE, 404), (OPS, 404)]),
        ("POST /v1/receipts", [(EYE, 403), (SHOP, 200), (OPS, 200)]),
    ] {
        for (caller, status) in callers {
            let answered = ask(&scene, line, caller).await;
            assert_eq!(answered.status, status, "{line} by {caller}");
            if status == 403 && !line.starts_with("HEAD") {
                let detail = answered.refused(403, "CF1002");
                assert!(detail.contains("operator"), "{detail}");
            }
        }
    }
    for path in ["/livez", "/readyz"] {
        for caller in [SHOP, EYE, OPS, STRANGERS[0], STRANGERS[1]] {
            assert_eq!(scene.get(path, &[caller]).await.status, 200, "{path} by {caller}");
        }
    }
}

async fn a_caller_that_is_not_known_is_401_and_changes_nothing<S: Workflows>(scene: Scene<S>) {
    scene.enqueue("a").await;
    for stranger in STRANGERS {
        for line in ["GET /v1/status", "GET /v1/commands/a", "POST /v1/receipts"] {
            let answered = ask(&scene, line, stranger).await;
            let detail = answered.refused(401, "CF1001");
            assert_eq!(answered.header("www-authenticate"), Some("Bearer"));
            assert!(!detail.contains("secret"), "{detail}");
        }
    }
    let both = scene.get("/v1/status", &[OPS, OPS]).await;
    both.refused(401, "CF1001");
    assert_eq!(scene.story("a").await["state"], "pending");
}

#[tokio::test]
async fn a_body_of_a_stranger_is_not_waited_for() {
    let scene = in_memory(options()).await;
    let head = "POST /v1/receipts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n";
    send(scene.at, head).await.refused(401, "CF1001");
}
