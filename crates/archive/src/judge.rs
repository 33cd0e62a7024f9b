//! The laws that a command must keep before it may leave the store.
//!
//! Guarantees: what breaks a law is named and stays, so that its evidence stays, too. Does not:
//! judge what the store itself keeps back.

use counterfoil_core::domain::laws::{CommandFacts, Violation, law, of_command};
use counterfoil_core::domain::{ReceiptOutcome, State, Stream};
use counterfoil_core::port::archive::{Archive, Entry};
use counterfoil_core::port::store::StoreError;

use crate::line::digests;

/// Those of a page that may leave, and what the others break.
pub(crate) struct Judged {
    pub(crate) sound: Vec<Entry>,
    pub(crate) broken: Vec<Vec<Violation>>,
}

/// Judges a page.
pub(crate) async fn judge<S: Archive>(
    store: &S,
    entries: Vec<Entry>,
) -> Result<Judged, StoreError> {
    let id = |entry: &Entry| entry.outbox.command_id.to_string();
    let ids: Vec<String> = entries.iter().map(id).collect();
    let tombstones = store.tombstones_of(&ids).await?;
    let mut judged = Judged { sound: Vec::new(), broken: Vec::new() };
    let mut event: Option<(Stream, i64, i64)> = None;
    for (entry, tombstone) in entries.into_iter().zip(tombstones) {
        let has_event = issued(store, &entry, &mut event).await?;
        let violations = violations(&entry, tombstone.is_some(), has_event);
        if violations.is_empty() {
            judged.sound.push(entry);
        } else {
            judged.broken.push(violations);
        }
    }
    Ok(judged)
}

/// Whether the event stands that the command says issued it. `known` is the last one looked at,
/// with how many commands it issued.
async fn issued<S: Archive>(
    store: &S,
    entry: &Entry,
    known: &mut Option<(Stream, i64, i64)>,
) -> Result<bool, StoreError> {
    let row = &entry.outbox;
    let (Some(stream), Some(seq)) = (&row.stream, row.seq) else { return Ok(false) };
    let is_known = known.as_ref().is_some_and(|(name, at, _)| (name, *at) == (stream, seq));
    if !is_known {
        let events = store.load(stream, seq.saturating_sub(1), 1).await?;
        let event = events.first().filter(|event| event.seq == seq);
        *known = Some((stream.clone(), seq, event.map_or(0, |event| event.commands)));
    }
    let commands = known.as_ref().map_or(0, |(_, _, commands)| *commands);
    Ok(row.idx.is_some_and(|idx| idx < commands))
}

fn violations(entry: &Entry, archived: bool, has_event: bool) -> Vec<Violation> {
    let facts = facts(entry, archived, has_event);
    let mut violations = of_command(&facts);
    if digests(entry).is_none() {
        let found = format!("command {}: it was erased, and no digest of it was kept", facts.id);
        violations.push(Violation::of(&law::DIGEST_MISSING, vec![facts.id], &found));
    }
    violations
}

fn facts(entry: &Entry, archived: bool, has_event: bool) -> CommandFacts {
    let acts = || entry.actions.iter();
    let not_done = || {
        let pending = State::Pending.name();
        acts().filter(move |act| act.verb == "resolve" && act.after.as_deref() == Some(pending))
    };
    let is_ended = |name: &String| ReceiptOutcome::from_name(name).is_some();
    let looked_into =
        acts().filter(|act| act.verb == "resolve" && act.before.as_ref().is_some_and(is_ended));
    CommandFacts {
        n: entry.outbox.n,
        id: entry.outbox.command_id.to_string(),
        outbox: Some(entry.outbox.clone()),
        has_outbox: true,
        erased: entry.erased_at.is_some(),
        delivery: None,
        receipts: entry.receipts.clone(),
        attempts: entry.attempts.clone(),
        cleared_at: not_done().map(|act| act.recorded_at).collect(),
        begun: not_done().count() + acts().filter(|act| act.verb == "retry").count(),
        reopened: acts()
            .filter(|act| act.verb == "redeliver")
            .map(|act| act.before.clone().unwrap_or_default())
            .collect(),
        // They tell of open deliveries only.
        restores: Vec::new(),
        strange_outcomes: Vec::new(),
        archived,
        has_event,
        contradictions: entry.contradictions.clone(),
        acknowledged_at: looked_into.map(|act| act.recorded_at).max(),
    }
}
