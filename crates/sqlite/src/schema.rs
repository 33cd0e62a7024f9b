//! The schema of a SQLite store, and how a file gets it.
//!
//! Guarantees: a migration is one `BEGIN IMMEDIATE` transaction, so two processes may migrate one
//! file at once and a crash leaves the old version; a newer schema and another source are refused
//! before anything is written. Does not: switch the file to WAL, nor go back to an older version.

use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use crate::failure::words;

/// The schema files in order; the place of a file, from 1, is the version it brings.
const FILES: [&str; 11] = [
    include_str!("../../../sql/sqlite/schema/0001_tables.sql"),
    include_str!("../../../sql/sqlite/schema/0002_outbox.sql"),
    include_str!("../../../sql/sqlite/schema/0003_report.sql"),
    include_str!("../../../sql/sqlite/schema/0004_receiver.sql"),
    include_str!("../../../sql/sqlite/schema/0005_own.sql"),
    include_str!("../../../sql/sqlite/schema/0006_expiry.sql"),
    include_str!("../../../sql/sqlite/schema/0007_lanes.sql"),
    include_str!("../../../sql/sqlite/schema/0008_turns.sql"),
    include_str!("../../../sql/sqlite/schema/0009_books.sql"),
    include_str!("../../../sql/sqlite/schema/0010_workflows.sql"),
    include_str!("../../../sql/sqlite/schema/0011_bodies.sql"),
];

/// The version of the schema that this program writes and reads.
pub const SCHEMA_VERSION: i64 = FILES.len() as i64;

/// The longest source, in bytes.
const SOURCE_BYTES_MAX: usize = 255;

/// What a store says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Schema {
    /// The version of its tables.
    pub version: i64,
    /// Its name to receivers: a URI reference.
    pub source: String,
    /// Its random id, a UUID.
    pub store: String,
    /// The version that was found; 0 where there was no schema, `version` where nothing was done.
    pub found: i64,
}

/// Why a file has no schema that this program can use, or does not get one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The file has no tables of Counterfoil.
    #[error("it has no Counterfoil schema: run `counterfoil init` on it once")]
    Missing,
    /// The tables come from a newer program.
    #[error(
        "its schema has version {found}, this program knows {SCHEMA_VERSION}: use the newer \
         program; a schema never goes back"
    )]
    Newer {
        /// The version in the file.
        found: i64,
    },
    /// The tables come from an older program.
    #[error(
        "its schema has version {found}, this program needs {SCHEMA_VERSION}: run `counterfoil \
         init` on it once, which upgrades it"
    )]
    Older {
        /// The version in the file.
        found: i64,
    },
    /// Text is not stored as UTF-8.
    #[error(
        "its text encoding is {encoding}, and ids and bodies are compared as UTF-8: put the \
         outbox and its business tables into a UTF-8 database"
    )]
    Encoding {
        /// What the file says.
        encoding: String,
    },
    /// The source cannot stand in a header.
    #[error(
        "the source {asked:?} is no URI reference of 1 to {SOURCE_BYTES_MAX} printable ASCII \
         characters: take one such as urn:example:orders"
    )]
    Source {
        /// What was asked for.
        asked: String,
    },
    /// The store has another name.
    #[error(
        "its source is `{stored}`, not `{asked}`: receivers know the store by it, so it stays; \
         leave the source out or give the stored one"
    )]
    OtherSource {
        /// What the store is called.
        stored: String,
        /// What was asked for.
        asked: String,
    },
    /// The database failed.
    #[error("SQLite says: {}", words(.0))]
    Sqlite(#[from] rusqlite::Error),
}

impl SchemaError {
    /// The stable code of this refusal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Encoding { .. } => "CF0505",
            Self::Missing => "CF0507",
            Self::Newer { .. } => "CF0508",
            Self::Older { .. } => "CF0509",
            Self::OtherSource { .. } => "CF0512",
            Self::Source { .. } => "CF0513",
            Self::Sqlite(_) => "CF0515",
        }
    }
}

