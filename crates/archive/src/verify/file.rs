//! One file: against its manifest, line by line against the store.
//!
//! Guarantees: a file that is not what its manifest says is told once, and its lines are left
//! alone; a line whose command the store has lost is told, also where the line need not count or
//! the file has no manifest. Does not: look for tombstones without a line; see `tombstones`.

use std::collections::BTreeSet;

use counterfoil_core::port::archive::{Archive, Entry, Tombstone};

use super::finding::{Findings, code};
use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::line::{decode, digests};
use crate::lines::Lines;
use crate::manifest::{Counted, Manifest, Stage};
use crate::name::{self, LINES, MANIFEST};
use crate::sum::{self, Sum};

/// How many tombstones are looked up at once.
const PAGE: usize = 500;

/// What was seen of one file.
pub(super) struct Checked {
    /// Where it lies.
    pub(super) folder: Folder,
    /// Its name.
    pub(super) name: String,
    /// How many lines were read.
    pub(super) lines: u64,
    /// How many lines stand with a tombstone that names this file; `None`: they were not compared.
    pub(super) matched: Option<u64>,
}

/// Checks the file of a stem.
pub(super) async fn check<S: Archive>(
    store: &S,
    folder: &Folder,
    stem: &str,
    findings: &mut Findings,
) -> Result<Checked, ArchiveError> {
    let name = format!("{stem}{LINES}");
    let mut file = Checked { folder: folder.clone(), name, lines: 0, matched: None };
    let name = file.name.clone();
    let source = store.source();
    let foreign = "it is another store's: take it to that store's folder";
    if name::store_of(stem) != Some(name::store(&source).as_str()) {
        findings.add(code::FOREIGN, &name, Vec::new(), foreign);
        return Ok(file);
    }
    let manifest = match Manifest::of(folder, stem) {
        Ok(Some(manifest)) => manifest,
        other => {
            let is_newer = matches!(other, Err(ArchiveError::Newer { .. }));
            let found = without_manifest(other)?;
            findings.add(code::NO_MANIFEST, &name, Vec::new(), &found);
            if !is_newer && folder.has(&name) {
                file.lines = alone(store, folder, &name, findings).await?;
            }
            return Ok(file);
        }
    };
    if manifest.source != *source {
        findings.add(code::FOREIGN, &name, Vec::new(), foreign);
        return Ok(file);
    }
    let said = (manifest.file.as_str(), &manifest.compressed);
    if !is_whole(folder, &name, said, &sums(folder)?, findings)? {
        return Ok(file);
    }
    if manifest.stage == Stage::Written {
        let found = "a run was cut short before all its commands were removed from the store; the \
                     next `archive` into this folder finishes it";
        findings.add(code::UNFINISHED, &name, Vec::new(), found);
    }
    let left = manifest.left.iter().map(String::as_str).collect();
    let is_unfinished = manifest.stage == Stage::Written;
    let mut lines = LineCheck { store, name: &name, left, is_unfinished, matched: 0 };
    let read = lines.check_all(&folder.at(&name), Some(&manifest), findings).await?;
    (file.lines, file.matched) = (read, Some(lines.matched));
    Ok(file)
}

/// Checks the lines of a file that no manifest speaks for, as of one whose run was cut short: the
/// next run would take its commands for moved.
async fn alone<S: Archive>(
    store: &S,
    folder: &Folder,
    name: &str,
    findings: &mut Findings,
) -> Result<u64, ArchiveError> {
    let left = BTreeSet::new();
    let mut lines = LineCheck { store, name, left, is_unfinished: true, matched: 0 };
    match lines.check_all(&folder.at(name), None, findings).await {
        // Nothing else says how long it was.
        Err(ArchiveError::Damaged { why, .. }) => {
            let found = format!("{why}; bring it back from a backup");
            findings.add(code::CHANGED, name, Vec::new(), &found);
            Ok(0)
        }
        read => read,
    }
}

