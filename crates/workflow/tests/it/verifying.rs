//! Deciding histories again: what is the same holds, what is not is named.

use std::collections::HashSet;

use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome};
use counterfoil_testkit::MemoryStore;
use counterfoil_workflow::testing::{Story, completed};
use counterfoil_workflow::verify::history::{Export, export, verify_file, verify_lines};
use counterfoil_workflow::verify::{Verified, Which, state_at, verify, verify_all};
use counterfoil_workflow::{Decision, Input, Programs, What, Workflow};
use serde::{Deserialize, Serialize};

use super::programs::{Happened, Order, Tally, Unordered, pay};
use super::scene::{Scene, Whole, stream};
use super::sites::{Site, on_every_store};

on_every_store! {
    a_changed_program_is_named_with_seq_and_both_words
    the_order_of_a_hash_map_is_caught
    a_saved_state_that_is_another_than_its_events_is_named
}

/// The order program as somebody changed it without another version.
struct Changed(fn(Decision<Happened>, &Input) -> Decision<Happened>);

impl Workflow for Changed {
    type State = ();
    type Event = Happened;

    fn name(&self) -> &str {
        "order"
    }

    fn evolve(&self, (): (), _: &Happened) {}

    fn decide(&self, (): &(), input: &Input) -> Decision<Happened> {
        (self.0)(Order.decide(&(), input), input)
    }
}

async fn an_order<S: Whole>(scene: &Scene<S>) {
    scene.start("o-1", "order").await;
    scene.idle(Order).await;
    scene.report("o-1:2:0", ReceiptOutcome::Completed).await;
    scene.idle(Order).await;
}

async fn verified<S: Whole, W: Workflow>(scene: &Scene<S>, of: &str, workflow: W) -> Verified {
    let programs = Programs::new().with(workflow).unwrap();
    verify(&scene.store, &programs, &stream(of)).await.unwrap().unwrap()
}

type Change = fn(Decision<Happened>, &Input) -> Decision<Happened>;

/// The decision of the start with another command.
fn first_command(
    mut said: Decision<Happened>,
    input: &Input,
    change: fn(&mut counterfoil_core::domain::Command),
) -> Decision<Happened> {
    if let What::Start { .. } = &input.what {
        said.commands.iter_mut().for_each(|one| change(&mut one.command));
    }
    said
}

async fn a_changed_program_is_named_with_seq_and_both_words<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    an_order(&scene).await;
    assert!(verified(&scene, "o-1", Order).await.holds());
    let changes: [(&str, i64, Change); 12] = [
        ("event 1", 1, |mut said, input| {
            if let What::Start { .. } = &input.what {
                said.events.clear();
            }
            said
        }),
        ("event 1", 3, |said, input| match &input.what {
            What::Receipt(_) => said.event(Happened::Asked),
            _ => said,
        }),
        ("command 0", 1, |mut said, input| {
            if let What::Start { .. } = &input.what {
                said.commands = vec![pay("pay", &8)];
            }
            said
        }),
        ("command 0", 1, |said, input| {
            first_command(said, input, |one| {
                one.content_type = "text/plain".into();
            })
        }),
        ("command 0", 1, |said, input| {
            first_command(said, input, |one| {
                one.headers.insert("x-seat".into(), "12A".into());
            })
        }),
        ("command 0", 1, |said, input| {
            first_command(said, input, |one| {
                one.core_digest = Some(Digest::of(b"core"));
            })
        }),
        ("command 0", 1, |said, input| {
            first_command(said, input, |one| {
                one.not_before = Some(Micros::new(1_800_000_000_000_000));
            })
        }),
        ("command 0", 1, |said, input| {
            first_command(said, input, |one| {
                one.expires_at = Some(Micros::new(1_800_000_000_000_000));
            })
        }),
        ("command 1", 1, |said, input| match &input.what {
            What::Start { .. } => said.command(pay("more", &8)),
            _ => said,
        }),
        ("decided", 1, |mut said, input| {
            if let What::Start { .. } = &input.what {
                said.commands = vec![pay("other", &7)];
            }
            said
        }),
        ("decided", 3, |said, input| match &input.what {
            What::Receipt(_) => said.complete("paid twice"),
            _ => said,
        }),
        ("decision", 3, |said, input| match &input.what {
            What::Receipt(_) => panic!("no more"),
            _ => said,
        }),
    ];
    for (what, seq, change) in changes {
        let verified = verified(&scene, "o-1", Changed(change)).await;
        let mismatch = verified.mismatch.expect(what);
        assert_eq!((mismatch.what.as_str(), mismatch.seq), (what, seq), "{mismatch}");
        let says = mismatch.to_string();
        assert!(says.contains("workflow o-1") && says.contains("recorded"), "{says}");
        assert_ne!(mismatch.recorded, mismatch.decided);
    }
}

