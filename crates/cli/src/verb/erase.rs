//! `erase`: clears the content of an ended command, in the store and in its archive.
//!
//! Guarantees: who and why stay, and so do digests and receipts; an archived command is not said
//! to be erased before its file is. Does not: reach backups.

use counterfoil_archive::{ArchiveError, Erasure, Folder, KeptSeal, Work, erase, erase_in_store};
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::{Archive, Erased};
use serde_json::json;

use super::act::needed;
use super::actor::actor;
use super::archive::failed;
use super::{Found, block_on};
use crate::args::{Erase, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::output;
use crate::output::table::cell;
use crate::store::OpenStore;

/// Does `erase`.
///
/// # Errors
/// A flag is missing or wrong, the command is open or unknown, or its file is not at hand.
pub(crate) fn run(shared: &Shared, args: Erase) -> Ended {
    let reason = needed(args.reason, "erase", "--reason", "why its content goes")?;
    let actor = Actor { name: actor(args.actor)?, reason };
    let found = Found::new(shared)?;
    let mut dirs = args.archive;
    if dirs.is_empty() {
        dirs.extend(found.archive(None)?);
    }
    let folders = dirs.iter().map(|dir| Folder::new(dir).map_err(failed));
    let folders = Folder::each_once(&folders.collect::<Result<Vec<_>, _>>()?);
    let store = found.open()?;
    let erased = if folders.is_empty() {
        in_store(&store, &args.id, actor)?
    } else {
        in_archive(&store, folders, &args.id, &actor)?
    };
    tell(&args.id, &erased, !dirs.is_empty(), args.json)
}

/// In the folder where its line counts first: it is erased by that, and what the others hold of it
/// is left over.
fn in_archive(
    store: &OpenStore,
    mut folders: Vec<Folder>,
    id: &str,
    actor: &Actor,
) -> Result<Erasure, Failure> {
    let seals = KeptSeal(store);
    block_on(async {
        let tombstone = store.tombstones_of(&[id.to_owned()]).await?.pop().flatten();
        let counts = |folder: &Folder| tombstone.as_ref().is_some_and(|it| folder.has(&it.file));
        folders.sort_by_key(|folder| !counts(folder));
        let mut all: Option<Erasure> = None;
        for folder in folders {
            let lock = folder.lock().map_err(failed)?;
            let work = Work::new(store, &lock).sealed(&seals);
            let erased = erase(&work, id, actor.clone()).await.map_err(failed)?;
            all = Some(match (all, erased) {
                (Some(Erasure::Done(mut files)), Erasure::Done(more) | Erasure::Repeated(more)) => {
                    files.extend(more);
                    Erasure::Done(files)
                }
                (Some(Erasure::Repeated(mut files)), Erasure::Repeated(more)) => {
                    files.extend(more);
                    Erasure::Repeated(files)
                }
                (_, erased) => erased,
            });
        }
        Ok(all.unwrap_or(Erasure::Unknown))
    })
}

/// Where no folder is named, an archived command is left as it is.
fn in_store(store: &OpenStore, id: &str, actor: Actor) -> Result<Erasure, Failure> {
    let elsewhere = |file: &str| {
        let text = format!("{}: it is archived in {file}; nothing was erased", cell(id));
        Failure::refused(text).help(
            "name the folder of that file: --archive DIR, or for good by [archive] dir in the \
             configuration",
        )
    };
    block_on(async {
        let tombstone = store.tombstones_of(&[id.to_owned()]).await?.pop().flatten();
        if let Some(tombstone) = tombstone {
            return Err(elsewhere(&tombstone.file));
        }
        let seals = KeptSeal(store);
        Ok(match erase_in_store(store, &seals, id, actor).await.map_err(failed)? {
            Erased::Done => Erasure::Done(Vec::new()),
            Erased::Repeated => Erasure::Repeated(Vec::new()),
            Erased::Open => Erasure::Open,
            Erased::Unknown => Erasure::Unknown,
            // A run moved it meanwhile.
            Erased::Archived(tombstone) => return Err(elsewhere(&tombstone.file)),
            Erased::SealMoved => return Err(failed(ArchiveError::SealMoves)),
        })
    })
}

fn tell(id: &str, erased: &Erasure, has_folder: bool, as_json: bool) -> Ended {
    let shown = cell(id);
    let files = match erased {
        Erasure::Done(files) | Erasure::Repeated(files) => files.clone(),
        Erasure::Open => {
            return Err(Failure::refused(format!("{shown}: it has not ended; nothing was erased"))
                .help("end it first: `cancel` or `resolve` it"));
        }
        Erasure::Unknown => {
            let text = format!("no command {id:?} was ever recorded");
            return Err(Failure::refused(text).help("look it up with `counterfoil list`"));
        }
    };
    let repeated = matches!(erased, Erasure::Repeated(_));
    if as_json {
        let object = json!({
            "command_id": id, "verb": "erase", "done": true, "repeated": repeated, "files": files,
        });
        output::line(&object.to_string())?;
        return Ok(Exit::Done);
    }
    let what = if repeated { "was erased before" } else { "erased; digests and receipts stay" };
    let mut lines = vec![format!("{shown}: {what}")];
    lines.extend(files.iter().map(|file| format!("rewritten without it: {file}")));
    if !has_folder {
        lines.push(
            "no folder of an archive was named: where there is one, name it, as a file there may \
             hold a copy (--archive DIR, or [archive] dir)"
                .into(),
        );
    }
    lines.push("backups still hold it, until they are gone".into());
    output::line(&lines.join("\n"))?;
    Ok(Exit::Done)
}
