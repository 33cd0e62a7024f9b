//! What must hold for every pair of position and input, under every contract.
//!
//! Guarantees: all pairs of all shapes are gone through. Does not: follow a command over time;
//! walks do.

use counterfoil_core::domain::transition::{Purpose, Verdict};
use counterfoil_core::domain::{
    Answer, Completion, Delivery, Idempotent, Input, Judge, Micros, Next, OnRefusal, Outcome,
    Position, ReceiptOutcome, State, Terms, Token, Transition, transition,
};
use proptest::prelude::*;

use crate::shape::{
    NOW, TOKEN, after, all_terms, answered, before, inputs, positions, terms, unsound,
};

/// One pair and its answer.
struct Pair<'a> {
    before: &'a Position,
    input: &'a Input,
    terms: &'a Terms,
    answer: Transition,
}

impl Pair<'_> {
    fn open_before(&self) -> Option<&Delivery> {
        match self.before {
            Position::Open(open) => Some(open),
            Position::Ended(_) => None,
        }
    }

    fn open_after(&self) -> Option<&Delivery> {
        match &self.answer {
            Transition::Applied { next: Next::Open(open), .. } => Some(open),
            _ => None,
        }
    }

    fn ends(&self) -> bool {
        matches!(&self.answer, Transition::Applied { next: Next::Ended(_), .. })
    }

    /// The input is an attempt's or question's own.
    fn is_own(&self) -> bool {
        let Some(open) = self.open_before() else { return false };
        match self.input {
            Input::Settled { token, .. } => open.state == State::Sending && *token == open.token,
            Input::Answered { token, .. } => {
                open.state == State::Asking && *token == open.token && open.lease_until.is_some()
            }
            Input::HandedBack { token } | Input::Renewed { token } => {
                *token == open.token && open.lease_until.is_some()
            }
            _ => false,
        }
    }
}

fn every_pair(check: impl Fn(&Pair<'_>) -> Result<(), String>) {
    let (positions, inputs) = (positions(), inputs());
    let mut pairs = 0_u64;
    for terms in all_terms() {
        for before in &positions {
            for input in &inputs {
                let answer = transition(before, input.clone(), &terms, NOW);
                let pair = Pair { before, input, terms: &terms, answer };
                if let Err(broken) = check(&pair) {
                    panic!(
                        "{broken}\nbefore: {before:#?}\ninput: {input:?}\ncontract: {:?}\n{:#?}",
                        pair.terms.contract, pair.answer
                    );
                }
                pairs += 1;
            }
        }
    }
    assert!(pairs > 1_000_000, "only {pairs} pairs");
}

fn must(holds: bool, rule: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule.to_owned()) }
}

#[test]
fn what_is_sound_stays_sound() {
    every_pair(|pair| match pair.open_after().and_then(unsound) {
        Some(broken) => Err(broken.to_owned()),
        None => Ok(()),
    });
}

#[test]
fn the_same_pair_has_the_same_answer() {
    every_pair(|pair| {
        let again = transition(pair.before, pair.input.clone(), pair.terms, NOW);
        must(again == pair.answer, "another answer the second time")
    });
}

#[test]
fn a_receipt_comes_from_evidence_only() {
    every_pair(|pair| {
        if !pair.ends() {
            return Ok(());
        }
        let in_doubt = pair.open_before().is_some_and(|open| open.in_doubt);
        let contract = &pair.terms.contract;
        let evidence = match pair.input {
            Input::Settled { outcome, .. } => match outcome {
                Outcome::Completed { .. } => true,
                Outcome::Accepted { .. } => {
                    pair.is_own() && contract.completion == Completion::Accepted
                }
                Outcome::Rejected { by: Judge::Receiver, .. } => pair.is_own(),
                Outcome::Rejected { by: Judge::Status, .. } => {
                    pair.is_own() && !in_doubt && contract.on_refusal == OnRefusal::Reject
                }
                _ => false,
            },
            Input::Answered { answer, .. } => {
                pair.is_own() && matches!(answer, Answer::Done { .. } | Answer::Refused { .. })
            }
            Input::Reported(report) => {
                matches!(report.outcome, ReceiptOutcome::Completed | ReceiptOutcome::Rejected)
            }
            Input::Due { expires_at, .. } => expires_at.is_some_and(|at| at <= NOW) && !in_doubt,
            Input::Swept { expires_at } => *expires_at <= NOW && !in_doubt,
            Input::Resolve { verdict, .. } => *verdict != Verdict::NotDone,
            Input::Cancel { .. } => !in_doubt,
            _ => false,
        };
        must(evidence, "a receipt without evidence")
    });
}

