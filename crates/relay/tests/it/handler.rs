//! A function in this process as the destination.
//!
//! Guarantees: what it may return and how it may fail is shown here, one by one. Does not: repeat
//! renewal; see `lease`.

use std::sync::Arc;

use counterfoil_core::domain::{Digest, Outcome, Span};
use counterfoil_core::port::{Attempt, Store, Transport};
use counterfoil_relay::transport::handler::{HandlerError, Json, RESULT_BYTES_MAX, handler};

use crate::scene::{SHIPPING, Scene};

/// Delivers one command to `function`, without keys; the scene afterwards.
async fn delivered(function: impl Transport) -> Scene {
    let scene = Scene::keyless();
    scene.enqueue("A").await;
    let served = vec![scene.serving(SHIPPING, Arc::new(function))];
    let options = scene.options().until_idle(true);
    scene.start_on(&scene.store, served, options).end().await.unwrap();
    scene
}

async fn result_of(function: impl Transport) -> (Vec<u8>, String) {
    let scene = delivered(function).await;
    let receipt = scene.story("A").await.receipts[0].clone();
    assert_eq!(receipt.outcome, "completed");
    (receipt.result.unwrap(), receipt.evidence.unwrap())
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_returns_is_the_result_of_the_receipt() {
    let handled = "handler returned".to_owned();
    let unit = handler(|_| async { Ok::<_, HandlerError>(()) });
    assert_eq!(result_of(unit).await, (Vec::new(), handled.clone()));
    let text = handler(|_| async { Ok::<_, HandlerError>("done") });
    assert_eq!(result_of(text).await, (b"done".to_vec(), handled.clone()));
    let bytes = handler(|_| async { Ok::<_, HandlerError>(vec![0_u8, 255]) });
    assert_eq!(result_of(bytes).await, (vec![0, 255], handled.clone()));
    let json = handler(|attempt: Attempt| async move {
        let order: serde_json::Value = serde_json::from_slice(&attempt.command.body)?;
        Ok::<_, HandlerError>(Json(serde_json::json!({ "z": order["order"], "a": 1 })))
    });
    assert_eq!(result_of(json).await, (br#"{"a":1,"z":"A"}"#.to_vec(), handled));
}

#[tokio::test(start_paused = true)]
async fn a_long_result_is_cut_and_its_digest_kept() {
    let long = vec![7_u8; RESULT_BYTES_MAX + 1];
    let whole = Digest::of(&long);
    let scene = Scene::new();
    scene.enqueue("A").await;
    let transport = handler(move |_| {
        let long = long.clone();
        async move { Ok::<_, HandlerError>(long) }
    });
    let attempt = attempt(&scene).await;
    let Outcome::Completed { result, .. } = transport.send(&attempt).await else { panic!() };
    assert_eq!(result.bytes.len(), RESULT_BYTES_MAX);
    assert_eq!((result.full_len, result.full_digest), (RESULT_BYTES_MAX as u64 + 1, Some(whole)));
}

/// An attempt at the first command, claimed by hand.
async fn attempt(scene: &Scene) -> Attempt {
    use counterfoil_core::port::store::{ClaimFrom, Exchange};
    use counterfoil_core::port::{Gate, SystemClock};
    let served = scene.served().remove(0);
    let (destination, terms) = (served.destination, served.terms);
    scene.store.declare(&destination, &terms.contract, true).await.unwrap();
    let claim_from = vec![ClaimFrom { destination, limit: 1, terms }];
    let exchange = Exchange { claim_from, claim_limit: 1, ..Exchange::default() };
    let claimed = scene.store.exchange(exchange).await.unwrap().claimed.remove(0);
    Attempt {
        command: claimed.command,
        number: 1,
        token: claimed.delivery.token,
        source: "urn:test".into(),
        now: scene.store.now().unwrap(),
        gate: Arc::new(Gate::new(Arc::new(SystemClock), counterfoil_core::domain::Micros::LATEST)),
        trace: None,
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_or_a_panic_is_unknown_so_that_nothing_acts_twice() {
    let failing = handler(|_| async { Err::<(), _>(std::io::Error::other("disk gone")) });
    let scene = delivered(failing).await;
    assert_eq!(scene.state("A").await, "uncertain");
    let story = scene.story("A").await;
    assert_eq!((story.tries[0].outcome.as_str(), story.tries.len()), ("unknown", 1));
    assert_eq!(story.tries[0].reason, "disk gone");
    let text = handler(|_| async { Err::<(), _>("just words") });
    assert_eq!(delivered(text).await.story("A").await.tries[0].reason, "just words");
    let panicking = handler(|attempt: Attempt| async move {
        assert!(attempt.number == 0, "out of cheese");
        Ok::<_, HandlerError>(())
    });
    let scene = delivered(panicking).await;
    assert_eq!(scene.state("A").await, "uncertain");
    assert!(scene.story("A").await.tries[0].reason.contains("panicked: out of cheese"));
    // A panic before there is a future.
    let early = handler(|attempt: Attempt| {
        assert!(attempt.number == 0, "at once");
        async { Ok::<_, HandlerError>(()) }
    });
    assert_eq!(delivered(early).await.state("A").await, "uncertain");
}

#[tokio::test(start_paused = true)]
async fn a_handler_says_more_where_it_knows_more() {
    let rejected = handler(|_| async { Err::<(), _>(HandlerError::rejected("no such order")) });
    let scene = delivered(rejected).await;
    assert_eq!(scene.state("A").await, "rejected");
    assert_eq!(scene.story("A").await.receipts[0].evidence.as_deref(), Some("no such order"));

    let conflict = handler(|_| async { Err::<(), _>(HandlerError::conflict("other amount")) });
    assert_eq!(delivered(conflict).await.state("A").await, "conflict");

    let later = handler(|attempt: Attempt| async move {
        match attempt.number {
            1 => Err(HandlerError::not_sent("not yet")),
            2 => Err(HandlerError::not_before("not yet", Span::from_secs(30))),
            _ => Ok("at last"),
        }
    });
    let scene = delivered(later).await;
    assert_eq!(scene.state("A").await, "completed");
    let outcomes: Vec<_> = scene.story("A").await.tries.iter().map(|t| t.outcome.clone()).collect();
    assert_eq!(outcomes, ["not_sent", "not_sent"]);
}

/// The gate is passed before the function is called: what a stop withdrew does nothing.
#[tokio::test(start_paused = true)]
async fn a_handler_is_not_called_once_its_attempt_is_withdrawn() {
    let scene = Scene::new();
    scene.enqueue("A").await;
    let attempt = attempt(&scene).await;
    assert!(attempt.gate.withdraw());
    let called = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&called);
    let transport = handler(move |_| {
        seen.store(true, std::sync::atomic::Ordering::SeqCst);
        async { Ok::<_, HandlerError>(()) }
    });
    assert_eq!(transport.send(&attempt).await.name(), "not_sent");
    assert!(!called.load(std::sync::atomic::Ordering::SeqCst));
}
