//! Whether the books of a drill keep what its contract promises.
//!
//! Guarantees: an order that acted twice, an effect nobody accounts for, and a command that a
//! machine left behind are named under every contract; and so is a told order that ended other
//! than the contract says, since then the drill showed nothing. Does not: read any file.

use std::collections::BTreeSet;

use super::book::{Books, Entry};
use super::order::{command_id, order_id};
use super::story::TOLD;
use crate::args::Contract;

/// Every difference, in words, the worst first; none if the books keep the contract.
///
/// With keys, each of `orders` orders has one completed receipt and one effect. Without them an
/// order may also stand for a person: uncertain, acted at most once; or dead and never acted.
pub(super) fn differences(books: &Books, orders: u32, contract: Contract) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (key, effects) in books.effects.iter().filter(|(_, effects)| **effects > 1) {
        found.push(format!("command {key} has {effects} effects"));
    }
    if books.sent.orders_paid != i64::from(orders) {
        found.push(format!("{} orders are paid, not {orders}", books.sent.orders_paid));
    }
    if books.sent.open > 0 {
        found.push(format!("{} commands are still open", books.sent.open));
    }
    for (order, entry) in &books.entries {
        let effects = books.effects_of(order);
        let wrong = wrong(entry, effects, contract);
        found.extend(wrong.map(|wrong| format!("command {} {wrong}", command_id(order))));
    }
    found.extend(strangers(books));
    found.extend((1..=orders.min(TOLD)).filter_map(|n| cut_off(books, n, contract)));
    found.extend(unasked(books, orders, contract));
    found
}

/// What is wrong with one order's command; more than one effect is found by the key.
fn wrong(entry: &Entry, effects: i64, contract: Contract) -> Option<String> {
    if !entry.is_recorded {
        return Some("does not stand, but its order is paid: has no command".into());
    }
    if entry.otherwise > 0 {
        return Some(format!("has {} receipts that do not say completed", entry.otherwise));
    }
    let state = entry.state.as_deref();
    match (state, entry.completed, effects) {
        (None, 1, 1..) => None,
        (None, 1, _) => Some(format!("is completed, yet has {effects} effects")),
        (None, completed, _) => Some(format!("has {completed} completed receipts")),
        (Some(state), 1.., _) => Some(format!("is completed and {state} at once")),
        (Some("uncertain" | "dead" | "conflict"), ..) if contract == Contract::Idempotent => {
            Some(format!("is {}: {}", state.unwrap_or_default(), entry.reason))
        }
        (Some("uncertain"), ..) if !entry.in_doubt => Some("is uncertain, yet not in doubt".into()),
        (Some("uncertain"), ..) if entry.reason.is_empty() => {
            Some("is uncertain for no reason".into())
        }
        (Some("uncertain"), ..) => None,
        (Some("dead"), _, 0) if !entry.in_doubt => None,
        (Some("dead"), ..) if entry.in_doubt => Some("is dead, yet in doubt".into()),
        (Some("dead"), ..) => Some(format!("is dead, yet has {effects} effects")),
        (Some("conflict"), ..) => Some(format!("is in conflict: {}", entry.reason)),
        // Still open: counted above.
        (Some(_), ..) => None,
    }
}

/// Commands and effects of no paid order.
fn strangers(books: &Books) -> Vec<String> {
    let known: BTreeSet<_> = books.entries.keys().map(|order| command_id(order)).collect();
    let commands = books.command_ids.difference(&known);
    let mut found: Vec<_> =
        commands.map(|id| format!("command {id} stands without a paid order")).collect();
    let keys = books.effects.keys().filter(|key| !known.contains(*key));
    found.extend(keys.map(|key| format!("key {key} has an effect without a paid order")));
    found
}

/// The first orders are cut off where nobody can hear the answer: how each contract ends that.
fn cut_off(books: &Books, n: u32, contract: Contract) -> Option<String> {
    let order = order_id(n);
    // Without an entry it went plainly well, or was not paid, which is counted.
    let state = books.entries.get(&order).and_then(|entry| entry.state.as_deref());
    let is_as_promised = match contract {
        Contract::Idempotent | Contract::Askable => state.is_none(),
        Contract::None => state == Some("uncertain"),
    };
    let must = if contract == Contract::None { "uncertain" } else { "completed" };
    (!is_as_promised).then(|| {
        let is = state.unwrap_or("completed");
        format!(
            "command {} must be {must}, and is {is}: its answer was cut off",
            command_id(&order)
        )
    })
}

/// A receiver that can be asked was asked about each of the first orders, and nobody else was.
fn unasked(books: &Books, orders: u32, contract: Contract) -> Option<String> {
    let said = |answer| books.questions.get(answer).copied().unwrap_or(0);
    let told = i64::from(orders.min(TOLD));
    // The third order alone is not there, and the last one is asked about while nobody listens.
    let (done, not_there) = (told.min(2), (told - 2).max(0));
    let unclear = i64::from(orders > TOLD);
    let too_few =
        said("done") < done + unclear || said("not_there") < not_there || said("unclear") < unclear;
    match contract {
        Contract::Askable if too_few => {
            Some(format!("too few questions: {:?} were answered", books.questions))
        }
        Contract::Idempotent | Contract::None if !books.questions.is_empty() => {
            Some(format!("a receiver that cannot be asked was: {:?}", books.questions))
        }
        Contract::Idempotent | Contract::Askable | Contract::None => None,
    }
}

#[cfg(test)]
mod tests;
