//! Every tombstone against the files: does the file that it names hold its line?
//!
//! Guarantees: one pass in bounded memory where all is right. Does not: compare what they say; see
//! `file`.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::port::archive::{Archive, Tombstone};

use super::file::Checked;
use super::finding::{Findings, code};
use super::rows::goes_on;
use crate::error::ArchiveError;
use crate::line::decode;
use crate::lines::Lines;

/// How many are read at once.
const PAGE: usize = 1000;
/// How many ids of one file are named.
const NAMED: usize = 20;

/// Checks all; how many there are.
pub(super) async fn check<S: Archive>(
    store: &S,
    files: &[Checked],
    findings: &mut Findings,
) -> Result<u64, ArchiveError> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let count = |tombstone: Tombstone| *counts.entry(tombstone.file).or_default() += 1;
    each(store, count).await?;
    let known: BTreeMap<&str, &Checked> =
        files.iter().map(|file| (file.name.as_str(), file)).collect();
    for (name, count) in &counts {
        let Some(file) = known.get(name.as_str()) else {
            let found = format!(
                "{count} tombstones name it, and it is in no folder that was given: bring it back, \
                 or give its folder, too"
            );
            findings.add(code::ELSEWHERE, name, Vec::new(), &found);
            continue;
        };
        if file.matched.is_some_and(|matched| matched < *count) {
            let ids = without_line(store, file).await?;
            let such = ids.first().map(|id| format!(", such as {id}")).unwrap_or_default();
            let found = format!(
                "{} tombstones name it, and it has no line for them{such}: bring it back from a \
                 backup",
                ids.len()
            );
            findings.add(code::NO_LINE, name, ids.into_iter().take(NAMED).collect(), &found);
        }
    }
    Ok(counts.values().sum())
}

async fn each<S: Archive>(store: &S, mut told: impl FnMut(Tombstone)) -> Result<(), ArchiveError> {
    let mut after: Option<String> = None;
    loop {
        let page = store.tombstones(after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = goes_on(&after, last.command_id.clone())?;
        page.into_iter().for_each(&mut told);
    }
}

/// The commands whose tombstones name the file, and that have no line in it.
async fn without_line<S: Archive>(
    store: &S,
    file: &Checked,
) -> Result<BTreeSet<String>, ArchiveError> {
    let mut ids = BTreeSet::new();
    let named = |tombstone: Tombstone| {
        if tombstone.file == file.name {
            ids.insert(tombstone.command_id);
        }
    };
    each(store, named).await?;
    let mut lines = Lines::open(&file.folder.at(&file.name))?;
    while let Some(line) = lines.line()? {
        if let Ok(entry) = decode(&line) {
            ids.remove(entry.outbox.command_id.as_str());
        }
    }
    Ok(ids)
}
