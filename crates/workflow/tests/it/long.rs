//! Inputs as long as the tables take: no stranger's long word sets a saga aside.

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{CommandId, ReceiptOutcome, Span};
use counterfoil_workflow::verify::state_at;
use counterfoil_workflow::{Programs, Saga, Step, Unnamed};
use serde_json::Value;

use super::programs::Tally;
use super::scene::{Scene, Whole, stream};
use super::sites::{Site, on_every_store};

on_every_store! {
    a_saga_hears_what_is_longer_than_a_command_may_be
    what_no_event_can_hold_is_told_and_waited_for_still
    a_long_reason_ends_a_saga_all_the_same
    a_history_of_long_events_is_read_in_short_pages
}

const MIB: usize = 1024 * 1024;

fn ask(label: &'static str) -> Step<Value> {
    Step::new(label, move |_, _| Unnamed::json("bank", label, &1))
        .undo(move |_, _| Unnamed::json("bank", format!("{label}.undo"), &1))
}

fn trip() -> Saga<Value> {
    Saga::new("trip").wait("approve", Span::from_secs(3600)).step(ask("lock")).step(ask("pay"))
}

fn text(bytes: usize) -> String {
    format!("\"{}\"", "x".repeat(bytes))
}

impl<S: Whole> Scene<S> {
    async fn say(&self, id: &str, kind: InputKind, name: &str, body: &str) {
        self.send("t-1", id, kind, name, body).await;
        let end = self.idle(trip()).await;
        assert_eq!(end.quarantined, 0, "{:?}", self.store.workflow("t-1").await);
    }

    async fn done(&self, command: &str, result: String) {
        let (outcome, source) = (ReceiptOutcome::Completed, "report".into());
        let (result, evidence) = (Some(result.into_bytes()), None);
        let report =
            Report { outcome, result, evidence, source, token: None, equals_earlier: false };
        let command = CommandId::new(command).unwrap();
        self.store.report(&command, report).await.unwrap();
        assert_eq!(self.idle(trip()).await.quarantined, 0);
    }

    async fn kinds(&self) -> Vec<String> {
        self.events("t-1").await.iter().map(|event| event.kind.to_string()).collect()
    }
}

/// A signal of 1 to 16 MiB was recorded, and the event of the saga that held it was refused: the
/// workflow stood still, and no verb could take the signal back.
async fn a_saga_hears_what_is_longer_than_a_command_may_be<S: Whole>(site: Site<S>) {
    let scene = &site.scene;
    scene.say("start", InputKind::Start, "trip", &text(MIB)).await;
    scene.say("a", InputKind::Signal, "approve", &text(MIB)).await;
    let lock = &scene.issued("t-1").await[0];
    assert_eq!(lock.kind, "lock");
    scene.done(&format!("t-1:{}:0", lock.seq), text(MIB)).await;
    let pay = &scene.issued("t-1").await[1];
    scene.done(&format!("t-1:{}:0", pay.seq), "7".into()).await;
    assert_eq!(scene.status("t-1").await, Some(Status::Completed));
    let end = scene.events("t-1").await.into_iter().rev().find_map(|event| event.decided);
    assert!(end.unwrap().contains(r#"{"completed":{"lock":null,"pay":7}}"#));
    scene.must_hold(trip()).await;
}

async fn what_no_event_can_hold_is_told_and_waited_for_still<S: Whole>(site: Site<S>) {
    let scene = &site.scene;
    scene.say("start", InputKind::Start, "trip", "1").await;
    // As JSON six bytes each.
    scene.say("a", InputKind::Signal, "approve", &"\u{1}".repeat(3 * MIB)).await;
    let kinds = scene.kinds().await;
    assert_eq!(kinds[kinds.len() - 2..], ["signal:approve", "unheard"]);
    let unheard = scene.events("t-1").await.pop().unwrap();
    let says = String::from_utf8(unheard.body).unwrap();
    assert!(says.contains("it has 18874370 bytes as JSON; at most 16773120"), "{says}");
    scene.say("b", InputKind::Signal, "approve", "1").await;
    assert_eq!(scene.issued("t-1").await.len(), 1, "another one is heard");
    scene.must_hold(trip()).await;
}

async fn a_long_reason_ends_a_saga_all_the_same<S: Whole>(site: Site<S>) {
    let scene = &site.scene;
    scene.say("start", InputKind::Start, "trip", "1").await;
    scene.say("c", InputKind::Cancel, "cancel", &"é".repeat(MIB)).await;
    assert_eq!(scene.status("t-1").await, Some(Status::Failed));
    let end = scene.events("t-1").await.into_iter().find_map(|event| event.decided);
    let end = end.filter(|end| end.contains("\"end\"")).unwrap_or_default();
    assert!(end.len() < 70_000, "{}", end.len());
    scene.must_hold(trip()).await;
}

/// A page of long events is shorter than was asked, and is not the last one.
async fn a_history_of_long_events_is_read_in_short_pages<S: Whole>(site: Site<S>) {
    let scene = &site.scene;
    scene.start("t-1", "tally").await;
    for number in 0..10 {
        let (id, body) = (format!("s{number}"), "x".repeat(MIB));
        scene.send("t-1", &id, InputKind::Signal, "add", &body).await;
    }
    assert_eq!(scene.idle(Tally::new()).await.inputs, 11);
    scene.signal("t-1", "last", "end").await;
    let end = scene.idle(Tally::new()).await;
    assert_eq!((end.inputs, end.loads, end.events_read, end.refused), (1, 1, 21, 0), "{end:?}");
    assert_eq!(scene.status("t-1").await, Some(Status::Completed));
    scene.must_hold(Tally::new()).await;
    let programs = Programs::new().with(Tally::new()).unwrap();
    let state = state_at(&scene.store, &programs, &stream("t-1"), None).await.unwrap();
    assert_eq!(state.unwrap().unwrap().state, 10);
}
