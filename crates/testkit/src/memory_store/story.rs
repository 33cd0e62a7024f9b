//! What people see: counts, lists, and the story of one command.
//!
//! Guarantees: rows that cannot be decoded are shown, too. Does not: change anything.

use counterfoil_core::domain::{Micros, OutboxRow, Span, State};
use counterfoil_core::port::read::{Expiring, Filter, Listed, ReceiptStory, Status, Story, Told};
use counterfoil_core::port::store::StoreError;

use super::rows::{ActionEntry, DeliveryEntry, OutboxEntry, ReceiptEntry, Rows};

/// The limit of a list that names none.
const LIMIT: usize = 100;

impl Rows {
    pub(super) fn status(&self, now: Micros) -> Status {
        let mut status = Status { now, ..Status::default() };
        for entry in self.deliveries.values() {
            let states = status.destinations.entry(entry.destination.clone()).or_default();
            *states.entry(state_name(entry)).or_default() += 1;
            if let Some(at) = self.pending_expiry(entry) {
                let first = Expiring { count: 0, first: at };
                let expiring = status.expiring.entry(entry.destination.clone()).or_insert(first);
                *expiring = Expiring { count: expiring.count + 1, first: expiring.first.min(at) };
            }
            if let Some(at) = entry.delivery.available_at.filter(|at| *at <= now) {
                let oldest =
                    status.oldest_due.entry(entry.destination.clone()).or_insert(Span::ZERO);
                *oldest = (*oldest).max(now.since(at));
            }
        }
        for ((destination, outcome), count) in self.tally.iter().filter(|(_, count)| **count != 0) {
            let states = status.destinations.entry(destination.clone()).or_default();
            *states.entry(outcome.clone()).or_default() += count.unsigned_abs();
        }
        for (name, entry) in &self.destinations {
            if entry.contract.is_some() {
                status.declared.push(name.clone());
            }
            if let Some(why) = &entry.paused {
                status.paused.insert(name.clone(), why.clone());
                let by = entry.paused_by.clone().unwrap_or_default();
                status.paused_by.insert(name.clone(), by);
            }
        }
        status.blocked = self.blocked_lanes();
        status.workflows = self.still_workflows(now);
        status
    }

    fn pending_expiry(&self, entry: &DeliveryEntry) -> Option<Micros> {
        let is_pending = entry.delivery.state == State::Pending && entry.strange_state.is_none();
        let row = self.outbox.get(&entry.delivery.n).filter(|_| is_pending)?;
        row.expires_at()
    }

    pub(super) fn list(&self, filter: &Filter) -> Result<Vec<Listed>, StoreError> {
        let limit = if filter.limit == 0 { LIMIT } else { filter.limit };
        let after = match filter.after.as_deref() {
            None => 0,
            Some(id) => self.n_of(id).ok_or_else(|| StoreError::NoCursor { id: id.into() })?,
        };
        let listed = self
            .outbox
            .range(after + 1..)
            .filter_map(|(n, entry)| {
                let listed = self.listed(*n, entry);
                matches(filter, entry, &listed).then_some(listed)
            })
            .take(limit)
            .collect();
        Ok(listed)
    }

    fn listed(&self, n: i64, entry: &OutboxEntry) -> Listed {
        let kind = entry.row.as_ref().map_or_else(|_| String::new(), |row| row.kind.to_string());
        let listed = Listed {
            command_id: entry.id_text(),
            destination: entry.destination().to_owned(),
            kind,
            state: "missing".into(),
            round: 0,
            attempts: 0,
            in_doubt: false,
            available_at: None,
            token: 0,
            recorded_at: entry.recorded_at(),
            last_outcome: None,
            expires_at: entry.expires_at(),
            first_sent_at: None,
            is_erased: entry.is_erased(),
        };
        if let Some(open) = self.deliveries.get(&n) {
            let delivery = &open.delivery;
            return Listed {
                state: state_name(open),
                round: delivery.round,
                attempts: delivery.attempts,
                in_doubt: delivery.in_doubt,
                available_at: delivery.available_at,
                token: delivery.token.get(),
                last_outcome: delivery.last_outcome.clone(),
                first_sent_at: delivery.first_sent_at,
                ..listed
            };
        }
        match self.receipts_of(n).next_back() {
            Some(ReceiptEntry { receipt, .. }) => Listed {
                state: receipt.outcome.name().into(),
                round: receipt.round,
                attempts: receipt.attempts,
                token: receipt.token.get(),
                first_sent_at: receipt.first_sent_at,
                ..listed
            },
            None => listed,
        }
    }

    pub(super) fn show(&self, command_id: &str) -> Option<Story> {
        let Some((n, entry)) = self.n_of(command_id).and_then(|n| Some((n, self.outbox.get(&n)?)))
        else {
            return self.tombstone(command_id);
        };
        let delivery = self.deliveries.get(&n).map(|open| &open.delivery);
        let row = entry.row.as_ref().ok();
        let place = |row: &OutboxRow| Some((row.stream.as_ref()?.to_string(), row.seq?, row.idx?));
        let newest = self.receipts_of(n).next_back().map(|entry| &entry.receipt);
        let mut story = Story {
            listed: self.listed(n, entry),
            decision: row.and_then(|row| place(row)),
            body: row.filter(|_| !entry.is_erased()).map(|row| row.body.clone()),
            content_type: row.map(|row| row.content_type.clone()).unwrap_or_default(),
            headers: row.and_then(|row| row.headers.clone()),
            not_before: row.and_then(|row| row.not_before),
            expires_at: row.and_then(|row| row.expires_at),
            delivery: delivery.cloned(),
            first_sent_at: match delivery {
                Some(open) => open.first_sent_at,
                None => newest.and_then(|receipt| receipt.first_sent_at),
            },
            lease: delivery.and_then(|open| {
                Some((open.lease_until?, open.lease_owner.clone().unwrap_or_default()))
            }),
            lane: self.lane_place(n),
            receipts: self.receipts_of(n).map(receipt_story).collect(),
            tries: self.tries(n, command_id),
            actions: self.actions_about(command_id),
            contradicted: self.is_contradicted(command_id),
            archived: false,
        };
        self.add_restores(&mut story);
        Some(story)
    }

