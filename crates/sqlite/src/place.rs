//! Whether the store that is open still stands under its name.
//!
//! Guarantees: a file that was moved, removed or replaced under its open connections is told
//! before anything more is written into what nobody would find again; so is a write-ahead log. Does
//! not: see a file that was overwritten in place, nor anything on systems without inodes.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use counterfoil_core::port::store::StoreError;

/// The file and its log, as they were opened; clones speak of the same.
#[derive(Clone)]
pub(crate) struct Place(Arc<Opened>);

struct Opened {
    path: PathBuf,
    log: PathBuf,
    file: Option<Inode>,
    log_file: Mutex<Log>,
}

/// The log's file, which SQLite may make anew where the last connection was closed.
#[derive(Clone, Copy, Default)]
enum Log {
    /// The writer's connection is open; the next look takes what stands there.
    #[default]
    Unseen,
    Seen(Inode),
    /// The writer's connection is closed, perhaps the last: there need not be any.
    Closed,
}

/// Device and number.
type Inode = (u64, u64);

impl Place {
    /// The place of a file that has just been opened.
    pub(crate) fn new(path: PathBuf) -> Self {
        // SQLite names the log after the file itself, not after a link to it.
        let mut log = path.canonicalize().unwrap_or_else(|_| path.clone()).into_os_string();
        log.push("-wal");
        let file = path.metadata().ok().as_ref().and_then(inode);
        Self(Arc::new(Opened { path, log: log.into(), file, log_file: Mutex::default() }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Asks whether both still stand.
    ///
    /// # Errors
    /// [`StoreError::Broken`] names what is gone, and the way out.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let Opened { path, log, file, log_file } = &*self.0;
        if file.is_some_and(|inode| is_gone(path, inode)) {
            return Err(gone(path, "this file was"));
        }
        let mut known = log_file.lock().unwrap_or_else(PoisonError::into_inner);
        match *known {
            Log::Seen(inode) if is_gone(log, inode) => {
                return Err(gone(log, "this write-ahead log was"));
            }
            Log::Unseen => {
                let stands = log.metadata().ok().as_ref().and_then(inode);
                *known = stands.map_or(Log::Unseen, Log::Seen);
            }
            Log::Seen(_) | Log::Closed => {}
        }
        Ok(())
    }

    /// The writer's connection is about to be closed.
    pub(crate) fn closing(&self) {
        *self.0.log_file.lock().unwrap_or_else(PoisonError::into_inner) = Log::Closed;
    }

    /// The writer's connection is open again.
    pub(crate) fn opened(&self) {
        *self.0.log_file.lock().unwrap_or_else(PoisonError::into_inner) = Log::Unseen;
    }
}

fn gone(path: &Path, what: &str) -> StoreError {
    StoreError::Broken(format!(
        "{}: {what} moved, removed or replaced while it was open, so what is written now would be \
         lost: stop every program that uses it, put the right file there, run `counterfoil audit`, \
         then start again",
        path.display()
    ))
}

/// What cannot be looked at is not called gone.
fn is_gone(path: &Path, opened: Inode) -> bool {
    match path.metadata() {
        Ok(stands) => inode(&stands).is_some_and(|stands| stands != opened),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems know none")]
fn inode(metadata: &Metadata) -> Option<Inode> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<Inode> {
    None
}
