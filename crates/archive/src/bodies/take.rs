//! Takes the bodies of a file's events out of their rows, by what was read back from it.
//!
//! Guarantees: small batches, others go between them; what a batch took before a crash is known
//! again by its row. Does not: take what has changed since it was written, or what its workflow may
//! need by now; that is left, and counted in the manifest.

use counterfoil_core::domain::EventRow;
use counterfoil_core::port::archive::Archive;
use counterfoil_core::port::bodies::{Bodies, Place};
use counterfoil_core::port::store::StoreError;

use super::manifest::EventManifest;
use crate::error::ArchiveError;
use crate::lines::Lines;
use crate::manifest::Stage;
use crate::report::EventFileReport;
use crate::sum;
use crate::work::{Step, Work};

/// The most bodies that are taken in one call.
const BATCH: usize = 250;
/// The most bytes of bodies in one.
const BATCH_BYTES: usize = 8 << 20;

/// Takes the bodies that the file of `stem` holds, and says so in its manifest.
pub(crate) async fn take<S: Archive + Bodies>(
    work: &Work<'_, S>,
    stem: &str,
    mut manifest: EventManifest,
) -> Result<EventFileReport, ArchiveError> {
    let (folder, name) = (work.folder, manifest.file.clone());
    let path = folder.at(&name);
    if sum::of_file(&path)? != manifest.compressed {
        return Err(ArchiveError::damaged(&path, "it is not what its manifest says"));
    }
    let mut taking = Taking { work, name: &name, of: manifest.events, taken: 0, done: 0, left: 0 };
    let mut lines = Lines::open(&path)?;
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while let Some(event) = lines.event()? {
        bytes += event.body.len();
        batch.push(event);
        if batch.len() >= BATCH || bytes >= BATCH_BYTES {
            taking.take(std::mem::take(&mut batch)).await?;
            bytes = 0;
        }
    }
    taking.take(batch).await?;
    let Taking { taken, left, .. } = taking;
    (manifest.stage, manifest.left) = (Stage::Buried, left);
    manifest.put(folder, stem, work.watch)?;
    work.watch.reached(Step::Ended(&name));
    Ok(EventFileReport { name, events: manifest.events, taken, left, resumed: false })
}

struct Taking<'w, 'a, S> {
    work: &'w Work<'a, S>,
    name: &'w str,
    of: u64,
    taken: u64,
    done: u64,
    left: u64,
}

impl<S: Archive + Bodies> Taking<'_, '_, S> {
    async fn take(&mut self, events: Vec<EventRow>) -> Result<(), ArchiveError> {
        if !events.is_empty() {
            let (store, count) = (self.work.store, events.len());
            let places: Vec<Place> =
                events.iter().map(|event| (event.stream.to_string(), event.seq)).collect();
            let taken = store.take_bodies(self.name, events).await?;
            if taken.len() != count {
                let why = "it did not say of each body whether it was taken; report this";
                return Err(StoreError::Broken(why.into()).into());
            }
            self.taken += taken.iter().filter(|taken| **taken).count() as u64;
            let kept = places.into_iter().zip(taken).filter(|(_, taken)| !taken);
            let kept: Vec<Place> = kept.map(|(place, _)| place).collect();
            self.left += self.elsewhere(&kept).await?;
            self.done += count as u64;
        }
        self.work.watch.reached(Step::Taken(self.done, self.of));
        self.work.watch.rest().await;
        Ok(())
    }

    /// How many of these are not in this file: a run before this one may have taken the others.
    async fn elsewhere(&self, places: &[Place]) -> Result<u64, ArchiveError> {
        if places.is_empty() {
            return Ok(0);
        }
        let rows = self.work.store.events_at(places).await?;
        let is_here = |row: &Option<EventRow>| {
            let archived = row.as_ref().and_then(|row| row.archived.as_ref());
            archived.is_some_and(|archived| archived.file == self.name)
        };
        Ok(rows.iter().filter(|row| !is_here(row)).count() as u64)
    }
}
