//! What one send promises.
//!
//! Guarantees: each rule of the port has its case. Does not: measure.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{
    CommandId, Destination, Kind, Micros, OutboxRow, Outcome, Span, Token,
};
use counterfoil_core::port::{Attempt, Clock, Gate};

use super::{FarEnd, Reply};
use crate::ManualClock;

/// How much longer than its request time-out a send may take on a busy machine.
const GRACE: Duration = Duration::from_secs(10);
/// How long a test waits for what should not arrive.
const QUIET: Duration = Duration::from_millis(50);

fn gate() -> Arc<Gate> {
    let clock = ManualClock::default();
    let later = clock.boot().plus(Span::from_secs(60));
    Arc::new(Gate::new(Arc::new(clock), later))
}

fn attempt(id: &str, body: &[u8], gate: Arc<Gate>) -> Attempt {
    let row = OutboxRow {
        n: 7,
        command_id: CommandId::new(id).unwrap(),
        stream: None,
        seq: None,
        idx: None,
        destination: Destination::new("shop").unwrap(),
        kind: Kind::new("order.paid").unwrap(),
        ordering_key: None,
        body: body.to_vec(),
        content_type: "application/octet-stream".into(),
        headers: None,
        core_digest: None,
        not_before: None,
        expires_at: None,
        recorded_at: crate::manual_clock::START,
    };
    Attempt {
        command: Arc::new(row),
        number: 1,
        token: Token::new(1_767_225_600_000_001),
        source: "urn:counterfoil:suite".into(),
        now: crate::manual_clock::START,
        gate,
        trace: None,
    }
}

/// Sends, and gives up long after the transport should have.
async fn send<E: FarEnd>(far_end: &E, attempt: &Attempt) -> Outcome {
    let transport = far_end.transport();
    let patience = transport.request_timeout().map_or(Duration::ZERO, Span::to_std) + GRACE;
    let sent = tokio::time::timeout(patience, transport.send(attempt)).await;
    sent.unwrap_or_else(|_| panic!("the send did not end within {patience:?}"))
}

fn result(outcome: &Outcome) -> Option<&[u8]> {
    match outcome {
        Outcome::Completed { result, .. } => Some(&result.bytes),
        _ => None,
    }
}

pub(super) async fn the_bytes_arrive_as_committed<E: FarEnd>(far_end: E) {
    let every: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    for body in [every.as_slice(), b"", b"{\"a\": 1}\r\n", "订单 📦".as_bytes()] {
        send(&far_end, &attempt("a", body, gate())).await;
        let arrived = far_end.arrivals();
        assert!(arrived.last().is_some_and(|call| call.body == body), "{} bytes", body.len());
    }
}

pub(super) async fn every_send_carries_the_commands_id<E: FarEnd>(far_end: E) {
    for id in ["order.paid:A-001", "订单 \"1\" 100% \\ 📦"] {
        far_end.reply(Reply::Fail);
        send(&far_end, &attempt(id, b"x", gate())).await;
        far_end.reply(Reply::Done(Vec::new()));
        send(&far_end, &attempt(id, b"x", gate())).await;
        let arrived = far_end.arrivals();
        let same = arrived.iter().filter(|call| call.command_id == id).count();
        assert_eq!(same, 2, "{arrived:?}");
    }
}

pub(super) async fn done_is_completed_with_the_result<E: FarEnd>(far_end: E) {
    far_end.reply(Reply::Done(b"{\"job\":7}".to_vec()));
    let outcome = send(&far_end, &attempt("a", b"x", gate())).await;
    assert_eq!(result(&outcome), Some(b"{\"job\":7}".as_slice()), "{outcome:?}");
}

pub(super) async fn what_arrived_has_passed_the_gate<E: FarEnd>(far_end: E) {
    for reply in [Reply::Done(Vec::new()), Reply::Fail] {
        far_end.reply(reply);
        let attempt = attempt("a", b"x", gate());
        send(&far_end, &attempt).await;
        assert!(attempt.gate.has_begun(), "a byte left that the relay could hand back");
        assert!(!attempt.gate.withdraw());
    }
}

