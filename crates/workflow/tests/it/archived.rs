//! Workflows whose early events lie in an archive: they go on, and are never taken for empty ones.

use std::collections::HashMap;

use counterfoil_core::domain::EventRow;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::Actor;
use counterfoil_core::port::bodies::{Place, ReadBodies};
use counterfoil_core::port::store::StoreError;
use counterfoil_workflow::runner::Options;
use counterfoil_workflow::verify::history::{HistoryError, export, export_from, verify_lines};
use counterfoil_workflow::verify::{
    Which, state_at, state_at_from, verify, verify_all_from, verify_from,
};
use counterfoil_workflow::{Broken, Decision, Input, Programs, Workflow};
use serde::{Deserialize, Serialize};

use super::programs::{Happened, Tally};
use super::scene::{Scene, Whole, stream};
use super::sites::{Site, on_every_store};

on_every_store! {
    it_goes_on_behind_its_snapshot
    it_is_verified_with_its_files_alone
    a_program_that_needs_them_is_told_where_they_are
}

const FILE: &str = "20261130T021213.000001Z-1a2b3c4d-1-200.events.jsonl.zst";

/// A file of bodies.
#[derive(Clone, Default)]
struct Files(HashMap<Place, EventRow>);

impl ReadBodies for Files {
    fn read(&mut self, events: &mut [EventRow]) -> Result<(), StoreError> {
        for event in events.iter_mut().filter(|event| event.archived.is_some()) {
            if let Some(found) = self.0.get(&(event.stream.to_string(), event.seq)) {
                event.clone_from(found);
            }
        }
        Ok(())
    }
}

/// Its signals are decided, and all that its snapshot holds is archived.
async fn archived<S: Whole>(scene: &Scene<S>) -> Files {
    scene.start("t-1", "tally").await;
    scene.signals("t-1", (0..150).map(|n| format!("s{n}"))).await;
    scene.idle(Tally::new()).await;
    let program = "tally/1".to_owned();
    let program = counterfoil_core::domain::workflow::Program::parse(&program).unwrap();
    let (_, snapshot) = scene.store.standing(&stream("t-1"), &program).await.unwrap();
    let saved = snapshot.unwrap().seq;
    let mut events = scene.events("t-1").await;
    let tail = events.iter().filter(|event| event.seq > saved).cloned().collect();
    let left = scene.store.take_bodies(FILE, tail).await.unwrap();
    assert!(!left.contains(&true), "what the snapshot does not hold stays");
    events.retain(|event| event.seq <= saved);
    assert!(events.len() > 100, "{saved}");
    let taken = scene.store.take_bodies(FILE, events.clone()).await.unwrap();
    assert!(!taken.contains(&false));
    Files(events.into_iter().map(|event| ((event.stream.to_string(), event.seq), event)).collect())
}

/// Keeps nothing in memory: each look loads.
fn forgetful() -> Options {
    Options::default().cache(0).batch(1)
}

async fn it_goes_on_behind_its_snapshot<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    let files = archived(&scene).await;
    let head = scene.events("t-1").await.len();
    for number in 0..20 {
        scene.signal("t-1", &format!("late-{number}"), "add").await;
        let end = scene.idle_with(Tally::new(), forgetful()).await;
        assert_eq!((end.loads, end.inputs, end.quarantined), (1, 1, 0), "{end:?}");
        assert!(end.events_read <= 100, "{end:?}");
    }
    assert_eq!(scene.events("t-1").await.len(), head + 40);
    scene.signal("t-1", "end", "end").await;
    scene.idle_with(Tally::new(), forgetful()).await;
    assert_eq!(scene.status("t-1").await, Some(Status::Completed));
    let programs = Programs::new().with(Tally::new()).unwrap();
    let (mut files, mut all) = (files, Vec::new());
    let tell = |one| all.push(one);
    verify_all_from(&scene.store, &programs, Which::default(), &mut files, tell).await.unwrap();
    assert!(all.len() == 1 && all[0].holds() && all[0].decisions > 170, "{all:?}");
}