async fn the_order_of_a_hash_map_is_caught<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    scene.start("u-1", "unordered").await;
    scene.signal("u-1", "go", "go").await;
    scene.idle(Unordered).await;
    let mismatch = verified(&scene, "u-1", Unordered).await.mismatch.unwrap();
    assert!(mismatch.what.starts_with("command "), "{mismatch}");
    assert_eq!(mismatch.seq, 10);
}

#[test]
#[should_panic(expected = "decided again, it is another story")]
fn a_story_catches_the_order_of_a_hash_map_too() {
    let after = counterfoil_core::domain::Span::from_secs(1);
    let _told = Story::of(Unordered).signal_after(after, "go", &()).run_to_end();
}

#[tokio::test]
async fn what_was_written_beside_the_runner_is_named() {
    let scene = Scene::new(MemoryStore::default());
    an_order(&scene).await;
    scene.store.with_rows(|rows| {
        let event = rows.events.get_mut(&("o-1".to_owned(), 2)).unwrap();
        event.body = b"7".to_vec();
    });
    let verified = verified(&scene, "o-1", Order).await;
    assert_eq!(verified.mismatch.unwrap().what, "event 1");
}

#[tokio::test]
async fn all_workflows_of_a_name_are_verified_and_unknown_programs_told() {
    let scene = Scene::new(MemoryStore::default());
    an_order(&scene).await;
    scene.start("t-1", "tally").await;
    scene.signals("t-1", (0..700).map(|n| format!("s{n}"))).await;
    scene.idle(Tally::new()).await;
    let programs = Programs::new().with(Tally::new()).unwrap();
    let mut all = Vec::new();
    verify_all(&scene.store, &programs, Which::default(), |one| all.push(one)).await.unwrap();
    let told: Vec<_> = all.iter().map(|one| (one.workflow.as_str(), one.is_unknown)).collect();
    assert_eq!(told, [("o-1", true), ("t-1", false)]);
    assert_eq!((all[1].decisions, all[1].holds()), (701, true));
    let which = Which { name: Some("tally".into()), ..Which::default() };
    all.clear();
    verify_all(&scene.store, &programs, which, |one| all.push(one)).await.unwrap();
    assert_eq!(all.len(), 1);
}

#[tokio::test]
async fn an_exported_history_is_verified_without_a_store() {
    let scene = Scene::new(MemoryStore::default());
    an_order(&scene).await;
    scene.start("t-1", "tally").await;
    scene.signals("t-1", (0..300).map(|n| format!("s{n}"))).await;
    scene.idle(Tally::new()).await;
    let mut lines = Vec::new();
    for of in ["o-1", "t-1"] {
        assert!(export(&scene.store, &stream(of), &mut lines).await.unwrap());
    }
    assert!(!export(&scene.store, &stream("none"), &mut lines).await.unwrap());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &lines).unwrap();
    let programs = Programs::new().with(Order).unwrap().with(Tally::new()).unwrap();
    let verified = verify_file(file.path(), &programs).unwrap();
    assert_eq!(verified.len(), 2);
    assert!(verified.iter().all(Verified::holds), "{verified:?}");
    assert_eq!(verified[1].decisions, 301);

    let text = String::from_utf8(lines).unwrap();
    // A command that is gone, an event that is gone, a line that is none.
    let without = |found: &str| {
        let mut is_first = true;
        let kept = text.lines().filter(|line| {
            let drops = is_first && line.contains(found);
            is_first &= !drops;
            !drops
        });
        kept.collect::<Vec<_>>().join("\n")
    };
    let mismatch = |text: String| {
        let all = verify_lines(text.as_bytes(), &programs).unwrap();
        all.into_iter().find_map(|one| one.mismatch).unwrap()
    };
    assert_eq!(mismatch(without("{\"command\"")).what, "command 0");
    assert_eq!(mismatch(without("\"kind\":\"Asked\"")).what, "event 1");
    let error = verify_lines("{\"event\"".as_bytes(), &programs).unwrap_err();
    assert_eq!(error.code(), "CF1208");
    assert!(error.to_string().contains("line 1"), "{error}");
}

