//! Keeps the seal right while an archive buries commands and an erasure clears content.
//!
//! Guarantees: the change that it makes goes with the very version that was read, so two that work
//! at once never write over each other. Does not: write; a burial or an erasure does, in the
//! transaction of its own rows.

use super::seal::Seal;
use super::sealed::AuditError;
use crate::domain::Digest;
use crate::domain::laws::ContradictionFacts;
use crate::port::archive::{ActionRow, Entry, SealChange};
use crate::port::store::StoreError;
use crate::port::{Archive, Audited};

/// How many rows are read at once.
const PAGE: usize = 1000;

/// The seal once these are buried; `None` where none stands.
///
/// # Errors
/// [`AuditError`].
pub async fn burying<S: Audited>(
    store: &S,
    entries: &[Entry],
) -> Result<Option<SealChange>, AuditError> {
    Ok(standing(store).await?.map(|(version, seal)| change(version, &seal.without(entries))))
}

/// The seal once the content of this command, ended or archived, is erased; `None` where none
/// stands.
///
/// # Errors
/// [`AuditError`].
pub async fn erasing<S: Audited + Archive>(
    store: &S,
    command_id: &str,
) -> Result<Option<SealChange>, AuditError> {
    let Some((version, seal)) = standing(store).await? else { return Ok(None) };
    let seal = match store.entry(command_id).await? {
        Some(entry) => seal.changed(&entry, &erased(&entry)),
        // What was said of an archived one, and done to it, stays in the store.
        None => {
            let said = said_of(store, command_id).await?;
            let acts = acts_about(store, command_id).await?;
            let cleared: Vec<_> = said.iter().map(unsaid).collect();
            let unexplained: Vec<_> = acts.iter().map(without_reason).collect();
            seal.said(command_id, &said, &cleared).acted(&acts, &unexplained)
        }
    };
    Ok(Some(change(version, &seal)))
}

async fn standing<S: Audited>(store: &S) -> Result<Option<(i64, Seal)>, AuditError> {
    let Some(stands) = store.sealed().await? else { return Ok(None) };
    let seal = Seal::read(&stands.seal).map_err(AuditError::Seal)?;
    Ok(Some((stands.version, seal)))
}

fn change(version: i64, seal: &Seal) -> SealChange {
    SealChange { version, seal: seal.write() }
}

/// What an erasure leaves of an entry.
#[must_use]
pub fn erased(entry: &Entry) -> Entry {
    let mut left = entry.clone();
    let body = Digest::of(&entry.outbox.body);
    let row = entry.outbox.row_digest(body);
    left.erased_at = Some(entry.erased_at.unwrap_or(entry.outbox.recorded_at));
    (left.outbox.body, left.outbox.headers) = (Vec::new(), None);
    let newest = left.receipts.iter_mut().max_by_key(|entry| entry.receipt.round);
    if let Some(newest) = newest.filter(|_| entry.erased_at.is_none()) {
        newest.digest = newest.digest.or(Some(body));
        newest.row_digest = newest.row_digest.or(Some(row));
    }
    for receipt in &mut left.receipts {
        (receipt.receipt.result, receipt.receipt.evidence) = (None, None);
    }
    left.attempts.iter_mut().for_each(|attempt| attempt.reason = None);
    left.contradictions = entry.contradictions.iter().map(unsaid).collect();
    left.actions = entry.actions.iter().map(without_reason).collect();
    left
}

fn unsaid(said: &ContradictionFacts) -> ContradictionFacts {
    ContradictionFacts { result: None, evidence: None, ..said.clone() }
}

/// Why it was erased may be told.
fn without_reason(act: &ActionRow) -> ActionRow {
    let stays = act.verb == "erase";
    ActionRow { reason: act.reason.clone().filter(|_| stays), ..act.clone() }
}

async fn said_of<S: Audited>(
    store: &S,
    command_id: &str,
) -> Result<Vec<ContradictionFacts>, StoreError> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let page = store.contradictions(after, PAGE).await?;
        let Some((_, last)) = page.last() else { return Ok(all) };
        after = last.arrival;
        all.extend(page.into_iter().filter(|(id, _)| id == command_id).map(|(_, said)| said));
    }
}

async fn acts_about<S: Audited>(store: &S, command_id: &str) -> Result<Vec<ActionRow>, StoreError> {
    // A destination, or the store, may be called like a command.
    let elsewhere = ["pause", "resume", "restored", "reseal"];
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let page = store.actions(after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = last.arrival;
        all.extend(
            page.into_iter()
                .filter(|act| act.about == command_id && !elsewhere.contains(&act.verb.as_str())),
        );
    }
}
