//! Proves that the files of an archive are whole, and that store and files say the same.
//!
//! Guarantees: bounded memory; every file against its manifest, every line against its own digests
//! and its tombstone or the row of its event, every tombstone and archived event against its line.
//! Does not: change a file, but to end an erasure that was cut short.

mod events;
mod file;
mod finding;
mod rows;
mod tombstones;

use std::collections::BTreeSet;

use counterfoil_core::port::archive::Archive;
use counterfoil_core::port::bodies::Bodies;

use crate::error::ArchiveError;
use crate::folder::{Folder, Lock};
use crate::name::{self, LINES, MANIFEST};
use crate::resume::{has_erasure, recover};
use crate::work::{Seals, Unsealed, Work};
use file::Checked;
pub use finding::Finding;
use finding::{Findings, code};

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Nothing was found.
    pub holds: bool,
    /// Files that were looked at.
    pub files: u64,
    /// Lines that were looked at.
    pub commands: u64,
    /// Tombstones that were looked at.
    pub tombstones: u64,
    /// Lines of events that were looked at.
    pub events: u64,
    /// Events whose bodies lie in files, as the store says.
    pub bodies: u64,
    /// How many findings there are.
    pub found: u64,
    /// The findings, at most so many as was asked for.
    pub findings: Vec<Finding>,
}

/// Verifies the archive of a store that lies in these folders; `keep` findings are kept in full.
///
/// # Errors
/// [`ArchiveError`] if the store or a folder cannot be read, or if a folder is being worked in. A
/// finding is no error.
pub async fn verify<S: Archive + Bodies>(
    store: &S,
    folders: &[Folder],
    keep: usize,
) -> Result<VerifyReport, ArchiveError> {
    verify_sealed(store, &Unsealed, folders, keep).await
}

/// The same in a store whose seal is kept: an erasure that was cut short is ended with it.
///
/// # Errors
/// As [`verify`].
pub async fn verify_sealed<S: Archive + Bodies>(
    store: &S,
    seals: &dyn Seals,
    folders: &[Folder],
    keep: usize,
) -> Result<VerifyReport, ArchiveError> {
    let mut findings = Findings::new(keep);
    let mut report = VerifyReport::default();
    let folders = Folder::each_once(folders);
    let mut held = Vec::new();
    for folder in &folders {
        held.push(enter((store, seals), folder, &mut findings).await?);
    }
    let mut checked: Vec<Checked> = Vec::new();
    for folder in &folders {
        let stems = stems(folder, &mut findings)?;
        for stem in stems {
            let file = file::check(store, folder, &stem, &mut findings).await?;
            report.files += 1;
            report.commands += file.lines;
            checked.push(file);
        }
    }
    report.tombstones = tombstones::check(store, &checked, &mut findings).await?;
    let mut checked: Vec<Checked> = Vec::new();
    for folder in &folders {
        for stem in events::stems(folder)? {
            let file = events::check(store, folder, &stem, &mut findings).await?;
            report.files += 1;
            report.events += file.lines;
            checked.push(file);
        }
    }
    report.bodies = rows::check(store, &checked, &mut findings).await?;
    drop(held);
    let (found, findings) = findings.into_parts();
    Ok(VerifyReport { holds: found == 0, found, findings, ..report })
}

/// Locks a folder that can be written, and ends an erasure in it.
async fn enter<S: Archive>(
    (store, seals): (&S, &dyn Seals),
    folder: &Folder,
    findings: &mut Findings,
) -> Result<Option<Lock>, ArchiveError> {
    let Ok(lock) = folder.clone().lock_if_writable()? else { return Ok(None) };
    if has_erasure(folder)? {
        match recover(&Work::new(store, &lock).sealed(seals)).await {
            Ok(()) => {}
            Err(ArchiveError::Store(error)) => return Err(error.into()),
            Err(error) => {
                let found = format!("an erasure was cut short and cannot be ended: {error}");
                let name = folder.path().display().to_string();
                findings.add(code::UNFINISHED, &name, Vec::new(), &found);
            }
        }
    }
    Ok(Some(lock))
}

/// The stems of all files and manifests; what is unfinished or strange is told.
fn stems(folder: &Folder, findings: &mut Findings) -> Result<BTreeSet<String>, ArchiveError> {
    let mut stems = BTreeSet::new();
    for end in [LINES, MANIFEST] {
        stems.extend(folder.stems(end)?);
    }
    for name in folder.names()? {
        if name::is_under_way(&name) {
            let found = "a run was cut short and left this; the next `archive` into this folder \
                         finishes or removes it";
            findings.add(code::UNFINISHED, &name, Vec::new(), found);
        } else if name::is_strange(&name) {
            let found = "its name is none that an archive gives: give it its own name back, or \
                         take it away";
            findings.add(code::FOREIGN, &name, Vec::new(), found);
        }
    }
    Ok(stems)
}
