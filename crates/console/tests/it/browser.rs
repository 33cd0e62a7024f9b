//! Without tokens: this machine's programs may all, and no browser may be made to.
//!
//! Guarantees: a page of the web can neither report nor read. Does not: keep programs out.

use counterfoil_console::{Api, ApiOptions};
use counterfoil_testkit::MemoryStore;
use serde_json::json;
use tokio::net::TcpListener;

use crate::scene::{in_a_file, in_memory, options};

#[tokio::test]
async fn without_tokens_a_program_of_this_machine_may_all() {
    let scene = in_a_file(ApiOptions::default()).await;
    scene.enqueue("a").await;
    let body = json!({"command_id": "a", "outcome": "completed"}).to_string();
    for host in ["Host: localhost", "Host: 127.0.0.1:7070", "Host: [::1]:7070"] {
        assert_eq!(scene.get("/v1/status", &[host]).await.status, 200, "{host}");
        assert_eq!(scene.post(&[host], &body).await.status, 200, "{host}");
    }
    // A token that nobody asked for does no harm.
    let story = scene.get("/v1/commands/a", &["Authorization: Bearer x"]).await.json();
    assert_eq!(story["receipt"]["source"], "api");
}

#[tokio::test]
async fn without_tokens_a_browser_is_refused() {
    let scene = in_memory(ApiOptions::default()).await;
    scene.enqueue("a").await;
    let body = json!({"command_id": "a", "outcome": "completed"}).to_string();
    for header in [
        "Origin: http://evil.example",
        "Origin: http://localhost:3000",
        "Origin: null",
        "Host: evil.example",
        "Host: evil.example:7070",
        "Host: 192.168.1.1",
        "Host: localhost.evil.example",
        "Host:",
    ] {
        scene.post(&[header], &body).await.refused(403, "CF1003");
        scene.get("/v1/status", &[header]).await.refused(403, "CF1003");
        scene.get("/v1/commands/a", &[header]).await.refused(403, "CF1003");
    }
    // What a form can send, where a browser forgot its Origin.
    scene.post(&["Content-Type: text/plain"], &body).await.refused(415, "CF1007");
    let story = scene.get("/v1/commands/a", &[]).await.json();
    assert_eq!(story["state"], "pending");
}

#[tokio::test]
async fn with_tokens_host_and_origin_do_not_matter() {
    let scene = in_memory(options()).await;
    let headers = [crate::scene::EYE, "Host: cf.example", "Origin: https://cf.example"];
    let answered = scene.get("/v1/status", &headers).await;
    assert_eq!(answered.status, 200);
    // And no page may read it: nothing says that it may.
    assert_eq!(answered.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn without_tokens_a_listener_for_others_is_refused() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let api = Api::new(MemoryStore::default(), ApiOptions::default()).unwrap();
    let refused = api.serve(listener, std::future::ready(())).await.unwrap_err();
    assert_eq!(refused.code(), "CF1020");
    assert!(refused.to_string().contains("set tokens"), "{refused}");
}

#[tokio::test]
async fn with_tokens_a_listener_for_others_is_served() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let api = Api::new(MemoryStore::default(), options()).unwrap();
    api.serve(listener, std::future::ready(())).await.unwrap();
}
