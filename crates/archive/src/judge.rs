//! The laws that a command must keep before it may leave the store.
//!
//! Guarantees: what breaks a law is named and stays, so that its evidence stays, too; it is named
//! only if an audit, which reads all of it in one snapshot, says so as well. Does not: judge what
//! the store itself keeps back.

use counterfoil_core::domain::laws::{CommandFacts, Violation, law, of_command};
use counterfoil_core::domain::{ReceiptOutcome, State, Stream};
use counterfoil_core::port::archive::{Archive, Entry};
use counterfoil_core::port::read::FactsFrom;
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
        if violations(&entry, facts(&entry, tombstone.is_some(), has_event)).is_empty() {
            judged.sound.push(entry);
            continue;
        }
        let Some(facts) = again(store, &entry).await? else { continue };
        let violations = violations(&entry, facts);
        if violations.is_empty() {
            judged.sound.push(entry);
        } else {
            judged.broken.push(violations);
        }
    }
    Ok(judged)
}

/// What seems to break a law, as an audit reads it: page, tombstones and event were not read in one
/// snapshot, and restores not at all. `None`: it was archived or opened again meanwhile.
async fn again<S: Archive>(store: &S, entry: &Entry) -> Result<Option<CommandFacts>, StoreError> {
    let n = entry.outbox.n;
    let from = FactsFrom { n, open_only: false };
    let page = store.facts(from, 1).await?;
    let is_it = |facts: &CommandFacts| facts.n == n && facts.has_outbox;
    let stands = page.commands.into_iter().find(is_it);
    Ok(stands.filter(|facts| facts.delivery.is_none()))
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

fn violations(entry: &Entry, facts: CommandFacts) -> Vec<Violation> {
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
        unreadable: None,
        erased: entry.erased_at.is_some(),
        has_erase: acts().any(|act| act.verb == "erase"),
        delivery: None,
        receipts: entry.receipts.clone(),
        attempts: entry.attempts.clone(),
        cleared_at: not_done().map(|act| act.recorded_at).collect(),
        begun: not_done().count() + acts().filter(|act| act.verb == "retry").count(),
        reopened: acts()
            .filter(|act| act.verb == "redeliver")
            .map(|act| act.before.clone().unwrap_or_default())
            .collect(),
        // They are looked for where a first send seems to be wrong; see `again`.
        restores: Vec::new(),
        strange_outcomes: Vec::new(),
        archived,
        has_event,
        // Commands of a workflow go once no input waits for it any more.
        unheard: false,
        contradictions: entry.contradictions.clone(),
        acknowledged_at: looked_into.map(|act| act.recorded_at).max(),
    }
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::transition::Report;
    use counterfoil_core::domain::{Command, CommandId, Micros, Span};
    use counterfoil_core::port::Store as _;
    use counterfoil_testkit::{ManualClock, MemoryStore};

    use super::*;

    async fn ended(store: &MemoryStore, id: &str) {
        let command = Command::bytes(id, "shop", "order.paid", "body").unwrap();
        store.enqueue(vec![command]).await.unwrap()[0].clone().unwrap();
    }

    async fn reported(store: &MemoryStore, id: &str) {
        let (outcome, source) = (ReceiptOutcome::Completed, "report".into());
        let (result, evidence, token) = (None, None, None);
        let report = Report { outcome, result, evidence, source, token, equals_earlier: false };
        store.report(&CommandId::new(id).unwrap(), report).await.unwrap();
    }

    async fn page(store: &MemoryStore) -> Vec<Entry> {
        store.ended(Micros::LATEST, 0, 100).await.unwrap().entries
    }

    #[tokio::test]
    async fn what_another_run_moves_meanwhile_breaks_no_law_and_goes_nowhere() {
        let store = MemoryStore::new(ManualClock::default());
        for id in ["a", "b", "newest"] {
            ended(&store, id).await;
            reported(&store, id).await;
        }
        let (mine, theirs) = (page(&store).await, page(&store).await);
        store.bury("theirs", theirs.into_iter().take(1).collect(), None).await.unwrap();
        let judged = judge(&store, mine).await.unwrap();
        assert_eq!(judged.broken, [[]; 0]);
        assert_eq!(judged.sound, page(&store).await, "only what stands");
    }

    #[tokio::test]
    async fn one_that_a_restore_dated_before_its_report_breaks_no_law() {
        let clock = ManualClock::default();
        let store = MemoryStore::new(clock.clone());
        for id in ["a", "newest"] {
            ended(&store, id).await;
        }
        clock.advance(Span::from_secs(60));
        let backup = store.now().unwrap();
        clock.advance(Span::from_secs(60));
        store.restored(backup, "ann").await.unwrap();
        for id in ["a", "newest"] {
            reported(&store, id).await;
        }
        let entries = page(&store).await;
        assert_eq!(entries[0].receipts[0].receipt.first_sent_at, Some(backup));
        let judged = judge(&store, entries.clone()).await.unwrap();
        assert_eq!((judged.broken, judged.sound), (Vec::new(), entries));
    }

    #[tokio::test]
    async fn what_breaks_a_law_is_named_and_stays() {
        let store = MemoryStore::new(ManualClock::default());
        for id in ["a", "newest"] {
            ended(&store, id).await;
            reported(&store, id).await;
        }
        store.with_rows(|rows| {
            let n = rows.n_of("a").unwrap();
            let receipt = &mut rows.receipts.get_mut(&(n, 1)).unwrap().receipt;
            receipt.first_sent_at = Some(Micros::LATEST);
        });
        let judged = judge(&store, page(&store).await).await.unwrap();
        assert_eq!(judged.broken.len(), 1, "{:?}", judged.broken);
        assert_eq!(judged.broken[0][0].code, law::FIRST_SEND.code);
    }
}
