//! Simulated days of real relays and runners: `simulate --seeds N [--seed S] [--trace]`.
//!
//! Guarantees: runs seeds S, S+1, … on every core, prints how far it is on stderr and a summary on
//! stdout; exit 1 if a rule broke, or if a thousand seeds or more missed something that they are
//! there to reach. Does not: stop at the first broken seed; at the tenth.

#![allow(clippy::print_stdout, reason = "the summary is what it is run for")]

mod built_in;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use counterfoil::testing::simulation::{
    Coverage, Run, Runners, SimFlows, plan_of, simulate, simulate_flows, start_relay,
};

/// So many broken seeds are enough.
const ENOUGH: usize = 10;
/// From so many seeds on, everything that people, lanes and breakers can do must have happened.
const MANY: u64 = 1_000;
/// So often is told how far it is.
const TOLD_EVERY: u64 = 1_000;

struct Wish {
    seeds: u64,
    first: u64,
    trace: bool,
}

fn wish() -> Result<Wish, String> {
    let mut wish = Wish { seeds: 100, first: 0, trace: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--trace" {
            wish.trace = true;
            continue;
        }
        let number = words.next().and_then(|text| text.parse().ok());
        match (word.as_str(), number) {
            ("--seeds", Some(number)) => wish.seeds = number,
            ("--seed", Some(number)) => wish.first = number,
            ("--seeds" | "--seed", None) => return Err(format!("{word} needs a whole number")),
            _ => return Err(format!("`{word}` is no option: --seeds N, --seed S, --trace")),
        }
    }
    Ok(wish)
}

#[derive(Default)]
struct Sum {
    runs: u64,
    steps: u64,
    coverage: Coverage,
    broken: Vec<Run>,
}

impl Sum {
    fn add(&mut self, run: Run) {
        self.runs += 1;
        self.steps += run.steps;
        self.coverage.add(&run.coverage);
        if run.broken.is_some() {
            self.broken.push(run);
        }
    }
}

/// The day of a seed, with the workflows that it has.
fn day(seed: u64, runners: &Runners) -> (Run, Option<SimFlows>) {
    let flows = built_in::flows(seed).ok().flatten();
    let run = match flows.clone() {
        Some(flows) => simulate_flows(seed, flows, &start_relay, runners),
        None => simulate(seed, &start_relay),
    };
    (run, flows)
}

fn work(wish: &Wish, runners: &Runners, next: &AtomicU64, sum: &Mutex<Sum>) {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        if at >= wish.seeds {
            return;
        }
        let (mut run, flows) = day(wish.first + at, runners);
        if wish.trace {
            println!("{}\n{}", plan_of(run.seed, flows.as_ref()), run.trace);
        }
        run.trace = String::new();
        let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
        sum.add(run);
        if sum.broken.len() >= ENOUGH {
            return;
        }
        if sum.runs.is_multiple_of(TOLD_EVERY) {
            eprintln!("{} of {} seeds, {} broken", sum.runs, wish.seeds, sum.broken.len());
        }
    }
}

fn main() -> ExitCode {
    let wish = match wish() {
        Ok(wish) => wish,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let runners = match built_in::programs() {
        Ok(programs) => Runners::of(programs),
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let (next, sum, began) = (AtomicU64::new(0), Mutex::new(Sum::default()), Instant::now());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| work(&wish, &runners, &next, &sum));
        }
    });
    let mut sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.broken.sort_by_key(|run| run.seed);
    for run in &sum.broken {
        println!("{run}\n");
    }
    let Sum { runs, steps, coverage, broken } = &sum;
    let took = began.elapsed().as_secs_f64();
    println!("{runs} seeds, {steps} steps in {took:.1} s, {} broken\n{coverage}", broken.len());
    if let (1, Some(run)) = (wish.seeds, Some(day(wish.first, &runners).0)) {
        println!("trace {}", run.digest);
    }
    let missing = if *runs < MANY { Vec::new() } else { coverage.missing() };
    for what in &missing {
        println!("no seed reached: {what}");
    }
    if broken.is_empty() && missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
