//! What people may do to a command: retry, resolve, cancel, redeliver, restored.
//!
//! Guarantees: no verb sends again what may have acted, unless the person says so; no verb
//! touches what is in flight, except to say that it was done. Does not: write the record of who
//! did it; the store does, in the same transaction.

use super::super::contract::{Idempotent, Terms};
use super::super::delivery::{Delivery, State};
use super::super::lease::Token;
use super::super::policy;
use super::super::receipt::{Receipt, ReceiptOutcome};
use super::super::time::Micros;
use super::{Next, Position, Reason, Transition, Verdict, receipt};

pub(super) fn retry(
    position: &Position,
    may_act_twice: bool,
    expires_at: Option<Micros>,
    terms: &Terms,
    now: Micros,
) -> Transition {
    let Position::Open(open) = position else {
        return Transition::Refused(Reason::Ended);
    };
    if !open.state.is_parked() {
        return Transition::Refused(Reason::NotParked);
    }
    if expires_at.is_some_and(|at| at <= now) {
        return Transition::Refused(Reason::Expired);
    }
    let safe = !open.in_doubt || is_known_safe(open, terms, now);
    match (safe, may_act_twice) {
        (true, _) => Transition::open(policy::new_round(open.clone(), now), None),
        // The doubt stays; without a first send the next claim lets it through once, else it
        // would park again at once.
        (false, true) => {
            let allowed = Delivery { first_sent_at: None, ..open.clone() };
            Transition::open(policy::new_round(allowed, now), None)
        }
        (false, false) => Transition::Refused(Reason::MayActTwice),
    }
}

/// In doubt without a first send: an earlier permission to act twice was not used, and how old the
/// key is at the receiver is no longer known. Only keys that never go make that safe.
fn is_known_safe(open: &Delivery, terms: &Terms, now: Micros) -> bool {
    let dated = open.first_sent_at.is_some() || terms.contract.idempotent == Idempotent::Forever;
    dated && terms.is_safe_to_repeat(open.first_sent_at, now)
}

pub(super) fn resolve(
    position: &Position,
    verdict: Verdict,
    evidence: String,
    actor: &str,
    now: Micros,
) -> Transition {
    let Position::Open(open) = position else {
        return Transition::Refused(Reason::Ended);
    };
    let source = format!("operator {actor}");
    if let Verdict::Completed { result } = verdict {
        let ended = receipt(open, ReceiptOutcome::Completed, result, Some(evidence), &source, now);
        return Transition::to(Next::Ended(ended));
    }
    match open.state {
        State::Sending | State::Asking => return Transition::Refused(Reason::InFlight),
        State::Pending if !open.in_doubt => return Transition::Refused(Reason::NeverSent),
        State::Pending | State::Published | State::Dead | State::Uncertain | State::Conflict => {}
    }
    if verdict == Verdict::NotDone {
        let cleared = policy::cleared(open.clone());
        return Transition::open(policy::new_round(cleared, now), None);
    }
    let ended = receipt(open, ReceiptOutcome::Rejected, None, Some(evidence), &source, now);
    Transition::to(Next::Ended(ended))
}

pub(super) fn cancel(position: &Position, actor: &str, reason: String, now: Micros) -> Transition {
    let Position::Open(open) = position else {
        return Transition::Refused(Reason::Ended);
    };
    match open.state {
        State::Sending | State::Asking => Transition::Refused(Reason::InFlight),
        State::Published => Transition::Refused(Reason::Published),
        State::Pending | State::Dead | State::Uncertain | State::Conflict if open.in_doubt => {
            Transition::Refused(Reason::InDoubt)
        }
        State::Pending | State::Dead | State::Uncertain | State::Conflict => {
            let source = format!("operator {actor}");
            let outcome = ReceiptOutcome::Cancelled;
            let ended = receipt(open, outcome, None, Some(reason), &source, now);
            Transition::to(Next::Ended(ended))
        }
    }
}

pub(super) fn redeliver(
    position: &Position,
    may_act_twice: bool,
    expires_at: Option<Micros>,
    terms: &Terms,
    now: Micros,
) -> Transition {
    let Position::Ended(ended) = position else {
        return Transition::Refused(Reason::NotEnded);
    };
    let expired =
        ended.outcome == ReceiptOutcome::Expired || expires_at.is_some_and(|at| at <= now);
    if expired {
        return Transition::Refused(Reason::Expired);
    }
    let safe = terms.is_safe_to_repeat(ended.first_sent_at, now);
    if !may_act_twice && !safe {
        return Transition::Refused(Reason::MayActTwice);
    }
    // The receiver counts from the key's first send, and so does the window while it is open. Keys
    // without a window are known for ever or not at all.
    let has_window = matches!(terms.contract.idempotent, Idempotent::Window { .. });
    let first_sent_at = ended.first_sent_at.filter(|_| has_window && safe);
    Transition::open(Delivery { first_sent_at, ..again(ended, now) }, None)
}

/// A new round whose token goes on from the receipt's.
fn again(ended: &Receipt, now: Micros) -> Delivery {
    Delivery {
        round: ended.round.saturating_add(1),
        token: Token::new(ended.token.get()),
        key_seq: ended.key_seq,
        ..Delivery::new(ended.n, now)
    }
}

/// After a restore nobody knows what was sent since the backup, nor what of it is still on its way:
/// "not there" counts only when what was sent right before the restore cannot arrive any more.
pub(super) fn restored(position: &Position, at: Micros, now: Micros) -> Transition {
    let Position::Open(open) = position else {
        return Transition::ignored(Reason::Ended);
    };
    let first = open.first_sent_at.map_or(at, |first| first.min(at));
    let state = if open.state == State::Dead { State::Uncertain } else { open.state };
    let doubted = Delivery {
        state,
        in_doubt: true,
        first_sent_at: Some(first),
        last_lease_until: Some(open.last_lease_until.map_or(now, |until| until.max(now))),
        ..open.clone()
    };
    Transition::open(doubted, None)
}
