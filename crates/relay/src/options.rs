//! How one relay runs: its workers, its pace of looking, its end.
//!
//! Guarantees: every option has a default that works with a backlog. Does not: hold what a
//! destination guarantees; that is its contract.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::Span;
use counterfoil_core::port::{Announce, Clock, SystemClock};

use crate::board::Board;
use crate::trace::Tracer;

/// What must be left of a lease when an attempt ends: 2 s.
pub const MARGIN: Span = Span::from_secs(2);

/// Attempts in flight by default.
pub const WORKERS: usize = 64;

/// Attempts in flight by default where every destination is a handler in this process: a larger
/// batch shares one commit.
pub const WORKERS_IN_PROCESS: usize = 256;

/// The most workers that one relay may have.
pub const WORKERS_MAX: usize = 65_536;

/// How one relay runs.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Attempts in flight at most; also the most commands that a crash can put in doubt.
    /// At least 1, at most [`WORKERS_MAX`]. Default (`None`): [`WORKERS`], or
    /// [`WORKERS_IN_PROCESS`] where every destination is a handler in this process, which costs no
    /// connection.
    pub workers: Option<usize>,
    /// How long a missed wake-up may cost; less than 1 ms counts as 1 ms. Default 50 ms.
    pub poll: Duration,
    /// How long a stop waits for attempts that have begun. Zero waits for none; more than a day
    /// counts as a day. Default 10 s.
    pub drain: Duration,
    /// Who claims, shown to people and never compared. Default `host:pid:random`.
    pub owner: String,
    /// Writes over a stored contract that differs, once, at the start. Default no.
    pub replace_contract: bool,
    /// Ends as soon as no command is left that the relay could work on by itself. Default no.
    pub until_idle: bool,
    /// Where jitter begins. Default: another one for each relay.
    pub seed: u64,
    /// The clock of deadlines: `boot` is all that is read. Default: this machine's.
    pub clock: Arc<dyn Clock>,
    /// Where the relay shows how its destinations stand. Default: a board that nobody else sees.
    pub board: Arc<Board>,
    /// What is parked by this relay becomes a command to this destination. Default: nothing is
    /// announced.
    pub announce: Option<Announce>,
    /// Makes a span of each attempt; see [`Tracer`]. Default: nothing is traced.
    pub tracer: Option<Arc<dyn Tracer>>,
}

impl Default for Options {
    fn default() -> Self {
        let random = RandomState::new().hash_one(std::process::id());
        Self {
            workers: None,
            poll: Duration::from_millis(50),
            drain: Duration::from_secs(10),
            owner: format!("{}:{}:{:08x}", host(), std::process::id(), random >> 32),
            replace_contract: false,
            until_idle: false,
            seed: RandomState::new().hash_one(random),
            clock: Arc::new(SystemClock),
            board: Arc::default(),
            announce: None,
            tracer: None,
        }
    }
}

impl Options {
    /// Sets [`Options::workers`].
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets [`Options::poll`].
    #[must_use]
    pub fn poll(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }

    /// Sets [`Options::drain`].
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Sets [`Options::owner`].
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// Sets [`Options::replace_contract`].
    #[must_use]
    pub fn replace_contract(mut self, replace: bool) -> Self {
        self.replace_contract = replace;
        self
    }

    /// Sets [`Options::until_idle`].
    #[must_use]
    pub fn until_idle(mut self, until_idle: bool) -> Self {
        self.until_idle = until_idle;
        self
    }

    /// Sets [`Options::seed`], so that a run can be repeated.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets [`Options::clock`].
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets [`Options::board`].
    #[must_use]
    pub fn board(mut self, board: Arc<Board>) -> Self {
        self.board = board;
        self
    }

    /// Sets [`Options::announce`].
    #[must_use]
    pub fn announce(mut self, announce: Announce) -> Self {
        self.announce = Some(announce);
        self
    }

    /// Sets [`Options::tracer`].
    #[must_use]
    pub fn tracer(mut self, tracer: Arc<dyn Tracer>) -> Self {
        self.tracer = Some(tracer);
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("workers", &self.workers)
            .field("poll", &self.poll)
            .field("drain", &self.drain)
            .field("owner", &self.owner)
            .field("replace_contract", &self.replace_contract)
            .field("until_idle", &self.until_idle)
            .field("seed", &self.seed)
            .field("announce", &self.announce)
            .field("tracer", &self.tracer.is_some())
            .finish_non_exhaustive()
    }
}

/// The machine's name, without anything that a name may not hold.
fn host() -> String {
    let from_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_kernel
        .or_else(|| std::env::var("HOSTNAME").ok())
        .or_else(|| std::env::var("COMPUTERNAME").ok())
        .unwrap_or_default();
    let name: String = name.trim().chars().filter(|c| !c.is_control()).take(64).collect();
    if name.is_empty() { "host".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_relays_of_one_process_have_two_names_and_two_seeds() {
        let (one, two) = (Options::default(), Options::default());
        assert_ne!(one.owner, two.owner);
        assert_ne!(one.seed, two.seed);
        assert_eq!(one.owner.split(':').count(), 3, "{}", one.owner);
    }
}
