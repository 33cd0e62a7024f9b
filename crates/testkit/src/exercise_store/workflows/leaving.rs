//! What an archive may take of a workflow, and what it issued all the same.

use counterfoil_core::domain::workflow::Status;
use counterfoil_core::domain::{Digest, OrderingKey};
use counterfoil_core::port::workflow::{Carried, Decision, Issued, Step};
use counterfoil_core::port::{Archive, Store, Workflows};

use super::super::scene::completed;
use super::WorkflowHands;
use super::flow::{Flow, TRIP, approved, book, signal, start, started, stream, told};

impl<H: WorkflowHands> Flow<H> {
    /// What an archive may take now, and how much a workflow keeps.
    async fn archivable(&self) -> (Vec<String>, u64) {
        let before = self.store().now().unwrap();
        let page = self.store().ended(before, 0, 99).await.unwrap();
        let ids = page.entries.iter().map(|entry| entry.outbox.command_id.to_string()).collect();
        (ids, page.kept.of_workflow)
    }
}

pub(super) async fn commands_stay_until_the_workflow_is_over<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.sent(completed()).await;
    flow.scene.last().await;
    flow.scene.advance(1);
    assert_eq!(flow.archivable().await, (vec![], 1));
    // An entry that was read all the same is not buried.
    let entry = flow.scene.entry("trip-1:1:0").await;
    assert_eq!(flow.scene.bury(vec![entry.clone()]).await, [false]);
    flow.end(TRIP, 1).await;
    assert_eq!(flow.archivable().await, (vec![], 1), "its receipt waits to be looked at");
    assert_eq!(flow.scene.bury(vec![entry.clone()]).await, [false]);
    let step = flow.step(TRIP, 2, vec![told("receipt:1:0")]);
    assert_eq!(flow.try_step(Step { status: Status::Completed, ..step }).await, Ok(()));
    assert_eq!(flow.archivable().await, (vec!["trip-1:1:0".into()], 0));
    assert_eq!(flow.scene.bury(vec![entry]).await, [true]);
    assert_eq!(flow.events(TRIP).await.len(), 3);
}

pub(super) async fn one_that_is_set_aside_keeps_its_commands<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.booked(TRIP).await;
    flow.sent(completed()).await;
    flow.scene.last().await;
    flow.commit(TRIP, 1, vec![told("receipt:1:0")]).await;
    assert!(flow.quarantine(TRIP, 2).await);
    flow.scene.advance(1);
    assert_eq!(flow.archivable().await, (vec![], 1));
}

pub(super) async fn what_was_issued_is_told_archived_or_not<H: WorkflowHands>(hands: H) {
    let flow = Flow::new(hands).await;
    flow.send(start(TRIP)).await;
    let mut keyed = book("y");
    keyed.ordering_key = Some(OrderingKey::new("seat").unwrap());
    let commands = vec![book("x"), keyed];
    flow.commit(TRIP, 0, vec![Decision { commands, ..started() }]).await;
    flow.send(signal(TRIP, "a")).await;
    let mut carrying = book("z").content_type("text/plain").header("x-seat", "12A");
    carrying.core_digest = Some(Digest::of(b"core"));
    (carrying.not_before, carrying.expires_at) = (Some(flow.in_secs(0)), Some(flow.in_secs(900)));
    let commands = vec![carrying.clone()];
    flow.commit(TRIP, 1, vec![Decision { commands, ..approved("a") }]).await;
    flow.booked("trip-10").await;
    let issued = |seq: i64, idx: i64, key: Option<&str>, body: &str| Issued {
        seq,
        idx,
        destination: "shop".into(),
        kind: "flight.book".into(),
        ordering_key: key.map(|key| OrderingKey::new(key).unwrap()),
        digest: Some(Digest::of(body.as_bytes())),
        carried: Some(Carried::from(&book(body))),
    };
    let mut all =
        [issued(1, 0, None, "x"), issued(1, 1, Some("seat"), "y"), issued(2, 0, None, "z")];
    all[2].carried = Some(Carried::from(&carrying));
    let page = |after, limit| {
        let store = flow.store().clone();
        async move { store.issued(&stream(TRIP), after, limit).await.unwrap() }
    };
    assert_eq!(page((0, 0), 9).await, all);
    assert_eq!(page((0, 0), 2).await, all[..2]);
    assert_eq!(page((1, 0), 9).await, all[1..]);
    assert_eq!(page((2, 0), 9).await, []);
    for claimed in flow.scene.look().await.claimed {
        flow.scene.settle(&claimed, completed()).await;
    }
    flow.scene.last().await;
    flow.scene.advance(1);
    flow.end(TRIP, 2).await;
    let receipts = ["receipt:1:0", "receipt:1:1", "receipt:2:0"].map(told);
    let step = flow.step(TRIP, 3, receipts.to_vec());
    assert_eq!(flow.try_step(Step { status: Status::Completed, ..step }).await, Ok(()));
    for id in ["trip-1:1:0", "trip-1:1:1"] {
        flow.scene.buried(id).await;
    }
    // A tombstone keeps less.
    (all[0].carried, all[1].carried) = (None, None);
    assert_eq!(page((0, 0), 9).await, all);
    assert_eq!(page((1, 0), 1).await, all[1..2]);
}