async fn it_is_verified_with_its_files_alone<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    let mut files = archived(&scene).await;
    let (of, programs) = (stream("t-1"), Programs::new().with(Tally::new()).unwrap());
    let found = verify(&scene.store, &programs, &of).await.unwrap().unwrap();
    let archived = found.archived.clone().unwrap();
    assert_eq!((archived.seq, archived.file.as_str()), (1, FILE));
    assert!(!found.holds() && found.mismatch.is_none() && found.decisions == 0, "{found:?}");
    let found = verify_from(&scene.store, &programs, &of, &mut files).await.unwrap().unwrap();
    assert!(found.holds() && found.decisions == 151, "{found:?}");
    // One that lacks is one that lacks.
    let mut some = files.clone();
    some.0.remove(&("t-1".to_owned(), 50));
    let found = verify_from(&scene.store, &programs, &of, &mut some).await.unwrap().unwrap();
    assert_eq!(found.archived.map(|it| it.seq), Some(50));

    let state = state_at(&scene.store, &programs, &of, Some(9)).await.unwrap().unwrap();
    assert!(matches!(state, Err(Broken::Archived { seq: 1, .. })), "{state:?}");
    let at = (&of, Some(9));
    let state = state_at_from(&scene.store, &programs, at, &mut files).await.unwrap().unwrap();
    assert_eq!(state.unwrap().state, 4);

    let mut lines = Vec::new();
    let refused = export(&scene.store, &of, &mut lines).await.unwrap_err();
    assert_eq!((refused.code(), lines.len()), ("CF1212", 0), "{refused}");
    assert!(matches!(refused, HistoryError::Archived { seq: 1, .. }));
    assert!(export_from(&scene.store, &of, &mut files, &mut lines).await.unwrap());
    let found = verify_lines(&lines[..], &programs).unwrap();
    assert!(found[0].holds(), "{found:?}");
}

/// The same program, whose state somebody gave another form.
struct Spelled;

#[derive(Default, Clone, Serialize, Deserialize)]
struct Count {
    so_far: u64,
}

impl Workflow for Spelled {
    type State = Count;
    type Event = Happened;

    fn name(&self) -> &str {
        "tally"
    }

    fn evolve(&self, count: Count, event: &Happened) -> Count {
        Count { so_far: Tally::new().evolve(count.so_far, event) }
    }

    fn decide(&self, count: &Count, input: &Input) -> Decision<Happened> {
        Tally::new().decide(&count.so_far, input)
    }
}

async fn a_program_that_needs_them_is_told_where_they_are<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    let files = archived(&scene).await;
    let before = scene.events("t-1").await;
    scene.signal("t-1", "late", "add").await;
    let end = scene.idle_with(Spelled, forgetful()).await;
    assert_eq!((end.inputs, end.quarantined), (0, 1), "{end:?}");
    let (reason, input) = scene.reason("t-1").await;
    let file = format!("archived: the body of event 1 is in the file {FILE}");
    assert!(reason.starts_with(&file), "{reason}");
    assert!(reason.contains("`counterfoil workflow recall t-1 --archive DIR`"), "{reason}");
    assert_eq!((input.as_str(), scene.events("t-1").await), ("late", before));

    let (of, ann) = (stream("t-1"), Actor { name: "ann".into(), reason: "new state".into() });
    let mut events: Vec<_> = files.0.into_values().collect();
    events.sort_by_key(|event| event.seq);
    let back = scene.store.put_back(&of, events, ann.clone()).await.unwrap();
    assert!(!back.contains(&false));
    assert!(scene.store.retry_workflow(&of, ann).await.unwrap());
    let end = scene.idle_with(Spelled, forgetful()).await;
    assert_eq!((end.inputs, end.quarantined), (1, 0), "{end:?}");
    scene.must_hold(Spelled).await;
}
