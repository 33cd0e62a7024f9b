//! Two versions of a program side by side, and the fault of having only the new one.

use counterfoil_workflow::Programs;
use counterfoil_workflow::verify::{Which, verify, verify_all};

use super::programs::Tally;
use super::scene::{Whole, stream};
use super::sites::{Site, on_every_store};

on_every_store! {
    what_runs_stays_with_its_version_and_what_starts_gets_the_newest
}

/// It asks for nothing any more.
fn second() -> Tally {
    Tally { asks: false, events: 2, version: 2 }
}

async fn what_runs_stays_with_its_version_and_what_starts_gets_the_newest<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    scene.start("t-1", "tally").await;
    scene.signal("t-1", "a", "add").await;
    scene.idle(Tally::new()).await;

    // With the new one alone the old one's workflow waits; nothing of it is decided otherwise.
    scene.signal("t-1", "b", "add").await;
    scene.start("t-2", "tally").await;
    scene.signal("t-2", "b", "add").await;
    let end = scene.idle(second()).await;
    assert_eq!((end.inputs, end.quarantined), (2, 0), "{end:?}");
    assert_eq!((scene.events("t-1").await.len(), scene.issued("t-1").await.len()), (3, 1));
    assert_eq!((scene.events("t-2").await.len(), scene.issued("t-2").await.len()), (4, 0));

    // With both each goes on as it began, and what is new begins with the newest.
    scene.start("t-3", "tally").await;
    scene.signal("t-3", "b", "add").await;
    let both = scene.runner().workflow(Tally::new()).workflow(second()).build().unwrap();
    assert_eq!(both.run_until_idle().await.unwrap().inputs, 3);
    assert_eq!((scene.events("t-1").await.len(), scene.issued("t-1").await.len()), (5, 2));
    assert_eq!((scene.events("t-3").await.len(), scene.issued("t-3").await.len()), (4, 0));

    let both = Programs::new().with(Tally::new()).unwrap().with(second()).unwrap();
    let mut all = Vec::new();
    verify_all(&scene.store, &both, Which::default(), |one| all.push(one)).await.unwrap();
    assert!(all.len() == 3 && all.iter().all(counterfoil_workflow::verify::Verified::holds));
    // The change under the old version's name would have been seen.
    let renamed = Tally { version: 1, ..second() };
    let renamed = Programs::new().with(renamed).unwrap();
    let mismatch = verify(&scene.store, &renamed, &stream("t-1")).await.unwrap().unwrap().mismatch;
    assert_eq!(mismatch.unwrap().seq, 2);
}
