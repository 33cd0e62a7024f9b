//! How one runner of workflows runs: its pace, its batches, what it keeps in memory.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use counterfoil_core::domain::Span;

use super::RunnerError;

/// The most inputs that one look may take.
pub const BATCH_MAX: usize = 10_000;

/// How one runner runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Who holds a workflow, shown to people and compared with other runners: give each its own.
    /// 1 to 255 bytes. Default: `pid:random`.
    pub owner: String,
    /// How long a missed wake-up may cost; less than 1 ms counts as 1 ms. Default 50 ms.
    pub poll: Duration,
    /// How many inputs are decided at once at most, and committed together. 1 to [`BATCH_MAX`].
    /// Default 256.
    pub batch: usize,
    /// How long other runners leave a workflow to this one after each of its steps, so that they do
    /// not decide the same in vain. After a crash its inputs wait so long at most. Zero: not at
    /// all, for tests. Default 5 s.
    pub lease: Span,
    /// After how many events a state is saved, so that a load reads few; each saving takes the
    /// place of the one before. At least 1. Default 100.
    pub snapshot_every: i64,
    /// How many workflows are kept in memory between their inputs; more are loaded when an input
    /// comes. Zero keeps none. Default 10,000.
    pub cache: usize,
    /// How many workflows are loaded side by side. At least 1. Default 8.
    pub loads: usize,
    /// How long a signal or cancel may wait for a workflow that does not begin before it is taken
    /// away; recorded as an `operator_action`. Default 7 days.
    pub orphans_after: Span,
    /// How long one `decide` or the folding of one page of events may take before the workflow is
    /// set aside. Zero: they run in the runner's own task and may take for ever, for tests in
    /// paused time and simulations; else at least 10 ms. Default 10 s.
    pub decide_max: Duration,
    /// How long a stop waits for the batch that is under way. Default 10 s.
    pub drain: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let random = RandomState::new().hash_one(std::process::id());
        Self {
            owner: format!("{}:{:08x}", std::process::id(), random >> 32),
            poll: Duration::from_millis(50),
            batch: 256,
            lease: Span::from_secs(5),
            snapshot_every: 100,
            cache: 10_000,
            loads: 8,
            orphans_after: Span::from_secs(7 * 86_400),
            decide_max: Duration::from_secs(10),
            drain: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// Sets [`Options::owner`].
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// Sets [`Options::poll`].
    #[must_use]
    pub const fn poll(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }

    /// Sets [`Options::batch`].
    #[must_use]
    pub const fn batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self
    }

    /// Sets [`Options::lease`].
    #[must_use]
    pub const fn lease(mut self, lease: Span) -> Self {
        self.lease = lease;
        self
    }

    /// Sets [`Options::snapshot_every`].
    #[must_use]
    pub const fn snapshot_every(mut self, events: i64) -> Self {
        self.snapshot_every = events;
        self
    }

    /// Sets [`Options::cache`].
    #[must_use]
    pub const fn cache(mut self, workflows: usize) -> Self {
        self.cache = workflows;
        self
    }

    /// Sets [`Options::loads`].
    #[must_use]
    pub const fn loads(mut self, loads: usize) -> Self {
        self.loads = loads;
        self
    }

    /// Sets [`Options::orphans_after`].
    #[must_use]
    pub const fn orphans_after(mut self, span: Span) -> Self {
        self.orphans_after = span;
        self
    }

    /// Sets [`Options::decide_max`].
    #[must_use]
    pub const fn decide_max(mut self, at_most: Duration) -> Self {
        self.decide_max = at_most;
        self
    }

    /// Sets [`Options::drain`].
    #[must_use]
    pub const fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    pub(super) fn check(&self) -> Result<(), RunnerError> {
        let decide_ms = self.decide_max.as_millis() as u64;
        let decide_ms = if self.decide_max.is_zero() { 10 } else { decide_ms };
        let bounds = [
            ("owner (bytes)", self.owner.len() as u64, 1, 255),
            ("batch", self.batch as u64, 1, BATCH_MAX as u64),
            ("snapshot_every", self.snapshot_every.max(0).unsigned_abs(), 1, u64::MAX),
            ("loads", self.loads as u64, 1, 1_000),
            ("decide_max (ms)", decide_ms, 10, u64::MAX),
        ];
        let broken = bounds.into_iter().find(|(_, is, min, max)| is < min || is > max);
        broken.map_or(Ok(()), |(option, is, min, max)| {
            Err(RunnerError::Option { option, is, min, max })
        })
    }
}