pub(super) async fn a_withdrawn_attempt_sends_nothing<E: FarEnd>(far_end: E) {
    let attempt = attempt("a", b"x", gate());
    assert!(attempt.gate.withdraw());
    let outcome = send(&far_end, &attempt).await;
    tokio::time::sleep(QUIET).await;
    assert_eq!(far_end.arrivals(), [], "{outcome:?}");
}

pub(super) async fn nothing_is_sent_after_the_deadline<E: FarEnd>(far_end: E) {
    let clock = ManualClock::default();
    let before = Micros::new(clock.boot().get() - 1);
    let shut = Arc::new(Gate::new(Arc::new(clock), before));
    send(&far_end, &attempt("a", b"x", Arc::clone(&shut))).await;
    tokio::time::sleep(QUIET).await;
    assert_eq!(far_end.arrivals(), []);
    assert!(shut.is_withdrawn(), "so the relay hands it back");
}

pub(super) async fn one_send_is_one_call_whatever_comes_of_it<E: FarEnd>(far_end: E) {
    for (calls, reply) in [(1, Reply::Fail), (2, Reply::Done(Vec::new())), (3, Reply::Fail)] {
        far_end.reply(reply);
        send(&far_end, &attempt("a", b"x", gate())).await;
        tokio::time::sleep(QUIET).await;
        assert_eq!(far_end.arrivals().len(), calls, "no hidden second send");
    }
}

pub(super) async fn a_failure_is_unknown<E: FarEnd>(far_end: E) {
    far_end.reply(Reply::Fail);
    let outcome = send(&far_end, &attempt("a", b"x", gate())).await;
    assert_eq!(outcome.name(), "unknown", "{outcome:?}");
    assert!(!outcome.reason().is_empty(), "a person reads the reason");
}

pub(super) async fn no_answer_is_unknown_within_the_request_timeout<E: FarEnd>(far_end: E) {
    // A handler in this process has no time-out; its lease is renewed while it runs.
    if far_end.transport().request_timeout().is_none() {
        return;
    }
    far_end.reply(Reply::Hang);
    let outcome = send(&far_end, &attempt("a", b"x", gate())).await;
    assert_eq!(outcome.name(), "unknown", "{outcome:?}");
    assert_eq!(far_end.arrivals().len(), 1);
}

pub(super) async fn no_far_end_is_not_sent<E: FarEnd>(far_end: E) {
    if !far_end.vanish().await {
        return;
    }
    let outcome = send(&far_end, &attempt("a", b"x", gate())).await;
    assert_eq!(outcome.name(), "not_sent", "{outcome:?}");
    assert!(!outcome.reason().is_empty(), "a person reads the reason");
}

pub(super) async fn sends_at_once_do_not_mix<E: FarEnd>(far_end: E) {
    let sends: Vec<_> = (0..20)
        .map(|at| {
            let transport = far_end.transport();
            let attempt = attempt(&format!("c-{at}"), format!("body {at}").as_bytes(), gate());
            tokio::spawn(async move { transport.send(&attempt).await })
        })
        .collect();
    for send in sends {
        let outcome = tokio::time::timeout(GRACE, send).await.unwrap().unwrap();
        assert!(result(&outcome).is_some(), "{outcome:?}");
    }
    let arrived = far_end.arrivals();
    assert_eq!(arrived.len(), 20);
    for call in arrived {
        let at = call.command_id.trim_start_matches("c-").to_owned();
        assert_eq!(call.body, format!("body {at}").as_bytes());
    }
}

pub(super) async fn a_send_that_is_dropped_spoils_no_other<E: FarEnd>(far_end: E) {
    far_end.reply(Reply::Hang);
    let transport = far_end.transport();
    let hanging = attempt("a", b"x", gate());
    let dropped = tokio::time::timeout(QUIET, transport.send(&hanging)).await;
    assert!(dropped.is_err(), "the far end does not answer");
    far_end.reply(Reply::Done(b"ok".to_vec()));
    let outcome = send(&far_end, &attempt("b", b"y", gate())).await;
    assert_eq!(result(&outcome), Some(b"ok".as_slice()), "{outcome:?}");
}
