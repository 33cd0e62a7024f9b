//! What must hold for one command.
//!
//! Guarantees: total over whatever stands, orphans and unreadable rows included. Does not: look at
//! a clock; a command that is overdue is late, not lost.

use super::book::law;
use super::delivery::of_delivery;
use super::doubt::forgotten;
use super::receipt::of_receipts;
use super::{CommandFacts, DeliveryFacts, Digests, Law, ReceiptFacts, Violation};
use crate::domain::{Delivery, Digest, State};

/// What is wrong with one command; nothing, if all laws hold.
#[must_use]
pub fn of_command(facts: &CommandFacts) -> Vec<Violation> {
    of_digested(facts, facts.digests())
}

/// The same, where the digests of its outbox row, see [`CommandFacts::digests`], are known.
#[must_use]
pub fn of_digested(facts: &CommandFacts, digests: Option<Digests>) -> Vec<Violation> {
    let mut broken = Broken { facts, digests, violations: Vec::new() };
    broken.number();
    if facts.has_outbox {
        broken.existence();
        broken.rounds();
        broken.destinations();
        broken.place();
        broken.digests();
        broken.readable();
        broken.event();
        broken.contradictions();
    } else {
        broken.orphans();
    }
    if let Some(open) = &facts.delivery {
        broken.delivery(open);
    }
    broken.columns();
    broken.violations
}

struct Broken<'a> {
    facts: &'a CommandFacts,
    digests: Option<Digests>,
    violations: Vec<Violation>,
}

