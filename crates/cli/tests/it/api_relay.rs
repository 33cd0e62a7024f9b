//! The API of a running relay: metrics, status and verbs while it works.
//!
//! Guarantees: a real relay, a real receiver that fails, real HTTP. Does not: repeat the API's own
//! tests.

use std::net::TcpListener;

use serde_json::Value;

use crate::api::{configure, port_of, say};
use crate::program::{Desk, wait_until};

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

fn get(port: u16, path: &str) -> String {
    let answer = say(port, &format!("GET {path}"), "", "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    body(&answer).to_owned()
}

fn value(page: &str, line: &str) -> f64 {
    let found = page.lines().find_map(|one| one.strip_prefix(line)?.strip_prefix(' '));
    found.map_or(0.0, |value| value.parse().unwrap())
}

/// A destination that is not there, looked at and handled over HTTP alone.
#[test]
fn a_breaker_is_seen_and_an_operator_pauses_cancels_and_resumes() {
    let desk = Desk::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    configure(&desk, closed, "", "listen = \"127.0.0.1:0\"");
    for id in ["a", "b", "c", "d", "e", "f"] {
        desk.enqueue(id);
    }
    let mut relay = desk.start(&["relay"]);
    let port = port_of(&relay);
    let open = "counterfoil_breaker_open{destination=\"shipping\"}";
    wait_until("the breaker opens", || value(&get(port, "/metrics"), open) > 0.5);
    // Counted is what was settled; the breaker opens a moment before.
    let not_sent = "counterfoil_attempts_total{destination=\"shipping\",outcome=\"not_sent\"}";
    wait_until("five are counted", || value(&get(port, "/metrics"), not_sent) >= 5.0);
    let page = get(port, "/metrics");
    assert!(value(&page, "counterfoil_claims_total") >= 5.0, "{page}");
    assert!((value(&page, "counterfoil_workers") - 4.0).abs() < 0.1, "{page}");
    let opened = "counterfoil_breaker_opened_total{destination=\"shipping\"}";
    assert!(value(&page, opened) >= 1.0, "{page}");
    let status: Value = serde_json::from_str(&get(port, "/v1/status")).unwrap();
    assert_ne!(status["breakers"]["shipping"], "closed", "{status}");
    assert!(status["rates"]["shipping"]["attempts_per_second"].as_f64().unwrap() > 0.0);
    let why = "{\"reason\":\"they are down\"}";
    let paused = say(port, "POST /v1/destinations/shipping/pause", "", why);
    assert_eq!(body(&paused), "{\"status\":\"paused\"}");
    let cancelled = || {
        let answer = say(port, "POST /v1/commands/a/cancel", "", "{\"reason\":\"no more\"}");
        answer.starts_with("HTTP/1.1 200")
    };
    wait_until("it is not in flight", cancelled);
    assert_eq!(desk.show("a")["receipt"]["source"], "operator api");
    let list: Value = serde_json::from_str(&get(port, "/v1/commands?state=pending")).unwrap();
    assert_eq!(list["commands"].as_array().map(Vec::len), Some(5), "{list}");
    let status: Value = serde_json::from_str(&get(port, "/v1/status")).unwrap();
    assert_eq!(status["paused"]["shipping"]["why"], "they are down");
    let (receiver, _) = desk.receiver_at(closed, &[]);
    let resumed = say(port, "POST /v1/destinations/shipping/resume", "", "{}");
    assert_eq!(body(&resumed), "{\"status\":\"resumed\"}");
    let completed = || desk.orders("SELECT count(*) FROM counterfoil_receipt") == 6;
    wait_until("the rest is delivered", completed);
    let audit: Value = serde_json::from_str(&get(port, "/v1/audit")).unwrap();
    assert_eq!(audit["holds"], true, "{audit}");
    wait_until("the breaker is closed", || value(&get(port, "/metrics"), open) < 0.5);
    relay.signal("TERM");
    assert_eq!(relay.end(), Some(0));
    receiver.kill();
}
