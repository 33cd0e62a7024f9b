//! The folder of an archive, and the lock without which nothing in it is changed.
//!
//! Guarantees: one piece of work at a time; the system frees the lock of a process that died. Does
//! not: keep people from touching the files.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::ArchiveError;
use crate::name;

/// The file whose lock is the folder's. It is empty and stays.
const LOCK: &str = "counterfoil.lock";

/// A folder, to read in.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at `path`.
    ///
    /// # Errors
    /// [`ArchiveError::NoFolder`] if there is none.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, ArchiveError> {
        let path = path.into();
        if path.is_dir() { Ok(Self { path }) } else { Err(ArchiveError::NoFolder { path }) }
    }

    /// Each of these once, however it is named: twice, it would wait for its own lock.
    #[must_use]
    pub fn each_once(folders: &[Self]) -> Vec<Self> {
        let is_at = |folder: &Self| folder.path.canonicalize().unwrap_or(folder.path.clone());
        let mut seen = BTreeSet::new();
        folders.iter().filter(|folder| seen.insert(is_at(folder))).cloned().collect()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file of this name is.
    #[must_use]
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether a file of this name stands. A name that leads elsewhere is none.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let is_bare = Path::new(name).file_name().is_some_and(|bare| bare == name);
        is_bare && self.at(name).is_file()
    }

    /// The names of all files, sorted; those that are no UTF-8 are none of ours.
    pub(crate) fn names(&self) -> Result<BTreeSet<String>, ArchiveError> {
        let denied = |error| ArchiveError::read(&self.path, error);
        let mut names = BTreeSet::new();
        for entry in std::fs::read_dir(&self.path).map_err(denied)? {
            names.extend(entry.map_err(denied)?.file_name().into_string().ok());
        }
        names.remove(LOCK);
        Ok(names)
    }

    /// What stands before `end` in the names that are ours and end so.
    pub(crate) fn stems(&self, end: &str) -> Result<Vec<String>, ArchiveError> {
        let names = self.names()?;
        Ok(names.iter().filter_map(|name| name::stem_of(name, end)).map(str::to_owned).collect())
    }

    /// Locks it to work in.
    ///
    /// # Errors
    /// [`ArchiveError::Busy`], or the folder cannot be written.
    pub fn lock(self) -> Result<Lock, ArchiveError> {
        let path = self.at(LOCK);
        let written = |error| ArchiveError::written(&path, error);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(written)?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { folder: self, held: file }),
            Err(TryLockError::WouldBlock) => Err(ArchiveError::Busy { path: self.path }),
            Err(TryLockError::Error(error)) => Err(written(error)),
        }
    }

    /// Locks it, or says that it cannot be written, so that nobody works in it either.
    pub(crate) fn lock_if_writable(self) -> Result<Result<Lock, Self>, ArchiveError> {
        match self.clone().lock() {
            Ok(lock) => Ok(Ok(lock)),
            Err(ArchiveError::Denied { why, .. })
                if matches!(
                    why.kind(),
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                Ok(Err(self))
            }
            Err(error) => Err(error),
        }
    }
}

/// A folder that is locked; the lock goes with this value, or with the process.
#[derive(Debug)]
pub struct Lock {
    folder: Folder,
    held: File,
}

/// Closing alone would not do: a process that was begun meanwhile holds the open file for a moment,
/// between its fork and its program.
impl Drop for Lock {
    fn drop(&mut self) {
        // What cannot be unlocked goes when the file is closed.
        let _ = self.held.unlock();
    }
}

impl std::ops::Deref for Lock {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: while one thread of a program began other programs, another one's next piece of
    /// work in a folder heard now and then that somebody worked there: what was just begun held the
    /// lock that had been given back.
    #[test]
    fn a_lock_goes_with_its_value_whoever_inherited_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path()).unwrap();
        let lock = folder.clone().lock().unwrap();
        let inherited = lock.held.try_clone().unwrap();
        drop(lock);
        drop(folder.lock().unwrap());
        drop(inherited);
    }
}
