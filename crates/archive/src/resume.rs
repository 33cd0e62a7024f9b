//! Finishes or undoes what a process before this one left.
//!
//! Guarantees: after it, every file in the folder has its name, its manifest and its place in the
//! store; what was never whole is gone, and still in the store. Does not: remove a file that has
//! its name.

use counterfoil_core::port::archive::Archive;
use counterfoil_core::port::bodies::Bodies;

use crate::bodies::{EventManifest, run as bodies};
use crate::bury::bury;
use crate::erase::go_on;
use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::intent::Intent;
use crate::lines::Lines;
use crate::manifest::{Counted, Manifest, Stage};
use crate::name::{self, EVENTS, EVENTS_MANIFEST, LINES, MANIFEST, NEXT};
use crate::report::{EventFileReport, FileReport};
use crate::rewrite::settle;
use crate::work::{Watch, Work};
use crate::{durable, sum};

/// Ends all that was begun, burials too; what became of each file that was not yet buried.
pub(crate) async fn resume<S: Archive + Bodies>(
    work: &Work<'_, S>,
) -> Result<(Vec<FileReport>, Vec<EventFileReport>), ArchiveError> {
    recover(work).await?;
    let mut files = Vec::new();
    for stem in work.folder.stems(MANIFEST)? {
        let manifest = Manifest::of(work.folder, &stem)?;
        if let Some(manifest) = manifest.filter(|manifest| manifest.stage == Stage::Written) {
            let report = bury(work, &stem, manifest).await?;
            files.push(FileReport { resumed: true, ..report });
        }
    }
    Ok((files, bodies::resume(work).await?))
}

/// Ends what was begun in the folder, but for burials.
pub(crate) async fn recover<S: Archive>(work: &Work<'_, S>) -> Result<(), ArchiveError> {
    let (folder, watch): (&Folder, &dyn Watch) = (work.folder, work.watch);
    let source = work.store.source();
    is_own(folder, &source)?;
    for stem in folder.stems(NEXT)? {
        settle(folder, &stem, watch)?;
    }
    for name in folder.names()?.iter().filter(|name| name::is_part(name)) {
        durable::remove(folder, name, watch)?;
    }
    let manifests = folder.stems(MANIFEST)?;
    for stem in folder.stems(LINES)? {
        if !manifests.contains(&stem) {
            adopt(work, &stem)?;
        }
    }
    bodies::adopt(work)?;
    for intent in Intent::all(folder)? {
        go_on(work, &intent).await?;
    }
    Ok(())
}

/// Whether something waits for [`recover`] to end it that must not wait: an erasure.
pub(crate) fn has_erasure(folder: &Folder) -> Result<bool, ArchiveError> {
    let waits = |name: &String| name::is_intent(name) || name::stem_of(name, NEXT).is_some();
    Ok(folder.names()?.iter().any(waits))
}

/// A folder is one store's.
fn is_own(folder: &Folder, source: &str) -> Result<(), ArchiveError> {
    let foreign = |source_name: String| ArchiveError::Foreign {
        path: folder.path().to_owned(),
        source_name,
        own: source.to_owned(),
    };
    for stem in folder.stems(MANIFEST)? {
        let manifest = Manifest::of(folder, &stem)?;
        if let Some(other) = manifest.filter(|manifest| manifest.source != source) {
            return Err(foreign(other.source));
        }
    }
    for stem in folder.stems(EVENTS_MANIFEST)? {
        let manifest = EventManifest::of(folder, &stem)?;
        if let Some(other) = manifest.filter(|manifest| manifest.source != source) {
            return Err(foreign(other.source));
        }
    }
    let own = name::store(source);
    for end in [LINES, EVENTS] {
        let mut stems = folder.stems(end)?.into_iter();
        if let Some(stem) = stems.find(|stem| name::store_of(stem) != Some(own.as_str())) {
            return Err(foreign(format!("another store (its file {stem}{end})")));
        }
    }
    Ok(())
}

/// Gives a whole file that has its name the manifest that a crash kept from it.
fn adopt<S: Archive>(work: &Work<'_, S>, stem: &str) -> Result<(), ArchiveError> {
    let file = format!("{stem}{LINES}");
    let path = work.folder.at(&file);
    let (mut lines, mut counted) = (Lines::open(&path)?, Counted::new());
    while let Some(entry) = lines.entry()? {
        counted.add(&entry);
    }
    let sums = (sum::of_file(&path)?, lines.read_so_far().1);
    let names = (file.as_str(), &*work.store.source());
    let manifest = Manifest::new(names, work.store.now()?, &counted, sums);
    manifest.put(work.folder, (stem, MANIFEST), work.watch)
}
