//! Users' workflows in a simulated world.

use std::sync::atomic::{AtomicU32, Ordering};

use counterfoil::Span;
use counterfoil::testing::simulation::Simulation;
use counterfoil::testing::workflow::{completed, rejected};
use counterfoil::workflow::{Decision, Input, Programs, Saga, Step, Unnamed, What, Workflow};
use serde::{Deserialize, Serialize};

fn trip() -> Saga<String> {
    Saga::new("trip")
        .step(
            Step::new("budget", |trip: &String, _| Unnamed::json("bank", "lock", trip))
                .undo(|trip, _| Unnamed::json("bank", "release", trip)),
        )
        .step(
            Step::new("flight", |trip: &String, _| Unnamed::json("airline", "book", trip))
                .within(Span::from_secs(60)),
        )
}

fn trips() -> Simulation {
    Simulation::of(Programs::new().with(trip()).unwrap())
        .receiver("bank", |_| completed(&()))
        .receiver("airline", |asked| match asked.stream {
            "trip-2" => rejected("no seat"),
            _ => completed(&"12A"),
        })
        .start("trip-1", "trip", &"Oslo")
        .start("trip-2", "trip", &"Rome")
        .start("trip-3", "trip", &"Bern")
        .cancel_after("trip-3", Span::from_secs(1), "rain")
}

#[test]
fn a_saga_comes_through_whatever_happens_to_it() {
    let reached = trips()
        .check(|told| {
            let flights = told.effects.iter().filter(|it| it.kind == "book").count();
            if told.workflows.len() == 3 && flights <= 2 { Ok(()) } else { Err("lost".into()) }
        })
        .run(0..60);
    let needed = [
        "workflows completed",
        "workflows failed",
        "workflows that wait for a person",
        "crashes",
        "steps",
        "steps refused",
        "inputs sent twice",
        "writes of which it is not known",
        "processes stopped",
    ];
    for what in needed {
        assert!(reached.of(what) > 0, "no seed reached: {what}\n{reached}");
    }
}

#[test]
fn a_seed_is_the_same_run_again() {
    assert_eq!(trips().run(3..9), trips().run(3..9));
}

#[test]
fn a_world_of_workflows_runs_inside_a_runtime_too() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { trips().run(0..2) });
}

#[test]
#[should_panic(expected = "breaks a rule: what the test checks holds in the end")]
fn what_the_test_checks_is_told_with_its_seed() {
    trips().check(|_| Err("never".into())).run(7..8);
}

#[test]
#[should_panic(expected = "breaks a rule: each destination has a receiver")]
fn a_destination_without_a_receiver_is_named() {
    Simulation::of(Programs::new().with(trip()).unwrap()).start("t", "trip", &"Oslo").run(0..1);
}

/// Waits for a signal; what else it does, the tests say.
struct Odd(fn(&Input) -> Decision<Happened>);

#[derive(Serialize, Deserialize)]
enum Happened {
    Thing(u32),
}

impl Workflow for Odd {
    type State = u32;
    type Event = Happened;

    fn name(&self) -> &'static str {
        "odd"
    }

    fn evolve(&self, state: u32, _: &Happened) -> u32 {
        state + 1
    }

    fn decide(&self, _: &u32, input: &Input) -> Decision<Happened> {
        (self.0)(input)
    }
}

fn odd(decide: fn(&Input) -> Decision<Happened>) -> Simulation {
    Simulation::of(Programs::new().with(Odd(decide)).unwrap())
        .start("odd-1", "odd", &())
        .signal_after("odd-1", Span::from_secs(1), "end", &())
}

fn ends(input: &Input) -> Decision<Happened> {
    match &input.what {
        What::Signal { .. } => Decision::none().complete("done"),
        _ => Decision::none(),
    }
}

#[test]
fn a_timer_of_a_month_costs_nothing() {
    let monthly = |input: &Input| match &input.what {
        What::Start { .. } => Decision::none().timer_after("month", Span::from_secs(30 * 86_400)),
        What::Timer { .. } => Decision::none().complete("a month later"),
        _ => Decision::none(),
    };
    let reached = odd(monthly).run(0..3);
    assert_eq!(reached.of("workflows completed"), 3, "{reached}");
    assert!(reached.of("nights") >= 3, "{reached}");
}

#[test]
#[should_panic(expected = "breaks a rule: no workflow is set aside")]
fn a_program_that_panics_is_found() {
    odd(|input| match &input.what {
        What::Signal { .. } => panic!("a defect"),
        _ => ends(input),
    })
    .run(0..1);
}

#[test]
#[should_panic(expected = "breaks a rule: decided again it is the same")]
fn a_program_that_counts_by_itself_is_found() {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    odd(|input| ends(input).event(Happened::Thing(COUNT.fetch_add(1, Ordering::Relaxed))))
        .run(0..1);
}

#[test]
#[should_panic(expected = "waits for an input that nobody sends")]
fn a_workflow_that_nobody_ends_is_found() {
    odd(|_| Decision::none()).run(0..1);
}

#[test]
fn a_workflow_may_be_left_waiting_where_the_test_says_so() {
    let reached = odd(|_| Decision::none()).may_wait().run(0..3);
    assert_eq!(reached.of("workflows left waiting for an input"), 3, "{reached}");
}
