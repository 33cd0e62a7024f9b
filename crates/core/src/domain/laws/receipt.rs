//! What receipts, attempts and acts say about each other.
//!
//! Guarantees: only what one write put down together is compared, so that clocks that step break
//! no law. Does not: know what a receiver answered.

use super::book::law;
use super::delivery::Broken;
use super::told::Told;
use super::{CommandFacts, ReceiptFacts};
use crate::domain::{ReceiptOutcome, Token};

/// What is wrong with the receipts, attempts and acts of a command that stands.
pub(super) fn of_receipts(facts: &CommandFacts) -> Vec<Broken> {
    let mut broken: Vec<Broken> = Vec::new();
    for entry in &facts.receipts {
        let one = One { facts, entry, told: Told::of_round(facts, entry.receipt.round) };
        let all = [one.source(), one.tokens(), one.counts(), one.first_send(), one.digests()];
        broken.extend(all.into_iter().flatten());
    }
    broken.extend(redelivered(facts));
    broken.extend(attempts(facts).or_else(|| repeated(facts)));
    broken.extend(erased(facts));
    broken.extend(named(facts));
    broken
}

struct One<'a> {
    facts: &'a CommandFacts,
    entry: &'a ReceiptFacts,
    told: Told<'a>,
}

impl One<'_> {
    fn said(&self, found: &str) -> String {
        format!("the receipt of round {} {found}", self.entry.receipt.round)
    }

    /// Reports carry the name of whoever brought them.
    fn source(&self) -> Option<Broken> {
        use ReceiptOutcome::{Accepted, Cancelled, Completed, Expired, Rejected};
        let (outcome, source) = (self.entry.receipt.outcome, self.entry.receipt.source.as_str());
        let fits = match source {
            "relay" => matches!(outcome, Completed | Accepted | Rejected),
            "late attempt" => outcome == Completed,
            "sweep" => outcome == Expired,
            _ if source.starts_with("operator ") => {
                matches!(outcome, Completed | Rejected | Cancelled)
            }
            _ => matches!(outcome, Completed | Rejected),
        };
        (!fits).then(|| {
            (&law::SOURCE, self.said(&format!("says {}, and its source {source}", outcome.name())))
        })
    }

    fn tokens(&self) -> Option<Broken> {
        let receipt = &self.entry.receipt;
        let of_round = |row: &&super::AttemptFacts| row.round <= receipt.round;
        let attempts = self.facts.attempts.iter().filter(of_round).map(|row| row.token);
        let receipts = self.facts.receipts.iter().map(|entry| &entry.receipt);
        let before = receipts.filter(|other| other.round < receipt.round);
        let older = attempts.chain(before.map(|other| other.token.get()));
        let is_older = older.into_iter().any(|other| other > receipt.token.get());
        let claimed = ["relay", "question", "late attempt"].contains(&receipt.source.as_str());
        let found = if is_older {
            "has an older token than what came before it"
        } else if claimed && receipt.token == Token::NONE {
            "tells of an attempt, without its token"
        } else {
            return None;
        };
        Some((&law::TOKEN_ORDER, self.said(found)))
    }

    /// Probes of a breaker are attempts that do not count, so there may be more rows.
    fn counts(&self) -> Option<Broken> {
        let receipt = &self.entry.receipt;
        let is_parted = ["question", "sweep"].contains(&receipt.source.as_str())
            || receipt.outcome == ReceiptOutcome::Cancelled
            || receipt.token == Token::NONE;
        let known = self.told.sends() + usize::from(!is_parted);
        let attempts = receipt.attempts as usize;
        (attempts > known).then(|| {
            let found = format!("counts {attempts} attempts, of which {known} are known");
            (&law::COUNTS, self.said(&found))
        })
    }

    fn first_send(&self) -> Option<Broken> {
        let receipt = &self.entry.receipt;
        let Some(first) = receipt.first_sent_at else {
            let sent = receipt.source == "relay";
            return sent.then(|| (&law::FIRST_SEND, self.said("tells of no first send")));
        };
        let is_alone = self.facts.receipts.iter().all(|other| other.receipt.round >= receipt.round);
        let in_conflict = self.told.any(|row| row.outcome == "conflict");
        let unsent = match receipt.outcome {
            ReceiptOutcome::Expired => true,
            ReceiptOutcome::Cancelled => !in_conflict,
            _ => false,
        };
        let found = if self.facts.was_restored_from(first) {
            return None;
        } else if first.get() > receipt.token.get() {
            "tells of a first send later than its token"
        } else if unsent && is_alone && self.facts.begun == 0 {
            "tells of a first send of what was never sent"
        } else {
            return None;
        };
        Some((&law::FIRST_SEND, self.said(found)))
    }

    /// Plain SQL, through which a worker reports, has no SHA-256; but what an attempt before it has
    /// left there it takes over. What only a sweep ended may have been a probe.
    fn digests(&self) -> Option<Broken> {
        let receipt = &self.entry.receipt;
        let before = |row: &super::AttemptFacts| {
            row.token < receipt.token.get() || ["ask", "receipt"].contains(&row.purpose.as_str())
        };
        let settled = ["question", "late attempt"].contains(&receipt.source.as_str())
            || (!["relay", "sweep"].contains(&receipt.source.as_str()) && self.told.any(before));
        let bare = self.entry.digest.is_none() || self.entry.row_digest.is_none();
        (settled && bare && self.facts.outbox.is_some())
            .then(|| (&law::DIGEST_MISSING, self.said("has no digests")))
    }
}

