//! What the audit reads: facts about commands and events, and totals.
//!
//! Guarantees: orphans are told too; a page is one snapshot. Does not: judge.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::laws::{
    AttemptFacts, CommandFacts, ContradictionFacts, DeliveryFacts, EventFacts, ReceiptFacts,
    RestoreFacts, Totals, UnreadableFacts,
};
use counterfoil_core::domain::{Digest, Micros, State};
use counterfoil_core::port::act::restored_from;
use counterfoil_core::port::read::{Facts, FactsFrom};

use super::rows::{
    ActionEntry, AttemptEntry, ContradictionEntry, OutboxEntry, ReceiptEntry, Rows, Unreadable,
};
use super::story::state_name;

impl Rows {
    pub(super) fn facts(&self, from: FactsFrom, limit: usize, now: Micros) -> Facts {
        let mut all: BTreeSet<i64> = self.deliveries.range(from.n..).map(|(n, _)| *n).collect();
        if !from.open_only {
            all.extend(self.outbox.range(from.n..).map(|(n, _)| *n));
            all.extend(self.receipts.range((from.n, 0)..).map(|((n, _), _)| *n));
            all.extend(self.attempts.range(from.n..).map(|(n, _)| *n));
        }
        let last = all.len() <= limit;
        let commands = all.into_iter().take(limit).map(|n| self.facts_of(n)).collect();
        Facts { now, commands, last }
    }

    pub(super) fn facts_of(&self, n: i64) -> CommandFacts {
        let outbox = self.outbox.get(&n);
        let id = outbox.map_or_else(|| format!("n={n}"), OutboxEntry::id_text);
        let acts = || self.actions.iter().filter(|action| action.about == id);
        let not_done = |action: &&ActionEntry| {
            action.verb == "resolve" && action.after == State::Pending.name()
        };
        let retries = acts().filter(|action| action.verb == "retry").count();
        CommandFacts {
            n,
            outbox: outbox.and_then(|entry| entry.row.as_ref().ok()).map(|row| (**row).clone()),
            has_outbox: outbox.is_some(),
            unreadable: outbox.and_then(|entry| entry.row.as_ref().err()).map(unreadable),
            erased: outbox.is_some_and(OutboxEntry::is_erased),
            has_erase: acts().any(|action| action.verb == "erase"),
            delivery: self.deliveries.get(&n).map(|entry| DeliveryFacts {
                delivery: entry.delivery.clone(),
                state_name: state_name(entry),
                destination: entry.destination.clone(),
                ordering_key: self.lane_of(n).map(|(_, key)| key),
                expires_at: outbox.and_then(OutboxEntry::expires_at),
                turn: self.lane_of(n).and(entry.delivery.available_at).map(|_| true),
                digest: entry.digests.map(|(digest, _)| digest),
                row_digest: entry.digests.map(|(_, row)| row),
            }),
            receipts: self.receipt_facts(n),
            strange_outcomes: Vec::new(),
            attempts: self.attempt_facts(n),
            cleared_at: acts().filter(not_done).map(|action| action.recorded_at).collect(),
            begun: retries + acts().filter(not_done).count(),
            reopened: acts()
                .filter(|action| action.verb == "redeliver")
                .map(|action| action.before.clone())
                .collect(),
            restores: self.restores(),
            archived: self.archived.contains_key(&id),
            has_event: outbox.is_some_and(|entry| self.was_issued(entry)),
            unheard: outbox.is_some_and(|entry| self.is_unheard(n, entry)),
            contradictions: self.contradiction_facts(&id),
            acknowledged_at: self.acknowledged_at(&id),
            id,
        }
    }

    fn restores(&self) -> Vec<RestoreFacts> {
        let restored = self.actions.iter().filter(|action| action.verb == "restored");
        let facts = restored.filter_map(|action| {
            let taken_at = restored_from(&action.reason)?;
            Some(RestoreFacts { taken_at, recorded_at: action.recorded_at })
        });
        facts.collect()
    }

    pub(super) fn receipt_facts(&self, n: i64) -> Vec<ReceiptFacts> {
        let told = |entry: &ReceiptEntry| ReceiptFacts {
            arrival: entry.receipt.recorded_at.get(),
            receipt: entry.receipt.clone(),
            destination: entry.destination.clone(),
            digest: entry.digests.map(|(digest, _)| digest),
            row_digest: entry.digests.map(|(_, row)| row),
        };
        self.receipts_of(n).map(told).collect()
    }

    pub(super) fn attempt_facts(&self, n: i64) -> Vec<AttemptFacts> {
        let told = |entry: &AttemptEntry| AttemptFacts {
            arrival: entry.ended_at.get(),
            token: entry.attempted.token.get(),
            started_at: entry.started_at,
            reason: Some(entry.attempted.reason.clone()),
            round: entry.attempted.round,
            purpose: entry.attempted.purpose.name().into(),
            outcome: entry.attempted.outcome.into(),
            ended_at: entry.ended_at,
        };
        self.attempts.get(&n).into_iter().flatten().map(told).collect()
    }

