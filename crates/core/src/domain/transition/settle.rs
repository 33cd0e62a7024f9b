//! What the end of an attempt or of a question does.
//!
//! Guarantees: it counts while state and token are still its own, even after the lease; a late
//! one changes nothing and is recorded, but its `Completed` is the receiver's own word and may
//! end what has not ended. Does not: trust a refusal read from a status while in doubt.

use super::super::backoff::Seed;
use super::super::contract::{Completion, Terms};
use super::super::delivery::{Delivery, State};
use super::super::lease::Token;
use super::super::outcome::{Answer, Judge, Outcome};
use super::super::policy;
use super::super::receipt::ReceiptOutcome;
use super::super::time::Micros;
use super::report::{self};
use super::{Attempted, Next, Position, Purpose, Reason, Report, Transition, receipt};

pub(super) fn settled(
    position: &Position,
    token: Token,
    outcome: Outcome,
    terms: &Terms,
    now: Micros,
    seed: Seed,
) -> Transition {
    match position {
        Position::Open(open) if open.state == State::Sending && open.token == token => {
            own_settle(open, outcome, terms, now, seed)
        }
        Position::Open(_) | Position::Ended(_) => late(position, token, outcome, now),
    }
}

fn own_settle(
    open: &Delivery,
    outcome: Outcome,
    terms: &Terms,
    now: Micros,
    seed: Seed,
) -> Transition {
    let end = |outcome, result, evidence: String| {
        let receipt = receipt(open, outcome, result, Some(evidence), "relay", now);
        Transition::to(Next::Ended(receipt))
    };
    let row = attempted(open.round, open.token, Purpose::Send, &outcome);
    let last_outcome = Some(format!("{}: {}", outcome.name(), outcome.reason()));
    let known = Delivery { last_outcome, ..open.clone() };
    match outcome {
        Outcome::Completed { result, evidence } => {
            end(ReceiptOutcome::Completed, Some(result.bytes), evidence)
        }
        Outcome::Accepted { evidence } => match terms.contract.completion {
            Completion::Accepted => end(ReceiptOutcome::Accepted, None, evidence),
            Completion::Response | Completion::Receipt => {
                let due = now.plus(terms.contract.receipt_timeout);
                let next = policy::unleased(known, State::Published, Some(due));
                Transition::open(next, None)
            }
        },
        Outcome::Rejected { reason, by: Judge::Receiver } => {
            end(ReceiptOutcome::Rejected, None, reason)
        }
        Outcome::Rejected { reason, by: Judge::Status } => {
            if open.in_doubt {
                Transition::open(policy::ask_or_park(known, terms, now), Some(row))
            } else if policy::refusal_ends(terms) {
                end(ReceiptOutcome::Rejected, None, reason)
            } else {
                Transition::open(policy::dead(policy::cleared(known)), Some(row))
            }
        }
        Outcome::NotSent { retry_after, .. } => {
            let known = policy::first_send_taken_back(known);
            let next = policy::after_not_sent(known, terms, now, seed, retry_after);
            Transition::open(next, Some(row))
        }
        Outcome::Unknown { retry_after, .. } => {
            let due = now.plus(terms.pace.wait(open.attempts, retry_after, seed));
            Transition::open(policy::after_unknown(known, terms, now, due), Some(row))
        }
        Outcome::Conflict { .. } => {
            Transition::open(policy::unleased(known, State::Conflict, None), Some(row))
        }
    }
}

/// The lease went on: the settle is recorded, and only its evidence may end what has not ended.
fn late(position: &Position, token: Token, outcome: Outcome, now: Micros) -> Transition {
    let round = match position {
        Position::Open(open) => open.round,
        Position::Ended(ended) => ended.round,
    };
    let row = attempted(round, token, Purpose::Late, &outcome);
    let Outcome::Completed { result, evidence } = outcome else {
        return Transition::Ignored { reason: Reason::StaleToken, attempted: Some(row) };
    };
    let report = Report {
        outcome: ReceiptOutcome::Completed,
        result: Some(result.bytes),
        evidence: Some(evidence),
        source: "late attempt".into(),
        token: None,
        equals_earlier: false,
    };
    match report::reported(position, report, now) {
        Transition::Applied { next, .. } => Transition::Applied { next, attempted: Some(row) },
        Transition::Ignored { reason, .. } | Transition::Refused(reason) => {
            Transition::Ignored { reason, attempted: Some(row) }
        }
    }
}

