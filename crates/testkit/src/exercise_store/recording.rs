//! What recording a bare command promises: one intent, one id, for ever.
//!
//! Guarantees: equal is told from other on every path. Does not: cover plain SQL; the guards of a
//! database have tests of their own.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{Command, CommandRefused, Micros, ReceiptOutcome, Span};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Recorded, WriteRefused};
use serde_json::json;

use super::Hands;
use super::scene::{SHOP, Scene, command, command_to, forever};

async fn record<H: Hands>(scene: &Scene<H>, command: Command) -> Result<Recorded, WriteRefused> {
    let mut answers = scene.store.enqueue(vec![command]).await.unwrap();
    assert_eq!(answers.len(), 1, "one answer a command");
    answers.remove(0)
}

fn conflict(id: &str) -> Result<Recorded, WriteRefused> {
    Err(WriteRefused::Conflict { id: id.into() })
}

pub(super) async fn records_a_new_command<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    assert_eq!(record(&scene, command("a")).await, Ok(Recorded::Recorded));
    let listed = scene.listed("a").await;
    assert_eq!((listed.state.as_str(), listed.round, listed.attempts), ("pending", 1, 0));
    assert_eq!(listed.available_at, Some(listed.recorded_at), "due at once");
}

pub(super) async fn repeats_the_same_intent<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    scene.advance(5);
    assert_eq!(record(&scene, command("a")).await, Ok(Recorded::Repeated));
    assert_eq!(scene.look().await.claimed.len(), 1, "one command, not two");
}

pub(super) async fn refuses_other_content_of_an_id<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    let kind = Command::bytes("a", SHOP, "order.lost", "body of a").unwrap();
    let body = Command::bytes("a", SHOP, "order.paid", "another body").unwrap();
    for other in [command_to("a", "elsewhere"), kind, body] {
        assert_eq!(record(&scene, other).await, conflict("a"));
    }
    let story = scene.story("a").await;
    assert_eq!(story.body.as_deref(), Some(b"body of a".as_slice()));
    assert_eq!(story.listed.destination, SHOP);
}

pub(super) async fn compares_no_headers_and_no_times<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    let later = scene.store.now().unwrap().plus(Span::from_secs(60));
    let other = command("a").header("X-Trace", "2").not_before(later).content_type("text/plain");
    assert_eq!(record(&scene, other).await, Ok(Recorded::Repeated));
    assert_eq!(scene.story("a").await.headers, None, "the first stands");
}

pub(super) async fn compares_core_digests_where_both_have_one<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let with = |body: &str, core: i64| {
        let command = Command::bytes("a", SHOP, "order.paid", body).unwrap();
        command.core(&[json!(core)]).unwrap()
    };
    assert_eq!(record(&scene, with("at 10:00", 7)).await, Ok(Recorded::Recorded));
    assert_eq!(record(&scene, with("at 10:01", 7)).await, Ok(Recorded::Repeated));
    assert_eq!(record(&scene, with("at 10:00", 8)).await, conflict("a"));
}

pub(super) async fn compares_bodies_where_one_side_has_no_core_digest<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    let core = [json!(7)];
    let same = command("a").core(&core).unwrap();
    assert_eq!(record(&scene, same).await, Ok(Recorded::Repeated));
    let other = Command::bytes("a", SHOP, "order.paid", "other").unwrap().core(&core).unwrap();
    assert_eq!(record(&scene, other).await, conflict("a"));
}

pub(super) async fn folds_an_id_that_stands_twice_in_a_batch<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let other = Command::bytes("a", SHOP, "order.paid", "other").unwrap();
    let batch = vec![command("a"), command("b"), command("a"), other];
    let answers = scene.store.enqueue(batch).await.unwrap();
    let (new, again) = (Ok(Recorded::Recorded), Ok(Recorded::Repeated));
    assert_eq!(answers, [new.clone(), new, again, conflict("a")]);
}

pub(super) async fn one_refused_command_refuses_no_other<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    let other = Command::bytes("a", SHOP, "order.paid", "other").unwrap();
    let long = Command::bytes("k", SHOP, "order.paid", vec![b'x'; 1024 * 1024 + 1]).unwrap();
    let batch = vec![command("b"), other, long, command("c")];
    let answers = scene.store.enqueue(batch).await.unwrap();
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, true]);
    assert_eq!(
        scene.store.known(&["b".into(), "k".into(), "c".into()]).await.unwrap(),
        [true, false, true]
    );
}

