//! The schema of a PostgreSQL store, and how a database gets it.
//!
//! Guarantees: a migration is one transaction under an advisory lock, so two processes may migrate
//! one schema at once and a crash leaves the old version; a newer schema, a foreign one and another
//! source are refused before anything is written. Does not: go back to an older version.

mod error;
mod roles;
#[cfg(feature = "sqlx")]
mod sqlx;

use std::fmt::Write as _;

use counterfoil_core::domain::Micros;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, GenericClient, IsolationLevel, Row};

use crate::row;
use crate::statement::{Statement, in_schema, quoted, statement};

pub use error::SchemaError;
pub use roles::roles_sql;
#[cfg(feature = "sqlx")]
pub use sqlx::migrate_sqlx;

/// The schema files in order; the place of a file, from 1, is the version it brings.
const FILES: [&str; 12] = [
    include_str!("../../../sql/postgres/schema/0001_tables.sql"),
    include_str!("../../../sql/postgres/schema/0002_outbox.sql"),
    include_str!("../../../sql/postgres/schema/0003_own.sql"),
    include_str!("../../../sql/postgres/schema/0004_receiver.sql"),
    include_str!("../../../sql/postgres/schema/0005_report.sql"),
    include_str!("../../../sql/postgres/schema/0006_functions.sql"),
    include_str!("../../../sql/postgres/schema/0007_library.sql"),
    include_str!("../../../sql/postgres/schema/0008_books.sql"),
    include_str!("../../../sql/postgres/schema/0009_cheaper.sql"),
    include_str!("../../../sql/postgres/schema/0010_fewer_triggers.sql"),
    include_str!("../../../sql/postgres/schema/0011_workflows.sql"),
    include_str!("../../../sql/postgres/schema/0012_bodies.sql"),
];

/// The newest version of the schema: what this program writes and reads.
pub const SCHEMA_VERSION: i32 = FILES.len() as i32;

/// The longest name of a schema, in bytes: the names of its roles begin with it.
const NAME_BYTES_MAX: usize = 54;
/// The longest source, in bytes.
const SOURCE_BYTES_MAX: usize = 255;
/// The oldest server, as `server_version_num` says it.
const SERVER_MIN: i64 = 140_000;

const SERVER: Statement = statement!("schema/server");
const LOCK: Statement = statement!("schema/lock");
const FOUND: Statement = statement!("schema/found");
const META: Statement = statement!("schema/meta");
const SOURCE: Statement = statement!("schema/source");

/// What every migration is told. A pooler may have left another setting, or a role has its own.
const SETTINGS: &str = "SET LOCAL counterfoil.own = 'on'; SET LOCAL statement_timeout = 0; \
     SET LOCAL lock_timeout = 0; \
     SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL client_min_messages = warning; \
     SET LOCAL search_path = pg_catalog; SET LOCAL check_function_bodies = on; \
     SET LOCAL standard_conforming_strings = on";

/// What a store says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Schema {
    /// The version of its tables.
    pub version: i32,
    /// Its name to receivers: a URI reference.
    pub source: String,
    /// Its random id, a UUID.
    pub store: String,
    /// The version that was found; 0 where there was no schema, `version` where nothing was done.
    pub found: i32,
}

/// What opening a store needs to know.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) source: String,
    pub(crate) now: Micros,
}

/// Creates the schema, or brings it to this program's version; twice changes nothing.
///
/// `source` names the store to receivers and is kept for ever; `None` takes `urn:uuid:` and the
/// store's random id for a new store, and whatever stands for an old one. Waits for another
/// migration of the same schema.
///
/// # Errors
/// [`SchemaError`]; nothing is written then.
pub async fn migrate(
    client: &mut Client,
    schema: &str,
    source: Option<&str>,
) -> Result<Schema, SchemaError> {
    check_name(schema)?;
    if let Some(source) = source {
        check_source(source)?;
    }
    let begin = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
    let transaction = begin.start().await?;
    transaction.batch_execute(SETTINGS).await?;
    check_server(&transaction).await?;
    ask(&transaction, schema, LOCK, &[(&schema, Type::TEXT)]).await?;
    let found = found(&transaction, schema).await?;
    if !found.stands {
        transaction.batch_execute(&format!("CREATE SCHEMA {}", quoted(schema))).await?;
    }
    for (file, sql) in (1_i32..).zip(FILES).filter(|(file, _)| *file > found.version) {
        transaction.batch_execute(&in_schema(sql, &quoted(schema))).await?;
        if let (1, Some(source)) = (file, source) {
            ask(&transaction, schema, SOURCE, &[(&source, Type::TEXT)]).await?;
        }
    }
    let row = ask(&transaction, schema, META, &[]).await?;
    let made = said(row.as_ref(), found.version);
    if let Some(asked) = source.filter(|asked| *asked != made.source) {
        return Err(SchemaError::OtherSource { stored: made.source, asked: asked.into() });
    }
    transaction.commit().await?;
    Ok(made)
}