#[test]
fn a_receipt_carries_what_the_delivery_knew() {
    every_pair(|pair| {
        let Transition::Applied { next: Next::Ended(receipt), .. } = &pair.answer else {
            return Ok(());
        };
        let Some(open) = pair.open_before() else {
            return Err("what has ended ends again".to_owned());
        };
        let kept = (receipt.n, receipt.round, receipt.attempts, receipt.token)
            == (open.n, open.round, open.attempts, open.token)
            && receipt.first_sent_at == open.first_sent_at
            && receipt.recorded_at == NOW;
        must(kept, "the receipt forgot something")
    });
}

#[test]
fn a_doubt_is_cleared_by_evidence_only() {
    every_pair(|pair| {
        let (Some(before), Some(after)) = (pair.open_before(), pair.open_after()) else {
            return Ok(());
        };
        if !before.in_doubt || after.in_doubt {
            return Ok(());
        }
        let not_there = matches!(
            pair.input,
            Input::Answered { answer: Answer::NotThere { believed: true, .. }, .. }
        );
        let not_done = matches!(pair.input, Input::Resolve { verdict: Verdict::NotDone, .. });
        must(not_done || (not_there && pair.is_own()), "the doubt is gone without evidence")?;
        must(after.first_sent_at.is_none(), "what clears a doubt clears the first send")
    });
}

/// The audit reads the row alone.
#[test]
fn only_what_clears_a_doubt_is_recorded_as_not_there() {
    every_pair(|pair| {
        let Transition::Applied { attempted: Some(row), .. } = &pair.answer else {
            return Ok(());
        };
        let cleared = pair.open_after().is_some_and(|after| !after.in_doubt);
        must((row.outcome == "not_there") == (cleared && row.purpose == Purpose::Ask), "misnamed")
    });
}

#[test]
fn a_doubt_comes_from_what_may_have_acted_only() {
    every_pair(|pair| {
        let (Some(before), Some(after)) = (pair.open_before(), pair.open_after()) else {
            return Ok(());
        };
        if before.in_doubt || !after.in_doubt {
            return Ok(());
        }
        let flying = matches!(before.state, State::Sending | State::Published);
        let may_have_acted = match pair.input {
            Input::Settled { outcome: Outcome::Unknown { .. } | Outcome::Ask { .. }, .. } => {
                pair.is_own()
            }
            // A redelivery whose key an earlier round used, and whose window is over.
            Input::Due { .. } if before.state == State::Pending => {
                let first = before.first_sent_at;
                first.is_some() && !pair.terms.is_safe_to_repeat(first, NOW)
            }
            Input::Due { .. } | Input::Unreadable { .. } => flying,
            Input::Restored { .. } => true,
            _ => false,
        };
        must(may_have_acted, "a doubt without a reason")
    });
}

#[test]
fn what_may_have_acted_is_always_in_doubt() {
    every_pair(|pair| {
        let unknown = match pair.input {
            Input::Settled { outcome: Outcome::Unknown { .. } | Outcome::Ask { .. }, .. } => {
                pair.is_own()
            }
            Input::Due { .. } => pair.open_before().is_some_and(|open| {
                matches!(open.state, State::Sending | State::Published)
                    && open.available_at.is_some_and(|at| at <= NOW)
            }),
            _ => false,
        };
        let kept = pair.open_after().is_some_and(|open| open.in_doubt && !dead(open));
        must(!unknown || kept, "an unknown outcome is forgotten or called a failure")
    });
}

fn dead(open: &Delivery) -> bool {
    open.state == State::Dead
}

#[test]
fn a_stale_token_changes_nothing() {
    every_pair(|pair| {
        let token = match pair.input {
            Input::Settled { token, .. }
            | Input::Answered { token, .. }
            | Input::HandedBack { token }
            | Input::Renewed { token } => *token,
            _ => return Ok(()),
        };
        let newest = pair.open_before().is_some_and(|open| open.token == token);
        if newest {
            return Ok(());
        }
        match (&pair.answer, pair.input) {
            (Transition::Ignored { .. }, _) => Ok(()),
            (_, Input::Settled { outcome: Outcome::Completed { .. }, .. }) => {
                must(pair.open_after().is_none(), "a late word may only end what is open")
            }
            _ => Err("a stale token changed something".to_owned()),
        }
    });
}

