//! A run of the archive: finish what was begun, write what has ended, remove it.
//!
//! Guarantees: bounded memory, a new file after a bounded number of commands or bytes, each file
//! buried before the next is begun. Does not: decide what is old enough; the caller does.

use counterfoil_core::domain::Micros;
use counterfoil_core::port::archive::{Archive, Entry, Kept};
use counterfoil_core::port::bodies::Bodies;

use crate::bodies::run::bodies;
use crate::bury::bury;
use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::judge::{Judged, judge};
use crate::report::ArchiveReport;
use crate::resume::resume;
use crate::work::Work;
use crate::write::FileWriter;

/// The most commands that are read at once.
const PAGE_MAX: usize = 500;
/// How many bytes of bodies a page should hold; the next page is as long as the last one says.
const PAGE_BYTES: usize = 8 << 20;
/// How many are read first.
pub(crate) const PAGE_FIRST: usize = 32;

/// What a run does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Commands whose newest receipt was recorded before this, and bodies of events that were.
    pub before: Micros,
    /// The most commands, or events, in a file. Default 100,000; 0 counts as 1.
    pub file_commands: u64,
    /// The most bytes of lines in a file, but for its last line. Default 1 GiB.
    pub file_bytes: u64,
    /// How many violations are kept in full; all commands with one are counted. Default 1,000.
    pub keep: usize,
}

impl Options {
    /// Commands that ended before `before`.
    #[must_use]
    pub const fn new(before: Micros) -> Self {
        Self { before, file_commands: 100_000, file_bytes: 1 << 30, keep: 1000 }
    }

    /// Sets the most commands in a file.
    #[must_use]
    pub const fn file_commands(mut self, most: u64) -> Self {
        self.file_commands = most;
        self
    }
}

/// Finishes what a run before has left, then moves what has ended into files: commands, then the
/// bodies of events that no workflow needs any more.
///
/// Files are written and synced on the caller's thread, which waits for the disk: give it one of
/// its own.
///
/// # Errors
/// [`ArchiveError`]; then what is in no whole file is still in the store, and the next run goes
/// on.
pub async fn archive<S: Archive + Bodies>(
    work: &Work<'_, S>,
    options: &Options,
) -> Result<ArchiveReport, ArchiveError> {
    let mut run = Run { work, options, report: ArchiveReport::default(), file: None };
    (run.report.files, run.report.events) = resume(work).await?;
    let moved = run.move_all().await;
    if let (Err(_), Some(path)) = (&moved, run.file.take().map(|file| file.path(work.folder))) {
        // Nothing in it is needed; what cannot be removed now, the next run removes.
        let _ = std::fs::remove_file(path);
    }
    let mut report = moved.map(|()| run.report)?;
    bodies(work, options, &mut report).await?;
    Ok(report)
}

struct Run<'r, 'a, S> {
    work: &'r Work<'a, S>,
    options: &'r Options,
    report: ArchiveReport,
    file: Option<FileWriter>,
}

impl<S: Archive> Run<'_, '_, S> {
    async fn move_all(&mut self) -> Result<(), ArchiveError> {
        let store = self.work.store;
        let (mut after, mut limit) = (0, PAGE_FIRST);
        loop {
            let page = store.ended(self.options.before, after, limit).await?;
            self.count(page.kept);
            let bytes = page.entries.iter().map(|entry| entry.outbox.body.len());
            limit = next_limit(bytes, limit);
            let Judged { sound, broken } = judge(store, page.entries).await?;
            self.report.broken += broken.len() as u64;
            let room = self.options.keep.saturating_sub(self.report.violations.len());
            self.report.violations.extend(broken.into_iter().flatten().take(room));
            for entry in &sound {
                self.add(entry).await?;
            }
            if page.last {
                return self.end_file().await;
            }
            if page.looked_at <= after {
                let why = "its pages do not go on; report this as a bug of the store";
                return Err(counterfoil_core::port::store::StoreError::Broken(why.into()).into());
            }
            after = page.looked_at;
        }
    }

    fn count(&mut self, kept: Kept) {
        let all = &mut self.report.kept;
        all.contradicted += kept.contradicted;
        all.of_workflow += kept.of_workflow;
        all.unreadable += kept.unreadable;
        all.newest += kept.newest;
    }

    async fn add(&mut self, entry: &Entry) -> Result<(), ArchiveError> {
        let Work { store, folder, watch, .. } = self.work;
        if self.file.is_none() {
            let source = store.source();
            let place: (&Folder, &str) = (folder, &source);
            self.file = Some(FileWriter::begin(place, store.now()?, entry, *watch)?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        file.add(entry, *watch)?;
        let (commands, bytes) = file.size();
        if commands >= self.options.file_commands || bytes >= self.options.file_bytes {
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
        self.report.files.push(bury(self.work, &stem, manifest).await?);
        Ok(())
    }
}

/// How many the next page should have, by how long the bodies of this one are.
pub(crate) fn next_limit(bodies: impl ExactSizeIterator<Item = usize>, limit: usize) -> usize {
    let count = bodies.len();
    if count == 0 {
        return limit;
    }
    let average = (bodies.sum::<usize>() / count).max(1);
    (PAGE_BYTES / average).clamp(1, PAGE_MAX)
}
