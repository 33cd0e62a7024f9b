//! Runs a scenario once for each point at which its process could die.
//!
//! Guarantees: a death is that of a process, as far as a test can play it: the relay's runtime is
//! dropped with all that it spawned, nothing is settled or handed back, its connections are closed;
//! then the lease runs out, and a new relay with new handlers and connections takes over. Every
//! point that the run without a crash came by is tried. Does not: lose memory that the scenario
//! itself holds, nor what the operating system would lose; nor cut code that does not wait.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use counterfoil_core::domain::Span;
use counterfoil_relay::Served;
use counterfoil_sqlite::SqliteStore;
use counterfoil_testkit::{TestClock as _, VirtualClock};
use futures_util::FutureExt as _;

use super::crash_point::{CrashPoint, Strike};
use super::delivered::Delivered;
use super::fragile::{Fragile, Life};
use super::{TempStore, deliver_all_inline, fail, must};

/// So many attempts of a run are crashed in, one run each; of a longer one the first.
pub const ATTEMPTS_CRASHED_MAX: usize = 16;

/// So many waits of one attempt are crashed at.
pub const WAITS_CRASHED_MAX: u32 = 16;

/// How much time a delivery lets pass for retries and takeovers: two days.
const TIME_MAX: Span = Span::from_secs(2 * 86_400);

/// How long after the longest lease its command is taken over.
const BEYOND_LEASE: Span = Span::from_secs(1);

/// One run of a scenario, with one crash or none.
#[derive(Clone)]
pub struct Crash(Arc<Life>);

impl Crash {
    fn new(strike: Option<Strike>) -> Self {
        Self(Arc::new(Life::new(strike)))
    }

    /// Where it comes; `None` in the run without one.
    #[must_use]
    pub fn point(&self) -> Option<CrashPoint> {
        self.0.strike().map(|strike| strike.point)
    }

    /// Delivers what is due and, advancing time, what becomes due; dies at the crash point, and
    /// then delivers what is left as a new process. What it gives is of that new process.
    ///
    /// `served` is called for each process, so make the handlers in it: what they hold in memory
    /// dies with them. They run on a thread with a runtime of its own.
    ///
    /// # Panics
    /// As [`deliver_all_inline`].
    pub async fn deliver(&self, store: &TempStore, served: impl Fn() -> Vec<Served>) -> Delivered {
        let first = served();
        let beyond_leases = beyond_leases(&first);
        if let Some(delivered) = self.live(store, first).await {
            return delivered;
        }
        store.clock().advance(beyond_leases);
        self.0.revive();
        match self.live(store, served()).await {
            Some(delivered) => delivered,
            None => fail("a run has one crash, and this is the second"),
        }
    }

    /// Lives one life; `None`: it ended at the crash point.
    async fn live(&self, store: &TempStore, served: Vec<Served>) -> Option<Delivered> {
        let process = Process::new(store, served, &self.0);
        let (tell, hear) = tokio::sync::oneshot::channel();
        let lived = std::thread::spawn(move || {
            let lived = std::panic::catch_unwind(AssertUnwindSafe(|| process.live()));
            let _ = tell.send(lived);
        });
        let told = hear.await;
        let _ = lived.join();
        match must(told, "waiting for the relay's thread") {
            Ok(delivered) => delivered,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl fmt::Debug for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Crash").field(&self.0.strike()).finish()
    }
}

/// How long it takes until whatever was under way is taken over.
pub(super) fn beyond_leases(served: &[Served]) -> Span {
    let longest = served.iter().map(|one| one.terms.pace.lease).max();
    longest.unwrap_or(Span::ZERO).plus(BEYOND_LEASE)
}

/// A relay with a runtime, handlers and connections of its own.
pub(super) struct Process {
    store: SqliteStore,
    clock: VirtualClock,
    served: Vec<Served>,
    life: Arc<Life>,
}

impl Process {
    /// One that has not begun; its attempts are cut as `life` says.
    pub(super) fn new(store: &TempStore, served: Vec<Served>, life: &Arc<Life>) -> Self {
        let wrap = |mut served: Served| {
            let (inner, life) = (Arc::clone(&served.transport), Arc::clone(life));
            served.transport = Arc::new(Fragile { inner, life });
            served
        };
        Self {
            store: store.reopen(),
            clock: store.clock().clone(),
            served: served.into_iter().map(wrap).collect(),
            life: Arc::clone(life),
        }
    }

    /// Lives; `None`: it ended at the crash point.
    pub(super) fn live(self) -> Option<Delivered> {
        let Self { store, clock, served, life } = self;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = must(runtime, "starting a runtime");
        let hook = Arc::clone(&life);
        let delivery = deliver_all_inline(&store, served)
            .advancing_time(&clock, TIME_MAX)
            .hook(Arc::new(move |notice| hook.hear(notice)));
        // One thread: when the death is heard of, nothing else runs any more.
        let lived = runtime.block_on(async {
            tokio::select! {
                biased;
                () = life.died() => None,
                delivered = delivery.into_future() => Some(delivered),
            }
        });
        // What handlers have spawned ends here, as with a process.
        drop(runtime);
        lived
    }
}

/// What a scenario came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CrashReport {
    /// How many attempts the run without a crash had.
    pub attempts: usize,
    /// The crashes that it survived, in words.
    pub survived: Vec<String>,
}