#[test]
fn a_stale_settle_is_always_kept() {
    every_pair(|pair| {
        let Input::Settled { token, outcome, .. } = pair.input else { return Ok(()) };
        // After a receipt within the attempt, an answer that agrees says nothing new.
        let agrees = matches!(outcome, Outcome::Completed { .. } | Outcome::Accepted { .. })
            && matches!(pair.before, Position::Ended(ended) if ended.token == *token);
        if pair.is_own() || agrees {
            return Ok(());
        }
        let row = match &pair.answer {
            Transition::Applied { attempted, .. } | Transition::Ignored { attempted, .. } => {
                attempted.is_some()
            }
            Transition::Refused(_) => false,
        };
        must(row, "a late settle left no row")
    });
}

#[test]
fn counters_and_tokens_move_as_they_should() {
    every_pair(|pair| {
        let (Some(before), Some(after)) = (pair.open_before(), pair.open_after()) else {
            return Ok(());
        };
        if after.round != before.round {
            let verb = matches!(pair.input, Input::Retry { .. } | Input::Resolve { .. });
            must(verb && after.round == before.round + 1, "a round nobody asked for")?;
            return must((after.attempts, after.asks) == (0, 0), "a new round counts anew");
        }
        let claim = matches!(pair.input, Input::Due { .. });
        let sends = i64::from(after.attempts) - i64::from(before.attempts);
        let asks = i64::from(after.asks) - i64::from(before.asks);
        let back =
            matches!(pair.input, Input::HandedBack { .. } | Input::Settled { burns: false, .. });
        must(matches!((sends, claim, back), (0, ..) | (1, true, _) | (-1, _, true)), "attempts")?;
        must(matches!((asks, claim, back), (0, ..) | (1, true, _) | (-1, _, true)), "asks")?;
        must(sends == 0 || asks == 0, "an attempt is no question")?;
        let leased = claim && after.lease_until.is_some();
        must(leased == (after.token > before.token), "each lease has a newer token, only a lease")?;
        must(leased || after.token == before.token, "a token went back")
    });
}

#[test]
fn the_first_send_moves_as_it_should() {
    every_pair(|pair| {
        let (Some(before), Some(after)) = (pair.open_before(), pair.open_after()) else {
            return Ok(());
        };
        let right = match (before.first_sent_at, after.first_sent_at) {
            (None, Some(at)) => {
                let restored = matches!(pair.input, Input::Restored { .. });
                restored || (after.state == State::Sending && at == NOW)
            }
            (Some(one), Some(other)) => {
                one == other || (other < one && matches!(pair.input, Input::Restored { .. }))
            }
            (Some(_), None) => match pair.input {
                Input::HandedBack { .. }
                | Input::Settled {
                    outcome: Outcome::NotSent { .. } | Outcome::Busy { .. } | Outcome::Gone { .. },
                    ..
                } => pair.is_own(),
                Input::Settled { outcome: Outcome::Rejected { .. }, .. } => !before.in_doubt,
                Input::Answered { .. } | Input::Resolve { .. } => true,
                Input::Retry { may_act_twice, .. } => *may_act_twice,
                _ => false,
            },
            (None, None) => true,
        };
        must(right, "the first send moved")
    });
}

#[test]
fn in_doubt_is_sent_again_only_where_that_is_safe() {
    every_pair(|pair| {
        let (Some(before), Some(after)) = (pair.open_before(), pair.open_after()) else {
            return Ok(());
        };
        if after.state != State::Sending || before.state == State::Sending || !before.in_doubt {
            return Ok(());
        }
        let permitted = before.first_sent_at.is_none();
        let safe = pair.terms.is_safe_to_repeat(before.first_sent_at, NOW);
        must(safe || permitted, "sent again where that could act twice")
    });
}

#[test]
fn only_a_claim_sends() {
    every_pair(|pair| {
        let sends = pair.open_after().is_some_and(|open| open.state == State::Sending);
        let was = pair.open_before().is_some_and(|open| open.state == State::Sending);
        let due = matches!(pair.input, Input::Due { .. });
        must(!sends || was || due, "something else than a claim sends")
    });
}

