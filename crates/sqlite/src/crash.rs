//! A runner that the system kills at any statement of its transactions, over a file.
//!
//! Guarantees: a point lies before each statement of a write transaction, and on both sides of
//! BEGIN and COMMIT; the process dies there by SIGKILL. Does not: lie anywhere outside tests.
//!
//! This test program runs itself as the process that dies.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

#[path = "../../workflow/tests/it/crash_scene.rs"]
mod scene;

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicI64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

use crate::{Options, SqliteStore, init};

const FILE: &str = "COUNTERFOIL_TEST_CRASH_FILE";
const POINT: &str = "COUNTERFOIL_TEST_CRASH_POINT";

/// How many points are left to live; zero: for ever.
static LEFT: AtomicI64 = AtomicI64::new(0);

/// Here a process may die.
pub(crate) fn point() {
    if LEFT.load(Ordering::Relaxed) > 0 && LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
        kill_process(getpid(), Signal::KILL).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

/// The child's part; it does nothing where it is run as a test.
#[tokio::test]
async fn plays_a_runner() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let store = SqliteStore::open(file, Options::default()).unwrap();
    LEFT.store(std::env::var(POINT).unwrap().parse().unwrap(), Ordering::Relaxed);
    scene::play(store).await;
}

/// Whether a runner was killed at its point of this number; else it came to its end.
fn is_killed_at(file: &Path, point: u32) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "crash::plays_a_runner", "--nocapture"]);
    child.env(FILE, file).env(POINT, point.to_string());
    let output = child.output().unwrap();
    let killed = output.status.signal() == Some(9);
    assert!(killed || output.status.success(), "{output:?}");
    killed
}

fn fresh(folder: &tempfile::TempDir, name: &str) -> SqliteStore {
    let file = folder.path().join(name);
    init(&file, Some("urn:test")).unwrap();
    SqliteStore::open(file, Options::default()).unwrap()
}

#[tokio::test]
async fn a_runner_that_is_killed_at_any_statement_does_each_input_once() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = scene::undisturbed(&fresh(&folder, "undisturbed.db")).await;
    let store = fresh(&folder, "killed.db");
    let file = folder.path().join("killed.db");
    let run = async |point| is_killed_at(&file, point);
    let deaths = scene::killed_at_every_point(&store, run).await;
    assert!(deaths > 100, "{deaths} points");
    assert_eq!(scene::history(&store).await, wanted, "after {deaths} deaths");
}