/// Runs `scenario` once without a crash, then once for each point of each attempt at which its
/// process could die, and asks each time that it does not panic.
///
/// A scenario makes a store of its own, enqueues, calls [`Crash::deliver`], and asserts what must
/// hold whatever happened: that the effect is there, and once.
///
/// # Panics
/// Some point breaks the scenario: all are tried, and each that breaks is named with what it broke.
/// So does a scenario that breaks without a crash, or that delivers nothing.
///
/// # Example
/// ```
/// use counterfoil::Command;
/// use counterfoil::relay::handler;
/// use counterfoil::testing::{Crash, TempStore, every_crash_point, served};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let report = every_crash_point(|crash: Crash| async move {
///     let store = TempStore::new();
///     let db = store.connect();
///     db.execute_batch("CREATE TABLE label(order_id TEXT PRIMARY KEY)").unwrap();
///     let command = Command::json("label:A-1", "labels", "label.print", &"A-1").unwrap();
///     store.enqueue_blocking(vec![command]).unwrap();
///
///     let path = store.path().to_owned();
///     let labels = || {
///         let path = path.clone();
///         handler(move |attempt| {
///             let path = path.clone();
///             async move {
///                 let db = rusqlite::Connection::open(path)?;
///                 let id: String = serde_json::from_slice(&attempt.command.body).unwrap();
///                 // Without OR IGNORE, or without the primary key, some point breaks it.
///                 db.execute("INSERT OR IGNORE INTO label VALUES (?1)", [id])?;
///                 Ok::<_, rusqlite::Error>(())
///             }
///         })
///     };
///     crash.deliver(&store, || vec![served("labels", labels())]).await.assert_nothing_left();
///     let printed = db.query_row("SELECT count(*) FROM label", [], |row| row.get(0));
///     assert_eq!(printed, Ok(1));
/// })
/// .await;
/// assert_eq!(report.survived.len(), 3);
/// # }
/// ```
pub async fn every_crash_point<F, Fut>(scenario: F) -> CrashReport
where
    F: Fn(Crash) -> Fut,
    Fut: Future<Output = ()>,
{
    let whole = Crash::new(None);
    if let Err(words) = run(&scenario, &whole).await {
        fail(format_args!("the scenario breaks without any crash: {words}"));
    }
    let waits = whole.0.waits();
    if waits.is_empty() {
        fail("the scenario delivers nothing, so nothing was tried: does it call Crash::deliver?");
    }
    let mut tally = Tally::default();
    for strike in strikes(&waits) {
        let crash = Crash::new(Some(strike));
        let held = run(&scenario, &crash).await;
        tally.note(strike, held, crash.0.has_struck());
    }
    tally.report(waits.len())
}

/// What came of each crash.
#[derive(Default)]
pub(super) struct Tally {
    survived: Vec<String>,
    broken: Vec<String>,
}

impl Tally {
    pub(super) fn note(&mut self, strike: Strike, held: Result<(), String>, has_struck: bool) {
        match (held, has_struck, strike.point) {
            (Ok(()), true, _) => self.survived.push(strike.to_string()),
            // How often a handler waits may differ from run to run.
            (Ok(()), false, CrashPoint::AtWait(_)) => {}
            (Ok(()), false, _) => {
                self.broken.push(format!("{strike} never came: the runs differ"));
            }
            (Err(words), ..) => self.broken.push(format!("{strike}: {words}")),
        }
    }

    /// What is to be said, if all was survived.
    #[track_caller]
    pub(super) fn report(self, attempts: usize) -> CrashReport {
        let Self { survived, broken } = self;
        if !broken.is_empty() {
            let (all, count) = (survived.len() + broken.len(), broken.len());
            let list: Vec<_> = broken.iter().map(|one| format!("\n  - {one}")).collect();
            fail(format_args!("{count} of {all} crashes break the scenario:{}", list.concat()));
        }
        CrashReport { attempts, survived }
    }
}

/// All crashes of a run whose attempts waited so often.
pub(super) fn strikes(waits: &[u32]) -> Vec<Strike> {
    let mut strikes = Vec::new();
    for (attempt, waits) in (1..).zip(waits.iter().take(ATTEMPTS_CRASHED_MAX)) {
        let at_waits = (1..=(*waits).min(WAITS_CRASHED_MAX)).map(CrashPoint::AtWait);
        let points = [CrashPoint::BeforeHandler]
            .into_iter()
            .chain(at_waits)
            .chain([CrashPoint::AfterHandler, CrashPoint::AfterSettle]);
        strikes.extend(points.map(|point| Strike { attempt, point }));
    }
    strikes
}

/// Runs the scenario; what it panics with, in words.
async fn run<F, Fut>(scenario: &F, crash: &Crash) -> Result<(), String>
where
    F: Fn(Crash) -> Fut,
    Fut: Future<Output = ()>,
{
    let ran = AssertUnwindSafe(async { scenario(crash.clone()).await }).catch_unwind().await;
    ran.map_err(|panic| words(&*panic))
}

pub(super) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    // One point, one paragraph.
    text.unwrap_or_else(|| "a panic without words".into()).replace('\n', "\n      ")
}
