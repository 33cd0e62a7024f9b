//! Pausing and resuming a destination, as seen in `/v1/status`.
//!
//! Guarantees: by operators only, and for destinations that are known. Does not: check that relays
//! obey; the stores' suite does.

use counterfoil_core::port::Workflows;
use serde_json::json;

use crate::client::{Answered, request, send};
use crate::scene::{EYE, OPS, SHOP, Scene};

over_both_stores!(a_pause_stands_until_it_is_lifted, a_mistyped_name_pauses_nothing);

async fn say<S: Workflows>(scene: &Scene<S>, caller: &str, path: &str, body: &str) -> Answered {
    let line = format!("POST /v1/destinations/{path}");
    send(scene.at, request(&line, &[caller], body.as_bytes())).await
}

async fn a_pause_stands_until_it_is_lifted<S: Workflows>(scene: Scene<S>) {
    let why = r#"{"reason":"they move house"}"#;
    for caller in [SHOP, EYE] {
        say(&scene, caller, "shop/pause", why).await.refused(403, "CF1002");
    }
    say(&scene, OPS, "shop/pause", "{}").await.refused(422, "CF1011");
    say(&scene, OPS, "shop/pause", why).await.says("paused");
    say(&scene, OPS, "shop/pause", r#"{"reason":"again"}"#).await.says("repeated");
    let status = scene.get("/v1/status", &[EYE]).await.json();
    assert_eq!(status["paused"]["shop"]["why"], "they move house");
    assert_eq!(status["paused"]["shop"]["by"], "api ops");
    assert!(status["paused"]["shop"]["since"].as_str().unwrap().ends_with('Z'));
    say(&scene, SHOP, "shop/resume", "{}").await.refused(403, "CF1002");
    let said = say(&scene, OPS, "shop/resume", r#"{"reason":7}"#).await;
    assert!(said.refused(422, "CF1011").starts_with("reason"));
    say(&scene, OPS, "shop/resume", r#"{"reason":"they moved"}"#).await.says("resumed");
    say(&scene, OPS, "shop/resume", "{}").await.says("repeated");
    assert_eq!(scene.get("/v1/status", &[EYE]).await.json()["paused"], json!({}));
}

async fn a_mistyped_name_pauses_nothing<S: Workflows>(scene: Scene<S>) {
    let why = r#"{"reason":"r"}"#;
    for name in ["shpo", "%ff", "a%00b", "%0A"] {
        say(&scene, OPS, &format!("{name}/pause"), why).await.refused(404, "CF1027");
        say(&scene, OPS, &format!("{name}/resume"), "{}").await.refused(404, "CF1027");
    }
    assert_eq!(scene.get("/v1/status", &[EYE]).await.json()["paused"], json!({}));
}
