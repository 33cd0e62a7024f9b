//! A few hundred simulated days of real relays, and that a seed is a whole day.
//!
//! Guarantees: every seed from 0 on holds each rule of the simulator. Does not: look far;
//! `cargo xtask simulate` does.

use counterfoil_testkit::simulator::{Coverage, simulate};

use crate::simulated_relay::start;

/// So many seeds take some seconds in an unoptimised build.
const SEEDS: u64 = 200;

/// What so many seeds must have reached.
const REACHED: [&str; 21] = [
    "effects",
    "takeovers",
    "questions",
    "control questions",
    "expired",
    "uncertain",
    "dead",
    "late settles",
    "handed back",
    "settles of an older token",
    "crashes",
    "contradictions",
    "retry",
    "redeliver",
    "resolve: not done",
    "pauses by hand",
    "second acts that a person allowed",
    "lanes that a parked head blocks",
    "lanes that pass a parked head",
    "probes that found it down",
    "attempts that reach a limit",
];

#[test]
fn simulated_days_break_no_rule() {
    let mut reached = Coverage::default();
    for seed in 0..SEEDS {
        let run = simulate(seed, &start);
        assert!(run.broken.is_none(), "{run}");
        reached.add(&run.coverage);
    }
    for what in REACHED {
        assert!(reached.of(what) > 0, "no seed reached: {what}\n{reached}");
    }
}

#[test]
fn a_seed_gives_the_same_trace_byte_for_byte() {
    for seed in [1, 7, 42] {
        let (one, other) = (simulate(seed, &start), simulate(seed, &start));
        assert!(one.steps > 0 && !one.trace.is_empty());
        assert_eq!(one.trace, other.trace, "seed {seed}");
        assert_eq!(one.digest, other.digest);
    }
    assert_ne!(simulate(1, &start).digest, simulate(2, &start).digest);
}