/// What the store says about itself, if this program can use its tables.
pub(crate) async fn read(client: &Client, schema: &str) -> Result<Found, SchemaError> {
    check_name(schema)?;
    check_server(client).await?;
    let found = found(client, schema).await?;
    match found.version {
        0 => Err(SchemaError::Missing { schema: schema.into() }),
        version if version < SCHEMA_VERSION => Err(SchemaError::Older { found: version }),
        _ => {
            let row = ask(client, schema, META, &[]).await?;
            let now = row.as_ref().and_then(|row| row::time(row, 3)).unwrap_or_default();
            Ok(Found { source: said(row.as_ref(), found.version).source, now })
        }
    }
}

/// The whole schema as one SQL script, for people who migrate with their own tool.
///
/// It makes a store that stands empty; it is one transaction, and fails where one stands already.
///
/// # Errors
/// [`SchemaError`] for a name or a source that cannot be one.
pub fn schema_sql(schema: &str, source: Option<&str>) -> Result<String, SchemaError> {
    check_name(schema)?;
    let name = quoted(schema);
    let mut script =
        format!("BEGIN;\n\nSET LOCAL counterfoil.own = 'on';\nCREATE SCHEMA {name};\n\n");
    for (file, sql) in (1..).zip(FILES) {
        script.push_str(&in_schema(sql, &name));
        script.push('\n');
        if let (1, Some(source)) = (file, source) {
            check_source(source)?;
            let said = source.replace('\'', "''");
            // Writing to a String cannot fail.
            let _ = writeln!(script, "UPDATE {name}.meta SET source = '{said}';\n");
        }
    }
    script.push_str("COMMIT;\n");
    Ok(script)
}

/// What stands under the name.
struct Standing {
    stands: bool,
    /// 0: none of our tables.
    version: i32,
}

/// Looks what stands there, and refuses what is not ours or is newer.
async fn found(client: &impl GenericClient, schema: &str) -> Result<Standing, SchemaError> {
    let row = ask(client, schema, FOUND, &[(&schema, Type::TEXT)]).await?;
    let at = |column| row.as_ref().is_some_and(|row| row::flag(row, column));
    let (stands, is_ours) = (at(0), at(1));
    if !is_ours {
        let foreign = row.as_ref().and_then(|row| row::string(row, 2));
        return match foreign {
            Some(holds) => Err(SchemaError::Foreign { schema: schema.into(), holds }),
            None => Ok(Standing { stands, version: 0 }),
        };
    }
    let row = client.query_typed(&version_sql(schema), &[]).await?;
    let version = row.first().and_then(|row| row::int(row, 0)).unwrap_or(0);
    match i32::try_from(version).unwrap_or(i32::MAX) {
        found if found > SCHEMA_VERSION => Err(SchemaError::Newer { found }),
        version => Ok(Standing { stands, version }),
    }
}

/// By itself, since a newer schema may have changed all other columns.
fn version_sql(schema: &str) -> String {
    in_schema("SELECT version FROM cf.meta WHERE k = 1", &quoted(schema))
}

async fn check_server(client: &impl GenericClient) -> Result<(), SchemaError> {
    let Some(row) = ask(client, "", SERVER, &[]).await? else { return Ok(()) };
    let said = |at| row::string(&row, at).unwrap_or_default();
    if row::int(&row, 0).is_some_and(|version| version < SERVER_MIN) {
        return Err(SchemaError::Server { version: said(1) });
    }
    let encoding = said(2);
    if encoding == "UTF8" { Ok(()) } else { Err(SchemaError::Encoding { encoding }) }
}

/// The first row of a statement that is not prepared, since a pooler may stand between.
async fn ask(
    client: &impl GenericClient,
    schema: &str,
    statement: Statement,
    params: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Option<Row>, tokio_postgres::Error> {
    let sql = in_schema(statement.0, &quoted(schema));
    Ok(client.query_typed(&sql, params).await?.into_iter().next())
}

fn said(row: Option<&Row>, found: i32) -> Schema {
    let version = row.and_then(|row| row::int(row, 0)).unwrap_or(0);
    let text = |at| row.and_then(|row| row::string(row, at)).unwrap_or_default();
    Schema {
        version: i32::try_from(version).unwrap_or(i32::MAX),
        source: text(1),
        store: text(2),
        found,
    }
}

/// A name that stays itself in every place where it is written: identifiers, texts, role names.
pub(crate) fn check_name(schema: &str) -> Result<(), SchemaError> {
    let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let is_ours = !schema.starts_with("pg_") && schema.chars().all(fits);
    if (1..=NAME_BYTES_MAX).contains(&schema.len()) && is_ours {
        Ok(())
    } else {
        Err(SchemaError::Name { asked: schema.into() })
    }
}

fn check_source(source: &str) -> Result<(), SchemaError> {
    // What RFC 3986 leaves out of a URI reference; percent-encode it.
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    if (1..=SOURCE_BYTES_MAX).contains(&source.len()) && source.bytes().all(fits) {
        Ok(())
    } else {
        Err(SchemaError::Source { asked: source.into() })
    }
}
