//! Saved states: what a load reads, and when it reads all.

use counterfoil_core::domain::Span;
use counterfoil_core::domain::workflow::Program;
use counterfoil_testkit::MemoryStore;
use counterfoil_workflow::runner::{Options, RunnerEnd};

use super::programs::Tally;
use super::scene::{Scene, Whole};
use super::sites::{Site, on_every_store};

on_every_store! {
    a_step_after_a_hundred_thousand_events_reads_no_more_than_a_young_one
}

/// Keeps nothing in memory: each look loads.
fn forgetful() -> Options {
    Options::default().cache(0).batch(1)
}

async fn signal<S: Whole>(scene: &Scene<S>, id: &str, tally: Tally) -> RunnerEnd {
    scene.signal("t-1", id, "add").await;
    scene.idle_with(tally, forgetful()).await
}

/// G3: a step costs the same at the tenth event and after a hundred thousand; counted in rows that
/// are read, which no machine's mood changes.
async fn a_step_after_a_hundred_thousand_events_reads_no_more_than_a_young_one<S: Whole>(
    site: Site<S>,
) {
    let scene = site.scene.clone();
    let long = || Tally { asks: false, events: 999, version: 1 };
    let short = || Tally { asks: false, events: 1, version: 1 };
    scene.start("t-1", "tally").await;
    scene.idle(short()).await;
    let young = measured(&scene, "young", short).await;
    scene.signals("t-1", (0..100).map(|n| format!("long-{n}"))).await;
    scene.idle_with(long(), Options::default().batch(1)).await;
    assert!(scene.events("t-1").await.len() > 100_000);
    let old = measured(&scene, "old", short).await;
    assert!(old <= young + young / 10, "{old} rows, {young} when it was young");
    assert!(young > 0, "some events lie after the snapshot");
}

/// How many events are read for a hundred steps that each load.
async fn measured<S: Whole>(scene: &Scene<S>, name: &str, tally: impl Fn() -> Tally) -> u64 {
    let mut read = 0;
    for number in 0..100 {
        let end = signal(scene, &format!("{name}-{number}"), tally()).await;
        assert_eq!(end.loads, 1);
        assert!(end.events_read <= 100, "{}", end.events_read);
        read += end.events_read;
    }
    read
}

#[tokio::test]
async fn another_version_and_a_snapshot_that_does_not_read_begin_from_the_events() {
    let scene = Scene::new(MemoryStore::default());
    scene.start("t-1", "tally").await;
    scene.signals("t-1", (0..150).map(|n| format!("s{n}"))).await;
    scene.idle(Tally::new()).await;
    let head = scene.events("t-1").await.len() as u64;
    let end = signal(&scene, "short", Tally::new()).await;
    assert!(end.events_read < head, "it goes on from the snapshot: {end:?}");

    scene.store.with_rows(|rows| {
        for snapshot in rows.snapshots.values_mut() {
            snapshot.state = b"{\"state\":\"no number\",\"running\":{}}".to_vec();
        }
    });
    let end = signal(&scene, "unread", Tally::new()).await;
    assert_eq!((end.events_read, end.quarantined), (head + 2, 0), "all events, and no harm");

    scene.store.with_rows(|rows| {
        let row = rows.streams.get_mut("t-1").unwrap();
        row.program = Program::new("tally", 2).unwrap();
    });
    // The inputs of the new version are the store's to give; there are none yet.
    scene.signal("t-1", "new", "add").await;
    let end = scene.idle_with(Tally { version: 2, ..Tally::new() }, forgetful()).await;
    assert_eq!((end.events_read, end.inputs), (head + 4, 1), "another version reads all events");
}

#[tokio::test]
async fn what_is_kept_in_memory_is_not_loaded_and_is_bounded() {
    let scene = Scene::new(MemoryStore::default());
    for number in 0..20 {
        scene.start(&format!("t-{number}"), "tally").await;
    }
    let all = |id: &'static str| {
        let scene = scene.clone();
        async move {
            for number in 0..20 {
                scene.signal(&format!("t-{number}"), id, "add").await;
            }
        }
    };
    for (cache, loads) in [(100, 0), (4, 1)] {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let options = Options::default().cache(cache).lease(Span::ZERO);
        let runner = scene.runner().workflow(Tally::new()).options(options).build().unwrap();
        let running = tokio::spawn(runner.run(async move {
            stopped.await.unwrap();
        }));
        let mut wanted = scene.events("t-19").await.len();
        let ids = if cache == 100 { ["a", "b"] } else { ["c", "d"] };
        for id in ids {
            all(id).await;
            wanted = (wanted.max(1)) + 2;
            while scene.events("t-19").await.len() < wanted {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
        stop.send(()).unwrap();
        let end = running.await.unwrap().unwrap();
        assert!((end.loads > 0) == (loads > 0), "{cache}: {end:?}");
    }
}
