//! A process that dies after any step of a run or of an erasure, and the one after it.
//!
//! The steps are found by running: the death comes one step later each time, until a run ends.

use counterfoil_archive::{ArchiveError, Erasure, Unwatched};
use counterfoil_core::port::Bodies;
use counterfoil_core::port::Store as _;
use counterfoil_core::port::archive::Archive;

use crate::scene::{Site, die_after, ids, in_memory};

/// Each is here or archived, never both and never neither, and has a line if it is archived.
async fn each_stands_once<S: Archive + Bodies>(site: &Site<S>, count: usize) {
    let (here, archived) = (site.here().await, site.archived().await);
    assert!(here.is_disjoint(&archived));
    let lines = site.lines();
    for id in ids(count) {
        let lines = lines.iter().filter(|entry| entry.outbox.command_id.as_str() == id).count();
        assert!(here.contains(&id) || archived.contains(&id), "{id} is lost");
        assert!(!archived.contains(&id) || lines > 0, "{id} has no line");
    }
}

#[tokio::test]
async fn a_run_that_dies_at_any_step_is_finished_or_undone_by_the_next() {
    let mut deaths = 0;
    loop {
        let site = in_memory().with(ids(5)).await;
        let options = site.options().file_commands(2);
        let died =
            die_after(deaths + 1, async |watch| site.run_watched(&options, watch).await.unwrap());
        let done = died.await;
        each_stands_once(&site, 5).await;
        if done.is_none() {
            let resumed = site.run_watched(&options, &Unwatched).await.unwrap();
            assert!(resumed.files.iter().all(|file| file.left.is_empty()), "{resumed:?}");
        }
        assert_eq!(site.archived().await.len(), 5, "after {deaths} steps");
        assert_eq!(site.lines().len(), 5, "after {deaths} steps each has one line");
        site.is_sound().await;
        if done.is_some() {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 30, "{deaths} steps");
}

#[tokio::test]
async fn one_that_dies_while_it_finishes_another_is_finished_too() {
    let mut firsts = 0;
    loop {
        let mut seconds = 0;
        let ended_at_once = loop {
            let site = in_memory().with(ids(3)).await;
            let options = site.options().file_commands(2);
            let run = async |watch: &dyn counterfoil_archive::Watch| {
                site.run_watched(&options, watch).await.unwrap()
            };
            let first = die_after(firsts + 1, run).await;
            if first.is_some() {
                break true;
            }
            let second = die_after(seconds + 1, run).await;
            each_stands_once(&site, 3).await;
            if second.is_none() {
                run(&Unwatched).await;
            }
            assert_eq!(site.archived().await.len(), 3, "after {firsts} and {seconds} steps");
            site.is_sound().await;
            if second.is_some() {
                break false;
            }
            seconds += 1;
        };
        if ended_at_once {
            break;
        }
        firsts += 1;
    }
    assert!(firsts > 20, "{firsts} steps");
}

/// Nothing of the content stands in the folder any more.
async fn is_erased<S: Archive + Bodies>(site: &Site<S>, id: &str) {
    let lines = site.lines();
    let entry = lines.iter().find(|entry| entry.outbox.command_id.as_str() == id).unwrap();
    assert!(entry.outbox.body.is_empty() && entry.outbox.headers.is_none(), "{entry:?}");
    assert!(entry.erased_at.is_some() && entry.receipts[0].receipt.result.is_none());
    let others = lines.iter().filter(|entry| entry.outbox.command_id.as_str() != id);
    assert!(others.into_iter().all(|entry| !entry.outbox.body.is_empty()));
    let acts = site.store.show(id).await.unwrap().unwrap().actions;
    assert_eq!(acts.iter().filter(|act| act.what == "erase").count(), 1, "recorded once");
    assert_eq!(site.files(".erase.json"), [""; 0]);
    site.is_sound().await;
}

async fn erasures_that_die<F: AsyncFn(&Site<counterfoil_testkit::MemoryStore>)>(then: F) -> usize {
    let mut deaths = 0;
    loop {
        let site = in_memory().with(ids(4)).await;
        site.run().await;
        let died = die_after(deaths + 1, async |watch| site.erase("c-0002", watch).await.unwrap());
        let done = died.await;
        let is_bare = site.lines().iter().any(|entry| entry.outbox.body.is_empty());
        let acts = site.store.show("c-0002").await.unwrap().unwrap().actions;
        let is_recorded = acts.iter().any(|act| act.what == "erase");
        let asked = !site.files(".erase.json").is_empty() || is_bare || is_recorded;
        then(&site).await;
        if asked {
            is_erased(&site, "c-0002").await;
        } else {
            // Nothing was promised yet, and nothing has happened.
            assert!(site.lines().iter().all(|entry| !entry.outbox.body.is_empty()));
            site.run().await;
            site.is_sound().await;
        }
        if let Some(done) = done {
            assert_eq!(done, Erasure::Done(site.files(".jsonl.zst")));
            return deaths;
        }
        deaths += 1;
    }
}

#[tokio::test]
async fn an_erasure_that_dies_at_any_step_is_ended_by_the_next_run() {
    let deaths = erasures_that_die(async |site| {
        site.run().await;
    });
    assert!(deaths.await > 8);
}

#[tokio::test]
async fn an_erasure_that_dies_at_any_step_is_ended_by_a_verification() {
    let deaths = erasures_that_die(async |site| {
        let codes = site.findings().await;
        // What is left of an intent that never had its name is told, and taken away by a run.
        assert!(codes.iter().all(|code| *code == "CF1127"), "{codes:?}");
    });
    assert!(deaths.await > 8);
}

#[tokio::test]
async fn an_erasure_that_dies_at_any_step_is_ended_by_the_next_erasure() {
    let deaths = erasures_that_die(async |site| {
        let other: Result<Erasure, ArchiveError> = site.erase("never", &Unwatched).await;
        assert_eq!(other.unwrap(), Erasure::Unknown);
    });
    assert!(deaths.await > 8);
}