/// Why a file has no manifest that can be read, and the way out.
pub(super) fn without_manifest<T>(
    read: Result<Option<T>, ArchiveError>,
) -> Result<String, ArchiveError> {
    match read {
        Ok(_) => Ok("it has no manifest; the next `archive` into this folder makes one, or bring \
                     it back from a backup"
            .into()),
        Err(ArchiveError::Newer { format, known, .. }) => Ok(format!(
            "its manifest is of format {format}, which a newer Counterfoil wrote, and this one \
             knows {known}: use the newer program"
        )),
        Err(ArchiveError::Damaged { why, .. }) => {
            Ok(format!("its manifest cannot be read: {why}; bring it back from a backup"))
        }
        Err(error) => Err(error),
    }
}

/// The files of commands, and what each should be.
fn sums(folder: &Folder) -> Result<Vec<(String, Sum)>, ArchiveError> {
    let stems = folder.stems(MANIFEST)?;
    let read = stems.iter().filter_map(|stem| Manifest::of(folder, stem).ok().flatten());
    Ok(read.map(|manifest| (manifest.file, manifest.compressed)).collect())
}

/// Whether the bytes are those of the manifest, which names a file and its sum; what else they are
/// is told, by what the `others` should be.
pub(super) fn is_whole(
    folder: &Folder,
    name: &str,
    (file, compressed): (&str, &Sum),
    others: &[(String, Sum)],
    findings: &mut Findings,
) -> Result<bool, ArchiveError> {
    let mut tell = |code, found: &str| {
        findings.add(code, name, Vec::new(), found);
        Ok(false)
    };
    let backup = "bring it back from a backup";
    if !folder.has(name) {
        return tell(code::MISSING, &format!("its manifest stands, and it is gone; {backup}"));
    }
    let stands = sum::of_file(&folder.at(name))?;
    if file == name && stands == *compressed {
        return Ok(true);
    }
    if file != name {
        return tell(code::SWAPPED, &format!("its manifest is that of {file}; {backup}"));
    }
    if let Some((other, _)) = others.iter().find(|(_, sum)| *sum == stands) {
        return tell(code::SWAPPED, &format!("it holds what {other} should; {backup}"));
    }
    let (has, had) = (stands.bytes, compressed.bytes);
    if has < had {
        return tell(code::TRUNCATED, &format!("it has {has} of its {had} bytes; {backup}"));
    }
    tell(code::CHANGED, &format!("its bytes are not those that were written; {backup}"))
}

struct LineCheck<'c, S> {
    store: &'c S,
    name: &'c str,
    left: BTreeSet<&'c str>,
    is_unfinished: bool,
    matched: u64,
}

impl<S: Archive> LineCheck<'_, S> {
    /// Checks all lines; how many there are.
    async fn check_all(
        &mut self,
        path: &std::path::Path,
        manifest: Option<&Manifest>,
        findings: &mut Findings,
    ) -> Result<u64, ArchiveError> {
        let (mut lines, mut counted) = (Lines::open(path)?, Counted::new());
        let mut page = Vec::new();
        while let Some(line) = lines.line()? {
            match decode(&line) {
                Ok(entry) => {
                    counted.add(&entry);
                    page.push(entry);
                }
                Err(why) => {
                    let found = format!("{}: {why}; bring it back from a backup", lines.at());
                    findings.add(code::LINE, self.name, Vec::new(), &found);
                }
            }
            if page.len() >= PAGE {
                self.compare(std::mem::take(&mut page), findings).await?;
            }
        }
        self.compare(page, findings).await?;
        let (read, sum) = lines.read_so_far();
        if manifest.is_some_and(|manifest| !manifest.agrees(&counted, &sum)) {
            let found = "its manifest counts otherwise than its lines, or they are out of order; \
                         bring both back from a backup";
            findings.add(code::COUNTS, self.name, Vec::new(), found);
        }
        Ok(read)
    }

    async fn compare(
        &mut self,
        page: Vec<Entry>,
        findings: &mut Findings,
    ) -> Result<(), ArchiveError> {
        let ids: Vec<String> = page.iter().map(|it| it.outbox.command_id.to_string()).collect();
        let tombstones = self.store.tombstones_of(&ids).await?;
        let lost = self.lost(&ids, &tombstones).await?;
        self.find_erased(&page, &ids, findings).await?;
        for ((entry, id), tombstone) in page.iter().zip(ids).zip(tombstones) {
            let is_known = !lost.contains(&id);
            let here = tombstone.as_ref().filter(|tombstone| tombstone.file == self.name);
            let is_left = self.left.contains(id.as_str());
            match (here, &tombstone) {
                (Some(tombstone), _) => {
                    self.matched += 1;
                    let found = match difference(entry, tombstone) {
                        None if is_left => Some(
                            "its manifest names it as left, and its tombstone as archived here",
                        ),
                        different => different,
                    };
                    if let Some(found) = found {
                        let found = format!("command {id}: {found}");
                        findings.add(code::DIFFERS, self.name, vec![id], &found);
                    }
                }
                // What was left, or is by the run that finishes this file, may be buried from
                // another one, or still stand; one of both.
                (None, other) if (is_left || self.is_unfinished) && excused(other, is_known) => {}
                (None, Some(other)) => {
                    let found = format!("command {id} is here, but archived in {}", other.file);
                    findings.add(code::DIFFERS, self.name, vec![id], &found);
                }
                (None, None) => {
                    let lacks = if is_known { "has no tombstone of it" } else { "has lost it" };
                    let found = format!(
                        "command {id} is here, but the store {lacks}: it may act again under its \
                         id; compare the store with a backup"
                    );
                    findings.add(code::NO_TOMBSTONE, self.name, vec![id], &found);
                }
            }
        }
        Ok(())
    }
}

