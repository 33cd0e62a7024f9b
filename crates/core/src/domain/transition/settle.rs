//! What the end of an attempt or of a question does.
//!
//! Guarantees: it counts while state and token are still its own, even after the lease; a late
//! one changes nothing and is recorded, but its `Completed` is the receiver's own word and may
//! end what has not ended. Does not: trust a refusal read from a status while in doubt.

use super::super::backoff::Seed;
use super::super::contract::Terms;
use super::super::delivery::{Delivery, State};
use super::super::lease::Token;
use super::super::outcome::{Answer, Judge, Outcome};
use super::super::policy::{
    self,
    table::{self, Came, Then},
};
use super::super::receipt::{Receipt, ReceiptOutcome};
use super::super::time::Micros;
use super::report::{self, says_the_same};
use super::{Attempted, Next, Position, Purpose, Reason, Report, Transition, receipt};

/// The attempt that ended.
#[derive(Clone, Copy)]
pub(super) struct Attempt {
    pub(super) token: Token,
    pub(super) round: u32,
    pub(super) ended_as: Option<ReceiptOutcome>,
    pub(super) burns: bool,
}

pub(super) fn settled(
    position: &Position,
    attempt: Attempt,
    outcome: Outcome,
    terms: &Terms,
    now: Micros,
    seed: Seed,
) -> Transition {
    match position {
        Position::Open(open) if open.state == State::Sending && open.token == attempt.token => {
            own_settle(open, attempt.burns, outcome, terms, now, seed)
        }
        Position::Ended(ended) if ended.token == attempt.token => {
            after_receipt(position, ended, attempt, outcome, now)
        }
        Position::Open(_) | Position::Ended(_) => late(position, attempt, outcome, now),
    }
}

/// A receipt came before the answer to the attempt itself. What agrees with it says nothing new,
/// and the attempt was not late: no other began after it.
fn after_receipt(
    position: &Position,
    ended: &Receipt,
    attempt: Attempt,
    outcome: Outcome,
    now: Micros,
) -> Transition {
    match outcome {
        Outcome::Accepted { .. } => Transition::ignored(Reason::Repeated),
        Outcome::Completed { .. } if says_the_same(ended.outcome, ReceiptOutcome::Completed) => {
            Transition::ignored(Reason::Repeated)
        }
        Outcome::Completed { .. } => late(position, attempt, outcome, now),
        _ => {
            let row = attempted(ended.round, ended.token, Purpose::Send, &outcome);
            Transition::Ignored { reason: Reason::Ended, attempted: Some(row) }
        }
    }
}

fn own_settle(
    open: &Delivery,
    burns: bool,
    outcome: Outcome,
    terms: &Terms,
    now: Micros,
    seed: Seed,
) -> Transition {
    let came = came(&outcome);
    let attempts = open.attempts.saturating_sub(u32::from(!burns));
    let counted = Delivery { attempts, ..open.clone() };
    let known = match came {
        Came::NotSent => policy::first_send_taken_back(counted, terms),
        Came::Unknown | Came::Ask => Delivery { in_doubt: true, ..counted },
        _ => counted,
    };
    let failures = known.attempts.max(1);
    let due = now.plus(terms.pace.wait(failures, outcome.retry_after(), seed));
    let then = table::then(came, policy::situation(&known, terms, now, due));
    if let Then::End(ends) = then {
        let (result, evidence) = outcome.into_evidence();
        let receipt = receipt(open, ends, result, Some(evidence), "relay", now);
        return Transition::to(Next::Ended(receipt));
    }
    let last_outcome = Some(format!("{}: {}", outcome.name(), outcome.reason()));
    let known = Delivery { last_outcome, ..known };
    let went_well = then == Then::Publish;
    let row = (!went_well).then(|| attempted(open.round, open.token, Purpose::Send, &outcome));
    match policy::left_open(known, then, terms, now, due) {
        Some(next) => Transition::open(next, row),
        None => Transition::ignored(Reason::Ended),
    }
}

/// The row of the decision table that an outcome belongs to.
const fn came(outcome: &Outcome) -> Came {
    match outcome {
        Outcome::Completed { .. } => Came::Completed,
        Outcome::Accepted { .. } => Came::Accepted,
        Outcome::Rejected { by: Judge::Receiver, .. } => Came::RejectedByReceiver,
        Outcome::Rejected { by: Judge::Status, .. } => Came::RejectedByStatus,
        Outcome::NotSent { .. } | Outcome::Busy { .. } | Outcome::Gone { .. } => Came::NotSent,
        Outcome::Unknown { .. } => Came::Unknown,
        Outcome::Ask { .. } => Came::Ask,
        Outcome::Conflict { .. } => Came::Conflict,
    }
}

/// A settle whose lease has gone to another, or whose command has ended: recorded; its `Completed`
/// is the receiver's own word about the attempt's own round.
fn late(position: &Position, attempt: Attempt, outcome: Outcome, now: Micros) -> Transition {
    let row = attempted(attempt.round, attempt.token, Purpose::Late, &outcome);
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
    let reported = match attempt.ended_as {
        // It says nothing about the round that a redelivery began since.
        Some(stands) => report::after_the_end(stands, report),
        None => report::reported(position, report, now),
    };
    match reported {
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
        // Under a name of its own, so that no audit takes it for what clears a doubt.
        Answer::NotThere { .. } => {
            let row = Attempted { outcome: "not_believed", ..row };
            Transition::open(policy::ask_again(known, terms, now, seed, None), Some(row))
        }
        Answer::Unclear { .. } => {
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

pub(super) fn handed_back(
    position: &Position,
    token: Token,
    terms: &Terms,
    now: Micros,
) -> Transition {
    let open = match position {
        Position::Open(open) => open,
        Position::Ended(_) => return Transition::ignored(Reason::Ended),
    };
    if is_own(open, State::Sending, token) {
        let attempts = open.attempts.saturating_sub(1);
        let round_since = if attempts == 0 { None } else { open.round_since };
        let back = policy::first_send_taken_back(open.clone(), terms);
        let back = Delivery { attempts, round_since, ..back };
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
