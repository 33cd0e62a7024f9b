//! Crash points with a real death: a child process that calls `abort()`.
//!
//! Guarantees: the child is the same test program, started anew; nothing of it runs after the
//! point, and the operating system closes what it had open; then this process takes over. Does
//! not: cut the power; what the child has written and not synced is still there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use counterfoil_relay::Served;
use counterfoil_testkit::TestClock as _;

use super::crash::{CrashReport, Process, Tally, beyond_leases, strikes, words};
use super::crash_point::Strike;
use super::delivered::Delivered;
use super::fragile::Life;
use super::{TempStore, fail, must};

/// Where a child finds its crash.
const STRIKE: &str = "COUNTERFOIL_TESTING_CRASH";
/// Where a child finds the store's file.
const STORE: &str = "COUNTERFOIL_TESTING_STORE";

/// A scenario in parts, so that a child process can run the middle one.
pub trait AbortScenario {
    /// Makes tables and enqueues; once for each crash, in this process.
    fn set_up(&self, store: &TempStore);

    /// Makes the handlers; in the process that dies, and in the one that takes over.
    fn served(&self, store: &TempStore) -> Vec<Served>;

    /// Asserts what must hold whatever happened; `delivered` is what the taking over came to.
    fn check(&self, store: &TempStore, delivered: &Delivered);
}

/// As [`every_crash_point`](super::every_crash_point), but the process that dies is a child that
/// calls `abort()`.
///
/// `test` is the name of the test that calls this, as `cargo test -- --list` shows it: the child
/// runs that test, which comes by here again, delivers and dies. So call this first in the test.
/// Waits of a handler are cut too.
///
/// # Panics
/// As [`every_crash_point`](super::every_crash_point); or no test is named so.
///
/// # Example
/// ```no_run
/// use counterfoil::testing::{AbortScenario, Delivered, TempStore, abort_at_every_crash_point};
/// # use counterfoil::relay::Served;
/// struct Shipping;
///
/// impl AbortScenario for Shipping {
///     fn set_up(&self, store: &TempStore) { /* CREATE TABLE …, enqueue */ }
///     fn served(&self, store: &TempStore) -> Vec<Served> {
///         // the handlers
/// #       Vec::new()
///     }
///     fn check(&self, store: &TempStore, delivered: &Delivered) { /* SELECT count(*) … */ }
/// }
///
/// # /*
/// #[test]
/// # */
/// fn shipping_survives_an_abort() {
///     abort_at_every_crash_point("shipping_survives_an_abort", &Shipping);
/// }
/// ```
pub fn abort_at_every_crash_point(test: &str, scenario: &impl AbortScenario) -> CrashReport {
    if let Ok(code) = std::env::var(STRIKE) {
        die(&code, scenario);
    }
    let whole = Arc::new(Life::new(None));
    if let Err(words) = run(scenario, &whole, |_| true) {
        fail(format_args!("the scenario breaks without any crash: {words}"));
    }
    let waits = whole.waits();
    if waits.is_empty() {
        fail("the scenario delivers nothing, so nothing was tried: does it enqueue?");
    }
    let mut tally = Tally::default();
    for strike in strikes(&waits) {
        let mut has_struck = false;
        let held = run(scenario, &Arc::new(Life::new(None)), |store| {
            has_struck = abort_in_child(test, strike, store.path());
            has_struck
        });
        tally.note(strike, held, has_struck);
    }
    tally.report(waits.len())
}

/// Runs the scenario here, after what comes `before` it; what it panics with, in words.
fn run<S: AbortScenario>(
    scenario: &S,
    life: &Arc<Life>,
    before: impl FnOnce(&TempStore) -> bool,
) -> Result<(), String> {
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let store = TempStore::new();
        scenario.set_up(&store);
        if before(&store) {
            let served = scenario.served(&store);
            store.clock().advance(beyond_leases(&served));
            let delivered = live(Process::new(&store, served, life));
            scenario.check(&store, &delivered.unwrap_or_default());
        }
    }));
    ran.map_err(|panic| words(&*panic))
}

/// On a thread of its own, since this one may belong to a runtime.
fn live(process: Process) -> Option<Delivered> {
    match std::thread::spawn(move || process.live()).join() {
        Ok(lived) => lived,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The end of a child process.
fn die(code: &str, scenario: &impl AbortScenario) -> ! {
    let Some(strike) = Strike::from_code(code) else {
        fail(format_args!("{STRIKE} is set to {code:?}: it is for child processes only"))
    };
    let path = must(std::env::var(STORE), STORE);
    let store = TempStore::of(Path::new(&path));
    let served = scenario.served(&store);
    live(Process::new(&store, served, &Arc::new(Life::aborting(strike))));
    // It lived through: the point was not reached.
    std::process::exit(0)
}

/// Whether the child died at its crash.
fn abort_in_child(test: &str, strike: Strike, store: &Path) -> bool {
    let program = must(std::env::current_exe(), "finding the test program");
    let mut command = Command::new(program);
    command.args([test, "--exact", "--nocapture"]);
    command.env(STRIKE, strike.to_code()).env(STORE, store);
    let output = must(command.output(), "starting the test program anew");
    let said = String::from_utf8_lossy(&output.stdout);
    if said.contains("running 0 tests") {
        fail(format_args!("no test is called {test}: give its name as `--list` shows it"));
    }
    match has_aborted(&output) {
        true => true,
        false if output.status.success() => false,
        false => fail(format_args!(
            "the child process ended by itself ({}):\n{said}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

#[cfg(unix)]
fn has_aborted(output: &Output) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    /// SIGABRT.
    const ABORT: i32 = 6;
    output.status.signal() == Some(ABORT)
}

/// Elsewhere an abort is an exit code, which differs by system; a panic's is 101.
#[cfg(not(unix))]
fn has_aborted(output: &Output) -> bool {
    !output.status.success() && output.status.code() != Some(101)
}
