//! Opens a SQLite file as a store needs it, or says why it cannot be one.
//!
//! Guarantees: a connection of [`open_own`] or [`init`] runs with triggers off, in WAL mode and
//! with `synchronous=FULL`, each read back; so a commit that it answers is on the disk. One of
//! [`open_reader`] cannot write. Does not: lock the file, nor watch whether somebody replaces it.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::open_error::{OpenError, refused_beside};
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
    let opened = Connection::open_with_flags(path, flags);
    let connection = opened.map_err(|source| OpenError::of_sqlite(path, source))?;
    let configured = configure(&connection);
    configured.map_err(|source| OpenError::beside(path, source))?;
    Ok(connection)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_MAX);
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "temp_store", "memory")
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
    // Files beside it that may be read alone make a reader of every connection, too.
    connection.busy_timeout(Duration::ZERO).map_err(failed)?;
    let begun = connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    match begun {
        Err(source) if source.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
            return Err(OpenError::ReadOnly { path: refused_beside(path) });
        }
        // Whoever may not write hears of that first; another writer is no matter here.
        _ => {}
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
