//! Workflows in a simulated world: their runners, the relays and the receivers crash, stand still,
//! hear nothing or hear things twice, and clocks step, all drawn from one number.
//!
//! Guarantees: runners and relays are the real ones, the store is the one in memory; a seed gives
//! the same run on every machine. Does not: use a database, a socket or a real clock;
//! `docs/simulator.md` says what is drawn.
//!
//! # Example
//! ```
//! use counterfoil::Span;
//! use counterfoil::testing::simulation::Simulation;
//! use counterfoil::testing::workflow::{completed, rejected};
//! use counterfoil::workflow::{Programs, Saga, Step, Unnamed};
//!
//! let trip = Saga::<String>::new("trip")
//!     .step(Step::new("budget", |trip, _| Unnamed::json("bank", "lock", trip))
//!         .undo(|trip, _| Unnamed::json("bank", "release", trip)))
//!     .step(Step::new("flight", |trip, _| Unnamed::json("airline", "book", trip)));
//!
//! Simulation::of(Programs::new().with(trip)?)
//!     .receiver("bank", |_| completed(&()))
//!     .receiver("airline", |asked| match asked.stream {
//!         "trip-2" => rejected("no seat"),
//!         _ => completed(&"12A"),
//!     })
//!     .start("trip-1", "trip", &"Oslo")
//!     .start("trip-2", "trip", &"Rome")
//!     .cancel_after("trip-1", Span::from_secs(3600), "rain")
//!     .check(|told| {
//!         let booked = told.effects.iter().filter(|effect| effect.kind == "book").count();
//!         if booked <= 1 { Ok(()) } else { Err(format!("{booked} flights")) }
//!     })
//!     .run(0..5);
//! # Ok::<(), counterfoil::workflow::ProgramsRefused>(())
//! ```

mod engine;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::domain::{Destination, ReceiptOutcome, Span, Stream, json};
use counterfoil_core::port::workflow::NewInput;
use counterfoil_testkit::simulator::Broken;
use counterfoil_workflow::Programs;
use counterfoil_workflow::testing::Answer;
use serde::Serialize;

use super::{fail, must};

pub use counterfoil_testkit::simulator::{
    Coverage, SimAsked as Asked, SimEffect as Effect, SimTold as Told, SimWorkflow as Ended,
};
/// The world itself, for those who build another one: `cargo xtask simulate` does.
#[doc(hidden)]
pub use counterfoil_testkit::simulator::{
    Run, SimAnswer, SimFlows, plan_of, simulate, simulate_flows,
};
#[doc(hidden)]
pub use engine::{Runners, start_relay};

/// The variable of the environment that names the one seed to be run, with its whole trace.
pub const SEED_VARIABLE: &str = "COUNTERFOIL_SEED";

