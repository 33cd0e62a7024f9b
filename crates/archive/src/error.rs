//! Why an archive could not do its work.
//!
//! Guarantees: each kind has a stable code with a row in `docs/errors.md`, names the thing and the
//! way out. Does not: say what was lost; nothing is.

use std::path::{Path, PathBuf};

use counterfoil_core::port::store::StoreError;

/// Why an archive could not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// There is no such folder.
    #[error(
        "there is no folder {path}: name the right one, or for a new archive create it, on a \
         disk that is backed up"
    )]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder or a file in it cannot be read or written.
    #[error("{path} cannot be {what}: {why}; nothing was removed from the store")]
    Denied {
        /// The file or folder.
        path: PathBuf,
        /// `read` or `written`.
        what: &'static str,
        /// The system's words.
        why: std::io::Error,
    },
    /// The disk of the folder is full.
    #[error(
        "{path} cannot be written, the disk is full: make room and run it again; what was not yet \
         in a whole file is still in the store"
    )]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// Another run is at work in the folder.
    #[error("another archive, verify or erase is at work in {path}: wait until it has ended")]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder belongs to another store.
    #[error("{path} holds the archive of {source_name:?}, not of {own:?}: a folder is one store's")]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        source_name: String,
        /// Who asks.
        own: String,
    },
    /// What was read back is not what was written.
    #[error(
        "{path} reads back otherwise than it was written: nothing of it was removed from the \
         store; look after the disk"
    )]
    ReadBack {
        /// The file.
        path: PathBuf,
    },
    /// A file is not what its manifest says, or cannot be read as lines.
    #[error("{path} is damaged: {why}; run `archive --verify`, and bring it back from a backup")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A manifest that this version cannot read, and that is not damaged for that.
    #[error(
        "{path} was written by a newer Counterfoil: it is of format {format}, and this one knows \
         {known}: use the newer program"
    )]
    Newer {
        /// The manifest.
        path: PathBuf,
        /// Its format.
        format: u32,
        /// The newest format that this version knows.
        known: u32,
    },
    /// A command's file lies elsewhere.
    #[error(
        "command {id} is archived in {file}, which is not in {path}: name its folder, or bring \
         the file back"
    )]
    NotHere {
        /// The command.
        id: String,
        /// The name of its file.
        file: String,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file of an event's body lies elsewhere.
    #[error(
        "the body of event {seq} of workflow {stream} is archived in {file}, which is in no folder \
         that was named: name its folder, or bring the file back"
    )]
    BodyNotHere {
        /// The workflow.
        stream: String,
        /// The event.
        seq: i64,
        /// The name of its file.
        file: String,
    },
    /// The seal of the newest audit changed again and again.
    #[error("audits kept changing the seal meanwhile: run it again when they have ended")]
    SealMoves,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ArchiveError {
    /// A stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoFolder { .. } => "CF1101",
            Self::Denied { .. } => "CF1102",
            Self::DiskFull { .. } => "CF1103",
            Self::Busy { .. } => "CF1104",
            Self::Foreign { .. } => "CF1105",
            Self::ReadBack { .. } => "CF1106",
            Self::Damaged { .. } => "CF1107",
            Self::NotHere { .. } => "CF1108",
            Self::SealMoves => "CF1109",
            Self::Newer { .. } => "CF1111",
            Self::Store(_) => "CF1110",
            Self::BodyNotHere { .. } => "CF1112",
        }
    }

    /// A file that cannot be read.
    pub(crate) fn read(path: &Path, why: std::io::Error) -> Self {
        Self::Denied { path: path.to_owned(), what: "read", why }
    }

    /// A file that cannot be written.
    pub(crate) fn written(path: &Path, why: std::io::Error) -> Self {
        match why.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path: path.to_owned() }
            }
            _ => Self::Denied { path: path.to_owned(), what: "written", why },
        }
    }

    /// A file whose content is not what it should be.
    pub(crate) fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.into() }
    }
}
