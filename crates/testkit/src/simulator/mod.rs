//! Simulated days of relays, runners of workflows, receivers and faults, each drawn from one
//! number.
//!
//! Guarantees: relays and runners are the real ones, over the real state machine; a seed gives the
//! same trace byte for byte; the truth about every receiver is known, so what the store says is
//! judged by it after each write. Does not: run a database, a socket or a thread;
//! `docs/simulator.md` says what is drawn and what is not.

mod announced;
mod breaker;
mod claim;
mod coverage;
mod dice;
mod fault;
mod first_byte;
mod flow;
mod flows;
mod history;
mod judge;
mod lane;
mod ledger;
mod life;
mod network;
mod notice;
mod operator;
mod plan;
mod process;
mod question;
mod receiver;
mod report;
mod request;
mod sim_clock;
mod sim_observer;
mod sim_store;
mod sim_transport;
mod sim_workflows;
mod site;
mod spell;
mod trace;
mod verb;
mod watch;
mod world;
mod write;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::rate::Rate;
use counterfoil_core::domain::{Destination, Digest, Terms};
use counterfoil_core::port::{BoxFuture, Clock, Transport};

pub use coverage::Coverage;
pub use flow::{
    RunnerBegin, SimAnswer, SimAnswers, SimAsked, SimEffect, SimFlows, SimTold, SimWorkflow,
    StartRunner,
};
pub use sim_observer::SimObserver;
pub use sim_store::SimStore;

/// How a relay or a runner ended: by itself, or with an error in its words.
pub type ProcessEnded = Result<(), String>;

/// A destination as a simulated relay serves it.
pub struct SimDestination {
    /// Its name.
    pub destination: Destination,
    /// What it guarantees.
    pub terms: Arc<Terms>,
    /// How many attempts may be under way there.
    pub concurrency: Option<usize>,
    /// How many attempts may begin there in a time.
    pub rate: Option<Rate>,
    /// How commands travel there.
    pub transport: Arc<dyn Transport>,
}

/// What a relay process begins with.
pub struct RelayBegin {
    /// The store.
    pub store: SimStore,
    /// What it serves.
    pub served: Vec<SimDestination>,
    /// Hears its notices.
    pub observer: SimObserver,
    /// Its machine's clock.
    pub clock: Arc<dyn Clock>,
    /// Its name.
    pub owner: String,
    /// Where its jitter begins.
    pub seed: u64,
    /// Attempts in flight at most.
    pub workers: usize,
    /// How long a missed wake-up may cost.
    pub poll: Duration,
    /// Ready when it shall stop.
    pub stop: BoxFuture<'static, ()>,
}

/// Starts relays; the crate of the relay implements it, since this one knows no engine.
pub trait StartRelay {
    /// The relay's whole life, as a future that is dropped when its process dies.
    fn start(&self, begin: RelayBegin) -> BoxFuture<'static, ProcessEnded>;
}

impl<F: Fn(RelayBegin) -> BoxFuture<'static, ProcessEnded>> StartRelay for F {
    fn start(&self, begin: RelayBegin) -> BoxFuture<'static, ProcessEnded> {
        self(begin)
    }
}

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The rule, in words.
    pub rule: &'static str,
    /// What broke it.
    pub what: String,
}

impl Broken {
    fn new(rule: &'static str, what: impl Into<String>) -> Self {
        Self { rule, what: what.into() }
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// SHA-256 of its trace.
    pub digest: Digest,
    /// Store writes, sends, questions and faults.
    pub steps: u64,
    /// What it reached.
    pub coverage: Coverage,
    /// What went wrong, and the last lines of the trace.
    pub broken: Option<(Broken, String)>,
    /// The whole trace.
    pub trace: String,
    /// What became of its workflows.
    pub told: SimTold,
    /// How to run it again, in words.
    pub again: String,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, digest, steps, again, .. } = self;
        match &self.broken {
            None => write!(f, "seed {seed}: {steps} steps, trace {digest}"),
            Some((Broken { rule, what }, last)) => write!(
                f,
                "seed {seed} breaks a rule: {rule}\n  {what}\n{last}trace {digest}\n\
                 again: {again}"
            ),
        }
    }
}

/// Runs the day of `seed` with relays of `start`. Must not be called inside a tokio runtime.
pub fn simulate(seed: u64, start: &dyn StartRelay) -> Run {
    run(seed, start, None)
}

/// The same with workflows, which runners of `runner` decide.
pub fn simulate_flows(
    seed: u64,
    flows: SimFlows,
    start: &dyn StartRelay,
    runner: &dyn StartRunner,
) -> Run {
    run(seed, start, Some(flows::Flows::new(flows, runner)))
}

fn run<'a>(seed: u64, start: &'a dyn StartRelay, flows: Option<flows::Flows<'a>>) -> Run {
    let mut world = match world::World::new(seed, start, flows) {
        Ok(world) => world,
        Err(why) => return not_begun(seed, &why),
    };
    world.run();
    world.into_run()
}

/// The plan of `seed`, with these workflows if there are any, for people.
#[must_use]
pub fn plan_of(seed: u64, flows: Option<&SimFlows>) -> String {
    match plan::Plan::draw(seed, flows) {
        Ok(plan) => format!("{plan:#?}"),
        Err(why) => why.to_string(),
    }
}

fn again(seed: u64) -> String {
    format!("cargo xtask simulate --seeds 1 --seed {seed}")
}

fn not_begun(seed: u64, why: &str) -> Run {
    let broken = Broken::new("a run begins", why);
    let digest = Digest::of(b"");
    let (coverage, trace) = (Coverage::default(), String::new());
    let (broken, told) = (Some((broken, String::new())), SimTold::default());
    Run { seed, digest, steps: 0, coverage, broken, trace, told, again: again(seed) }
}
