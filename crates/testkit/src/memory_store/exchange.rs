//! Settles, renewals and claims in one step, and what is due.
//!
//! Guarantees: a takeover whose outcome allows it is claimed again in the same exchange; a row
//! that cannot be read parks itself alone. Does not: claim at paused destinations, or under a
//! contract that is not the stored one.

use std::collections::BTreeSet;

use counterfoil_core::domain::{
    Destination, Digest, Input, Micros, Position, Reason, Seed, State, Stream, lane, transition,
};
use counterfoil_core::port::Announce;
use counterfoil_core::port::store::{
    ClaimFrom, Claimed, Ended, Exchange, Exchanged, ParkedNow, Remaining, Renew, Reported, Settle,
    Settled,
};

use super::rows::{Beside, Change, DeliveryEntry, OutboxEntry, Rows};

/// A takeover, a question and a claim: no look at one delivery takes more steps.
const STEPS_MAX: usize = 4;

/// Who looks, when, with which jitter.
struct Look<'a> {
    from: &'a ClaimFrom,
    owner: &'a str,
    seed: u64,
    now: Micros,
}

impl Rows {
    /// What an exchange did, and whether it wrote anything.
    pub(super) fn exchange(&mut self, exchange: &Exchange, now: Micros) -> (Exchanged, bool) {
        let mut done = Exchanged::default();
        let mut parked = Vec::new();
        let mut settles: Vec<_> = exchange.settles.iter().enumerate().collect();
        settles.sort_by_key(|(_, settle)| settle.claimed.delivery.n);
        done.settled = vec![Settled::Ignored(Reason::StaleToken); settles.len()];
        for (at, settle) in settles {
            done.settled[at] = self.settle(settle, now);
            if matches!(done.settled[at], Settled::Open(state) if state.is_parked()) {
                parked.extend(self.parked_now(settle.claimed.delivery.n, now));
            }
        }
        let mut renewed = false;
        for renewal in &exchange.renewals {
            if self.renew(renewal, now) {
                renewed = true;
            } else {
                done.lost.push(renewal.n);
            }
        }
        let looked = self.claim_all(exchange, now, &mut done);
        parked.extend_from_slice(&done.parked);
        self.alert(exchange.announce.as_ref(), &parked, now);
        let wrote = !done.settled.is_empty() || renewed || looked;
        (done, wrote)
    }

    /// Records an alert of each that is parked, once a round of its command.
    pub(super) fn alert(&mut self, announce: Option<&Announce>, parked: &[ParkedNow], now: Micros) {
        let alerts = parked.iter().filter_map(|parked| announce?.alert(parked, now));
        for alert in alerts.collect::<Vec<_>>() {
            let _repeats_are_nothing = self.record(alert, usize::MAX, now);
        }
    }

    /// A settle so late that nothing but a tombstone is left.
    fn settle_archived(&mut self, settle: &Settle, now: Micros) -> Settled {
        let ignored = Settled::Ignored(Reason::Ended);
        let Some(report) = settle.late_report() else { return ignored };
        match self.report_archived(&settle.claimed.command.command_id, report, now) {
            (Reported::Contradiction, _) => Settled::Contradicted,
            _ => ignored,
        }
    }

    fn settle(&mut self, settle: &Settle, now: Micros) -> Settled {
        let claimed = &settle.claimed;
        let (n, token) = (claimed.delivery.n, claimed.delivery.token);
        let seed = settle.seed;
        let Some(position) = self.position(n) else {
            return self.settle_archived(settle, now);
        };
        let input = match settle.ended.clone() {
            Ended::Outcome(outcome) => {
                let (round, burns) = (claimed.delivery.round, settle.burns);
                let stands = match &position {
                    Position::Open(open) => open.round,
                    Position::Ended(ended) => ended.round,
                };
                let ended_as = (stands > round).then(|| self.receipts.get(&(n, round))).flatten();
                let ended_as = ended_as.map(|entry| entry.receipt.outcome);
                Input::Settled { token, round, ended_as, outcome, burns, seed }
            }
            Ended::Answer(answer) => Input::Answered { token, answer, seed },
            Ended::HandedBack => Input::HandedBack { token },
        };
        // The attempt of another lease proves nothing about the row as it stands now.
        let own = matches!(&position, Position::Open(open) if open.token == token);
        let digests = own.then_some((claimed.digest, claimed.row_digest));
        let beside =
            Beside { digests, started_at: Some(settle.started_at), now, keeps_turn: false };
        let waits = |stream: &Stream| self.streams.contains_key(stream.as_str());
        let is_waited_for =
            settle.depends_on_who_asked() && claimed.command.stream.as_ref().is_some_and(waits);
        let next = match is_waited_for {
            true => transition(&position, input, &settle.terms.for_workflow(), now),
            false => transition(&position, input, &settle.terms, now),
        };
        match self.apply(n, next, beside) {
            Change::Open(state) => Settled::Open(state),
            Change::Ended(outcome) => Settled::Ended(outcome),
            Change::Contradicted => Settled::Contradicted,
            Change::Ignored(reason) | Change::Refused(reason) => Settled::Ignored(reason),
        }
    }

