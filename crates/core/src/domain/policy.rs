//! What to do after each outcome: the decision table of the design.
//!
//! Guarantees: an attempt that may have acted is never called a failure, never forgotten, and
//! never repeated where a repeat could act twice. Does not: persist; see `transition`.

use super::backoff::Seed;
use super::contract::{OnRefusal, Terms};
use super::delivery::{Delivery, State};
use super::time::{Micros, Span};

/// Whether the round's attempts or its horizon are spent; judged when an attempt ends, never
/// while a command waits.
#[must_use]
pub fn is_spent(delivery: &Delivery, terms: &Terms, now: Micros) -> bool {
    let horizon = delivery.round_since.map(|since| since.plus(terms.contract.give_up_after));
    delivery.attempts >= terms.pace.max_attempts || horizon.is_some_and(|end| now >= end)
}

/// Whether a claim would send again what may have acted. In doubt without a first send means
/// that a person allowed one more send (`retry --may-act-twice`).
#[must_use]
pub fn must_not_repeat(delivery: &Delivery, terms: &Terms, now: Micros) -> bool {
    delivery.in_doubt
        && delivery.first_sent_at.is_some()
        && !terms.is_safe_to_repeat(delivery.first_sent_at, now)
}

/// The attempt did not act: its claim's first send is taken back. The claim set it if nothing is
/// in doubt, or if it equals the token, which is the time of the claim.
pub(super) fn first_send_taken_back(delivery: Delivery) -> Delivery {
    let set_by_this_claim = delivery
        .first_sent_at
        .is_some_and(|first| !delivery.in_doubt || first.get() == delivery.token.get());
    let first_sent_at = if set_by_this_claim { None } else { delivery.first_sent_at };
    Delivery { first_sent_at, ..delivery }
}

/// After an attempt that provably did not act.
pub(super) fn after_not_sent(
    delivery: Delivery,
    terms: &Terms,
    now: Micros,
    seed: Seed,
    retry_after: Option<Span>,
) -> Delivery {
    if is_spent(&delivery, terms, now) {
        return if delivery.in_doubt { ask_or_park(delivery, terms, now) } else { dead(delivery) };
    }
    let wait = terms.pace.wait(delivery.attempts, retry_after, seed);
    pending(delivery, now.plus(wait))
}

/// After an attempt that may have acted: repeat where that is safe, else ask, else a person.
pub(super) fn after_unknown(
    delivery: Delivery,
    terms: &Terms,
    now: Micros,
    due: Micros,
) -> Delivery {
    let delivery = Delivery { in_doubt: true, ..delivery };
    let safe = terms.is_safe_to_repeat(delivery.first_sent_at, due);
    if safe && !is_spent(&delivery, terms, now) {
        pending(delivery, due)
    } else {
        ask_or_park(delivery, terms, now)
    }
}

/// After a refusal read from a status, not in doubt: whether it ends the command.
pub(super) const fn refusal_ends(terms: &Terms) -> bool {
    matches!(terms.contract.on_refusal, OnRefusal::Reject)
}

/// In doubt and not to be repeated: the receiver is asked if it can be, else a person.
pub(super) fn ask_or_park(delivery: Delivery, terms: &Terms, now: Micros) -> Delivery {
    match &terms.contract.ask {
        Some(ask) if delivery.asks < ask.max_asks => {
            let quiet = delivery.last_lease_until.map_or(now, |until| until.plus(ask.quiet));
            unleased(delivery, State::Asking, Some(quiet.max(now)))
        }
        _ => unleased(Delivery { in_doubt: true, ..delivery }, State::Uncertain, None),
    }
}

/// After a question without a usable answer: ask again with backoff, bounded.
pub(super) fn ask_again(
    delivery: Delivery,
    terms: &Terms,
    now: Micros,
    seed: Seed,
    retry_after: Option<Span>,
) -> Delivery {
    let more = terms.contract.ask.as_ref().is_some_and(|ask| delivery.asks < ask.max_asks);
    if more {
        let wait = terms.pace.wait(delivery.asks, retry_after, seed);
        unleased(delivery, State::Asking, Some(now.plus(wait)))
    } else {
        unleased(delivery, State::Uncertain, None)
    }
}

/// Waits for its due time.
pub(super) fn pending(delivery: Delivery, due: Micros) -> Delivery {
    unleased(delivery, State::Pending, Some(due))
}

/// Gave up, not in doubt.
pub(super) fn dead(delivery: Delivery) -> Delivery {
    unleased(delivery, State::Dead, None)
}

/// Without a lease, in `state`.
pub(super) fn unleased(delivery: Delivery, state: State, available_at: Option<Micros>) -> Delivery {
    Delivery { state, available_at, lease_until: None, lease_owner: None, ..delivery }
}

/// The doubt is cleared, and with it the first send.
pub(super) fn cleared(delivery: Delivery) -> Delivery {
    Delivery { in_doubt: false, first_sent_at: None, ..delivery }
}

/// A new round, due now; doubt and first send stay as they are.
pub(super) fn new_round(delivery: Delivery, now: Micros) -> Delivery {
    let round = delivery.round.saturating_add(1);
    let fresh = Delivery { round, round_since: None, attempts: 0, asks: 0, ..delivery };
    pending(fresh, now)
}
