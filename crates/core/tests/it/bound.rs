//! Every state that a machine owns leads out within a bound, however bad the outcomes.
//!
//! Guarantees: from every sound position, under every contract, against strategies that always or
//! randomly choose the worst. Does not: count hand-backs and renewals; a relay that lives on
//! bounds those.

use counterfoil_core::domain::{
    Answer, Delivery, Input, Micros, Next, Outcome, Position, Seed, Span, State, Terms, Transition,
    transition,
};

use crate::shape::{
    MAX_ASKS, MAX_ATTEMPTS, NOW, all_terms, answered, deliveries, due, settled, terms,
};

/// What an attempt or question comes to; `None`: its lease runs out.
type Strategy<'a> = &'a dyn Fn(usize) -> (Option<Outcome>, Option<Answer>);

fn late() -> Option<Span> {
    Some(Span::from_secs(1_000_000))
}

fn worst_outcomes() -> Vec<Option<Outcome>> {
    let reason = String::new;
    vec![
        None,
        Some(Outcome::Unknown { reason: reason(), retry_after: late() }),
        Some(Outcome::NotSent { reason: reason(), retry_after: late(), misconfigured: true }),
        Some(Outcome::Accepted { evidence: reason() }),
        Some(Outcome::Rejected { reason: reason(), by: counterfoil_core::domain::Judge::Status }),
    ]
}

fn worst_answers() -> Vec<Option<Answer>> {
    let reason = String::new;
    vec![
        None,
        Some(Answer::Unclear { reason: reason() }),
        Some(Answer::InProgress { retry_after: late() }),
        Some(Answer::NotThere { believed: false, reason: reason() }),
        Some(Answer::NotThere { believed: true, reason: reason() }),
    ]
}

/// Runs one command until no machine owns it; how many steps and how long it took.
fn run(start: &Delivery, terms: &Terms, strategy: Strategy<'_>, most: usize) -> (usize, Span) {
    let mut open = start.clone();
    let mut now = NOW;
    for step in 0..most {
        if open.state.is_parked() {
            return (step, now.since(NOW));
        }
        let (outcome, answer) = strategy(step);
        let settle = match (open.state, outcome, answer) {
            (State::Sending, Some(outcome), _) => Some(settled(open.token, outcome)),
            (State::Asking, _, Some(answer)) if open.lease_until.is_some() => {
                Some(answered(open.token, answer))
            }
            _ => None,
        };
        let input = settle.unwrap_or_else(|| {
            let at = open.available_at.unwrap_or_else(|| panic!("nobody's turn: {open:#?}"));
            now = now.max(at);
            due(None)
        });
        match transition(&Position::Open(open.clone()), input.clone(), terms, now) {
            Transition::Applied { next: Next::Open(next), .. } => open = next,
            Transition::Applied { .. } => return (step, now.since(NOW)),
            stuck => panic!("{input:?} led nowhere from {open:#?}: {stuck:?}"),
        }
    }
    panic!("still {} after {most} steps, from {start:#?}\nunder {terms:?}", open.state.name());
}

/// Each attempt is a claim, an end and a time-out at most; so is each question.
const STEPS: usize = 4 * (MAX_ATTEMPTS as usize + 2)
    + 4 * (MAX_ASKS as usize + 2)
    + 4 * (MAX_ATTEMPTS as usize) * (MAX_ASKS as usize);

#[test]
fn constant_bad_luck_ends() {
    for terms in all_terms() {
        for start in deliveries() {
            for outcome in worst_outcomes() {
                for answer in worst_answers() {
                    run(&start, &terms, &|_| (outcome.clone(), answer.clone()), STEPS);
                }
            }
        }
    }
}

#[test]
fn mixed_bad_luck_ends() {
    let (outcomes, answers) = (worst_outcomes(), worst_answers());
    for terms in all_terms() {
        for start in deliveries() {
            for seed in 0..8_u64 {
                let drawn = |step: usize, of: usize| {
                    let number = Seed(seed.wrapping_mul(1_000_003) ^ step as u64).mixed();
                    usize::try_from(number % of as u64).unwrap()
                };
                let strategy = |step: usize| {
                    let outcome = outcomes[drawn(step, outcomes.len())].clone();
                    (outcome, answers[drawn(step + 77_777, answers.len())].clone())
                };
                run(&start, &terms, &strategy, STEPS);
            }
        }
    }
}

/// With attempts without end the horizon alone bounds a round, in time.
#[test]
fn the_horizon_bounds_a_round_in_time() {
    use counterfoil_core::domain::Idempotent;
    for idempotent in [Idempotent::Forever, Idempotent::No] {
        for askable in [false, true] {
            let mut terms = terms(idempotent.clone(), askable);
            terms.pace.max_attempts = u32::MAX;
            terms.contract.give_up_after = Span::from_secs(3600);
            let start = Delivery::new(7, NOW);
            for outcome in worst_outcomes() {
                let strategy = |_| (outcome.clone(), Some(Answer::Unclear { reason: "".into() }));
                let (_, took) = run(&start, &terms, &strategy, 10_000);
                let slack = terms.contract.receipt_timeout.plus(terms.pace.max.times(4, 1));
                let bound = terms.contract.give_up_after.plus(slack);
                assert!(took <= bound, "{took:?} under {terms:?} with {outcome:?}");
            }
        }
    }
}

/// The horizon is judged when an attempt ends, never while a command waits.
#[test]
fn waiting_kills_nothing() {
    let terms = terms(counterfoil_core::domain::Idempotent::No, false);
    let waited = Delivery {
        attempts: 1,
        round_since: Some(Micros::EARLIEST),
        ..Delivery::new(7, Micros::EARLIEST)
    };
    let claimed = transition(&Position::Open(waited), due(None), &terms, NOW);
    let Transition::Applied { next: Next::Open(claimed), .. } = claimed else {
        panic!("{claimed:?}")
    };
    assert_eq!(claimed.state, State::Sending);
    let end = settled(claimed.token, Outcome::not_sent("refused"));
    let ended = transition(&Position::Open(claimed), end, &terms, NOW);
    let Transition::Applied { next: Next::Open(ended), .. } = ended else { panic!("{ended:?}") };
    assert_eq!(ended.state, State::Dead);
}

/// A look at what is not due changes nothing, whoever looks.
#[test]
fn what_is_not_due_is_left_alone() {
    for terms in all_terms() {
        for open in deliveries().into_iter().filter(|open| open.available_at > Some(NOW)) {
            for input in [due(None), Input::Unreadable { reason: "not UTF-8".into() }] {
                let answer = transition(&Position::Open(open.clone()), input, &terms, NOW);
                assert!(matches!(answer, Transition::Ignored { .. }), "{answer:?}");
            }
        }
    }
}

/// Two locks on one door, each tried by itself: in a sound row only what a machine owns has a time.
#[test]
fn what_is_parked_or_has_no_due_time_is_never_sent() {
    for terms in all_terms() {
        for open in deliveries() {
            let available_at = open.state.is_parked().then_some(NOW);
            let strange = Position::Open(Delivery { available_at, ..open });
            let answer = transition(&strange, due(None), &terms, NOW);
            assert!(matches!(answer, Transition::Ignored { .. }), "{answer:?}");
        }
    }
}
