//! The `traceparent` of the hop, on a real socket.

use counterfoil_core::domain::TraceContext;
use counterfoil_core::port::{Question, Transport};
use counterfoil_relay::transport::http::HttpTransport;

use super::receiver::{Receiver, answer, attempt_at, row};
use super::warning::warnings_of;

const STORED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn the_hop_has_its_own_traceparent_and_the_stored_one_stays_beside_it() {
    let receiver = Receiver::answering(answer("200 OK", "", "{}")).await;
    let transport = HttpTransport::new(receiver.askable()).unwrap();
    let mut row = row("a", "{}");
    row.headers = Some(format!(r#"{{"ce-traceparent":"{STORED}","tracestate":"shop=1"}}"#));
    for (trace, expected) in [
        (TraceContext::new(1, 2, true), "00-00000000000000000000000000000001-0000000000000002-01"),
        (TraceContext::new(1, 2, false), "00-00000000000000000000000000000001-0000000000000002-00"),
    ] {
        let mut attempt = attempt_at(row.clone());
        attempt.trace = trace;
        assert_eq!(transport.send(&attempt).await.name(), "completed");
        let request = receiver.requests().pop().unwrap();
        assert_eq!(request.header("traceparent"), expected);
        assert_eq!(request.header("ce-traceparent"), STORED);
        assert_eq!(request.header("tracestate"), "shop=1");
        let (command_id, source) = (attempt.command.command_id.clone(), attempt.source.clone());
        let question = Question { command_id, source, now: attempt.now, trace };
        assert_eq!(transport.ask(&question).await.name(), "done");
        let request = receiver.requests().pop().unwrap();
        assert!(request.line.starts_with("GET"), "{}", request.line);
        assert_eq!(request.header("traceparent"), expected);
    }
}

#[tokio::test]
async fn where_nothing_is_traced_no_traceparent_travels_a_stored_one_neither() {
    let receiver = Receiver::answering(answer("200 OK", "", "{}")).await;
    let transport = HttpTransport::new(receiver.options()).unwrap();
    let mut row = row("a", "{}");
    let traceparents = format!(r#"{{"Traceparent":"{STORED}","ce-traceparent":"{STORED}"}}"#);
    row.headers = Some(traceparents);
    let sending = async { transport.send(&attempt_at(row)).await };
    let (warnings, outcome) = warnings_of(sending).await;
    assert_eq!(outcome.name(), "completed", "{outcome:?}");
    let request = receiver.requests().pop().unwrap();
    assert!(!request.has("traceparent"), "{:?}", request.headers);
    assert_eq!(request.header("ce-traceparent"), STORED);
    assert!(warnings.contains("store yours as ce-traceparent"), "{warnings}");
}