/// A file that was cut off where a line ends held: what was left of it did.
#[tokio::test]
async fn a_file_that_lacks_its_end_is_refused() {
    let scene = Scene::new(MemoryStore::default());
    an_order(&scene).await;
    scene.start("t-1", "tally").await;
    scene.signals("t-1", (0..3).map(|n| format!("s{n}"))).await;
    scene.idle(Tally::new()).await;
    let mut file = Vec::new();
    let mut export = Export::to(&mut file);
    for of in ["o-1", "t-1"] {
        assert!(export.workflow(&scene.store, &stream(of)).await.unwrap());
    }
    assert!(!export.workflow(&scene.store, &stream("none")).await.unwrap());
    export.end().unwrap();
    let programs = Programs::new().with(Order).unwrap().with(Tally::new()).unwrap();
    let text = String::from_utf8(file).unwrap();
    let all = verify_lines(text.as_bytes(), &programs).unwrap();
    assert_eq!((all.len(), all.iter().all(Verified::holds)), (2, true), "{all:?}");
    let lines: Vec<_> = text.lines().collect();
    for end in 0..lines.len() {
        let cut = lines[..end].join("\n");
        let refused = verify_lines(cut.as_bytes(), &programs).unwrap_err();
        assert_eq!(refused.code(), "CF1211", "{end} lines: {refused}");
    }
    // Without one of its workflows, or without the last event of one.
    let without = |from: usize, to: usize| [&lines[..from], &lines[to..]].concat().join("\n");
    let second = lines.iter().rposition(|line| line.starts_with("{\"workflow\"")).unwrap();
    for (from, to) in [(0, second), (second, lines.len() - 1), (second - 1, second)] {
        let refused = verify_lines(without(from, to).as_bytes(), &programs).unwrap_err();
        assert_eq!(refused.code(), "CF1211", "{from}..{to}: {refused}");
    }
    // Two files in one are one.
    let twice = format!("{text}{text}");
    assert_eq!(verify_lines(twice.as_bytes(), &programs).unwrap().len(), 4);
}

/// A field that a state got later: what was saved lacks what the events say.
struct Wider(Tally);

#[derive(Default, Clone, Serialize, Deserialize)]
struct Wide {
    count: u64,
    #[serde(default)]
    sum: u64,
    seen: HashSet<u64>,
}

impl Workflow for Wider {
    type State = Wide;
    type Event = Happened;

    fn name(&self) -> &str {
        "tally"
    }

    fn evolve(&self, mut state: Wide, event: &Happened) -> Wide {
        if let Happened::Added { number } = event {
            state.count += 1;
            state.sum += number;
            state.seen.insert(number % 5);
        }
        state
    }

    fn decide(&self, state: &Wide, input: &Input) -> Decision<Happened> {
        self.0.decide(&state.count, input)
    }
}