    /// Of an archived command the tombstone is left.
    fn tombstone(&self, command_id: &str) -> Option<Story> {
        let tomb = self.archived.get(command_id)?;
        let listed = Listed {
            command_id: command_id.to_owned(),
            destination: tomb.destination.clone(),
            kind: tomb.kind.clone(),
            state: tomb.outcome.clone(),
            round: tomb.rounds,
            attempts: 0,
            in_doubt: false,
            available_at: None,
            token: 0,
            recorded_at: Micros::default(),
            last_outcome: None,
            expires_at: None,
            first_sent_at: None,
            is_erased: false,
        };
        Some(Story {
            listed,
            decision: None,
            body: None,
            content_type: String::new(),
            headers: None,
            not_before: None,
            expires_at: None,
            first_sent_at: None,
            delivery: None,
            lease: None,
            lane: None,
            receipts: Vec::new(),
            tries: self.contradictions_of(command_id).collect(),
            actions: self.actions_about(command_id),
            contradicted: self.is_contradicted(command_id),
            archived: true,
        })
    }

    /// Adds the restores that found it open: they put it in doubt.
    fn add_restores(&self, story: &mut Story) {
        let restores = self.actions.iter().filter(|entry| entry.verb == "restored");
        let found = restores.filter(|entry| story.was_open_at(entry.recorded_at)).map(action);
        let found: Vec<_> = found.collect();
        story.actions.extend(found);
        story.actions.sort_by_key(|told| told.at);
    }

    fn tries(&self, n: i64, command_id: &str) -> Vec<Told> {
        let attempts = self.attempts.get(&n).into_iter().flatten().map(|entry| Told {
            at: entry.ended_at,
            what: entry.attempted.purpose.name().into(),
            outcome: entry.attempted.outcome.into(),
            reason: entry.attempted.reason.clone(),
            round: entry.attempted.round,
            token: entry.attempted.token.get(),
        });
        let mut tries: Vec<_> = attempts.chain(self.contradictions_of(command_id)).collect();
        tries.sort_by_key(|told| told.at);
        tries
    }

    fn contradictions_of(&self, command_id: &str) -> impl Iterator<Item = Told> {
        let about = self.contradictions.iter().filter(move |entry| entry.command_id == command_id);
        about.map(|entry| Told {
            at: entry.recorded_at,
            what: "contradiction".into(),
            outcome: entry.report.outcome.name().into(),
            reason: entry.report.evidence.clone().unwrap_or_default(),
            round: entry.round,
            token: 0,
        })
    }

    fn actions_about(&self, command_id: &str) -> Vec<Told> {
        // A destination, or the store, may be called like a command.
        let elsewhere = ["pause", "resume", "restored", "reseal"];
        let about = self
            .actions
            .iter()
            .filter(|entry| entry.about == command_id && !elsewhere.contains(&entry.verb.as_str()));
        about.map(action).collect()
    }
}

fn action(entry: &ActionEntry) -> Told {
    Told {
        at: entry.recorded_at,
        what: entry.verb.clone(),
        outcome: entry.actor.clone(),
        reason: entry.reason.clone(),
        round: 0,
        token: 0,
    }
}

pub(super) fn state_name(entry: &DeliveryEntry) -> String {
    entry.strange_state.clone().unwrap_or_else(|| entry.delivery.state.name().into())
}

fn receipt_story(entry: &ReceiptEntry) -> ReceiptStory {
    let receipt = &entry.receipt;
    ReceiptStory {
        round: receipt.round,
        outcome: receipt.outcome.name().into(),
        result: receipt.result.clone(),
        evidence: receipt.evidence.clone(),
        source: Some(receipt.source.clone()),
        attempts: receipt.attempts,
        token: receipt.token.get(),
        first_sent_at: receipt.first_sent_at,
        digest: entry.digests.map(|(digest, _)| digest.to_hex()),
        recorded_at: receipt.recorded_at,
    }
}

fn matches(filter: &Filter, entry: &OutboxEntry, listed: &Listed) -> bool {
    let parked = ["dead", "uncertain", "conflict"].contains(&listed.state.as_str());
    let state = |wanted: &String| *wanted == listed.state || (wanted == "parked" && parked);
    let stream = entry.row.as_ref().ok().and_then(|row| row.stream.as_ref());
    let in_reason = |text: &String| {
        listed.last_outcome.as_ref().is_some_and(|outcome| outcome.contains(text.as_str()))
    };
    filter.state.as_ref().is_none_or(state)
        && filter.destination.as_ref().is_none_or(|name| *name == listed.destination)
        && filter.kind.as_ref().is_none_or(|kind| *kind == listed.kind)
        && filter.stream.as_deref().is_none_or(|name| stream.is_some_and(|s| s.as_str() == name))
        && filter.reason.as_ref().is_none_or(in_reason)
        && filter.since.is_none_or(|since| listed.recorded_at >= since)
        && filter.until.is_none_or(|until| listed.recorded_at < until)
}
