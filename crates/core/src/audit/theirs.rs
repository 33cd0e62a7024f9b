//! The receiver's book, key by key: each is a command of ours, stands there once, and says of an
//! archived command what its tombstone says.
//!
//! Guarantees: a few pages are in memory; a key is read before its command. Does not: look again at
//! commands that stand; `inbox` has compared those.

use super::inbox::{BookEntry, InboxBook, InboxMatch, MatchError, contradiction, is_effect, told};
use super::report::Findings;
use crate::domain::ReceiptOutcome;
use crate::domain::laws::{Violation, law};
use crate::port::Archive;
use crate::port::archive::Tombstone;
use crate::port::store::StoreError;

pub(super) async fn theirs_first<S: Archive, B: InboxBook>(
    store: &S,
    theirs: &B,
    options: &InboxMatch,
    findings: &mut Findings,
) -> Result<(), MatchError<B::Error>> {
    // What is archived from here on was compared while it stood.
    let has_tombstones = !store.tombstones(None, 1).await.map_err(MatchError::Store)?.is_empty();
    let mut after: Option<(String, Option<String>)> = None;
    loop {
        let (limit, last) = (theirs.at_once(options.page.max(1)), after.as_ref());
        let entries = theirs.page(last.map(|(key, _)| key.as_str()), limit).await;
        let entries = entries.map_err(MatchError::Inbox)?;
        findings.checked.keys += entries.len() as u64;
        let known = commands(store, &entries, findings).await.map_err(MatchError::Store)?;
        if has_tombstones {
            archived(store, known, options, findings).await.map_err(MatchError::Store)?;
        }
        let Some(last) = entries.last() else { return Ok(()) };
        // In what order the book is, only the book knows.
        let last = (last.key.clone(), last.place.clone());
        if after.as_ref() == Some(&last) {
            return Err(MatchError::StandsStill { key: last.0 });
        }
        after = Some(last);
    }
}

/// Those that are commands of ours, standing or archived; the others are told.
async fn commands<'e, S: Archive>(
    store: &S,
    entries: &'e [BookEntry],
    findings: &mut Findings,
) -> Result<Vec<&'e BookEntry>, StoreError> {
    let keys: Vec<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    let known = store.known(&keys).await?;
    let mut ours = Vec::new();
    for (entry, is_known) in entries.iter().zip(known) {
        let BookEntry { key, place, .. } = entry;
        if is_known && place.is_none() {
            ours.push(entry);
            continue;
        }
        let at = place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        let found = format!("key {key} in the receiver's book{at} is no command of this store");
        findings.add([Violation::of(&law::KEY_UNKNOWN, vec![key.clone()], &found)]);
    }
    Ok(ours)
}

/// Compares the keys of archived commands with what stays of these.
async fn archived<S: Archive>(
    store: &S,
    entries: Vec<&BookEntry>,
    options: &InboxMatch,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let keys: Vec<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    let tombstones = store.tombstones_of(&keys).await?;
    let ours = entries.into_iter().zip(tombstones);
    for (entry, tombstone) in ours.filter_map(|(entry, it)| Some((entry, it?))) {
        if !options.serves(&tombstone.destination) {
            continue;
        }
        findings.checked.archived_keys += 1;
        let Some(outcome) = ReceiptOutcome::from_name(&tombstone.outcome) else { continue };
        let is_refused = entry.outcome == Some(ReceiptOutcome::Rejected);
        let Some((law, found)) = contradiction(outcome, is_refused) else { continue };
        if !is_excused(store, &tombstone, outcome).await? {
            findings.add([told(law, &entry.key, outcome, found)]);
        }
    }
    Ok(())
}

/// Whether what people did may explain it: the receipts, which would tell, are in the file. A
/// person's word that it completed needs no key; a round before a redelivery may have acted.
async fn is_excused<S: Archive>(
    store: &S,
    tombstone: &Tombstone,
    outcome: ReceiptOutcome,
) -> Result<bool, StoreError> {
    let verb = if is_effect(outcome) { "resolve" } else { "redeliver" };
    let story = store.show(&tombstone.command_id).await?;
    Ok(story.is_some_and(|story| story.actions.iter().any(|act| act.what == verb)))
}

/// Finds the keys that stand there more than once.
pub(super) async fn repeated<B: InboxBook>(
    theirs: &B,
    keep: usize,
    findings: &mut Findings,
) -> Result<(), MatchError<B::Error>> {
    let repeated = theirs.repeated(keep).await.map_err(MatchError::Inbox)?;
    let named = repeated.first.len() as u64;
    for (key, times) in repeated.first {
        let found = format!("key {key} stands {times} times in the receiver's book");
        findings.add([Violation::of(&law::KEY_REPEATED, vec![key], &found)]);
    }
    findings.more(repeated.found.saturating_sub(named));
    Ok(())
}