type Answering = Box<dyn Fn(Asked<'_>) -> Answer + Send + Sync>;
type Checking = Box<dyn Fn(&Told) -> Result<(), String> + Send + Sync>;

/// Workflows, what comes to them, and who answers what they ask.
#[must_use = "nothing is simulated until `run`"]
pub struct Simulation {
    programs: Programs,
    receivers: BTreeMap<Destination, Answering>,
    inputs: Vec<(Span, NewInput)>,
    may_wait: bool,
    checks: Vec<Checking>,
}

impl Simulation {
    /// A world in which runners have these programs.
    pub fn of(programs: Programs) -> Self {
        let (receivers, inputs, checks) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { programs, receivers, inputs, may_wait: false, checks }
    }

    /// What the receiver of this destination says of each command: `completed` or `rejected`. It is
    /// asked once a command; what it says must follow from what it is given.
    ///
    /// Each seed draws what the receiver is like (it folds repeats for ever, for a while, not at
    /// all; it can be asked; it reports later) and a contract that says so.
    ///
    /// # Panics
    /// The name breaks its rule.
    #[track_caller]
    pub fn receiver(
        mut self,
        destination: &str,
        answer: impl Fn(Asked<'_>) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let destination = must(Destination::new(destination), "naming a receiver");
        self.receivers.insert(destination, Box::new(answer));
        self
    }

    /// A workflow `stream` of the program `name` is started, with this body. Each seed draws when;
    /// other inputs of the stream come so long after.
    ///
    /// # Panics
    /// A name breaks its rule, or the body is no JSON.
    #[track_caller]
    pub fn start(self, stream: &str, name: &str, body: &impl Serialize) -> Self {
        self.input(stream, Span::ZERO, (InputKind::Start, name), &body)
    }

    /// A signal comes, so long after the start.
    ///
    /// # Panics
    /// A name breaks its rule, or the body is no JSON.
    #[track_caller]
    pub fn signal_after(
        self,
        stream: &str,
        after: Span,
        name: &str,
        body: &impl Serialize,
    ) -> Self {
        self.input(stream, after, (InputKind::Signal, name), &body)
    }

    /// Somebody asks the workflow to end, so long after the start.
    ///
    /// # Panics
    /// The stream breaks its rule.
    #[track_caller]
    pub fn cancel_after(mut self, stream: &str, after: Span, reason: &str) -> Self {
        let body = reason.as_bytes().to_vec();
        self.push(stream, after, (InputKind::Cancel, "cancel"), body);
        self
    }

    #[track_caller]
    fn input(
        mut self,
        stream: &str,
        after: Span,
        of: (InputKind, &str),
        body: &impl Serialize,
    ) -> Self {
        let body = must(json::to_sorted_vec(body), "writing the body of an input");
        self.push(stream, after, of, body);
        self
    }

    #[track_caller]
    fn push(&mut self, stream: &str, after: Span, of: (InputKind, &str), body: Vec<u8>) {
        let stream = must(Stream::new(stream), "naming a workflow");
        let (kind, name) = of;
        let id = format!("{}-{}", kind.name(), self.inputs.len());
        let input = NewInput { stream, id, kind, name: name.to_owned(), body: Some(body) };
        must(input.check(), "an input");
        self.inputs.push((after, input));
    }

    /// A workflow may be left waiting for an input that nobody sends. Without this it must have
    /// ended, or have a command that waits for a person.
    pub const fn may_wait(mut self) -> Self {
        self.may_wait = true;
        self
    }

    /// What must hold in the end, told from what the receivers really did: the money balances.
    pub fn check(
        mut self,
        check: impl Fn(&Told) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push(Box::new(check));
        self
    }

    /// Runs each of these seeds, some milliseconds each; what they reached, by name. With
    /// [`SEED_VARIABLE`] in the environment it runs that seed alone and prints its plan and trace.
    ///
    /// # Panics
    /// A seed breaks a rule: the rule, what broke it, the last lines of the trace, and how to run
    /// it again.
    #[track_caller]
    pub fn run(self, seeds: Range<u64>) -> Coverage {
        let test = std::thread::current().name().unwrap_or("").to_owned();
        let wanted = std::env::var(SEED_VARIABLE).ok().map(|text| {
            let number = text.parse::<u64>();
            must(number, "reading the seed in the environment")
        });
        let seeds = wanted.map_or(seeds, |seed| seed..seed + 1);
        let broken = std::thread::scope(|scope| {
            // A runtime of the caller's is none of the simulated processes'.
            let runs = scope.spawn(|| self.run_all(seeds, wanted.is_some(), &test));
            runs.join()
        });
        match broken {
            Ok(Ok(coverage)) => coverage,
            Ok(Err(run)) => fail(run),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn run_all(self, seeds: Range<u64>, trace: bool, test: &str) -> Result<Coverage, Box<Run>> {
        let Self { programs, receivers, inputs, may_wait, checks } = self;
        let names = receivers.keys().cloned().collect();
        let answers = move |asked: Asked<'_>| match Destination::new(asked.destination) {
            Ok(destination) => answer(&receivers[&destination], asked),
            Err(why) => fail(why),
        };
        let (is_alone, answers) = (true, Arc::new(answers));
        let flows = SimFlows { receivers: names, inputs, answers, is_alone, may_wait };
        let runners = Runners::of(programs);
        let mut coverage = Coverage::default();
        for seed in seeds {
            let mut run = simulate_flows(seed, flows.clone(), &start_relay, &runners);
            if trace {
                tell(&format!("{}\n{}", plan_of(seed, Some(&flows)), run.trace));
            }
            coverage.add(&run.coverage);
            run.again = format!("{SEED_VARIABLE}={seed} cargo test {test} -- --nocapture");
            let broken = checks.iter().find_map(|check| check(&run.told).err());
            if let (Some(what), None) = (broken, &run.broken) {
                let rule = "what the test checks holds in the end";
                run.broken = Some((Broken { rule, what }, String::new()));
            }
            if run.broken.is_some() {
                return Err(Box::new(run));
            }
        }
        Ok(coverage)
    }
}

fn answer(answering: &Answering, asked: Asked<'_>) -> SimAnswer {
    let Answer { outcome, result, .. } = answering(asked);
    let result = result.unwrap_or_default();
    match outcome {
        ReceiptOutcome::Completed => SimAnswer::Done(result),
        ReceiptOutcome::Rejected => {
            SimAnswer::Refused(String::from_utf8_lossy(&result).into_owned())
        }
        other => fail(format_args!(
            "the receiver {} says {}; it completes or rejects",
            asked.destination,
            other.name()
        )),
    }
}

#[allow(clippy::print_stderr, reason = "who names a seed wants to see it")]
fn tell(words: &str) {
    eprintln!("{words}");
}
