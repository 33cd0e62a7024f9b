//! What the columns of an open delivery say about each other, and about the rows beside it.
//!
//! Guarantees: only what one write put down together is compared, so that clocks that step break
//! no law. Does not: know contracts, nor how long a relay waits.

use super::book::law;
use super::told::{Told, is_accepted, is_set_apart};
use super::{CommandFacts, DeliveryFacts, Law};
use crate::domain::{Delivery, Micros, OrderingKey, State, Token};

/// A law and how it is broken.
pub(super) type Broken = (&'static Law, String);

/// What is wrong with an open delivery of a known state.
pub(super) fn of_delivery(facts: &CommandFacts, open: &DeliveryFacts) -> Vec<Broken> {
    let told = Told::of_round(facts, open.delivery.round);
    let one = One { facts, open, delivery: &open.delivery, told };
    let all = [
        one.copies(),
        one.turn(),
        one.lease(),
        one.tokens(),
        one.counts(),
        one.never_claimed(),
        one.state(),
        one.words(),
        one.first_send(),
        one.doubt(),
        one.digests(),
    ];
    all.into_iter().flatten().collect()
}

struct One<'a> {
    facts: &'a CommandFacts,
    open: &'a DeliveryFacts,
    delivery: &'a Delivery,
    told: Told<'a>,
}

