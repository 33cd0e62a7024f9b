//! `erase`: clears the content of an ended command, in the store and in its archive.
//!
//! Guarantees: who and why stay, and so do digests and receipts; an archived command is not said
//! to be erased before its file is. Does not: reach backups.

use std::path::Path;

use counterfoil_archive::{ArchiveError, Erasure, Folder, KeptSeal, Work, erase, erase_in_store};
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::{Archive, Erased};
use serde_json::json;

use super::act::needed;
use super::actor::actor;
use super::archive::{failed, folder};
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
    let dir = found.archive(args.archive.as_deref())?;
    let folder = folder(dir.as_deref())?;
    let store = found.open()?;
    let erased = match folder {
        Some(folder) => in_archive(&store, folder, &args.id, actor)?,
        None => in_store(&store, &args.id, actor)?,
    };
    tell(&args.id, &erased, dir.as_deref(), args.json)
}

fn in_archive(
    store: &OpenStore,
    folder: Folder,
    id: &str,
    actor: Actor,
) -> Result<Erasure, Failure> {
    let lock = folder.lock().map_err(failed)?;
    let seals = KeptSeal(store);
    let work = Work::new(store, &lock).sealed(&seals);
    block_on(async { erase(&work, id, actor).await.map_err(failed) })
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

fn tell(id: &str, erased: &Erasure, dir: Option<&Path>, as_json: bool) -> Ended {
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
    if dir.is_none() {
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