pub(super) async fn repeats_after_the_end_whatever_the_outcome<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    for (id, outcome) in [("a", ReceiptOutcome::Completed), ("b", ReceiptOutcome::Rejected)] {
        scene.enqueue(id).await;
        scene.report(id, outcome).await;
        assert_eq!(record(&scene, command(id)).await, Ok(Recorded::Repeated));
        let other = Command::bytes(id, SHOP, "order.paid", "other").unwrap();
        assert_eq!(record(&scene, other).await, conflict(id));
        assert_eq!(scene.state(id).await, outcome.name());
    }
    assert_eq!(scene.look().await.claimed, []);
}

pub(super) async fn refuses_a_body_over_the_limit<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let long = Command::bytes("a", SHOP, "order.paid", vec![b'x'; 1024 * 1024 + 1]).unwrap();
    let answer = record(&scene, long).await;
    let too_long = matches!(
        answer,
        Err(WriteRefused::Command(CommandRefused::BodyTooLong { len: 1_048_577, .. }))
    );
    assert!(too_long, "{answer:?}");
    assert_eq!(scene.store.show("a").await.unwrap(), None);
    let longest = Command::bytes("a", SHOP, "order.paid", vec![b'x'; 1024 * 1024]).unwrap();
    assert_eq!(record(&scene, longest).await, Ok(Recorded::Recorded));
}

pub(super) async fn refuses_what_a_command_may_not_carry<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let seconds = Micros::new(1_767_225_600);
    for bad in [command("a").header("Idempotency-Key", "x"), command("a").not_before(seconds)] {
        let answer = record(&scene, bad).await;
        assert!(matches!(answer, Err(WriteRefused::Command(_))), "{answer:?}");
    }
    let nameless = Command { id: None, ..command("a") };
    assert!(record(&scene, nameless).await.is_err(), "a bare command has an id");
    assert_eq!(scene.store.list(super::view::all()).await.unwrap(), []);
}

pub(super) async fn keeps_every_byte_as_committed<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let text = "{\"名\": \"订单 📦\\u0000\"}\r\n".to_owned();
    let mut as_text = Command::bytes("text", SHOP, "order.paid", text.clone()).unwrap();
    as_text.body_is_text = true;
    let as_bytes = Command::bytes("bytes", SHOP, "order.paid", bytes.clone()).unwrap();
    let empty = Command::bytes("empty", SHOP, "order.paid", "").unwrap();
    for command in [as_text, as_bytes, empty] {
        assert_eq!(record(&scene, command.clone()).await, Ok(Recorded::Recorded));
        assert_eq!(record(&scene, command).await, Ok(Recorded::Repeated));
    }
    let claimed = scene.look().await.claimed;
    let body = |id: &str| {
        let found = claimed.iter().find(|claimed| claimed.command.command_id.as_str() == id);
        found.map(|claimed| claimed.command.body.clone()).unwrap()
    };
    assert!(body("text") == text.as_bytes() && body("bytes") == bytes && body("empty").is_empty());
}

pub(super) async fn keeps_ids_of_any_language<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let longest = "é".repeat(127);
    for id in ["订单:A-1 📦", "a b%\"\\;--'", longest.as_str()] {
        let claimed = scene.claimed(id).await;
        scene.settle(&claimed, super::scene::completed()).await;
        assert_eq!(scene.state(id).await, "completed");
    }
}

pub(super) async fn one_of_many_writers_records<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let store = scene.store.clone();
            tokio::spawn(async move { store.enqueue(vec![command("a"), command("b")]).await })
        })
        .collect();
    let mut recorded = 0;
    for writer in writers {
        let answers = writer.await.unwrap().unwrap();
        recorded += answers.iter().filter(|answer| **answer == Ok(Recorded::Recorded)).count();
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    }
    assert_eq!(recorded, 2, "each id is recorded once");
}

pub(super) async fn wakes_who_waits_for_work<H: Hands>(hands: H) {
    let scene = Arc::new(Scene::new(hands, forever()).await);
    let long = Duration::from_secs(10);
    // What was committed before may be told first.
    scene.store.changed(Duration::from_millis(1)).await;
    let waiter = tokio::spawn({
        let scene = Arc::clone(&scene);
        async move { tokio::time::timeout(long, scene.store.changed(long * 2)).await.is_ok() }
    });
    // So that it waits already; if it does not yet, the case is easier, not wrong.
    tokio::time::sleep(Duration::from_millis(50)).await;
    scene.enqueue("a").await;
    assert!(waiter.await.unwrap(), "a commit ends the wait");
}
