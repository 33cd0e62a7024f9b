//! What a relay does with a due delivery: claim, take over, time out, expire.
//!
//! Guarantees: an expired lease is an unknown outcome, never a failure; a command in doubt is
//! sent again only inside its window. Does not: look at deliveries that are not due.

use super::super::backoff::Seed;
use super::super::contract::Terms;
use super::super::delivery::{Delivery, State};
use super::super::policy;
use super::super::receipt::ReceiptOutcome;
use super::super::time::Micros;
use super::{Attempted, Next, Purpose, Reason, Transition, receipt};

pub(super) fn due(
    open: &Delivery,
    owner: String,
    expires_at: Option<Micros>,
    terms: &Terms,
    now: Micros,
    seed: Seed,
) -> Transition {
    if open.available_at.is_none_or(|at| at > now) {
        return Transition::ignored(Reason::NotDue);
    }
    match open.state {
        State::Pending if expires_at.is_some_and(|at| at <= now) => expire(open, terms, now),
        State::Pending if policy::must_not_repeat(open, terms, now) => {
            Transition::open(policy::ask_or_park(open.clone(), terms, now), None)
        }
        State::Pending => Transition::open(claimed(open, owner, terms, now), None),
        State::Sending => taken_over(open, terms, now),
        State::Asking if open.lease_until.is_some() => {
            let reason = "the lease of the question ran out";
            let row = attempted(open, Purpose::Ask, "expired", reason);
            let next = policy::ask_again(open.clone(), terms, now, seed, None);
            Transition::open(next, Some(row))
        }
        State::Asking => Transition::open(asked(open, owner, terms, now), None),
        State::Published => overdue(open, terms, now, seed),
        State::Dead | State::Uncertain | State::Conflict => Transition::ignored(Reason::NotDue),
    }
}

/// A claim: one attempt more, under a new token.
fn claimed(open: &Delivery, owner: String, terms: &Terms, now: Micros) -> Delivery {
    let until = now.plus(terms.pace.lease);
    Delivery {
        state: State::Sending,
        attempts: open.attempts.saturating_add(1),
        round_since: open.round_since.or(Some(now)),
        first_sent_at: open.first_sent_at.or(Some(now)),
        ..leased(open, owner, until, now)
    }
}

/// A question: its own counter; attempts and the first send stay.
fn asked(open: &Delivery, owner: String, terms: &Terms, now: Micros) -> Delivery {
    let until = now.plus(terms.pace.lease);
    let last_lease_until = open.last_lease_until;
    let asks = open.asks.saturating_add(1);
    Delivery { asks, last_lease_until, ..leased(open, owner, until, now) }
}

fn leased(open: &Delivery, owner: String, until: Micros, now: Micros) -> Delivery {
    Delivery {
        token: open.token.next(now),
        available_at: Some(until),
        lease_until: Some(until),
        lease_owner: Some(owner),
        last_lease_until: Some(until),
        ..open.clone()
    }
}

/// Its relay died or froze: nobody knows what became of the attempt.
fn taken_over(open: &Delivery, terms: &Terms, now: Micros) -> Transition {
    let who = open.lease_owner.as_deref().unwrap_or("nobody");
    let reason = format!("the lease of {who} ran out");
    let row = attempted(open, Purpose::Send, "expired", &reason);
    let last_outcome = Some(format!("unknown: {reason}"));
    let known = Delivery { last_outcome, ..open.clone() };
    Transition::open(policy::after_unknown(known, terms, now, now), Some(row))
}

/// The receipt did not come in time.
fn overdue(open: &Delivery, terms: &Terms, now: Micros, seed: Seed) -> Transition {
    let reason = "no receipt came within receipt_timeout";
    let row = attempted(open, Purpose::Receipt, "unknown", reason);
    let due = now.plus(terms.pace.wait(open.attempts, None, seed));
    let known = Delivery { last_outcome: Some(format!("unknown: {reason}")), ..open.clone() };
    Transition::open(policy::after_unknown(known, terms, now, due), Some(row))
}

/// A pending command past its expiry.
pub(super) fn swept(open: &Delivery, expires_at: Micros, terms: &Terms, now: Micros) -> Transition {
    match open.state {
        State::Pending if expires_at <= now => expire(open, terms, now),
        State::Pending
        | State::Sending
        | State::Asking
        | State::Published
        | State::Dead
        | State::Uncertain
        | State::Conflict => Transition::ignored(Reason::NotDue),
    }
}

fn expire(open: &Delivery, terms: &Terms, now: Micros) -> Transition {
    if open.in_doubt {
        return Transition::open(policy::ask_or_park(open.clone(), terms, now), None);
    }
    let evidence = Some("not sent before its expiry".into());
    let ended = receipt(open, ReceiptOutcome::Expired, None, evidence, "sweep", now);
    Transition::to(Next::Ended(ended))
}

/// A row that cannot be read parks itself and not its batch.
pub(super) fn unreadable(open: &Delivery, reason: &str, now: Micros) -> Transition {
    if open.available_at.is_none_or(|at| at > now) {
        return Transition::ignored(Reason::NotDue);
    }
    let in_doubt = open.in_doubt || matches!(open.state, State::Sending | State::Published);
    let state = if in_doubt { State::Uncertain } else { State::Dead };
    let last_outcome = Some(format!("unreadable: {reason}"));
    let known = Delivery { in_doubt, last_outcome, ..open.clone() };
    Transition::open(policy::unleased(known, state, None), None)
}

fn attempted(open: &Delivery, purpose: Purpose, outcome: &'static str, reason: &str) -> Attempted {
    Attempted { round: open.round, token: open.token, purpose, outcome, reason: reason.into() }
}
