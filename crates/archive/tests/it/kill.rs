//! A process that the system kills after any step, over a SQLite file.
//!
//! This test program runs itself as the process that dies, by SIGKILL.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use counterfoil_archive::{Folder, Options, Step, Work, archive, erase};
use counterfoil_core::port::Store as _;
use counterfoil_sqlite::{Options as StoreOptions, SqliteStore, init};
use counterfoil_testkit::ManualClock;
use rustix::process::{Signal, getpid, kill_process};

use crate::flows::all;
use crate::scene::{At, Site, ann, ids};

const PLACE: &str = "COUNTERFOIL_TEST_ARCHIVE_PLACE";
const STEPS: &str = "COUNTERFOIL_TEST_ARCHIVE_STEPS";
const VERB: &str = "COUNTERFOIL_TEST_ARCHIVE_VERB";

const DATABASE: &str = "orders.db";
const FOLDER: &str = "archive";

fn in_a_file() -> (tempfile::TempDir, Site<SqliteStore>) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(DATABASE);
    init(&path, Some("urn:test")).unwrap();
    let clock = ManualClock::default();
    let own = std::sync::Arc::new(clock.clone());
    let store = SqliteStore::open_with_clock(&path, StoreOptions::default(), own).unwrap();
    // The folder of the site goes with the place.
    let dir = tempfile::Builder::new().prefix(FOLDER).tempdir_in(place.path()).unwrap();
    (place, Site { store, clock, dir })
}

/// The child's part; it does nothing where it is run as a test.
#[tokio::test]
async fn as_a_process_of_its_own() {
    let (Ok(place), Ok(steps), Ok(verb)) =
        (std::env::var(PLACE), std::env::var(STEPS), std::env::var(VERB))
    else {
        return;
    };
    let place = Path::new(&place);
    let store = SqliteStore::open(place.join(DATABASE), StoreOptions::default()).unwrap();
    let dir = std::fs::read_dir(place).unwrap().map(|it| it.unwrap().path());
    let dir = dir.into_iter().find(|path| path.is_dir()).unwrap();
    let lock = Folder::new(dir).unwrap().lock().unwrap();
    let left = AtomicUsize::new(steps.parse().unwrap());
    let watch = At(|_: Step<'_>| {
        if left.fetch_sub(1, Ordering::Relaxed) == 1 {
            kill_process(getpid(), Signal::KILL).unwrap();
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
    });
    let work = Work::new(&store, &lock).watched(&watch);
    if verb == "erase" {
        erase(&work, "c-0001", ann("letter 12")).await.unwrap();
    } else {
        let before = store.now().unwrap();
        archive(&work, &Options::new(before).file_commands(2)).await.unwrap();
    }
}

/// Whether the process came to its end.
fn runs_to_its_end(place: &Path, verb: &str, steps: usize) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "kill::as_a_process_of_its_own", "--nocapture"]);
    child.env(PLACE, place).env(VERB, verb).env(STEPS, steps.to_string());
    let output = child.output().unwrap();
    let killed = std::os::unix::process::ExitStatusExt::signal(&output.status) == Some(9);
    assert!(killed || output.status.success(), "{output:?}");
    !killed
}

#[tokio::test]
async fn a_run_that_is_killed_at_any_step_is_finished_or_undone_by_the_next() {
    let mut steps = 0;
    loop {
        steps += 1;
        let (place, site) = in_a_file();
        let site = site.with(ids(3)).await;
        let ended = runs_to_its_end(place.path(), "archive", steps);
        let (here, archived) = (site.here().await, site.archived().await);
        assert!(here.is_disjoint(&archived), "after {steps} steps");
        assert_eq!(here.len() + archived.len(), 4, "after {steps} steps");
        site.run().await;
        assert_eq!(site.archived().await.len(), 3, "after {steps} steps");
        assert_eq!(site.lines().len(), 3, "after {steps} steps");
        site.is_sound().await;
        if ended {
            break;
        }
    }
    assert!(steps > 20, "{steps}");
}

#[tokio::test]
async fn a_run_over_events_that_is_killed_at_any_step_leaves_row_or_file() {
    let mut steps = 0;
    loop {
        steps += 1;
        let (place, site) = in_a_file();
        let site = site.with_flows().await;
        let ended = runs_to_its_end(place.path(), "archive", steps);
        site.each_has_its_body().await;
        let left = site.run().await;
        assert!(left.events.iter().all(|file| file.left == 0), "{left:?}");
        assert_eq!(site.taken().await, all(), "after {steps} steps");
        assert_eq!(site.event_lines().len(), 7, "after {steps} steps");
        site.each_has_its_body().await;
        site.is_sound().await;
        if ended {
            break;
        }
    }
    assert!(steps > 30, "{steps}");
}

#[tokio::test]
async fn an_erasure_that_is_killed_at_any_step_is_ended_by_a_verification() {
    let mut steps = 0;
    loop {
        steps += 1;
        let (place, site) = in_a_file();
        let site = site.with(ids(3)).await;
        site.run().await;
        let ended = runs_to_its_end(place.path(), "erase", steps);
        let asked = ended || !site.files(".erase.json").is_empty();
        let findings = site.findings().await;
        let bare = site.lines().iter().filter(|entry| entry.outbox.body.is_empty()).count();
        if asked {
            assert_eq!((bare, findings.len()), (1, 0), "after {steps} steps: {findings:?}");
        }
        site.run().await;
        site.is_sound().await;
        if ended {
            break;
        }
    }
    assert!(steps > 8, "{steps}");
}

#[tokio::test]
async fn two_processes_in_one_folder_do_not_mix() {
    let (place, site) = in_a_file();
    let site = site.with(ids(3)).await;
    let held = site.lock();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "kill::as_a_process_of_its_own", "--nocapture"]);
    child.env(PLACE, place.path()).env(VERB, "archive").env(STEPS, "0");
    let output = child.output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("Busy"), "{said}");
    drop(held);
    assert_eq!(site.archived().await.len(), 0);
    assert!(runs_to_its_end(place.path(), "archive", 0));
    assert_eq!(site.archived().await.len(), 3);
    site.is_sound().await;
}
