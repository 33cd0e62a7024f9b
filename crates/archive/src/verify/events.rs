//! One file of events: against its manifest, line by line against the store.
//!
//! Guarantees: a file that is not what its manifest says is told once, and its lines are left
//! alone. Does not: look for events without a line; see `rows`. A line whose event has its body in
//! its row is a copy, and right if it says the same: the workflow was recalled, or the store came
//! back from a backup.

use std::collections::BTreeSet;

use counterfoil_core::domain::{Digest, EventRow};
use counterfoil_core::port::archive::Archive;
use counterfoil_core::port::bodies::{Bodies, Place};

use super::file::{Checked, is_whole, without_manifest};
use super::finding::{Findings, code};
use crate::bodies::EventManifest;
use crate::bodies::line::decode;
use crate::bodies::manifest::CountedEvents;
use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::lines::Lines;
use crate::manifest::Stage;
use crate::name::{self, EVENTS, EVENTS_MANIFEST};
use crate::sum::Sum;

/// How many rows are looked up at once.
const PAGE: usize = 500;
/// A page ends after so many bytes of bodies.
const PAGE_BYTES: usize = 8 << 20;

/// The stems of all files of events and of their manifests.
pub(super) fn stems(folder: &Folder) -> Result<BTreeSet<String>, ArchiveError> {
    Ok(folder.stems(EVENTS)?.into_iter().chain(folder.stems(EVENTS_MANIFEST)?).collect())
}

/// Checks the file of a stem.
pub(super) async fn check<S: Archive + Bodies>(
    store: &S,
    folder: &Folder,
    stem: &str,
    findings: &mut Findings,
) -> Result<Checked, ArchiveError> {
    let name = format!("{stem}{EVENTS}");
    let mut file = Checked { folder: folder.clone(), name: name.clone(), lines: 0, matched: None };
    let Some(manifest) = manifest(&store.source(), folder, stem, findings)? else {
        return Ok(file);
    };
    let said = (manifest.file.as_str(), &manifest.compressed);
    if !is_whole(folder, &name, said, &sums(folder)?, findings)? {
        return Ok(file);
    }
    if manifest.stage == Stage::Written {
        let found = "a run was cut short before all its bodies were taken out of the store; the \
                     next `archive` into this folder finishes it";
        findings.add(code::UNFINISHED, &name, Vec::new(), found);
    }
    let mut lines = LineCheck { store, name: &name, matched: 0 };
    let read = lines.check_all(&folder.at(&name), &manifest, findings).await?;
    (file.lines, file.matched) = (read, Some(lines.matched));
    Ok(file)
}

/// The manifest of a file that is this store's; what is wrong with it is told.
fn manifest(
    source: &str,
    folder: &Folder,
    stem: &str,
    findings: &mut Findings,
) -> Result<Option<EventManifest>, ArchiveError> {
    let name = format!("{stem}{EVENTS}");
    let mut tell = |code, found: &str| findings.add(code, &name, Vec::new(), found);
    let foreign = "it is another store's: take it to that store's folder";
    if name::store_of(stem) != Some(name::store(source).as_str()) {
        tell(code::FOREIGN, foreign);
        return Ok(None);
    }
    match EventManifest::of(folder, stem) {
        Ok(Some(manifest)) if manifest.source == source => return Ok(Some(manifest)),
        Ok(Some(_)) => tell(code::FOREIGN, foreign),
        other => tell(code::NO_MANIFEST, &without_manifest(other)?),
    }
    Ok(None)
}

/// The files of events, and what each should be.
fn sums(folder: &Folder) -> Result<Vec<(String, Sum)>, ArchiveError> {
    let stems = folder.stems(EVENTS_MANIFEST)?;
    let read = stems.iter().filter_map(|stem| EventManifest::of(folder, stem).ok().flatten());
    Ok(read.map(|manifest| (manifest.file, manifest.compressed)).collect())
}

struct LineCheck<'c, S> {
    store: &'c S,
    name: &'c str,
    matched: u64,
}

impl<S: Bodies> LineCheck<'_, S> {
    /// Checks all lines; how many there are.
    async fn check_all(
        &mut self,
        path: &std::path::Path,
        manifest: &EventManifest,
        findings: &mut Findings,
    ) -> Result<u64, ArchiveError> {
        let (mut lines, mut counted) = (Lines::open(path)?, CountedEvents::default());
        let (mut page, mut bytes) = (Vec::new(), 0);
        while let Some(line) = lines.line()? {
            match decode(&line) {
                Ok(event) => {
                    counted.add(&event);
                    bytes += event.body.len();
                    page.push(event);
                }
                Err(why) => {
                    let found = format!("{}: {why}; bring it back from a backup", lines.at());
                    findings.add(code::LINE, self.name, Vec::new(), &found);
                }
            }
            if page.len() >= PAGE || bytes >= PAGE_BYTES {
                self.compare(&std::mem::take(&mut page), findings).await?;
                bytes = 0;
            }
        }
        self.compare(&page, findings).await?;
        let (read, sum) = lines.read_so_far();
        if !manifest.agrees(&counted, &sum) {
            let found = "its manifest counts otherwise than its lines, or they are out of order; \
                         bring both back from a backup";
            findings.add(code::COUNTS, self.name, Vec::new(), found);
        }
        Ok(read)
    }

    async fn compare(
        &mut self,
        page: &[EventRow],
        findings: &mut Findings,
    ) -> Result<(), ArchiveError> {
        let places: Vec<Place> =
            page.iter().map(|event| (event.stream.to_string(), event.seq)).collect();
        let rows = self.store.events_at(&places).await?;
        for ((line, (stream, seq)), row) in page.iter().zip(places).zip(rows) {
            let id = format!("{stream}:{seq}");
            let Some(row) = row else {
                let found = format!(
                    "event {id} is here, and not in the store, or cannot be read there: the store \
                     is older than the file, or its row was removed; compare it with a backup"
                );
                findings.add(code::EVENT_GONE, self.name, vec![id], &found);
                continue;
            };
            let archived = row.archived.as_ref();
            self.matched += u64::from(archived.is_some_and(|it| it.file == self.name));
            if let Some(found) = difference(line, &row) {
                let found = format!("event {id}: {found}; compare both with a backup");
                findings.add(code::EVENT_DIFFERS, self.name, vec![id], &found);
            }
        }
        Ok(())
    }
}

/// What a line says otherwise than the row of its event, if anything.
fn difference(line: &EventRow, row: &EventRow) -> Option<&'static str> {
    if row.body_digest() != Some(Digest::of(&line.body)) {
        return Some("its line has another body than its row says");
    }
    let bare = EventRow { body: row.body.clone(), archived: row.archived.clone(), ..line.clone() };
    (bare != *row).then_some("its line is of another kind, cause, time or decision than its row")
}
