//! Erases the content of one command: in the store, and in the files that hold its line.
//!
//! Guarantees: once it is asked, it ends, by this process or by the next that works in the folder;
//! digests, receipts and tombstone stay. Does not: reach copies of the files elsewhere, such as
//! backups.

use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::{Archive, Erased};

use crate::durable;
use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::intent::Intent;
use crate::manifest::{Manifest, Stage};
use crate::name::MANIFEST;
use crate::resume::recover;
use crate::rewrite::{check, without_content};
use crate::work::{Seals, Step, Watch, Work};

/// How often a seal that moves is read again.
const SEAL_TRIES: usize = 20;

/// What an erasure came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Erasure {
    /// Its content is gone from the store and from these files.
    Done(Vec<String>),
    /// It was gone before from the store, and is gone now from these files.
    Repeated(Vec<String>),
    /// It has not ended; nothing changed.
    Open,
    /// Never heard of.
    Unknown,
}

/// Erases the content of a command, in the store and in this folder. `actor` has the reason.
///
/// # Errors
/// [`ArchiveError::NotHere`] if the command is archived in a file of another folder and was not
/// erased there yet, before anything is done; else what failed: then the next work in this folder
/// ends it.
pub async fn erase<S: Archive>(
    work: &Work<'_, S>,
    command_id: &str,
    actor: Actor,
) -> Result<Erasure, ArchiveError> {
    recover(work).await?;
    let asked_at = work.store.now()?;
    let Actor { name: actor, reason } = actor;
    let intent = Intent { command_id: command_id.to_owned(), actor, reason, asked_at };
    let tombstone = work.store.tombstones_of(&[command_id.to_owned()]).await?.pop().flatten();
    let file = tombstone.map(|tombstone| tombstone.file);
    // Once it is erased where its line counts, a line that was left here is all there is to do.
    let is_erased = work.store.erased(&[command_id.to_owned()]).await?.contains(&true);
    if let Some(file) = file.as_ref().filter(|file| !is_erased && !work.folder.has(file)) {
        let (id, path) = (command_id.to_owned(), work.folder.path().to_owned());
        return Err(ArchiveError::NotHere { id, file: file.clone(), path });
    }
    let stems = may_hold(work.folder, command_id, file.as_deref())?;
    for stem in &stems {
        if let Some(manifest) = Manifest::of(work.folder, stem)? {
            check(work.folder, &manifest)?;
        }
    }
    if !stems.is_empty() {
        intent.put(work.folder, work.watch)?;
    }
    let erased = record(work, &intent).await?;
    end(work, &intent, erased).await
}

/// Ends an erasure that a process before this one began.
pub(crate) async fn go_on<S: Archive>(
    work: &Work<'_, S>,
    intent: &Intent,
) -> Result<Erasure, ArchiveError> {
    let story = work.store.show(&intent.command_id).await?;
    let is_this = |told: &counterfoil_core::port::read::Told| {
        told.what == "erase" && told.outcome == intent.actor && told.at >= intent.asked_at
    };
    let is_recorded = story.is_some_and(|story| story.actions.iter().any(is_this));
    let erased = if is_recorded { Erased::Done } else { record(work, intent).await? };
    end(work, intent, erased).await
}

async fn record<S: Archive>(work: &Work<'_, S>, intent: &Intent) -> Result<Erased, ArchiveError> {
    let erased = erase_in_store(work.store, work.seals, &intent.command_id, intent.actor()).await;
    let erased = erased?;
    work.watch.reached(Step::Erased(&intent.command_id));
    Ok(erased)
}

/// Erases in the store alone, and records it; of an archived command, the record alone. The seal is
/// kept right, so [`Erased::SealMoved`] does not come.
///
/// # Errors
/// [`ArchiveError::SealMoves`], or the store failed.
pub async fn erase_in_store<S: Archive>(
    store: &S,
    seals: &dyn Seals,
    command_id: &str,
    actor: Actor,
) -> Result<Erased, ArchiveError> {
    let reason = actor.reason.clone();
    for _ in 0..SEAL_TRIES {
        let seal = seals.erasing(command_id).await?;
        match store.erase(command_id, actor.clone(), &reason, seal).await? {
            Erased::SealMoved => {}
            erased => return Ok(erased),
        }
    }
    Err(ArchiveError::SealMoves)
}

/// Takes the content out of the files, and forgets the intent.
async fn end<S: Archive>(
    work: &Work<'_, S>,
    intent: &Intent,
    erased: Erased,
) -> Result<Erasure, ArchiveError> {
    let (folder, watch): (&Folder, &dyn Watch) = (work.folder, work.watch);
    if matches!(erased, Erased::Open | Erased::Unknown) {
        durable::remove(folder, &intent.name(), watch)?;
        return Ok(if erased == Erased::Open { Erasure::Open } else { Erasure::Unknown });
    }
    let id = intent.command_id.as_str();
    let tombstone = work.store.tombstones_of(&[id.to_owned()]).await?.pop().flatten();
    let file = tombstone.map(|tombstone| tombstone.file);
    let mut files = Vec::new();
    for stem in may_hold(folder, id, file.as_deref())? {
        if without_content(folder, &stem, (id, intent.asked_at), watch)? {
            files.extend(Manifest::of(folder, &stem)?.map(|manifest| manifest.file));
        }
    }
    durable::remove(folder, &intent.name(), watch)?;
    let is_repeat = erased == Erased::Repeated;
    Ok(if is_repeat { Erasure::Repeated(files) } else { Erasure::Done(files) })
}

/// The stems of files that may hold a line of the command: the one that its tombstone names, those
/// that name it as left, and those of a run that was cut short.
fn may_hold(folder: &Folder, id: &str, file: Option<&str>) -> Result<Vec<String>, ArchiveError> {
    let mut stems = Vec::new();
    for stem in folder.stems(MANIFEST)? {
        let Some(manifest) = Manifest::of(folder, &stem)? else { continue };
        if file == Some(manifest.file.as_str())
            || manifest.stage == Stage::Written
            || manifest.left.iter().any(|left| left == id)
        {
            stems.push(stem);
        }
    }
    Ok(stems)
}
