//! What appending a decision promises: its events and commands stand together or not at all.
//!
//! Guarantees: versions, causes and ids are checked. Does not: decide; workflows do.

use counterfoil_core::domain::{Command, CommandId, Event, Kind, Stream};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Append, Appended, Recorded, WriteRefused};

use super::Hands;
use super::scene::{SHOP, Scene, command, forever, ids};

fn stream(name: &str) -> Stream {
    Stream::new(name).unwrap()
}

fn event(kind: &str, cause: Option<&str>) -> Event {
    let body = format!("{kind} happened").into_bytes();
    Event { kind: Kind::new(kind).unwrap(), body, cause: cause.map(Into::into) }
}

fn unnamed(body: &str) -> Command {
    Command { id: None, ..Command::bytes("x", SHOP, "order.ship", body).unwrap() }
}

fn decision(name: &str, expected_seq: i64, events: &[&str], commands: &[&str]) -> Append {
    Append {
        stream: stream(name),
        expected_seq,
        events: events.iter().map(|kind| event(kind, None)).collect(),
        commands: commands.iter().map(|body| unnamed(body)).collect(),
    }
}

async fn append<H: Hands>(scene: &Scene<H>, append: Append) -> Result<Appended, WriteRefused> {
    scene.store.append(append).await.unwrap()
}

/// `(seq, kind, commands)` of a stream.
async fn history<H: Hands>(scene: &Scene<H>, name: &str) -> Vec<(i64, String, i64)> {
    let events = scene.store.load(&stream(name), 0, 100).await.unwrap();
    events.into_iter().map(|event| (event.seq, event.kind.to_string(), event.commands)).collect()
}

pub(super) async fn names_commands_by_stream_seq_and_index<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let first = append(&scene, decision("o-1", 0, &["placed", "paid"], &["x", "y"])).await.unwrap();
    assert_eq!(first.seq, 2);
    let named: Vec<_> = first.command_ids.iter().map(CommandId::as_str).collect();
    assert_eq!(named, ["o-1:2:0", "o-1:2:1"]);
    let second = append(&scene, decision("o-1", 2, &["shipped"], &["z"])).await.unwrap();
    assert_eq!(second.command_ids[0].as_str(), "o-1:3:0");
    let claimed = scene.look().await.claimed;
    assert_eq!(ids(&claimed), ["o-1:2:0", "o-1:2:1", "o-1:3:0"]);
    assert_eq!(claimed[1].command.body, b"y");
    assert_eq!(scene.story("o-1:2:1").await.decision, Some(("o-1".into(), 2, 1)));
}

pub(super) async fn counts_commands_on_the_last_event<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    append(&scene, decision("o-1", 0, &["placed", "paid"], &["x", "y"])).await.unwrap();
    append(&scene, decision("o-1", 2, &["noted"], &[])).await.unwrap();
    let kinds = |seq, kind: &str, commands| (seq, kind.to_owned(), commands);
    let all = [kinds(1, "placed", 0), kinds(2, "paid", 2), kinds(3, "noted", 0)];
    assert_eq!(history(&scene, "o-1").await, all);
}

pub(super) async fn refuses_a_stale_version_with_both_numbers<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    append(&scene, decision("o-1", 0, &["placed", "paid"], &[])).await.unwrap();
    for expected in [0, 1, 3] {
        let refused = append(&scene, decision("o-1", expected, &["late"], &["x"])).await;
        let stream = "o-1".to_owned();
        assert_eq!(refused, Err(WriteRefused::VersionConflict { stream, expected, actual: 2 }));
    }
    assert_eq!(history(&scene, "o-1").await.len(), 2);
    assert_eq!(scene.look().await.claimed, []);
}

pub(super) async fn writes_nothing_of_a_refused_decision<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let mut refused = decision("o-1", 0, &["placed"], &["x", "y"]);
    refused.commands[1].body = vec![b'x'; 1024 * 1024 + 1];
    let answer = append(&scene, refused).await;
    assert!(matches!(answer, Err(WriteRefused::Command(_))), "{answer:?}");
    assert_eq!(history(&scene, "o-1").await, []);
    assert_eq!(scene.store.known(&["o-1:1:0".into()]).await.unwrap(), [false]);
    assert_eq!(append(&scene, decision("o-1", 0, &["placed"], &["x"])).await.unwrap().seq, 1);
}

