//! Why a file cannot be opened as a store.
//!
//! Guarantees: each names the file, the rule and the way out. Does not: open anything.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::connection::BUSY_TIMEOUT;
use crate::failure::words;
use crate::schema::SchemaError;

/// Why a file cannot be opened as a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No such file.
    #[error("{path}: there is no such file: run `counterfoil init` to create the store")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A folder, or another thing that is no file.
    #[error("{path}: this is no file: name the database file itself")]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// The bytes are no database, or an encrypted one.
    #[error("{path}: this file is not a SQLite database: check the path; it was not touched")]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder cannot be written.
    #[error(
        "{path}: this file or its folder cannot be written, and SQLite needs both for its \
         write-ahead log: give this user the right to write them"
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened at all.
    #[error("{path}: this file cannot be opened: check that its folder exists and its rights")]
    CannotOpen {
        /// The file.
        path: PathBuf,
    },
    /// The linked SQLite can corrupt a file.
    #[error(
        "this program is linked with SQLite {found}, and before 3.51.3 its write-ahead log can \
         corrupt a file: link a newer one, as the bundled build does"
    )]
    LibraryTooOld {
        /// The version of the library.
        found: String,
    },
    /// The file does not go into WAL mode.
    #[error(
        "{path}: its journal mode stays `{mode}` instead of wal: keep the store on a local disk, \
         not in memory or on a network share"
    )]
    NoWal {
        /// The file.
        path: PathBuf,
        /// The mode that it kept.
        mode: String,
    },
    /// The connection does not take a durable setting.
    #[error(
        "{path}: SQLite took {pragma} = {found} instead of {wanted}, so a commit could be lost: \
         link a standard build of SQLite"
    )]
    NotDurable {
        /// The file.
        path: PathBuf,
        /// Which setting.
        pragma: &'static str,
        /// What was read back.
        found: i64,
        /// What was set.
        wanted: i64,
    },
    /// Another connection held the file too long.
    #[error(
        "{path}: another connection held it for longer than {} s: end its transaction",
        BUSY_TIMEOUT.as_secs()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The schema is not this program's.
    #[error("{path}: {refusal}")]
    Schema {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        refusal: SchemaError,
    },
    /// SQLite failed otherwise.
    #[error("{path}: SQLite says: {}", words(source))]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: rusqlite::Error,
    },
}

impl OpenError {
    /// The stable code of this refusal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "CF0501",
            Self::NotAFile { .. } => "CF0502",
            Self::NotADatabase { .. } => "CF0503",
            Self::ReadOnly { .. } => "CF0504",
            Self::LibraryTooOld { .. } => "CF0506",
            Self::NoWal { .. } => "CF0510",
            Self::NotDurable { .. } => "CF0511",
            Self::Busy { .. } => "CF0514",
            Self::Sqlite { .. } => "CF0515",
            Self::CannotOpen { .. } => "CF0516",
            Self::Schema { refusal, .. } => refusal.code(),
        }
    }

    pub(crate) fn of_schema(path: &Path, refusal: SchemaError) -> Self {
        match refusal {
            SchemaError::Sqlite(source) => Self::beside(path, source),
            refusal => Self::Schema { path: path.into(), refusal },
        }
    }

    /// Of a file that could be opened: what is refused then lies beside it.
    pub(crate) fn beside(path: &Path, source: rusqlite::Error) -> Self {
        match source.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
                Self::of_sqlite(&refused_beside(path), source)
            }
            _ => Self::of_sqlite(path, source),
        }
    }

    pub(crate) fn of_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path },
            Some(ErrorCode::CannotOpen) => Self::CannotOpen { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            _ => Self::Sqlite { path, source },
        }
    }
}

/// Which of the files beside a database is refused to this user, as far as can be told; the
/// database itself where none of them stands.
pub(crate) fn refused_beside(path: &Path) -> PathBuf {
    let named = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let (log, index) = (named("-wal"), named("-shm"));
    // Only the log is tried: who closes the other loses the locks that this process has on it.
    let opened = OpenOptions::new().read(true).write(true).open(&log);
    match opened.map_err(|error| error.kind()) {
        Err(kind) if kind != std::io::ErrorKind::NotFound => log,
        _ if index.exists() => index,
        _ => path.into(),
    }
}
