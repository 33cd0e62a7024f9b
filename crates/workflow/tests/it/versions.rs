//! Two versions of a program side by side, and the fault of having only the new one.

use counterfoil_core::domain::workflow::{Program, Status};
use counterfoil_core::domain::{EventRow, ReceiptOutcome};
use counterfoil_core::port::Actor;
use counterfoil_core::port::workflow::{Aside, EndedByHand, Quarantine};
use counterfoil_workflow::Programs;
use counterfoil_workflow::verify::{Which, verify, verify_all};

use super::programs::{Order, Tally};
use super::scene::{Whole, stream};
use super::sites::{Site, on_every_store};

on_every_store! {
    what_comes_after_the_end_needs_no_program_of_its_workflow
    what_runs_stays_with_its_version_and_what_starts_gets_the_newest
}

/// It asks for nothing any more.
fn second() -> Tally {
    Tally { asks: false, events: 2, version: 2 }
}

/// The story: a program was taken out of its service when nothing of it ran any more, and what came
/// to its ended workflows then waited for ever; so their commands were never archived.
async fn what_comes_after_the_end_needs_no_program_of_its_workflow<S: Whole>(site: Site<S>) {
    let scene = site.scene.clone();
    for name in ["o-1", "o-2"] {
        scene.start(name, "order").await;
    }
    scene.start("t-1", "tally").await;
    let old = scene.runner().workflow(Order).workflow(Tally::new()).build().unwrap();
    old.run_until_idle().await.unwrap();
    scene.report("o-1:2:0", ReceiptOutcome::Completed).await;
    scene.idle(Order).await;
    assert_eq!(scene.status("o-1").await, Some(Status::Completed));
    let asides = Quarantine {
        stream: stream("o-2"),
        program: Program::new("order", 1).unwrap(),
        expected_seq: 2,
        reason: "it panicked".into(),
        input: String::new(),
    };
    assert_eq!(scene.store.quarantine(asides).await.unwrap(), Aside::Workflow);
    scene.signal("o-2", "kept", "hello").await;
    let actor = Actor { name: "ann".into(), reason: "its program is gone".into() };
    let ended = scene.store.end_workflow(&stream("o-2"), actor).await.unwrap();
    assert_eq!(ended, EndedByHand::Done);

    // A receipt, a signal; what goes on still waits for its own program.
    scene.report("o-2:2:0", ReceiptOutcome::Completed).await;
    scene.signal("o-1", "late", "hello").await;
    scene.signal("t-1", "a", "add").await;
    let end = scene.idle(second()).await;
    assert_eq!((end.inputs, end.quarantined), (3, 0), "{end:?}");
    let kinds = |events: Vec<EventRow>| -> Vec<String> {
        events.iter().map(|event| event.kind.to_string()).collect()
    };
    assert_eq!(kinds(scene.events("o-1").await)[3..], ["signal:hello"]);
    let by_hand = ["cancel:by hand", "signal:hello", "receipt:completed"];
    assert_eq!(kinds(scene.events("o-2").await)[2..], by_hand);
    assert_eq!(scene.events("t-1").await.len(), 1);
    assert_eq!(scene.idle(Tally::new()).await.inputs, 1);
    let both = Programs::new().with(Order).unwrap().with(Tally::new()).unwrap();
    let mut count = 0;
    let tell = |one: counterfoil_workflow::verify::Verified| {
        assert!(one.holds(), "{one:?}");
        count += 1;
    };
    verify_all(&scene.store, &both, Which::default(), tell).await.unwrap();
    assert_eq!(count, 3);
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