pub(super) async fn refuses_a_decision_without_an_event<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let refused = append(&scene, decision("o-1", 0, &[], &["x"])).await;
    assert_eq!(refused, Err(WriteRefused::NoEvent { stream: "o-1".into() }));
    assert_eq!(scene.look().await.claimed, []);
}

pub(super) async fn takes_a_cause_once_in_a_stream<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let caused = |name: &str, seq| Append {
        events: vec![event("decided", Some("signal-1"))],
        ..decision(name, seq, &[], &["x"])
    };
    append(&scene, caused("o-1", 0)).await.unwrap();
    let taken = WriteRefused::CauseTaken { stream: "o-1".into(), cause: "signal-1".into() };
    assert_eq!(append(&scene, caused("o-1", 1)).await, Err(taken));
    assert_eq!(history(&scene, "o-1").await.len(), 1);
    append(&scene, caused("o-2", 0)).await.unwrap();
    let loaded = scene.store.load(&stream("o-2"), 0, 1).await.unwrap();
    assert_eq!(loaded[0].cause.as_deref(), Some("signal-1"));
}

pub(super) async fn refuses_a_generated_id_that_is_taken<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("o-1:1:0").await;
    let refused = append(&scene, decision("o-1", 0, &["placed"], &["x"])).await;
    assert_eq!(refused, Err(WriteRefused::Conflict { id: "o-1:1:0".into() }));
    assert_eq!(history(&scene, "o-1").await, []);
}

pub(super) async fn repeats_a_command_of_a_decision_by_its_id<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    append(&scene, decision("o-1", 0, &["placed"], &["x"])).await.unwrap();
    let same = Command::bytes("o-1:1:0", SHOP, "order.ship", "x").unwrap();
    let answers = scene.store.enqueue(vec![same, command("o-1:1:0")]).await.unwrap();
    let conflict = Err(WriteRefused::Conflict { id: "o-1:1:0".into() });
    assert_eq!(answers, [Ok(Recorded::Repeated), conflict]);
}

pub(super) async fn loads_in_order_and_in_pages<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    append(&scene, decision("o-1", 0, &["a", "b", "c", "d", "e"], &[])).await.unwrap();
    append(&scene, decision("o-10", 0, &["z"], &[])).await.unwrap();
    let page = |after, limit| {
        let store = scene.store.clone();
        async move {
            let events = store.load(&stream("o-1"), after, limit).await.unwrap();
            events.into_iter().map(|event| event.kind.to_string()).collect::<String>()
        }
    };
    assert_eq!(page(0, 2).await, "ab");
    assert_eq!(page(2, 2).await, "cd");
    assert_eq!(page(4, 9).await, "e");
    assert_eq!(page(5, 9).await, "");
    let loaded = scene.store.load(&stream("o-1"), 0, 1).await.unwrap();
    assert_eq!(loaded[0].body, b"a happened");
    assert_eq!(scene.store.load(&stream("none"), 0, 9).await.unwrap(), []);
}

pub(super) async fn one_of_two_deciders_wins<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let deciders: Vec<_> = (0..6)
        .map(|who| {
            let store = scene.store.clone();
            let body = format!("by {who}");
            let append = decision("o-1", 0, &["placed"], &[body.as_str()]);
            tokio::spawn(async move { store.append(append).await.unwrap() })
        })
        .collect();
    let mut won = 0;
    for decider in deciders {
        match decider.await.unwrap() {
            Ok(_) => won += 1,
            Err(refused) => {
                assert!(matches!(refused, WriteRefused::VersionConflict { actual: 1, .. }));
            }
        }
    }
    assert_eq!(won, 1);
    assert_eq!(scene.look().await.claimed.len(), 1);
}
