//! The scripted transport under the transport suite, and what it adds.
//!
//! Guarantees: scripts come one after the other and the default follows. Does not: open a socket.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{CommandId, Destination, Kind, OutboxRow, Outcome, Span, Token};
use counterfoil_core::port::{Attempt, Clock, Gate, Transport};
use counterfoil_testkit::exercise_transport::ScriptedFarEnd;
use counterfoil_testkit::{ManualClock, Receiver, Script, ScriptedTransport, exercise_transport};

async fn make() -> ScriptedFarEnd {
    ScriptedFarEnd::default()
}

counterfoil_testkit::transport_suite!(make);

#[tokio::test]
async fn the_whole_suite_at_once() {
    exercise_transport(make).await;
}

fn attempt(id: &str) -> Attempt {
    let clock = ManualClock::default();
    let later = clock.boot().plus(Span::from_secs(60));
    let row = OutboxRow {
        n: 7,
        command_id: CommandId::new(id).unwrap(),
        stream: None,
        seq: None,
        idx: None,
        destination: Destination::new("shop").unwrap(),
        kind: Kind::new("order.paid").unwrap(),
        ordering_key: None,
        body: b"body".to_vec(),
        content_type: "text/plain".into(),
        headers: None,
        core_digest: None,
        not_before: None,
        expires_at: None,
        recorded_at: clock.machine(),
    };
    Attempt {
        command: Arc::new(row),
        number: 1,
        token: Token::new(9),
        source: "urn:test".into(),
        now: clock.machine(),
        gate: Arc::new(Gate::new(Arc::new(clock), later)),
        trace: None,
    }
}

#[tokio::test(start_paused = true)]
async fn scripts_are_played_in_order_and_remembered() {
    let receiver = Arc::new(Receiver::with_keys());
    let transport = ScriptedTransport::new(Arc::clone(&receiver));
    let wait = Duration::from_secs(3);
    transport.script("a", Script::answer(Outcome::not_sent("refused")).without_gate());
    transport.script("a", Script::lose_answer().before_gate(wait));
    transport.script("a", Script::hang());
    let mut names = Vec::new();
    for _ in 0..4 {
        names.push(transport.send(&attempt("a")).await.name());
    }
    assert_eq!(names, ["not_sent", "unknown", "unknown", "completed"]);
    let sent = transport.sent();
    assert_eq!(sent.iter().map(|sent| sent.passed).collect::<Vec<_>>(), [false, true, true, true]);
    assert_eq!(sent[3].at, wait + Duration::from_secs(10), "paused time went on");
    assert_eq!((transport.sends("a"), receiver.effects("a")), (3, 1));
    assert_eq!((sent[0].token, sent[0].body.as_slice()), (Token::new(9), b"body".as_slice()));
}

#[tokio::test]
async fn a_script_may_panic() {
    let transport = Arc::new(ScriptedTransport::new(Arc::new(Receiver::with_keys())));
    transport.script("a", Script::panic());
    let sending = Arc::clone(&transport);
    let panicked = tokio::spawn(async move { sending.send(&attempt("a")).await }).await;
    assert!(panicked.is_err_and(|error| error.is_panic()));
    assert_eq!(transport.send(&attempt("a")).await.name(), "completed");
}