/// The story: a state got a field, and `verify` held, since it folded all events; the runners went
/// on from what was saved, without it.
async fn a_saved_state_that_is_another_than_its_events_is_named<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    let wider = || Wider(Tally { asks: false, ..Tally::new() });
    scene.start("t-1", "tally").await;
    scene.signals("t-1", (0..200).map(|n| format!("s{n}"))).await;
    scene.idle(wider()).await;
    // The order in which a set is written is no difference.
    assert!(verified(&scene, "t-1", wider()).await.holds());
    let mut lines = Vec::new();
    assert!(export(&scene.store, &stream("t-1"), &mut lines).await.unwrap());
    let sound = String::from_utf8(lines).unwrap();
    let saved = sound.lines().nth(1).unwrap();
    assert!(saved.starts_with("{\"snapshot\""), "{saved}");
    let at = saved.find("\\\"sum\\\":").unwrap();
    let end = at + saved[at..].find(',').unwrap() + 1;
    let narrow = sound.replace(saved, &format!("{}{}", &saved[..at], &saved[end..]));
    let programs = Programs::new().with(wider()).unwrap();
    assert!(verify_lines(sound.as_bytes(), &programs).unwrap()[0].holds());
    let found = verify_lines(narrow.as_bytes(), &programs).unwrap().remove(0).mismatch.unwrap();
    assert_eq!(found.what, "saved state");
    assert!(found.recorded.contains("\"sum\":0") && found.to_string().contains("another version"));
    // Of one that has ended nobody reads it.
    scene.send("t-1", "end", InputKind::Signal, "end", "").await;
    scene.idle(wider()).await;
    let mut lines = Vec::new();
    assert!(export(&scene.store, &stream("t-1"), &mut lines).await.unwrap());
    assert!(!String::from_utf8(lines).unwrap().contains("\"snapshot\""));
}

#[tokio::test]
async fn a_state_that_was_saved_by_another_fold_is_named_in_a_store() {
    let scene = Scene::new(MemoryStore::default());
    let tally = || Tally { asks: false, ..Tally::new() };
    scene.start("t-1", "tally").await;
    scene.signals("t-1", (0..200).map(|n| format!("s{n}"))).await;
    scene.idle(tally()).await;
    assert!(verified(&scene, "t-1", tally()).await.holds());
    scene.store.with_rows(|rows| {
        for saved in rows.snapshots.values_mut() {
            let text = String::from_utf8(saved.state.clone()).unwrap();
            saved.state = text.replacen("\"state\":", "\"state\":1", 1).into_bytes();
        }
    });
    let found = verified(&scene, "t-1", tally()).await.mismatch.unwrap();
    assert_eq!(found.what, "saved state", "{found}");
}

#[tokio::test]
async fn the_state_at_any_seq_is_told() {
    let scene = Scene::new(MemoryStore::default());
    scene.start("t-1", "tally").await;
    scene.signals("t-1", (0..600).map(|n| format!("s{n}"))).await;
    scene.idle(Tally::new()).await;
    let programs = Programs::new().with(Tally::new()).unwrap();
    for (seq, at, count, open) in [
        (Some(1), 1, 0, 0),
        (Some(3), 3, 1, 1),
        (Some(1_001), 1_001, 500, 500),
        (None, 1_201, 600, 600),
    ] {
        let state = state_at(&scene.store, &programs, &stream("t-1"), seq).await.unwrap();
        let state = state.unwrap().unwrap();
        assert_eq!((state.seq, state.state, state.running.open.len()), (at, count.into(), open));
    }
    assert!(state_at(&scene.store, &programs, &stream("no"), None).await.unwrap().is_none());
}

#[test]
fn a_story_of_an_order_is_told_and_its_history_is_a_golden_file() {
    let told = Story::of(Order).started_with(&9).receiver("pay", [completed(&())]).run_to_end();
    assert_eq!(told.completed(), Some(&"paid".into()));
    assert_eq!(told.events, [Happened::Asked]);
    assert_eq!(told.commands[0].command.body, b"9");
    assert!(told.open.is_empty());
    let mut lines = Vec::new();
    told.write_history(&mut lines).unwrap();
    let programs = Programs::new().with(Order).unwrap();
    assert!(verify_lines(&*lines, &programs).unwrap()[0].holds());
}