    fn renew(&mut self, renewal: &Renew, now: Micros) -> bool {
        let Some(position) = self.position(renewal.n) else {
            return false;
        };
        let input = Input::Renewed { token: renewal.token };
        let renewed = transition(&position, input, &renewal.terms, now);
        let beside = Beside { now, ..Beside::default() };
        matches!(self.apply(renewal.n, renewed, beside), Change::Open(_))
    }

    fn claim_all(&mut self, exchange: &Exchange, now: Micros, done: &mut Exchanged) -> bool {
        let mut looked = false;
        for from in &exchange.claim_from {
            let name = from.destination.as_str();
            let stored = self.destinations.get(name).and_then(|entry| entry.contract.as_ref());
            if stored != Some(&from.terms.contract) {
                done.differing.push(from.destination.clone());
                continue;
            }
            if self.is_paused(name) {
                continue;
            }
            let look = Look { from, owner: &exchange.owner, seed: exchange.seed, now };
            let mut left = from.limit.min(exchange.claim_limit.saturating_sub(done.claimed.len()));
            loop {
                let mut due = self.due_at(name, now);
                let more = due.len() > left;
                due.truncate(left);
                looked |= !due.is_empty();
                let (count, claimed) = (due.len(), done.claimed.len());
                for n in due {
                    left -= usize::from(self.look(n, &look, done));
                }
                // Who ended or was parked gave the turn of its lane to another.
                if done.claimed.len() - claimed == count {
                    done.more |= more;
                    break;
                }
            }
        }
        looked
    }