impl One<'_> {
    fn is(&self, state: State) -> bool {
        self.delivery.state == state
    }

    fn is_leased(&self) -> bool {
        self.delivery.lease_until.is_some()
    }

    fn copies(&self) -> Option<Broken> {
        let row = self.facts.outbox.as_ref()?;
        let key = row.ordering_key.as_ref().map(OrderingKey::as_str);
        let what = match (self.open.ordering_key.as_deref() == key, self.open.expires_at) {
            (false, _) => "ordering key",
            (true, at) if at != row.expires_at => "expiry",
            _ => return None,
        };
        Some((&law::COPY_DIFFERS, format!("its delivery has another {what} than its command")))
    }

    fn turn(&self) -> Option<Broken> {
        let has_turn = match self.open.turn {
            Some(false) => {
                return Some((&law::TURN, "it has the turn of no lane, or of another".into()));
            }
            turn => turn.is_some(),
        };
        let is_next = self.open.ordering_key.is_some() && self.delivery.available_at.is_some();
        let found = match (has_turn, is_next) {
            (true, false) => "it has the turn of its lane, and is never looked at",
            (false, true) => "it is looked at next, without the turn of its lane",
            _ => return None,
        };
        Some((&law::TURN, found.into()))
    }

    fn lease(&self) -> Option<Broken> {
        let open = self.delivery;
        let state = open.state.name();
        let found = match open.lease_until {
            None if self.is(State::Sending) => format!("{state}, without a lease"),
            None if open.lease_owner.is_some() => "somebody holds a lease that has no end".into(),
            None => return None,
            Some(_) if !(self.is(State::Sending) || self.is(State::Asking)) => {
                format!("{state}, under a lease")
            }
            Some(_) if open.lease_owner.is_none() => "nobody holds its lease".into(),
            Some(_) if open.available_at != open.lease_until => {
                "its lease does not end when it is looked at next".into()
            }
            Some(_) if self.is(State::Sending) && open.last_lease_until < open.lease_until => {
                "its lease ends later than its last one".into()
            }
            Some(_) => return None,
        };
        Some((&law::LEASE, found))
    }

    fn tokens(&self) -> Option<Broken> {
        let token = self.delivery.token;
        let receipts = self.facts.receipts.iter().map(|entry| entry.receipt.token.get());
        let attempts = self.facts.attempts.iter().map(|attempt| attempt.token);
        if let Some(newer) = receipts.chain(attempts).find(|other| *other > token.get()) {
            let found = format!("its token is {}, after {newer}", token.get());
            return Some((&law::TOKEN_ORDER, found));
        }
        // A token is the time of its claim, or later: so nothing of a claim is later than it.
        if self.delivery.round_since.is_some_and(|since| since.get() > token.get()) {
            return Some((
                &law::TOKEN_ORDER,
                "its round was claimed after its newest token".into(),
            ));
        }
        // Nothing is claimed any more once an attempt has parked it.
        let parked = self.is(State::Dead) || self.is(State::Conflict);
        let newest = self.told.newest().filter(|_| parked && !is_set_apart(self.delivery))?;
        (newest.token != token.get()).then(|| {
            (&law::TOKEN_ORDER, "its token is not that of the attempt that ended it".into())
        })
    }

    /// Probes of a breaker are attempts that do not count, so there may be more rows.
    fn counts(&self) -> Option<Broken> {
        let open = self.delivery;
        if is_set_apart(open) {
            return None;
        }
        let under_way = usize::from(self.is(State::Sending) || self.is(State::Published));
        let asking = usize::from(self.is(State::Asking) && self.is_leased());
        let (sends, asks) = (self.told.sends() + under_way, self.told.count("ask") + asking);
        let (attempts, asked) = (open.attempts as usize, open.asks as usize);
        if attempts > sends || (self.is(State::Sending) && attempts == 0) {
            let found = format!("it counts {attempts} attempts, of which {sends} are known");
            return Some((&law::COUNTS, found));
        }
        if asked != asks {
            let found = format!("it counts {asked} questions, of which {asks} are known");
            return Some((&law::COUNTS, found));
        }
        match (open.round_since, attempts, sends) {
            (None, 1.., _) => {
                Some((&law::COUNTS, "it was attempted in a round never begun".into()))
            }
            (Some(_), 0, 0) => Some((&law::COUNTS, "its round began without an attempt".into())),
            (Some(_), ..) if open.last_lease_until.is_none() => {
                Some((&law::COUNTS, "it was attempted, and no lease was ever given".into()))
            }
            _ => None,
        }
    }

    fn never_claimed(&self) -> Option<Broken> {
        let open = self.delivery;
        if open.token != Token::NONE {
            return None;
        }
        // A restore dates what it doubts, a person may clear the doubt, a receipt keeps the date.
        let may_date = open.in_doubt || self.facts.begun > 0 || !self.facts.receipts.is_empty();
        let is_fresh = open.attempts == 0
            && open.asks == 0
            && open.round_since.is_none()
            && !self.is_leased()
            && (may_date || (open.first_sent_at.is_none() && open.last_lease_until.is_none()))
            && (open.last_outcome.is_none() || is_set_apart(open));
        if !is_fresh {
            return Some((&law::NEVER_CLAIMED, "it carries what only a claim gives".into()));
        }
        let row = self.facts.outbox.as_ref()?;
        let alone = open.round == 1 && self.is(State::Pending) && row.ordering_key.is_none();
        let due = row.not_before.unwrap_or(row.recorded_at);
        (alone && open.available_at != Some(due))
            .then(|| (&law::NEVER_CLAIMED, "it is due at another time than its own".into()))
    }

    fn state(&self) -> Option<Broken> {
        let open = self.delivery;
        if is_set_apart(open) {
            return None;
        }
        let name = open.state.name();
        let newest = self.told.newest().map(|row| (row.purpose.as_str(), row.outcome.as_str()));
        let is_conflict = newest == Some(("send", "conflict"));
        let gave_up = matches!(newest, Some(("send", "not_sent" | "rejected")));
        let found = match open.state {
            State::Conflict if !is_conflict => format!("{name}, of which no attempt tells"),
            State::Dead if !gave_up => format!("{name}, though no attempt was given up"),
            State::Published if !is_accepted(open) => format!("{name}, but nobody accepted it"),
            State::Asking if !open.in_doubt => format!("{name}, but not in doubt"),
            State::Conflict | State::Sending | State::Published => return None,
            _ if is_conflict => format!("{name}, after a conflict"),
            _ if is_accepted(open) && open.attempts > 0 => format!("{name}, but accepted"),
            _ => return None,
        };
        Some((&law::STATE_UNFOUNDED, found))
    }

    /// The last words are those of the newest row since the last receipt.
    fn words(&self) -> Option<Broken> {
        let open = self.delivery;
        if is_set_apart(open) || is_accepted(open) {
            return None;
        }
        let ended = self.facts.receipts.iter().map(|entry| entry.receipt.round).max().unwrap_or(0);
        let mut rows = self.facts.attempts.iter().rev();
        let newest = rows.find(|row| {
            // A question whose lease ran out says nothing.
            let silent =
                row.purpose == "late" || (row.purpose == "ask" && row.outcome == "expired");
            row.round > ended && !silent
        });
        let words = open.last_outcome.as_deref();
        let Some(newest) = newest else {
            return words
                .map(|_| (&law::STATE_UNFOUNDED, "its last words are those of no attempt".into()));
        };
        let reason = newest.reason.as_deref()?;
        let head = match (newest.purpose.as_str(), newest.outcome.as_str()) {
            ("ask", "not_believed") => "asked: not_there: ".into(),
            ("ask", outcome) => format!("asked: {outcome}: "),
            ("receipt", _) | (_, "expired") => "unknown: ".into(),
            (_, outcome) => format!("{outcome}: "),
        };
        let same = words.and_then(|words| words.strip_prefix(&head)) == Some(reason);
        (!same).then(|| {
            (&law::STATE_UNFOUNDED, "its last words are not those of its newest attempt".into())
        })
    }

    fn first_send(&self) -> Option<Broken> {
        let open = self.delivery;
        let is_alone = self.facts.receipts.is_empty();
        let broken = |found: &str| Some((&law::FIRST_SEND, found.to_owned()));
        let Some(first) = open.first_sent_at else {
            let acted = open.in_doubt && self.facts.begun == 0 && open.token != Token::NONE;
            let is_sent = self.is(State::Sending) || self.is(State::Published);
            let is_known = !is_set_apart(open) && (is_sent || acted);
            return is_known.then(|| broken("it was sent, and no first send stands")).flatten();
        };
        if self.facts.was_restored_from(first) || is_set_apart(open) {
            return None;
        }
        let waits = self.is(State::Pending) || self.is(State::Dead);
        // A conflict that is retried keeps its first send.
        if !open.in_doubt && is_alone && waits && self.facts.begun == 0 {
            return broken("nothing of it was sent, but a first send stands");
        }
        if first.get() > open.token.get() {
            return broken("its first send is later than its newest token");
        }
        // Every attempt of the round may have acted: so the first one set both.
        let may_have = |row: &super::AttemptFacts| {
            row.purpose == "receipt"
                || ["unknown", "expired", "conflict"].contains(&row.outcome.as_str())
        };
        let under_way = usize::from(self.is(State::Sending) || self.is(State::Published));
        let all = open.attempts as usize == self.told.sends() + under_way
            && !self.told.any(|row| row.purpose == "ask" || !may_have(row));
        let since = open.round_since.filter(|_| all && open.round == 1 && is_alone)?;
        (since != first)
            .then(|| broken("its first send is not that of its first attempt"))
            .flatten()
    }

    /// What is redelivered may be in doubt for the sends of an earlier round.
    fn doubt(&self) -> Option<Broken> {
        let open = self.delivery;
        let is_first = self.facts.begun == 0 && self.facts.receipts.is_empty();
        if !open.in_doubt || !is_first || is_set_apart(open) {
            return None;
        }
        let acted = self.facts.attempts.iter().any(|row| {
            row.purpose == "receipt" || (row.purpose == "send" && row.outcome != "not_sent")
        });
        let restored = self.facts.restores.iter().any(|restore| {
            let at = restore.recorded_at;
            let recorded = self.facts.outbox.as_ref().map(|row| row.recorded_at);
            recorded.is_none_or(|recorded| at >= recorded)
                || open.last_lease_until.is_some_and(|until| until >= at)
        });
        (!acted && !restored)
            .then(|| (&law::DOUBT_UNFOUNDED, "in doubt, though nothing of it was sent".into()))
    }

    /// Whatever ends an attempt writes them, and a retry keeps them; a redelivery begins without.
    fn digests(&self) -> Option<Broken> {
        let ended = self.facts.receipts.iter().map(|entry| entry.receipt.round).max().unwrap_or(0);
        let since = |row: &super::AttemptFacts| row.purpose != "late" && row.round > ended;
        let settled = self.facts.attempts.iter().any(since) || self.is(State::Published);
        let bare = self.open.digest.is_none() || self.open.row_digest.is_none();
        (settled && bare && !is_set_apart(self.delivery) && self.facts.outbox.is_some())
            .then(|| (&law::DIGEST_MISSING, "its delivery has no digests".into()))
    }
}

impl CommandFacts {
    /// Whether a restore may have set that time: it is when a backup was taken.
    pub(super) fn was_restored_from(&self, time: Micros) -> bool {
        self.restores.iter().any(|restore| restore.taken_at == time)
    }
}
