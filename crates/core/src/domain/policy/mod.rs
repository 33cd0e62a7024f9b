//! What to do after each outcome: the situation of a command, and what its row of the table does.
//!
//! Guarantees: an attempt that may have acted is never called a failure, never forgotten, and
//! never repeated where a repeat could act twice. Does not: decide, which `table` does, nor
//! persist; see `transition`.

pub mod table;

use self::table::{Situation, Then};
use super::backoff::Seed;
use super::contract::{Completion, Idempotent, OnRefusal, Terms};
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
/// that a person allowed one more send (`retry --may-act-twice`). Not in doubt with the first send
/// of an earlier round, the key was used then, and its window runs from there.
#[must_use]
pub fn must_not_repeat(delivery: &Delivery, terms: &Terms, now: Micros) -> bool {
    (delivery.in_doubt || is_dated_before(delivery, terms))
        && delivery.first_sent_at.is_some()
        && !terms.is_safe_to_repeat(delivery.first_sent_at, now)
}

/// Whether the key was first sent in an earlier round that ended, so that its window runs from
/// then: a redelivery that nobody allowed to act twice. Other keys than those with a window are
/// remembered for ever or not at all.
fn is_dated_before(delivery: &Delivery, terms: &Terms) -> bool {
    let before = |first| delivery.round_since.is_none_or(|since| first < since);
    matches!(terms.contract.idempotent, Idempotent::Window { .. })
        && !delivery.in_doubt
        && delivery.first_sent_at.is_some_and(before)
}

/// The attempt did not act: its claim's first send is taken back. The claim set it if nothing is in
/// doubt and it is no earlier round's, or if it equals the token, which is the time of the claim.
pub(super) fn first_send_taken_back(delivery: Delivery, terms: &Terms) -> Delivery {
    let is_own = !delivery.in_doubt && !is_dated_before(&delivery, terms);
    let set_by_this_claim =
        delivery.first_sent_at.is_some_and(|first| is_own || first.get() == delivery.token.get());
    let first_sent_at = if set_by_this_claim { None } else { delivery.first_sent_at };
    Delivery { first_sent_at, ..delivery }
}

/// What the table asks about `delivery`, whose next send would be at `due`.
pub(super) fn situation(delivery: &Delivery, terms: &Terms, now: Micros, due: Micros) -> Situation {
    Situation {
        in_doubt: delivery.in_doubt,
        spent: is_spent(delivery, terms, now),
        repeatable: terms.is_safe_to_repeat(delivery.first_sent_at, due),
        askable: is_askable(delivery, terms),
        completes_on_accept: terms.contract.completion == Completion::Accepted,
        refusal_ends: terms.contract.on_refusal == OnRefusal::Reject,
    }
}

/// Whether the receiver can be asked, and questions are left.
fn is_askable(delivery: &Delivery, terms: &Terms) -> bool {
    terms.contract.ask.as_ref().is_some_and(|ask| delivery.asks < ask.max_asks)
}

/// The delivery as a row of the table leaves it open; `None` where the row ends the command. What
/// is sent again is due at `due`.
pub(super) fn left_open(
    delivery: Delivery,
    then: Then,
    terms: &Terms,
    now: Micros,
    due: Micros,
) -> Option<Delivery> {
    Some(match then {
        Then::End(_) => return None,
        Then::Publish => {
            let overdue = now.plus(terms.contract.receipt_timeout);
            unleased(delivery, State::Published, Some(overdue))
        }
        Then::Retry => pending(delivery, due),
        Then::Ask => {
            let quiet = terms.contract.ask.as_ref().map_or(Span::ZERO, |ask| ask.quiet);
            let since = delivery.last_lease_until.map_or(now, |until| until.plus(quiet));
            unleased(Delivery { in_doubt: true, ..delivery }, State::Asking, Some(since.max(now)))
        }
        Then::Uncertain => {
            unleased(Delivery { in_doubt: true, ..delivery }, State::Uncertain, None)
        }
        Then::Dead => unleased(first_send_taken_back(delivery, terms), State::Dead, None),
        Then::Conflict => unleased(delivery, State::Conflict, None),
    })
}

/// After an attempt that may have acted: repeat at `due` where that is safe, else ask, else a
/// person.
pub(super) fn after_unknown(
    delivery: Delivery,
    terms: &Terms,
    now: Micros,
    due: Micros,
) -> Delivery {
    let delivery = Delivery { in_doubt: true, ..delivery };
    let then = table::then(table::Came::Unknown, situation(&delivery, terms, now, due));
    left_open(delivery.clone(), then, terms, now, due).unwrap_or(delivery)
}

/// In doubt and not to be repeated: the receiver is asked if it can be, else a person.
pub(super) fn ask_or_park(delivery: Delivery, terms: &Terms, now: Micros) -> Delivery {
    let then = table::in_doubt(situation(&delivery, terms, now, now));
    left_open(delivery.clone(), then, terms, now, now).unwrap_or(delivery)
}

/// After a question without a usable answer: ask again with backoff, bounded.
pub(super) fn ask_again(
    delivery: Delivery,
    terms: &Terms,
    now: Micros,
    seed: Seed,
    retry_after: Option<Span>,
) -> Delivery {
    if is_askable(&delivery, terms) {
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
