//! Reports that said otherwise, and whether anybody has looked into them.
//!
//! Guarantees: a late report about an archived command is told as one about a command that stands.
//! Does not: judge those that a full audit judges with their commands.

use std::collections::BTreeSet;

use super::page::goes_on;
use super::reading::Reading;
use super::report::Findings;
use super::{AuditOptions, AuditReport};
use crate::domain::laws::{ContradictionFacts, Violation, law};
use crate::port::store::StoreError;
use crate::port::{Archive, Audited, Store};

type Said = [(String, ContradictionFacts)];

impl<S: Audited + Archive> Reading<'_, S> {
    /// The contradictions after `after`: their sums, and whether anybody has looked into them.
    pub(super) async fn new_contradictions(&mut self, mut after: i64) -> Result<(), StoreError> {
        loop {
            let said = self.store.contradictions(after, self.page).await?;
            self.sum(&said);
            for id in said.iter().map(|(id, _)| id).collect::<BTreeSet<_>>() {
                check(self.store, id, &said, &mut self.findings).await?;
            }
            let Some((_, last)) = said.last() else { return Ok(()) };
            after = goes_on(&after, last.arrival)?;
        }
    }
}

/// Checks what reports said of archived commands, beside [`super::audit`], which knows a store
/// without an archive; [`super::audit_sealed`] does it by itself.
///
/// # Errors
/// [`StoreError`] if the store cannot be read. A violation is no error.
pub async fn audit_archived<S: Audited + Archive>(
    store: &S,
    options: &AuditOptions,
) -> Result<AuditReport, StoreError> {
    let mut findings = Findings::new(options.keep);
    let mut after = i64::MIN;
    loop {
        let said = store.contradictions(after, options.page.max(1)).await?;
        check_archived(store, &said, &mut findings).await?;
        let Some((_, last)) = said.last() else { return Ok(findings.into_report()) };
        after = goes_on(&after, last.arrival)?;
    }
}

/// Those of archived commands, of these.
pub(super) async fn check_archived<S: Archive>(
    store: &S,
    said: &Said,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let ids: BTreeSet<&String> = said.iter().map(|(id, _)| id).collect();
    let ids: Vec<String> = ids.into_iter().cloned().collect();
    if ids.is_empty() {
        return Ok(());
    }
    for tombstone in store.tombstones_of(&ids).await?.into_iter().flatten() {
        check(store, &tombstone.command_id, said, findings).await?;
    }
    Ok(())
}

async fn check<S: Store>(
    store: &S,
    id: &str,
    said: &Said,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    if findings.is_contradicted(id) {
        return Ok(());
    }
    let Some(story) = store.show(id).await? else { return Ok(()) };
    if story.contradicted {
        let is = if story.archived { "it is archived as" } else { "it is" };
        let found =
            format!("command {id}: {is} {}, and a report said otherwise", story.listed.state);
        findings.add([Violation::of(&law::CONTRADICTED, vec![id.to_owned()], &found)]);
    } else if story.archived {
        let of_it = said.iter().filter(|(of, _)| of == id);
        findings.checked.acknowledged += of_it.count() as u64;
    }
    Ok(())
}
