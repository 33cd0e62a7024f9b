//! The key on the wire, in the form and under the name that the receiver wants.

use counterfoil_core::domain::Key;
use counterfoil_core::port::Transport as _;
use counterfoil_relay::transport::http::{HttpOptions, HttpRefused, HttpTransport};
use serde_json::json;

use super::receiver::{Receiver, Request, answer, attempt_at, row};
use super::warning::warnings_of;

fn key(json: serde_json::Value) -> Key {
    serde_json::from_value(json).unwrap()
}

/// The second attempt at the same command, twice.
async fn sent(key: Key, stored: Option<&str>) -> Request {
    let receiver = Receiver::answering(answer("204 No Content", "", "")).await;
    let mut options = receiver.options();
    options.habits.key = key;
    let transport = HttpTransport::new(options).unwrap();
    for _ in 0..2 {
        let mut row = row("order.paid:A 001", "{}");
        row.headers = stored.map(Into::into);
        assert_eq!(transport.send(&attempt_at(row)).await.name(), "completed");
    }
    let mut requests = receiver.requests();
    assert_eq!(requests[0].headers, requests[1].headers, "the same on every attempt");
    requests.remove(0)
}

#[tokio::test]
async fn the_key_has_the_form_and_the_name_that_are_asked_for() {
    for (given, name, value) in [
        (json!({}), "idempotency-key", r#""order.paid:A%20001""#),
        (json!({"prefix":"cf/"}), "idempotency-key", r#""cf/order.paid:A%20001""#),
        (json!({"form":"bare"}), "idempotency-key", "order.paid:A%20001"),
        (
            json!({"header":"X-Request-Id","form":"bare","prefix":"ü"}),
            "x-request-id",
            "%C3%BCorder.paid:A%20001",
        ),
        (
            json!({"header":"PayPal-Request-Id","form":"uuid"}),
            "paypal-request-id",
            "01af834d-4a2c-825d-91ae-578536da0069",
        ),
    ] {
        let request = sent(key(given), None).await;
        assert_eq!(request.header(name), value);
        assert_eq!(request.has("idempotency-key"), name == "idempotency-key");
        assert_eq!(request.header("ce-id"), "order.paid:A%20001");
    }
}

#[tokio::test]
async fn a_commands_own_header_never_takes_the_keys_place() {
    let stored = r#"{"X-Request-Id":"mine","idempotency-key":"mine"}"#;
    let key = key(json!({"header":"X-Request-ID","form":"bare"}));
    let (warnings, request) = warnings_of(sent(key, Some(stored))).await;
    assert_eq!(request.header("x-request-id"), "order.paid:A%20001");
    assert!(!request.has("idempotency-key"));
    assert!(warnings.contains("it carries the key"), "{warnings}");
}

#[test]
fn a_header_that_is_taken_is_refused() {
    let refused = |name: &str, headers: &[&str]| {
        let mut options = HttpOptions::new("http://h/");
        options.habits.key.header = name.into();
        let headers = headers.iter().map(|name| ((*name).into(), "geheim".into()));
        options.headers = headers.collect();
        HttpTransport::new(options).unwrap_err()
    };
    for taken in ["Host", "ce-id", "webhook-id", "Authorization", "Content-Type", "no name"] {
        let refused = refused(taken, &[]);
        assert!(matches!(&refused, HttpRefused::Habit { .. }), "{refused}");
        assert!(refused.to_string().contains("key.header"), "{refused}");
    }
    let clash = refused("X-Key", &["X-Tenant", "x-key"]);
    let said = clash.to_string();
    assert!(matches!(clash, HttpRefused::Header { .. }), "{said}");
    assert!(said.contains("x-key") && !said.contains("geheim"), "{said}");
}
