//! Opens a SQLite file as a store needs it, or says why it cannot be one.
//!
//! Guarantees: a connection of [`open_own`] or [`init`] runs with triggers off, in WAL mode and
//! with `synchronous=FULL`, each read back; so a commit that it answers is on the disk. One of
//! [`open_reader`] cannot write. Does not: lock the file, nor watch whether somebody replaces it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::schema::{Schema, SchemaError, check_source, migrate, read_schema};

/// How long a statement waits for another connection's write.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The first SQLite without the WAL-reset bug, which can corrupt a file: 3.51.3.
const SQLITE_MIN: i32 = 3_051_003;

/// Statements held prepared per connection; more than the store has.
const PREPARED_MAX: usize = 256;

/// Page cache per connection, in KiB.
const CACHE_KIB: i64 = 8 * 1024;

/// Pause between two tries to switch a file to WAL, for which SQLite itself does not wait.
const WAL_PAUSE: Duration = Duration::from_millis(5);

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
    #[error("{path}: SQLite says: {source}")]
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

    fn of_schema(path: &Path, refusal: SchemaError) -> Self {
        match refusal {
            SchemaError::Sqlite(source) => Self::of_sqlite(path, source),
            refusal => Self::Schema { path: path.into(), refusal },
        }
    }

    fn of_sqlite(path: &Path, source: rusqlite::Error) -> Self {
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

/// Creates the file if there is none, and creates or upgrades its schema.
///
/// `source`: see [`migrate`]. Gives a connection like that of [`open_own`].
///
/// # Errors
/// [`OpenError`]; a file that is refused is not changed.
pub fn init(path: &Path, source: Option<&str>) -> Result<(Connection, Schema), OpenError> {
    if path.exists() && !path.is_file() {
        return Err(OpenError::NotAFile { path: path.into() });
    }
    // What is refused must not be made, nor switched to WAL.
    source.map_or(Ok(()), check_source).map_err(|refusal| OpenError::of_schema(path, refusal))?;
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_CREATE)?;
    match read_schema(&connection) {
        Ok(_) | Err(SchemaError::Missing | SchemaError::Older { .. }) => {}
        Err(refusal) => return Err(OpenError::of_schema(path, refusal)),
    }
    make_durable(&connection, path)?;
    let schema =
        migrate(&mut connection, source).map_err(|refusal| OpenError::of_schema(path, refusal))?;
    Ok((connection, schema))
}

/// Opens an existing store for reading and writing.
///
/// Triggers are off: every rule of the guards is the caller's to keep, inside the write
/// transaction.
///
/// # Errors
/// [`OpenError`]: no such file, no database, no schema of this version, not writable, not durable.
pub fn open_own(path: &Path) -> Result<(Connection, Schema), OpenError> {
    let (connection, schema) = open_existing(path)?;
    make_durable(&connection, path)?;
    Ok((connection, schema))
}

/// Opens an existing store for reading only; it sees each commit that stood when it began to read.
///
/// # Errors
/// [`OpenError`]: no such file, no database, no schema of this version.
pub fn open_reader(path: &Path) -> Result<(Connection, Schema), OpenError> {
    let (connection, schema) = open_existing(path)?;
    connection
        .pragma_update(None, "query_only", true)
        .map_err(|source| OpenError::of_sqlite(path, source))?;
    Ok((connection, schema))
}

/// Refuses a SQLite that can corrupt a file; `version` as `sqlite3_libversion_number` gives it.
///
/// # Errors
/// [`OpenError::LibraryTooOld`].
pub fn check_library(version: i32) -> Result<(), OpenError> {
    if version >= SQLITE_MIN {
        return Ok(());
    }
    let found = format!("{}.{}.{}", version / 1_000_000, version / 1000 % 1000, version % 1000);
    Err(OpenError::LibraryTooOld { found })
}

fn open_existing(path: &Path) -> Result<(Connection, Schema), OpenError> {
    must_exist(path)?;
    let connection = open(path, OpenFlags::empty())?;
    match read_schema(&connection) {
        Ok(schema) => Ok((connection, schema)),
        Err(refusal) => Err(OpenError::of_schema(path, refusal)),
    }
}

fn must_exist(path: &Path) -> Result<(), OpenError> {
    match path.metadata() {
        Ok(what) if what.is_file() => Ok(()),
        Ok(_) => Err(OpenError::NotAFile { path: path.into() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(OpenError::Missing { path: path.into() })
        }
        Err(_) => Err(OpenError::CannotOpen { path: path.into() }),
    }
}

fn open(path: &Path, create: OpenFlags) -> Result<Connection, OpenError> {
    check_library(rusqlite::version_number())?;
    // No URI flag: a path is a path, also one that begins with `file:`.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(PREPARED_MAX);
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        connection.pragma_update(None, "temp_store", "memory")?;
        Ok(connection)
    });
    opened.map_err(|source| OpenError::of_sqlite(path, source))
}

fn make_durable(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::of_sqlite(path, source);
    // SQLite opens a file without write rights as a reader and says nothing.
    if connection.is_readonly("main").map_err(failed)? {
        return Err(OpenError::ReadOnly { path: path.into() });
    }
    let mode = switch_to_wal(connection).map_err(|source| match source.sqlite_error_code() {
        // The file can be written, but its -wal cannot be made beside it.
        Some(ErrorCode::CannotOpen) => OpenError::ReadOnly { path: path.into() },
        _ => failed(source),
    })?;
    if mode != "wal" {
        return Err(OpenError::NoWal { path: path.into(), mode });
    }
    // An unknown word would fall back to NORMAL in silence, so numbers go in and are read back.
    let mut settings = vec![("synchronous", 2)];
    if cfg!(target_os = "macos") {
        settings.extend([("fullfsync", 1), ("checkpoint_fullfsync", 1)]);
    }
    for (pragma, wanted) in settings {
        connection.pragma_update(None, pragma, wanted).map_err(failed)?;
        let found =
            connection.pragma_query_value(None, pragma, |row| row.get(0)).map_err(failed)?;
        if found != wanted {
            return Err(OpenError::NotDurable { path: path.into(), pragma, found, wanted });
        }
    }
    Ok(())
}

fn switch_to_wal(connection: &Connection) -> rusqlite::Result<String> {
    let start = Instant::now();
    loop {
        let switched =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0));
        match switched {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && start.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(WAL_PAUSE);
            }
            switched => return switched,
        }
    }
}