/// Whether a line that need not count may lack a tombstone that names its file.
const fn excused(other: &Option<Tombstone>, is_known: bool) -> bool {
    other.is_some() || is_known
}

impl<S: Archive> LineCheck<'_, S> {
    /// Of those without a tombstone, those that do not stand in the store either.
    async fn lost(
        &self,
        ids: &[String],
        tombstones: &[Option<Tombstone>],
    ) -> Result<BTreeSet<String>, ArchiveError> {
        let lack = ids.iter().zip(tombstones).filter(|(_, tombstone)| tombstone.is_none());
        let mut lack: Vec<String> = lack.map(|(id, _)| id.clone()).collect();
        if !lack.is_empty() {
            let mut known = self.store.known(&lack).await?.into_iter();
            lack.retain(|_| !known.next().unwrap_or(true));
        }
        Ok(lack.into_iter().collect())
    }

    /// Lines that still hold what was erased: left over in another folder, or brought back.
    async fn find_erased(
        &self,
        page: &[Entry],
        ids: &[String],
        findings: &mut Findings,
    ) -> Result<(), ArchiveError> {
        let erased = self.store.erased(ids).await?;
        let holds = |(entry, is_erased): &(&Entry, bool)| *is_erased && entry.erased_at.is_none();
        for (entry, _) in page.iter().zip(erased).filter(holds) {
            let id = entry.outbox.command_id.to_string();
            let found = format!(
                "command {id} was erased, and its content is still here: erase it again with \
                 `counterfoil erase`, and --archive with this folder"
            );
            findings.add(code::ERASED, self.name, vec![id], &found);
        }
        Ok(())
    }
}

/// What a line says otherwise than its tombstone, if anything.
fn difference(entry: &Entry, tombstone: &Tombstone) -> Option<&'static str> {
    let row = &entry.outbox;
    let newest = entry.newest().map(|facts| &facts.receipt);
    let key = row.ordering_key.as_ref().map(ToString::to_string);
    if digests(entry).map(|(body, _)| body) != Some(tombstone.digest) {
        Some("its line has another digest than its tombstone")
    } else if newest.map(|it| it.outcome.name()) != Some(tombstone.outcome.as_str()) {
        Some("its line has another outcome than its tombstone")
    } else if newest.map(|it| it.round) != Some(tombstone.rounds) {
        Some("its line has other rounds than its tombstone")
    } else if row.destination.as_str() != tombstone.destination
        || row.kind.as_str() != tombstone.kind
        || key != tombstone.ordering_key
    {
        Some("its line has another destination, kind or ordering key than its tombstone")
    } else if tombstone.row_digest.is_none() {
        Some("its line is whole, and its tombstone has no digest of its own")
    } else if tombstone.row_digest != Some(tombstone.row_digest()) {
        Some("its line is whole, and its tombstone is not what its own digest says")
    } else {
        None
    }
}
