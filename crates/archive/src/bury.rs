//! Removes the commands of a file from the store, by what was read back from it.
//!
//! Guarantees: small batches, others go between them; a batch that was buried before a crash is
//! known again by its tombstones; what is neither in the store nor archived is told as lost. Does
//! not: remove what has changed since it was written; that is left, and named in the manifest.

use counterfoil_core::port::archive::{Archive, Buried, Entry};
use counterfoil_core::port::store::StoreError;

use crate::error::ArchiveError;
use crate::lines::Lines;
use crate::manifest::{Manifest, Stage};
use crate::name::MANIFEST;
use crate::report::FileReport;
use crate::sum;
use crate::work::{Step, Work};

/// The most commands that are removed in one transaction.
const BATCH: usize = 250;
/// The most bytes of bodies in one.
const BATCH_BYTES: usize = 8 << 20;
/// How often a seal that moves is read again.
const SEAL_TRIES: usize = 20;

/// Removes what the file of `stem` holds, and says so in its manifest.
pub(crate) async fn bury<S: Archive>(
    work: &Work<'_, S>,
    stem: &str,
    mut manifest: Manifest,
) -> Result<FileReport, ArchiveError> {
    let (folder, name) = (work.folder, manifest.file.clone());
    let path = folder.at(&name);
    if sum::of_file(&path)? != manifest.compressed {
        return Err(ArchiveError::damaged(&path, "it is not what its manifest says"));
    }
    let mut file = Burial::new(work, &name);
    let mut lines = Lines::open(&path)?;
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while let Some(entry) = lines.entry()? {
        bytes += entry.outbox.body.len();
        batch.push(entry);
        if batch.len() >= BATCH || bytes >= BATCH_BYTES {
            file.bury(std::mem::take(&mut batch)).await?;
            file.tell(manifest.commands);
            work.watch.rest().await;
            bytes = 0;
        }
    }
    file.bury(batch).await?;
    file.tell(manifest.commands);
    work.watch.rest().await;
    let Burial { buried, left, elsewhere, lost, .. } = file;
    manifest.stage = Stage::Buried;
    manifest.left = [&left[..], &elsewhere].concat();
    manifest.put(folder, (stem, MANIFEST), work.watch)?;
    work.watch.reached(Step::Ended(&name));
    let commands = manifest.commands;
    Ok(FileReport { name, commands, buried, left, elsewhere, lost, resumed: false })
}

struct Burial<'w, 'a, S> {
    work: &'w Work<'a, S>,
    name: &'w str,
    buried: u64,
    done: u64,
    left: Vec<String>,
    elsewhere: Vec<String>,
    lost: Vec<String>,
}

impl<'w, 'a, S: Archive> Burial<'w, 'a, S> {
    fn new(work: &'w Work<'a, S>, name: &'w str) -> Self {
        let (left, elsewhere, lost) = (Vec::new(), Vec::new(), Vec::new());
        Self { work, name, buried: 0, done: 0, left, elsewhere, lost }
    }
}

impl<S: Archive> Burial<'_, '_, S> {
    fn tell(&self, of: u64) {
        self.work.watch.reached(Step::Buried(self.done, of));
    }

    async fn bury(&mut self, entries: Vec<Entry>) -> Result<(), ArchiveError> {
        if entries.is_empty() {
            return Ok(());
        }
        let id = |entry: &Entry| entry.outbox.command_id.to_string();
        let ids: Vec<String> = entries.iter().map(id).collect();
        let tombstones = self.work.store.tombstones_of(&ids).await?;
        self.done += entries.len() as u64;
        let mut stand = Vec::new();
        for (entry, tombstone) in entries.into_iter().zip(tombstones) {
            match tombstone {
                None => stand.push(entry),
                // A run before this one has buried it.
                Some(tombstone) if tombstone.file == self.name => {}
                Some(_) => self.elsewhere.push(id(&entry)),
            }
        }
        if stand.is_empty() {
            return Ok(());
        }
        let buried = self.remove_all(&stand).await?;
        self.buried += buried.iter().filter(|buried| **buried).count() as u64;
        let pairs = stand.iter().zip(buried);
        let kept = pairs.filter(|(_, buried)| !buried).map(|(entry, _)| id(entry));
        self.sort(kept.collect()).await
    }

    /// Why each of these was not removed: another run has, or it has changed, or it is not there.
    /// What is not there is not named as left: its line is all that stands of it, and counts.
    async fn sort(&mut self, kept: Vec<String>) -> Result<(), ArchiveError> {
        if kept.is_empty() {
            return Ok(());
        }
        // Known is what stands, and what is archived. Asked first: what another run buries in
        // between has its tombstone by then.
        let known = self.work.store.known(&kept).await?;
        let tombstones = self.work.store.tombstones_of(&kept).await?;
        for ((id, is_known), tombstone) in kept.into_iter().zip(known).zip(tombstones) {
            let place = match (tombstone, is_known) {
                (Some(_), _) => &mut self.elsewhere,
                (None, true) => &mut self.left,
                (None, false) => &mut self.lost,
            };
            place.push(id);
        }
        Ok(())
    }

    /// With a seal the store removes all or none, so that the seal fits: where none, it is given
    /// the halves, until only what must stay is left.
    async fn remove_all(&self, entries: &[Entry]) -> Result<Vec<bool>, ArchiveError> {
        let (mut removed, mut parts) = (Vec::with_capacity(entries.len()), vec![entries]);
        while let Some(part) = parts.pop() {
            let (done, is_sealed) = self.remove(part).await?;
            if done.len() != part.len() {
                let why = "it did not say of each command whether it is buried; report this";
                return Err(StoreError::Broken(why.into()).into());
            }
            if is_sealed && part.len() > 1 && !done.contains(&true) {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            } else {
                removed.extend(done);
            }
        }
        Ok(removed)
    }

    async fn remove(&self, entries: &[Entry]) -> Result<(Vec<bool>, bool), ArchiveError> {
        let Work { store, seals, .. } = self.work;
        for _ in 0..SEAL_TRIES {
            let seal = seals.burying(self.name, entries).await?;
            let is_sealed = seal.is_some();
            match store.bury(self.name, entries.to_vec(), seal).await? {
                Buried::Done(done) => return Ok((done, is_sealed)),
                Buried::SealMoved => self.work.watch.rest().await,
            }
        }
        Err(ArchiveError::SealMoves)
    }
}
