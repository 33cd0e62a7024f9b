//! Sagas told step by step, and drawn at random.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::workflow::End;
use counterfoil_core::domain::{Micros, ReceiptOutcome, Span};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Progress, Saga, SagaEvent, Step, UNDO_AGAIN, UNDONE};
use crate::decision::{Decision, Unnamed};
use crate::input::{Input, Receipt, What};
use crate::workflow::Workflow;

fn ask(label: &'static str) -> Step<Value> {
    Step::new(label, move |start, _| Unnamed::json("far", label, start)).undo(move |_, so_far| {
        let booked: Option<Value> = so_far.result(label);
        Unnamed::json("far", format!("{label}.undo"), &booked)
    })
}

/// lock, then two bookings at once, then a signal, then a charge that cannot be undone.
fn trip() -> Saga<Value> {
    Saga::new("trip")
        .step(ask("lock"))
        .group(vec![ask("flight").within(Span::from_secs(60)), ask("hotel")])
        .wait("approve", Span::from_secs(3600))
        .step(Step::new("charge", |start, _| Unnamed::json("far", "charge", start)))
        .within(Span::from_secs(86_400))
}

/// A saga under way.
struct Told {
    saga: Saga<Value>,
    state: Progress,
    end: Option<End>,
}

impl Told {
    fn begun() -> Self {
        let mut told = Self { saga: trip(), state: Progress::default(), end: None };
        assert_eq!(labels(&told.hear(What::Start { body: b"{}".to_vec() })), ["lock"]);
        told
    }

    fn hear(&mut self, what: What) -> Decision<SagaEvent> {
        let input = Input::new("i", Micros::new(0), what);
        let decision = self.saga.decide(&self.state, &input);
        for event in &decision.events {
            self.state = self.saga.evolve(self.state.clone(), event);
        }
        assert!(self.end.is_none() || decision == Decision::none(), "it has ended");
        self.end = decision.end.clone().or(self.end.take());
        decision
    }

    fn receipt(&mut self, label: &str, outcome: ReceiptOutcome) -> Decision<SagaEvent> {
        let receipt = Receipt::of(label, outcome).with_result(format!("\"{label}\""));
        self.hear(What::Receipt(receipt))
    }

    fn done(&mut self, label: &str) -> Vec<String> {
        labels(&self.receipt(label, ReceiptOutcome::Completed))
    }

    fn refused(&mut self, label: &str) -> Vec<String> {
        labels(&self.receipt(label, ReceiptOutcome::Rejected))
    }

    fn signal(&mut self, name: &str, body: &Value) -> Decision<SagaEvent> {
        self.hear(What::Signal { name: name.into(), body: body.to_string().into_bytes() })
    }

    fn failed_for(&self) -> &str {
        match &self.end {
            Some(End::Failed(reason)) => reason,
            other => panic!("it has not failed: {other:?}"),
        }
    }
}

