//! A run over the events: write the bodies that may leave, take them out, file by file.
//!
//! Guarantees: bounded memory, a new file after a bounded number of events or bytes, each file
//! ended before the next is begun. Does not: decide what is old enough; the caller does.

use counterfoil_core::domain::EventRow;
use counterfoil_core::port::archive::Archive;
use counterfoil_core::port::bodies::Bodies;
use counterfoil_core::port::store::StoreError;

use super::manifest::{CountedEvents, EventManifest};
use super::take::take;
use super::write::EventWriter;
use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::lines::Lines;
use crate::manifest::Stage;
use crate::name::{EVENTS, EVENTS_MANIFEST};
use crate::report::{ArchiveReport, EventFileReport};
use crate::run::{Options, PAGE_FIRST, next_limit};
use crate::sum;
use crate::work::Work;

/// Moves the bodies that are old enough, and adds to `report` what became of them.
pub(crate) async fn bodies<S: Archive + Bodies>(
    work: &Work<'_, S>,
    options: &Options,
    report: &mut ArchiveReport,
) -> Result<(), ArchiveError> {
    let mut run = Run { work, options, report, file: None };
    let moved = run.move_all().await;
    if let (Err(_), Some(path)) = (&moved, run.file.take().map(|file| file.path(work.folder))) {
        // Nothing in it is needed; what cannot be removed now, the next run removes.
        let _ = std::fs::remove_file(path);
    }
    moved
}

/// Takes the bodies of every file that a run before left whole; what became of each.
pub(crate) async fn resume<S: Archive + Bodies>(
    work: &Work<'_, S>,
) -> Result<Vec<EventFileReport>, ArchiveError> {
    let mut files = Vec::new();
    for stem in work.folder.stems(EVENTS_MANIFEST)? {
        let manifest = EventManifest::of(work.folder, &stem)?;
        if let Some(manifest) = manifest.filter(|manifest| manifest.stage == Stage::Written) {
            let report = take(work, &stem, manifest).await?;
            files.push(EventFileReport { resumed: true, ..report });
        }
    }
    Ok(files)
}

/// Gives every whole file that has its name the manifest that a crash kept from it.
pub(crate) fn adopt<S: Archive>(work: &Work<'_, S>) -> Result<(), ArchiveError> {
    let manifests = work.folder.stems(EVENTS_MANIFEST)?;
    for stem in work.folder.stems(EVENTS)? {
        if manifests.contains(&stem) {
            continue;
        }
        let file = format!("{stem}{EVENTS}");
        let path = work.folder.at(&file);
        let (mut lines, mut counted) = (Lines::open(&path)?, CountedEvents::default());
        while let Some(event) = lines.event()? {
            counted.add(&event);
        }
        let sums = (sum::of_file(&path)?, lines.read_so_far().1);
        let names = (file.as_str(), &*work.store.source());
        let manifest = EventManifest::new(names, work.store.now()?, &counted, sums);
        manifest.put(work.folder, &stem, work.watch)?;
    }
    Ok(())
}

struct Run<'r, 'a, S> {
    work: &'r Work<'a, S>,
    options: &'r Options,
    report: &'r mut ArchiveReport,
    file: Option<EventWriter>,
}

impl<S: Archive + Bodies> Run<'_, '_, S> {
    async fn move_all(&mut self) -> Result<(), ArchiveError> {
        let (mut after, mut limit) = (None, PAGE_FIRST);
        loop {
            let page =
                self.work.store.old_bodies(self.options.before, after.clone(), limit).await?;
            self.report.kept_bodies.add(page.kept);
            let bytes = page.events.iter().map(|event| event.body.len());
            limit = next_limit(bytes, limit);
            for event in &page.events {
                self.add(event).await?;
            }
            let Some(next) = page.next else { return self.end_file().await };
            if after.as_ref().is_some_and(|after| next <= *after) {
                let why = "its pages do not go on; report this as a bug of the store";
                return Err(StoreError::Broken(why.into()).into());
            }
            after = Some(next);
        }
    }

    async fn add(&mut self, event: &EventRow) -> Result<(), ArchiveError> {
        let Work { store, folder, watch, .. } = self.work;
        if self.file.is_none() {
            let source = store.source();
            let place: (&Folder, &str) = (folder, &source);
            self.file = Some(EventWriter::begin(place, store.now()?, *watch)?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        file.add(event, *watch)?;
        let (events, bytes) = file.size();
        if events >= self.options.file_commands || bytes >= self.options.file_bytes {
            self.end_file().await?;
        }
        Ok(())
    }

    async fn end_file(&mut self) -> Result<(), ArchiveError> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let Work { store, folder, watch, .. } = self.work;
        let part = file.path(folder);
        let finished = file.finish(folder, &store.source(), *watch);
        if finished.is_err() {
            let _ = std::fs::remove_file(part);
        }
        let (stem, manifest) = finished?;
        self.report.events.push(take(self.work, &stem, manifest).await?);
        Ok(())
    }
}