    /// What is due at a destination, the longest due first.
    fn due_at(&self, destination: &str, now: Micros) -> Vec<i64> {
        let due = |(n, entry): (&i64, &DeliveryEntry)| {
            let at = entry.delivery.available_at.filter(|at| *at <= now)?;
            (entry.destination == destination && entry.strange_state.is_none()).then_some((at, *n))
        };
        let mut found: Vec<_> = self.deliveries.iter().filter_map(due).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, n)| n).collect()
    }

    /// Looks at one due delivery; whether it was claimed.
    fn look(&mut self, n: i64, look: &Look<'_>, done: &mut Exchanged) -> bool {
        let mut taken_over = false;
        for step in 0..STEPS_MAX {
            let Some(before @ Position::Open(_)) = self.position(n) else { return false };
            let Position::Open(open) = &before else { return false };
            let was_leased = open.lease_until.is_some();
            let row = self.outbox.get(&n).map(|entry| entry.row.clone());
            let input = match &row {
                Some(Ok(row)) => Input::Due {
                    owner: look.owner.to_owned(),
                    expires_at: row.expires_at,
                    seed: Seed(look.seed.wrapping_add(n.unsigned_abs()).wrapping_add(step as u64)),
                },
                Some(Err(unreadable)) => Input::Unreadable { reason: unreadable.why.clone() },
                None => Input::Unreadable { reason: "its outbox row is missing".into() },
            };
            let next = transition(&before, input, &look.from.terms, look.now);
            // A takeover and its claim are one look: the turn stays meanwhile.
            let beside = Beside { now: look.now, keeps_turn: true, ..Beside::default() };
            let change = self.apply(n, next, beside);
            let stays = matches!(change, Change::Open(state) if !state.is_parked());
            if let Some(lane) = self.lane_of(n).filter(|_| !stays) {
                self.give_turn(&lane, look.now);
            }
            if let (Change::Ended(_), Some(Ok(row))) = (&change, &row) {
                // Nothing but its expiry ends a command that is merely due.
                done.expired.push((row.command_id.to_string(), row.destination.to_string()));
            }
            let Change::Open(state) = change else { return false };
            if state.is_parked() {
                done.parked.extend(self.parked_now(n, look.now));
                return false;
            }
            let Some(entry) = self.deliveries.get(&n) else { return false };
            if entry.delivery.lease_until.is_some() {
                let Some(Ok(command)) = row else { return false };
                let digest = Digest::of(&command.body);
                let row_digest = command.row_digest(digest);
                let delivery = entry.delivery.clone();
                done.claimed.push(Claimed { command, delivery, digest, row_digest, taken_over });
                return true;
            }
            taken_over |= was_leased;
            if entry.delivery.available_at.is_none_or(|at| at > look.now) {
                // Put off: one that a person sent back to before it goes first.
                if let Some(lane) = self.lane_of(n) {
                    self.give_turn(&lane, look.now);
                }
                return false;
            }
        }
        false
    }

    pub(super) fn parked_now(&self, n: i64, now: Micros) -> Option<ParkedNow> {
        let entry = self.deliveries.get(&n)?;
        let expires_at = self.outbox.get(&n).and_then(OutboxEntry::expires_at);
        let command = self.outbox.get(&n).map_or_else(|| format!("n={n}"), OutboxEntry::id_text);
        Some(ParkedNow {
            command,
            destination: entry.destination.clone(),
            kind: self.outbox.get(&n).map_or_else(String::new, OutboxEntry::kind_text),
            round: entry.delivery.round,
            in_doubt: entry.delivery.in_doubt,
            state: entry.delivery.state,
            reason: ParkedNow::due_reason(&entry.delivery, expires_at, now),
        })
    }

    pub(super) fn next_due(&self, destinations: &[Destination]) -> Option<Micros> {
        let served = |entry: &&DeliveryEntry| {
            destinations.iter().any(|name| name.as_str() == entry.destination)
                && !self.is_paused(&entry.destination)
        };
        self.deliveries
            .values()
            .filter(served)
            .filter_map(|entry| entry.delivery.available_at)
            .min()
    }

    pub(super) fn awaiting(&self) -> Vec<String> {
        let due = self.deliveries.values().filter(|entry| entry.delivery.available_at.is_some());
        let names: BTreeSet<&str> = due.map(|entry| entry.destination.as_str()).collect();
        names.into_iter().map(str::to_owned).collect()
    }

    pub(super) fn remaining(&self, destinations: &[Destination], now: Micros) -> Remaining {
        let mut left = Remaining::default();
        for (n, entry) in &self.deliveries {
            let state = entry.delivery.state;
            if !destinations.iter().any(|name| name.as_str() == entry.destination) {
                left.unserved += 1;
            } else if state.is_parked() {
                left.parked += 1;
            } else if self.is_paused(&entry.destination) {
                left.paused += 1;
                // An attempt in flight goes on to its end, pause or not.
                left.busy += u64::from(entry.delivery.lease_until.is_some_and(|at| at > now));
            } else {
                left.busy += u64::from(self.is_busy(*n, state, now));
            }
        }
        left
    }

    /// Whether its own `not_before` holds it.
    fn is_early(&self, n: i64, now: Micros) -> bool {
        let row = self.outbox.get(&n).and_then(|entry| entry.row.as_ref().ok());
        let not_before = row.and_then(|row| row.not_before).is_some_and(|at| at > now);
        let due = self.deliveries.get(&n).and_then(|entry| entry.delivery.available_at);
        not_before && due.is_none_or(|at| at > now)
    }

    fn is_busy(&self, n: i64, state: State, now: Micros) -> bool {
        match state {
            State::Pending if self.is_early(n, now) => false,
            State::Pending => self.lane_works(n, now),
            State::Sending | State::Asking => true,
            State::Published | State::Dead | State::Uncertain | State::Conflict => false,
        }
    }

    /// Whether a relay works on who has the turn of its lane now; without a lane it has the turn.
    fn lane_works(&self, n: i64, now: Micros) -> bool {
        let waits = self.deliveries.get(&n).is_some_and(|it| lane::is_blocked(&it.delivery));
        let Some(lane) = self.lane_of(n).filter(|_| waits) else { return true };
        match self.holder(&lane) {
            Some((holder, State::Pending)) => !self.is_early(holder, now),
            Some((_, state)) => state != State::Published,
            None => !self.head_is_parked(&lane),
        }
    }
}