fn labels(decision: &Decision<SagaEvent>) -> Vec<String> {
    decision.commands.iter().map(|command| command.label().to_owned()).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn a_trip_that_goes_well() {
    let mut told = Told::begun();
    assert_eq!(told.done("lock"), ["flight", "hotel"]);
    assert_eq!(told.done("hotel"), NONE);
    assert_eq!(told.done("flight"), NONE);
    assert_eq!(labels(&told.signal("approve", &json!({"by": "ann"}))), ["charge"]);
    assert_eq!(told.done("charge"), NONE);
    let Some(End::Completed(results)) = &told.end else { panic!("{:?}", told.end) };
    assert_eq!(results["flight"], "flight");
}

#[test]
fn a_group_of_which_one_cannot_be_asked_asks_for_none() {
    let broken = Step::new("hotel", |start, _| Unnamed::json("far", "", start))
        .undo(|start, _| Unnamed::json("far", "hotel.undo", start));
    let saga = Saga::new("trip").step(ask("lock")).group(vec![ask("flight"), broken]);
    let mut told = Told { saga, state: Progress::default(), end: None };
    assert_eq!(labels(&told.hear(What::Start { body: b"{}".to_vec() })), ["lock"]);
    assert_eq!(told.done("lock"), ["undo:lock"]);
}

#[test]
fn a_signal_that_came_early_is_not_waited_for() {
    let mut told = Told::begun();
    assert_eq!(told.signal("approve", &json!(1)).events.len(), 1);
    told.done("lock");
    told.done("flight");
    assert_eq!(told.done("hotel"), ["charge"]);
}

#[test]
fn a_refusal_undoes_what_was_done_in_reverse_and_waits_for_the_rest() {
    let mut told = Told::begun();
    told.done("lock");
    let turned = told.receipt("hotel", ReceiptOutcome::Rejected);
    assert_eq!((labels(&turned), turned.cancel), (vec![], vec!["flight".to_owned()]));
    // The flight was on its way: it comes to pass, and is undone with its result.
    let late = told.receipt("flight", ReceiptOutcome::Completed);
    assert_eq!(labels(&late), ["undo:flight"]);
    assert_eq!(late.commands[0].command.body, b"\"flight\"");
    assert_eq!(told.done("undo:flight"), ["undo:lock"]);
    assert_eq!(told.done("undo:lock"), NONE);
    assert_eq!(told.failed_for(), "hotel was refused: hotel");
}

#[test]
fn what_was_cancelled_in_time_is_not_undone() {
    let mut told = Told::begun();
    told.done("lock");
    told.refused("hotel");
    assert_eq!(labels(&told.receipt("flight", ReceiptOutcome::Cancelled)), ["undo:lock"]);
}

#[test]
fn a_deadline_of_a_step_waits_for_its_fate() {
    let mut told = Told::begun();
    told.done("lock");
    told.done("hotel");
    let late = told.hear(What::Timer { name: "step:flight".into() });
    assert_eq!((labels(&late), late.cancel), (vec![], vec!["flight".to_owned()]));
    assert_eq!(told.refused("flight"), ["undo:hotel"]);
    // Late timers and a second cancel change nothing.
    for what in [
        What::Timer { name: "saga".into() },
        What::Timer { name: "step:flight".into() },
        What::Cancel { reason: "again".into() },
    ] {
        assert_eq!(told.hear(what), Decision::none());
    }
    told.done("undo:hotel");
    told.done("undo:lock");
    assert_eq!(told.failed_for(), "flight was not done in time");
}

#[test]
fn no_approval_in_time_undoes_everything() {
    let mut told = Told::begun();
    for label in ["lock", "flight", "hotel"] {
        told.done(label);
    }
    let late = told.hear(What::Timer { name: "wait:approve".into() });
    assert_eq!(labels(&late), ["undo:hotel"]);
    assert_eq!(told.signal("approve", &json!(1)), Decision::none(), "it is too late");
}

#[test]
fn a_refused_undo_waits_for_a_person() {
    for word in [UNDONE, UNDO_AGAIN] {
        let mut told = Told::begun();
        told.done("lock");
        told.refused("flight");
        told.done("hotel");
        assert_eq!(told.refused("undo:hotel"), NONE);
        assert_eq!(told.end, None);
        assert_eq!(told.state.stuck.as_ref().unwrap().0, "hotel");
        assert_eq!(told.signal(word, &json!({"step": "lock"})), Decision::none());
        let goes_on = labels(&told.signal(word, &json!({"step": "hotel"})));
        if word == UNDO_AGAIN {
            assert_eq!(goes_on, ["undo:hotel"]);
            assert_eq!(told.done("undo:hotel"), ["undo:lock"]);
        } else {
            assert_eq!(goes_on, ["undo:lock"]);
        }
        told.done("undo:lock");
        assert!(told.failed_for().starts_with("flight was refused"));
    }
}

#[test]
fn a_step_that_cannot_be_asked_counts_as_refused() {
    let saga = Saga::<Value>::new("s")
        .step(ask("lock"))
        .step(Step::new("bad", |start, _| Unnamed::json("", "bad", start)).nothing_to_undo());
    let mut told = Told { saga, state: Progress::default(), end: None };
    let _ = told.hear(What::Start { body: b"1".to_vec() });
    assert_eq!(told.done("lock"), ["undo:lock"]);
    told.done("undo:lock");
    assert!(told.failed_for().contains("destination"), "{}", told.failed_for());
}

#[test]
fn a_start_that_is_no_such_thing_fails_at_once() {
    let saga = Saga::<BTreeMap<String, u64>>::new("s");
    let input = Input::new("start", Micros::new(0), What::Start { body: b"[]".to_vec() });
    let decision = saga.decide(&Progress::default(), &input);
    assert!(matches!(decision.end, Some(End::Failed(why)) if why.contains("start")));
}

#[test]
#[should_panic(expected = "two steps are called lock")]
fn two_steps_of_one_label_are_refused() {
    let _ = Saga::new("s").step(ask("lock")).step(ask("lock"));
}

#[test]
#[should_panic(expected = "charge cannot be undone")]
fn a_step_that_cannot_be_undone_is_the_last() {
    let _ = trip().wait("receipt", Span::from_secs(1));
}

/// The story: a command was being sent as the saga turned back, so it could not be cancelled; the
/// attempt reached nobody, and it was tried until its horizon, whatever a person asked for.
#[test]
fn a_cancel_on_the_way_back_is_asked_of_what_is_open_once_more() {
    let mut told = Told::begun();
    told.done("lock");
    let cancel = || What::Cancel { reason: "too dear".into() };
    assert_eq!(told.hear(cancel()).cancel, ["flight", "hotel"]);
    let again = told.hear(cancel());
    assert_eq!((again.cancel, again.events.len()), (vec!["flight".into(), "hotel".into()], 0));
    assert_eq!(labels(&told.receipt("hotel", ReceiptOutcome::Cancelled)), NONE);
    assert_eq!(told.hear(cancel()).cancel, ["flight"]);
    // An undo under way is never taken back.
    assert_eq!(labels(&told.receipt("flight", ReceiptOutcome::Cancelled)), ["undo:lock"]);
    assert_eq!(told.hear(cancel()), Decision::none());
}

#[test]
fn a_deadline_that_no_column_holds_is_refused() {
    let builds = |within: Span, build: &dyn Fn(Saga<Value>, Span) -> Saga<Value>| {
        let build = std::panic::AssertUnwindSafe(|| build(Saga::new("s"), within));
        std::panic::catch_unwind(build).is_ok()
    };
    let years = |years: i64| Span::from_secs(years * 365 * 86_400);
    for (within, fits) in
        [(years(100), true), (years(300), false), (Span::from_micros(i64::MAX), false)]
    {
        assert_eq!(builds(within, &|saga, within| saga.wait("go", within)), fits, "{within:?}");
        assert_eq!(builds(within, &|saga, within| saga.within(within)), fits, "{within:?}");
        let step = |saga: Saga<Value>, within| saga.step(ask("lock").within(within));
        assert_eq!(builds(within, &step), fits, "{within:?}");
    }
}

/// The second wait was over as soon as it began, by the signal that had ended the first.
#[test]
#[should_panic(expected = "waits for approve twice")]
fn two_waits_for_one_signal_are_refused() {
    let day = Span::from_secs(86_400);
    let _ = Saga::<Value>::new("s").wait("approve", day).step(ask("lock")).wait_for_ever("approve");
}

/// A name that fits nowhere was found when a saga was under way, which set it aside.
#[test]
fn names_that_fit_nowhere_are_refused_when_the_saga_is_built() {
    let day = Span::from_secs(86_400);
    let builds = |build: &dyn Fn(Saga<Value>) -> Saga<Value>| {
        let build = std::panic::AssertUnwindSafe(|| drop(build(Saga::new("s"))));
        std::panic::catch_unwind(build).is_ok()
    };
    let step = |bytes: usize| Step::new("x".repeat(bytes), |_, _| Unnamed::json("far", "k", &1));
    for (bytes, fits) in [(0, false), (1, true), (195, true), (196, false)] {
        assert_eq!(builds(&|saga| saga.step(step(bytes).within(day))), fits, "step of {bytes}");
        assert_eq!(builds(&|saga| saga.wait("x".repeat(bytes), day)), fits, "wait of {bytes}");
    }
    for (bytes, fits) in [(0, false), (196, true), (250, true), (251, false)] {
        assert_eq!(builds(&|saga| saga.step(step(bytes))), fits, "step of {bytes}");
    }
    for (bytes, fits) in [(196, true), (240, true), (241, false)] {
        assert_eq!(builds(&|saga| saga.wait_for_ever("x".repeat(bytes))), fits, "{bytes}");
    }
    assert!(!builds(&|saga| saga.wait_for_ever("a\nb")));
}

#[test]
fn once_the_last_step_is_asked_its_receipt_alone_decides() {
    for (outcome, goes_back) in
        [(ReceiptOutcome::Completed, false), (ReceiptOutcome::Cancelled, true)]
    {
        let mut told = Told::begun();
        let _ = told.signal("approve", &json!({}));
        for label in ["lock", "flight", "hotel"] {
            told.done(label);
        }
        let cancelled = told.hear(What::Cancel { reason: "no".into() });
        assert_eq!((cancelled.events, cancelled.cancel), (vec![], vec!["charge".to_owned()]));
        let then = told.receipt("charge", outcome);
        assert_eq!(labels(&then), if goes_back { vec!["undo:hotel"] } else { vec![] });
        assert_eq!(told.end.is_none(), goes_back);
    }
}

/// What is drawn: which input comes next.
#[derive(Clone, Copy, Debug)]
enum Drawn {
    Fate(prop::sample::Index, bool),
    Timer(prop::sample::Index),
    Approve,
    Cancel,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    prop_oneof![
        8 => (any::<prop::sample::Index>(), prop::bool::weighted(0.8))
            .prop_map(|(which, well)| Drawn::Fate(which, well)),
        1 => any::<prop::sample::Index>().prop_map(Drawn::Timer),
        2 => Just(Drawn::Approve),
        1 => Just(Drawn::Cancel),
    ]
}

proptest! {
    /// All, or all that was done and can be undone is undone; never an undo in the dark.
    #[test]
    fn all_or_all_undone(inputs in prop::collection::vec(drawn(), 0..40)) {
        let mut told = Told::begun();
        let mut open = BTreeSet::from(["lock".to_owned()]);
        let mut effects = BTreeSet::new();
        let mut asked = BTreeSet::from(["lock".to_owned()]);
        for input in inputs {
            if told.end.is_some() {
                break;
            }
            let decision = match input {
                Drawn::Fate(_, _) if open.is_empty() => continue,
                Drawn::Fate(which, well) => {
                    let label = open.iter().nth(which.index(open.len())).unwrap().clone();
                    open.remove(&label);
                    // An undo is never refused here: that waits for a person.
                    let well = well || label.starts_with("undo:");
                    if well {
                        match label.strip_prefix("undo:") {
                            Some(undone) => assert!(effects.remove(undone), "{undone}"),
                            None => assert!(effects.insert(label.clone())),
                        }
                    }
                    let outcome =
                        if well { ReceiptOutcome::Completed } else { ReceiptOutcome::Rejected };
                    told.receipt(&label, outcome)
                }
                Drawn::Timer(which) => {
                    let names = ["saga", "step:flight", "wait:approve"];
                    told.hear(What::Timer { name: names[which.index(3)].into() })
                }
                Drawn::Approve => told.signal("approve", &json!({})),
                Drawn::Cancel => told.hear(What::Cancel { reason: String::new() }),
            };
            for label in labels(&decision) {
                prop_assert!(asked.insert(label.clone()), "{label} was asked twice");
                prop_assert!(!label.starts_with("undo:") || open.is_empty(), "{label} in the dark");
                open.insert(label);
            }
        }
        match told.end {
            Some(End::Completed(_)) => prop_assert_eq!(effects.len(), 4),
            Some(End::Failed(_)) => {
                prop_assert!(effects.is_empty(), "left: {effects:?}");
                prop_assert!(open.is_empty());
            }
            None => {}
        }
    }
}