#[test]
fn what_has_ended_changes_by_a_person_only() {
    every_pair(|pair| {
        if pair.open_before().is_some() {
            return Ok(());
        }
        match &pair.answer {
            Transition::Applied { next: Next::Open(_), .. } => {
                must(matches!(pair.input, Input::Redeliver { .. }), "opened again")
            }
            Transition::Applied { next: Next::Ended(_), .. } => Err("ended twice".to_owned()),
            _ => Ok(()),
        }
    });
}

#[test]
fn a_report_ends_every_open_command() {
    every_pair(|pair| {
        let Input::Reported(report) = pair.input else { return Ok(()) };
        let plain = report.token.is_none() && !report.equals_earlier;
        let sayable = [ReceiptOutcome::Completed, ReceiptOutcome::Rejected];
        let counts = plain && sayable.contains(&report.outcome) && pair.open_before().is_some();
        must(!counts || pair.ends(), "the receiver's word did not count")
    });
}

#[test]
fn a_machine_is_never_stuck() {
    every_pair(|pair| {
        let Some(open) = pair.open_before() else { return Ok(()) };
        let is_due = open.available_at.is_some_and(|at| at <= NOW);
        let looked = matches!(pair.input, Input::Due { .. });
        if !looked || !is_due {
            return Ok(());
        }
        let moved = match pair.open_after() {
            Some(after) => {
                after.state.is_parked() || after.available_at.is_some_and(|at| at >= NOW)
            }
            None => pair.ends(),
        };
        must(moved, "a look at what is due led nowhere")
    });
}

#[test]
fn what_is_handed_back_was_no_attempt() {
    every_pair(|pair| {
        let Input::HandedBack { .. } = pair.input else { return Ok(()) };
        let (Some(before), true) = (pair.open_before(), pair.is_own()) else { return Ok(()) };
        let Some(after) = pair.open_after() else { return Err("it was not taken back".into()) };
        let counted = |open: &Delivery| match before.state {
            State::Asking => (open.asks, open.attempts),
            _ => (open.attempts, open.asks),
        };
        let ((was, other_was), (is, other_is)) = (counted(before), counted(after));
        must(is == was.saturating_sub(1) && other_is == other_was, "it still counts")
    });
}

/// A request of the last lease could still be on its way when the receiver says "not there".
#[test]
fn not_there_counts_only_when_it_is_quiet() {
    let terms = terms(Idempotent::No, true);
    for (lease_ended, counts) in [(before(60), true), (before(59), false), (after(1), false)] {
        let asking = Delivery {
            state: State::Asking,
            in_doubt: true,
            asks: 1,
            token: TOKEN,
            lease_until: Some(after(10)),
            available_at: Some(after(10)),
            first_sent_at: Some(before(600)),
            last_lease_until: Some(lease_ended),
            ..Delivery::new(7, NOW)
        };
        let said = Answer::NotThere { believed: true, reason: "no such key".into() };
        let answer = transition(&Position::Open(asking), answered(TOKEN, said), &terms, NOW);
        let Transition::Applied { next: Next::Open(open), .. } = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(!open.in_doubt, counts, "lease ended {lease_ended:?}");
    }
}

fn arbitrary_delivery() -> impl Strategy<Value = Delivery> {
    let time = || prop::option::of(any::<i64>().prop_map(Micros::new));
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<i64>());
    (0_usize..7, numbers, any::<bool>(), time(), time(), time(), time(), time()).prop_map(
        |(state, (round, attempts, asks, token), in_doubt, since, due, lease, first, last)| {
            Delivery {
                n: 7,
                state: State::ALL[state],
                round,
                round_since: since,
                attempts,
                asks,
                in_doubt,
                key_seq: None,
                available_at: due,
                token: Token::new(token),
                lease_until: lease,
                lease_owner: None,
                first_sent_at: first,
                last_lease_until: last,
                last_outcome: None,
            }
        },
    )
}

proptest! {
    /// Total: rows that no machine left so, and any time, are answered, too.
    #[test]
    fn no_pair_panics(open in arbitrary_delivery(), now: i64, which: prop::sample::Index) {
        let all = inputs();
        let input = which.get(&all).clone();
        for terms in all_terms() {
            for token in [TOKEN, open.token] {
                let position = Position::Open(Delivery { token, ..open.clone() });
                let _ = transition(&position, input.clone(), &terms, Micros::new(now));
            }
        }
    }
}