pub(super) fn answered(
    position: &Position,
    token: Token,
    answer: Answer,
    terms: &Terms,
    now: Micros,
    seed: Seed,
) -> Transition {
    let open = match position {
        Position::Open(open) if is_own(open, State::Asking, token) => open,
        Position::Open(_) => return Transition::ignored(Reason::StaleToken),
        Position::Ended(_) => return Transition::ignored(Reason::Ended),
    };
    let row = Attempted {
        round: open.round,
        token,
        purpose: Purpose::Ask,
        outcome: answer.name(),
        reason: answer.reason().into(),
    };
    let last_outcome = Some(format!("asked: {}: {}", answer.name(), answer.reason()));
    let known = Delivery { last_outcome, ..open.clone() };
    let end = |outcome, result, evidence: String| {
        let receipt = receipt(open, outcome, result, Some(evidence), "question", now);
        Transition::to(Next::Ended(receipt))
    };
    match answer {
        Answer::Done { result, evidence } => {
            end(ReceiptOutcome::Completed, Some(result.bytes), evidence)
        }
        Answer::Refused { reason } => end(ReceiptOutcome::Rejected, None, reason),
        Answer::NotThere { believed: true, .. } if is_quiet(open, terms, now) => {
            let next = policy::pending(policy::cleared(known), now);
            Transition::open(next, Some(row))
        }
        Answer::NotThere { .. } | Answer::Unclear { .. } => {
            Transition::open(policy::ask_again(known, terms, now, seed, None), Some(row))
        }
        Answer::InProgress { retry_after } => {
            let next = policy::ask_again(known, terms, now, seed, retry_after);
            Transition::open(next, Some(row))
        }
    }
}

/// "Not there" counts only when no request of the last lease can still be on its way.
fn is_quiet(open: &Delivery, terms: &Terms, now: Micros) -> bool {
    terms
        .contract
        .ask
        .as_ref()
        .is_some_and(|ask| open.last_lease_until.is_none_or(|until| now >= until.plus(ask.quiet)))
}

fn is_own(open: &Delivery, state: State, token: Token) -> bool {
    open.state == state && open.token == token && open.lease_until.is_some()
}

pub(super) fn handed_back(position: &Position, token: Token, now: Micros) -> Transition {
    let open = match position {
        Position::Open(open) => open,
        Position::Ended(_) => return Transition::ignored(Reason::Ended),
    };
    if is_own(open, State::Sending, token) {
        let attempts = open.attempts.saturating_sub(1);
        let round_since = if attempts == 0 { None } else { open.round_since };
        let back = Delivery { attempts, round_since, ..open.clone() };
        let back = policy::first_send_taken_back(back);
        Transition::open(policy::pending(back, now), None)
    } else if is_own(open, State::Asking, token) {
        let back = Delivery { asks: open.asks.saturating_sub(1), ..open.clone() };
        Transition::open(policy::unleased(back, State::Asking, Some(now)), None)
    } else {
        Transition::ignored(Reason::StaleToken)
    }
}

pub(super) fn renewed(position: &Position, token: Token, terms: &Terms, now: Micros) -> Transition {
    match position {
        Position::Open(open) if is_own(open, State::Sending, token) => {
            let until = Some(now.plus(terms.pace.lease));
            let longer = Delivery {
                available_at: until,
                lease_until: until,
                last_lease_until: until,
                ..open.clone()
            };
            Transition::open(longer, None)
        }
        Position::Open(_) => Transition::ignored(Reason::StaleToken),
        Position::Ended(_) => Transition::ignored(Reason::Ended),
    }
}

fn attempted(round: u32, token: Token, purpose: Purpose, outcome: &Outcome) -> Attempted {
    let (outcome, reason) = (outcome.name(), outcome.reason().into());
    Attempted { round, token, purpose, outcome, reason }
}