/// Each redelivery names the outcome that it reopened: that of the next receipt.
fn redelivered(facts: &CommandFacts) -> Option<Broken> {
    let open = facts.delivery.as_ref().map(|open| open.delivery.round);
    let receipts = facts.receipts.iter().map(|entry| &entry.receipt);
    let newest = receipts.clone().map(|receipt| receipt.round).chain(open).max()?;
    let reopened = receipts.filter(|receipt| receipt.round < newest);
    let reopened: Vec<_> = reopened.map(|receipt| receipt.outcome.name()).collect();
    (reopened != facts.reopened).then(|| {
        let (here, said) = (reopened.join(", "), facts.reopened.join(", "));
        let found = format!("redelivered after [{here}], but people redelivered it after [{said}]");
        (&law::REDELIVERED, found)
    })
}

fn attempts(facts: &CommandFacts) -> Option<Broken> {
    let open = facts.delivery.as_ref().map(|open| open.delivery.round);
    let newest = facts.receipts.iter().map(|entry| entry.receipt.round).chain(open).max()?;
    let strange = facts.attempts.iter().find(|row| {
        let known = ["send", "ask", "receipt", "late"].contains(&row.purpose.as_str());
        !known || row.round == 0 || row.round > newest
    })?;
    let found = format!("an attempt {:?} of round {}", strange.purpose, strange.round);
    Some((&law::ATTEMPT, found))
}

/// Each attempt of the open round leaves one row; after a receipt a settle may be repeated.
fn repeated(facts: &CommandFacts) -> Option<Broken> {
    let told = Told::of_round(facts, facts.delivery.as_ref()?.delivery.round);
    let twice = told.repeated()?;
    let found = format!("the attempt of token {} is told of twice", twice.token);
    Some((&law::ATTEMPT, found))
}

fn erased(facts: &CommandFacts) -> Option<Broken> {
    let row = facts.outbox.as_ref().filter(|_| facts.erased)?;
    let found = if !row.body.is_empty() || row.headers.is_some() {
        "called erased, but its content stands"
    } else if facts.delivery.is_some() {
        "erased, but it has not ended"
    } else if !facts.has_erase {
        "called erased, but no person is on record who erased it"
    } else {
        return None;
    };
    Some((&law::ERASED, found.into()))
}

fn named(facts: &CommandFacts) -> Option<Broken> {
    let row = facts.outbox.as_ref()?;
    let name = match (&row.stream, row.seq, row.idx) {
        (None, None, None) => return None,
        (Some(stream), Some(seq), Some(idx)) => format!("{stream}:{seq}:{idx}"),
        _ => return Some((&law::PLACE_IN_DECISION, "only half of a decision is named".into())),
    };
    (row.command_id.as_str() != name).then(|| {
        let found = format!("its place in its decision is that of {name}");
        (&law::PLACE_IN_DECISION, found)
    })
}
