//! Deciding histories again: what is the same holds, what is not is named.

use counterfoil_core::domain::ReceiptOutcome;
use counterfoil_testkit::MemoryStore;
use counterfoil_workflow::testing::{Story, completed};
use counterfoil_workflow::verify::history::{export, verify_file, verify_lines};
use counterfoil_workflow::verify::{Verified, Which, state_at, verify, verify_all};
use counterfoil_workflow::{Decision, Input, Programs, What, Workflow};

use super::programs::{Happened, Order, Tally, Unordered, pay};
use super::scene::{Scene, Whole, stream};
use super::sites::{Site, on_every_store};

on_every_store! {
    a_changed_program_is_named_with_seq_and_both_words
    the_order_of_a_hash_map_is_caught
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

async fn a_changed_program_is_named_with_seq_and_both_words<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    an_order(&scene).await;
    assert!(verified(&scene, "o-1", Order).await.holds());
    let changes: [(&str, i64, Change); 7] = [
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