impl Broken<'_> {
    fn breaks(&mut self, law: &Law, found: &str) {
        let id = &self.facts.id;
        let found = format!("command {id}: {found}");
        self.violations.push(Violation::of(law, vec![id.clone()], &found));
    }

    /// The stores give numbers from 1 on, so lists and claims need not look below.
    fn number(&mut self) {
        let CommandFacts { n, id, has_outbox, .. } = self.facts;
        let attempt = self.facts.attempts.iter().find(|attempt| attempt.arrival < 1);
        if *n < 1 {
            self.breaks(&law::NUMBER, &format!("its number is {n}"));
        } else if *has_outbox && id.is_empty() {
            self.breaks(&law::NUMBER, &format!("the id of number {n} is empty"));
        } else if let Some(attempt) = attempt {
            self.breaks(&law::NUMBER, &format!("an attempt has the number {}", attempt.arrival));
        }
    }

    fn orphans(&mut self) {
        let facts = self.facts;
        if facts.delivery.is_some() {
            self.breaks(&law::ORPHAN_DELIVERY, "a delivery without its outbox row");
        }
        if !facts.receipts.is_empty() && !facts.archived {
            self.breaks(&law::ORPHAN_RECEIPT, "a receipt without its outbox row");
        }
        if !facts.attempts.is_empty() && !facts.archived {
            self.breaks(&law::ORPHAN_ATTEMPT, "an attempt without its outbox row");
        }
    }

    fn existence(&mut self) {
        let facts = self.facts;
        if facts.archived {
            self.breaks(&law::ARCHIVED_AND_HERE, "it is archived and in the outbox, too");
        }
        let newest = facts.receipts.iter().map(|entry| entry.receipt.round).max();
        match (&facts.delivery, newest) {
            (None, None) => self.breaks(&law::LOST, "neither a delivery nor a receipt"),
            (Some(open), Some(newest)) if open.delivery.round <= newest => {
                let round = open.delivery.round;
                let found = format!("open in round {round}, with a receipt of round {newest}");
                self.breaks(&law::OPEN_AND_ENDED, &found);
            }
            _ => {}
        }
    }

    fn rounds(&mut self) {
        let facts = self.facts;
        if let Some(outcome) = facts.strange_outcomes.first() {
            self.breaks(&law::STRANGE_OUTCOME, &format!("a receipt says {outcome:?}"));
        }
        let receipts = || facts.receipts.iter().map(|entry| entry.receipt.round);
        let open = facts.delivery.as_ref().map(|open| open.delivery.round);
        let mut sorted: Vec<u32> = receipts().collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            self.breaks(&law::ROUNDS, "two receipts of one round");
        }
        let newest = receipts().chain(open).max().unwrap_or(1);
        let first = receipts().chain(open).min().unwrap_or(1);
        // A redelivery follows a receipt; every other later round was begun by a person.
        let begun = receipts().filter(|round| *round < newest).count() + facts.begun;
        if first == 0 || newest as usize != begun + 1 {
            let found = format!("it is in round {newest}, but {begun} receipts and acts began one");
            self.breaks(&law::ROUNDS, &found);
        }
    }

    fn destinations(&mut self) {
        let Some(meant) = self.facts.destination() else { return };
        let delivery = self.facts.delivery.iter().map(|open| &open.destination);
        let receipts = self.facts.receipts.iter().map(|entry| &entry.destination);
        let other = delivery.chain(receipts).find(|name| name.as_str() != meant).cloned();
        if let Some(other) = other {
            let found = format!("meant for {meant}, but a row beside it says {other}");
            self.breaks(&law::DESTINATION_DIFFERS, &found);
        }
    }

    fn place(&mut self) {
        let Some(row) = &self.facts.outbox else { return };
        let delivery = self.facts.delivery.iter().map(|open| open.delivery.key_seq);
        let receipts = self.facts.receipts.iter().map(|entry| entry.receipt.key_seq);
        let mut places = delivery.chain(receipts);
        let Some(first) = places.next() else { return };
        let is_none = first.is_some_and(|place| place < 1);
        if is_none
            || first.is_some() != row.ordering_key.is_some()
            || places.any(|place| place != first)
        {
            self.breaks(&law::LANE_PLACE, "its place is missing, or differs from row to row");
        }
    }

    fn digests(&mut self) {
        let facts = self.facts;
        // Of a row that cannot be decoded, the body is compared all the same.
        let unread = facts.unreadable.as_ref().and_then(|row| row.body);
        let body = self.digests.map(|digests| digests.body).or(unread);
        let Some(body) = body.filter(|_| !facts.erased) else { return };
        let kept = kept(facts);
        let is_other = kept.iter().any(|(digest, _)| digest.is_some_and(|kept| kept != body));
        if is_other {
            self.breaks(&law::BODY_CHANGED, "its body is not the one that was sent");
        }
        let Some(Digests { row: whole, .. }) = self.digests else { return };
        if !is_other && kept.iter().any(|(_, digest)| digest.is_some_and(|kept| kept != whole)) {
            // Another body changes this digest, too; it is told once.
            self.breaks(&law::ROW_CHANGED, "its row is not the one that was sent");
        }
        let bare = |entry: &&ReceiptFacts| entry.digest.is_none() || entry.row_digest.is_none();
        // Plain SQL, through which a worker reports, has no SHA-256.
        let mut settled = facts.receipts.iter().filter(|entry| entry.receipt.source == "relay");
        if let Some(entry) = settled.find(bare) {
            let round = entry.receipt.round;
            let found = format!("the receipt of round {round} has no digests");
            self.breaks(&law::DIGEST_MISSING, &found);
        }
    }

    /// A relay settles and digests only what it could read.
    fn readable(&mut self) {
        let facts = self.facts;
        if facts.outbox.is_some() {
            return;
        }
        let named = |open: &DeliveryFacts| State::from_name(&open.state_name);
        let state = facts.delivery.as_ref().and_then(named);
        let under_way = matches!(state, Some(State::Sending | State::Asking | State::Published));
        let is_digested = |(body, row): &Kept| body.is_some() || row.is_some();
        let settles = |entry: &ReceiptFacts| {
            ["relay", "question", "late attempt"].contains(&entry.receipt.source.as_str())
        };
        let what = match state {
            Some(state) if under_way => state.name(),
            _ if kept(facts).iter().any(is_digested) => "a relay has read it",
            _ if facts.receipts.iter().any(settles) => "a relay has settled it",
            _ => return,
        };
        let why = facts.unreadable.as_ref().map(|row| format!(": {}", row.why));
        let found = format!("{what}, but its row cannot be read{}", why.unwrap_or_default());
        self.breaks(&law::UNREADABLE, &found);
    }

    fn event(&mut self) {
        let Some(row) = &self.facts.outbox else { return };
        if let (Some(stream), Some(seq)) = (&row.stream, row.seq)
            && !self.facts.has_event
        {
            let found = format!("no event {seq} of stream {stream} says that it issued it");
            self.breaks(&law::EVENT_MISSING, &found);
        }
        if self.facts.unheard {
            self.breaks(&law::UNHEARD, "it has a receipt that its workflow never heard of");
        }
    }

    fn contradictions(&mut self) {
        let facts = self.facts;
        let unanswered = facts.contradictions.iter().filter(|said| !facts.is_acknowledged(said));
        for said in unanswered {
            let (round, outcome) = (said.round, &said.outcome);
            let found = format!("after the receipt of round {round} a report said {outcome}");
            self.breaks(&law::CONTRADICTED, &found);
        }
    }

    fn delivery(&mut self, open: &DeliveryFacts) {
        let Some(state) = State::from_name(&open.state_name) else {
            let found = format!("its state is {:?}", open.state_name);
            return self.breaks(&law::STRANGE_STATE, &found);
        };
        let delivery = &open.delivery;
        if state == State::Uncertain && !delivery.in_doubt {
            self.breaks(&law::UNCERTAIN_WITHOUT_DOUBT, "uncertain, but not in doubt");
        }
        if state == State::Dead && delivery.in_doubt {
            self.breaks(&law::DEAD_IN_DOUBT, "dead, but in doubt");
        }
        if let Some(found) = forgotten(self.facts, delivery) {
            self.breaks(&law::DOUBT_FORGOTTEN, &found);
        }
        self.turn(state, delivery);
    }

    /// Of what is broken already, the rest would only be an echo; a contradiction breaks no row.
    fn columns(&mut self) {
        let mut told = self.violations.iter();
        if !self.facts.has_outbox || told.any(|one| one.code != law::CONTRADICTED.code) {
            return;
        }
        let mut broken = of_receipts(self.facts);
        broken.extend(self.facts.delivery.iter().flat_map(|open| of_delivery(self.facts, open)));
        for (law, found) in broken {
            self.breaks(law, &found);
        }
    }

    fn turn(&mut self, state: State, delivery: &Delivery) {
        if state.is_parked() && delivery.available_at.is_some() {
            let found = format!("{}, but due", state.name());
            self.breaks(&law::PARKED_BUT_DUE, &found);
        }
        // A command behind another in its lane is not due until it is promoted.
        // Of a row that cannot be read, the place says that it is in one.
        let has_place = self.facts.has_outbox && delivery.key_seq.is_some();
        let row = self.facts.outbox.as_ref();
        let in_lane = row.map_or(has_place, |row| row.ordering_key.is_some());
        let blocked = state == State::Pending && in_lane;
        // A time that no column may hold does not come.
        let is_nobodys = delivery.available_at.map_or(!blocked, |at| !at.is_plausible());
        if !state.is_parked() && is_nobodys {
            let found = format!("{}, but never looked at again", state.name());
            self.breaks(&law::NOBODYS_TURN, &found);
        }
    }
}

/// The digests of a body and of a row, as far as they were kept.
type Kept = (Option<Digest>, Option<Digest>);

/// Those that were kept of the command.
fn kept(facts: &CommandFacts) -> Vec<Kept> {
    let delivery = facts.delivery.iter().map(|open| (open.digest, open.row_digest));
    let receipts = facts.receipts.iter().map(|entry| (entry.digest, entry.row_digest));
    delivery.chain(receipts).collect()
}

#[cfg(test)]
mod tests;