/// Creates the schema, or brings it to this program's version; twice changes nothing.
///
/// `source` names the store to receivers and is kept for ever; `None` takes `urn:uuid:` and the
/// store's random id for a new store, and whatever stands for an old one. Works on a connection
/// with or without triggers. Waits for other writers as long as the connection's busy timeout.
///
/// # Errors
/// [`SchemaError`]; nothing is written then.
pub fn migrate(connection: &mut Connection, source: Option<&str>) -> Result<Schema, SchemaError> {
    if let Some(source) = source {
        check_source(source)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    check_encoding(&transaction)?;
    let found = version(&transaction)?.unwrap_or(0);
    if found > SCHEMA_VERSION {
        return Err(SchemaError::Newer { found });
    }
    for (file, sql) in (1_i64..).zip(FILES).filter(|(file, _)| *file > found) {
        transaction.execute_batch(sql)?;
        if let (1, Some(source)) = (file, source) {
            transaction.execute("UPDATE counterfoil_meta SET source = ?1 WHERE k = 1", [source])?;
        }
    }
    let schema = Schema { found, ..read_schema(&transaction)? };
    if let Some(asked) = source.filter(|asked| *asked != schema.source) {
        return Err(SchemaError::OtherSource { stored: schema.source, asked: asked.into() });
    }
    transaction.commit()?;
    Ok(schema)
}

/// What the store says about itself, if this program can use its tables.
///
/// # Errors
/// [`SchemaError`]: no schema, another version, another encoding.
pub fn read_schema(connection: &Connection) -> Result<Schema, SchemaError> {
    check_encoding(connection)?;
    match version(connection)? {
        None => Err(SchemaError::Missing),
        Some(found) if found > SCHEMA_VERSION => Err(SchemaError::Newer { found }),
        Some(found) if found < SCHEMA_VERSION => Err(SchemaError::Older { found }),
        Some(found) => Ok(connection.query_row(
            "SELECT version, source, store FROM counterfoil_meta WHERE k = 1",
            [],
            |row| {
                let (version, source, store) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(Schema { version, source, store, found })
            },
        )?),
    }
}

/// The whole schema as one SQL script, for people who migrate with their own tool.
///
/// It makes a store that stands empty; it is one transaction, and fails where one stands already.
///
/// # Errors
/// [`SchemaError::Source`] for a source that cannot stand in a header.
pub fn schema_sql(source: Option<&str>) -> Result<String, SchemaError> {
    let mut script = String::from("BEGIN IMMEDIATE;\n\n");
    for (file, sql) in (1..).zip(FILES) {
        script.push_str(sql);
        script.push('\n');
        if let (1, Some(source)) = (file, source) {
            check_source(source)?;
            let quoted = source.replace('\'', "''");
            // Writing to a String cannot fail.
            let _ = writeln!(script, "UPDATE counterfoil_meta SET source = '{quoted}';\n");
        }
    }
    script.push_str("COMMIT;\n");
    Ok(script)
}

fn version(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let stands: bool = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' \
         AND name = 'counterfoil_meta')",
        [],
        |row| row.get(0),
    )?;
    if !stands {
        return Ok(None);
    }
    connection
        .query_row("SELECT version FROM counterfoil_meta WHERE k = 1", [], |row| row.get(0))
        .optional()
}

fn check_encoding(connection: &Connection) -> Result<(), SchemaError> {
    let encoding: String = connection.query_row("PRAGMA encoding", [], |row| row.get(0))?;
    if encoding == "UTF-8" { Ok(()) } else { Err(SchemaError::Encoding { encoding }) }
}

pub(crate) fn check_source(source: &str) -> Result<(), SchemaError> {
    // What RFC 3986 leaves out of a URI reference; percent-encode it.
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    if (1..=SOURCE_BYTES_MAX).contains(&source.len()) && source.bytes().all(fits) {
        Ok(())
    } else {
        Err(SchemaError::Source { asked: source.into() })
    }
}
