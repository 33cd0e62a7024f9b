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
use crate::manifest::Manifest;
use crate::name::MANIFEST;
use crate::resume::recover;
use crate::rewrite::{check, holds_content_of, without_content};
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
    let file = file_that_counts(work, command_id).await?;
    let intent = Intent { command_id: command_id.to_owned(), actor, reason, asked_at, file };
    is_here(work.folder, &intent)?;
    if !holding(work.folder, &intent)?.is_empty() {
        intent.put(work.folder, work.watch)?;
    }
    let erased = record(work, &intent).await?;
    end(work, &intent, erased).await
}

/// The file where the command's line counts. Once it is erased there, a line that was left in
/// another one is all there is to do, and none counts.
async fn file_that_counts<S: Archive>(
    work: &Work<'_, S>,
    command_id: &str,
) -> Result<Option<String>, ArchiveError> {
    if work.store.erased(&[command_id.to_owned()]).await?.contains(&true) {
        return Ok(None);
    }
    let tombstone = work.store.tombstones_of(&[command_id.to_owned()]).await?.pop().flatten();
    Ok(tombstone.map(|tombstone| tombstone.file))
}

fn is_here(folder: &Folder, intent: &Intent) -> Result<(), ArchiveError> {
    match &intent.file {
        Some(file) if !folder.has(file) => {
            let (id, path) = (intent.command_id.clone(), folder.path().to_owned());
            Err(ArchiveError::NotHere { id, file: file.clone(), path })
        }
        _ => Ok(()),
    }
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
    is_here(work.folder, intent)?;
    if is_recorded {
        return end(work, intent, Erased::Done).await;
    }
    let file = file_that_counts(work, &intent.command_id).await?;
    is_here(work.folder, &Intent { file, ..intent.clone() })?;
    let erased = record(work, intent).await?;
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
    let mut files = Vec::new();
    for stem in holding(folder, intent)? {
        if without_content(folder, &stem, (id, intent.asked_at), watch)? {
            files.extend(Manifest::of(folder, &stem)?.map(|manifest| manifest.file));
        }
    }
    durable::remove(folder, &intent.name(), watch)?;
    let is_repeat = erased == Erased::Repeated;
    Ok(if is_repeat { Erasure::Repeated(files) } else { Erasure::Done(files) })
}

/// The stems of all files with the content of the command in a line, whatever the tombstone names:
/// a line may have been left, or stand twice where a store came back from a backup.
fn holding(folder: &Folder, intent: &Intent) -> Result<Vec<String>, ArchiveError> {
    let mut stems = Vec::new();
    for stem in folder.stems(MANIFEST)? {
        let Some(manifest) = Manifest::of(folder, &stem)? else { continue };
        let name = &manifest.file;
        if !folder.has(name) {
            continue;
        }
        let holds = holds_content_of(&folder.at(name), &intent.command_id)?;
        if holds || intent.file.as_ref() == Some(name) {
            check(folder, &manifest)?;
        }
        if holds {
            stems.push(stem);
        }
    }
    Ok(stems)
}
