//! Writes so that a file has its name only once it is whole on the disk.
//!
//! Guarantees: content, then sync, then name, then sync of the folder; each step is told. Does
//! not: write in place.

use std::fs::File;
use std::io::Write;

use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::name::PART;
use crate::work::{Step, Watch};

/// Writes a small file whole under `name`, over one that may stand there.
pub(crate) fn put(
    folder: &Folder,
    name: &str,
    bytes: &[u8],
    watch: &dyn Watch,
) -> Result<(), ArchiveError> {
    let part = format!("{name}{PART}");
    let path = folder.at(&part);
    let write = || {
        let mut file = File::create(&path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| ArchiveError::written(&path, error))?;
    watch.reached(Step::Synced(&part));
    let stands = std::fs::read(&path).map_err(|error| ArchiveError::read(&path, error))?;
    if stands != bytes {
        return Err(ArchiveError::ReadBack { path });
    }
    rename(folder, &part, name, watch)
}

/// Gives a durable file its name.
pub(crate) fn rename(
    folder: &Folder,
    from: &str,
    to: &str,
    watch: &dyn Watch,
) -> Result<(), ArchiveError> {
    let path = folder.at(to);
    std::fs::rename(folder.at(from), &path).map_err(|error| ArchiveError::written(&path, error))?;
    sync(folder)?;
    watch.reached(Step::Named(to));
    Ok(())
}

/// Removes a file; one that is gone already is no error.
pub(crate) fn remove(folder: &Folder, name: &str, watch: &dyn Watch) -> Result<(), ArchiveError> {
    let path = folder.at(name);
    match std::fs::remove_file(&path) {
        Ok(()) => sync(folder)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(ArchiveError::written(&path, error)),
    }
    watch.reached(Step::Removed(name));
    Ok(())
}

/// Makes the names of a folder durable.
fn sync(folder: &Folder) -> Result<(), ArchiveError> {
    let path = folder.path();
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(|error| ArchiveError::written(path, error))
}