    pub(super) fn contradiction_facts(&self, id: &str) -> Vec<ContradictionFacts> {
        let about = self.contradictions.iter().zip(1..).filter(|(said, _)| said.command_id == id);
        about.map(|(said, arrival)| said.facts(arrival)).collect()
    }

    /// Whether the event that the row names stands, and issued a command of its index.
    fn was_issued(&self, entry: &OutboxEntry) -> bool {
        let Ok(row) = &entry.row else { return false };
        let (Some(stream), Some(seq)) = (&row.stream, row.seq) else { return false };
        let event = self.events.get(&(stream.as_str().to_owned(), seq));
        event.is_some_and(|event| row.idx.is_some_and(|idx| event.commands > idx))
    }

    pub(super) fn event_facts(
        &self,
        after: Option<&(String, i64)>,
        limit: usize,
    ) -> Vec<EventFacts> {
        let mut found: BTreeMap<(&str, i64), i64> = BTreeMap::new();
        for row in self.outbox.values().filter_map(|entry| entry.row.as_ref().ok()) {
            if let (Some(stream), Some(seq)) = (&row.stream, row.seq) {
                *found.entry((stream.as_str(), seq)).or_default() += 1;
            }
        }
        for id in self.archived.keys() {
            let mut parts = id.rsplitn(3, ':');
            if let (Some(_), Some(seq), Some(stream)) = (parts.next(), parts.next(), parts.next())
                && let Ok(seq) = seq.parse()
            {
                *found.entry((stream, seq)).or_default() += 1;
            }
        }
        let mut before: Option<(&str, i64)> = None;
        let mut facts = Vec::new();
        for ((stream, seq), event) in &self.events {
            let seq_before = before.filter(|(name, _)| name == stream).map_or(0, |(_, seq)| seq);
            before = Some((stream, *seq));
            let key = (stream.clone(), *seq);
            if after.is_some_and(|after| key <= *after) {
                continue;
            }
            if facts.len() >= limit {
                break;
            }
            facts.push(EventFacts {
                stream: stream.clone(),
                seq: *seq,
                seq_before,
                commands: event.commands,
                found: found.get(&(stream.as_str(), *seq)).copied().unwrap_or(0),
                body: self.body_facts(event),
            });
        }
        facts
    }

    pub(super) fn totals(&self) -> Vec<Totals> {
        let mut totals: BTreeMap<String, Totals> = BTreeMap::new();
        let mut tallies: BTreeMap<(String, String), (i64, i64)> = BTreeMap::new();
        for entry in self.outbox.values() {
            of(&mut totals, entry.destination()).outbox += 1;
        }
        for tomb in self.archived.values() {
            of(&mut totals, &tomb.destination).archived += 1;
            let key = (tomb.destination.clone(), tomb.outcome.clone());
            tallies.entry(key).or_default().1 += 1;
        }
        for entry in self.deliveries.values() {
            of(&mut totals, &entry.destination).open += 1;
        }
        for (key, count) in &self.tally {
            tallies.entry(key.clone()).or_default().0 += count;
        }
        let ended: BTreeMap<i64, _> =
            self.receipts.iter().map(|((n, _), entry)| (*n, entry)).collect();
        for (n, entry) in ended {
            if !self.deliveries.contains_key(&n) {
                let outcome = entry.receipt.outcome.name().to_owned();
                tallies.entry((entry.destination.clone(), outcome)).or_default().1 += 1;
            }
        }
        for ((destination, outcome), (tally, receipts)) in tallies {
            of(&mut totals, &destination).tally.push((outcome, tally, receipts));
        }
        totals.into_values().collect()
    }
}

fn unreadable(row: &Unreadable) -> UnreadableFacts {
    let body = Some(Digest::of(&row.body));
    UnreadableFacts { why: row.why.clone(), destination: row.destination.clone(), body }
}

impl ContradictionEntry {
    pub(super) fn facts(&self, arrival: i64) -> ContradictionFacts {
        ContradictionFacts {
            arrival,
            result: self.report.result.clone(),
            evidence: self.report.evidence.clone(),
            source: self.report.source.clone(),
            round: self.round,
            outcome: self.report.outcome.name().into(),
            recorded_at: self.recorded_at,
        }
    }
}

fn of<'t>(totals: &'t mut BTreeMap<String, Totals>, destination: &str) -> &'t mut Totals {
    totals.entry(destination.to_owned()).or_insert_with(|| Totals {
        destination: destination.to_owned(),
        outbox: 0,
        archived: 0,
        open: 0,
        tally: Vec::new(),
    })
}
