//! Whether a doubt was forgotten.
//!
//! Guarantees: an attempt that may have acted is remembered until newer evidence clears it. Does
//! not: take late settles for attempts of the row; their doubt was set when the lease ran out.

use super::{AttemptFacts, CommandFacts};
use crate::domain::Delivery;

/// What an open delivery that is not in doubt has forgotten, if anything.
pub(super) fn forgotten(facts: &CommandFacts, open: &Delivery) -> Option<String> {
    if open.in_doubt {
        return None;
    }
    let doubts = facts.attempts.iter().enumerate().filter(|(_, attempt)| may_have_acted(attempt));
    for (at, doubt) in doubts {
        let asked = facts.attempts[at..].iter().any(says_not_there);
        let cleared = facts.cleared_at.iter().any(|time| *time >= doubt.ended_at);
        let ended = facts.receipts.iter().any(|entry| entry.receipt.round >= doubt.round);
        if !(asked || cleared || ended) {
            let AttemptFacts { round, purpose, outcome, .. } = doubt;
            return Some(format!(
                "a {purpose} of round {round} ended {outcome}, with no doubt left"
            ));
        }
    }
    None
}

fn may_have_acted(attempt: &AttemptFacts) -> bool {
    ["send", "receipt"].contains(&attempt.purpose.as_str())
        && ["unknown", "expired"].contains(&attempt.outcome.as_str())
}

fn says_not_there(attempt: &AttemptFacts) -> bool {
    attempt.purpose == "ask" && attempt.outcome == "not_there"
}
