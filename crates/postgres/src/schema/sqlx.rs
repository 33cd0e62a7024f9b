//! The same migration on a pool of `sqlx`.
//!
//! Guarantees: those of [`migrate`](super::migrate), by the same files and checks. Does not: keep
//! a connection of the pool.

use sqlx::{AssertSqlSafe, Executor as _, PgConnection, PgPool, query, query_as, query_scalar};

use super::{
    FILES, FOUND, LOCK, META, SCHEMA_VERSION, SERVER, SERVER_MIN, SETTINGS, SOURCE, Schema,
    SchemaError, check_name, check_source, version_sql,
};
use crate::failure::sqlx_words;
use crate::statement::{Statement, in_schema, quoted};

/// Creates the schema, or brings it to this program's version, on a connection of this pool; see
/// [`migrate`](super::migrate).
///
/// # Errors
/// [`SchemaError`]; nothing is written then.
pub async fn migrate_sqlx(
    pool: &PgPool,
    schema: &str,
    source: Option<&str>,
) -> Result<Schema, SchemaError> {
    check_name(schema)?;
    if let Some(source) = source {
        check_source(source)?;
    }
    let mut transaction = pool.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
    transaction.execute(sqlx::raw_sql(SETTINGS)).await?;
    check_server(&mut transaction).await?;
    query(text(schema, LOCK)).bind(schema).execute(&mut *transaction).await?;
    let (stands, version) = found(&mut transaction, schema).await?;
    if !stands {
        let create = AssertSqlSafe(format!("CREATE SCHEMA {}", quoted(schema)));
        transaction.execute(sqlx::raw_sql(create)).await?;
    }
    for (file, sql) in (1_i32..).zip(FILES).filter(|(file, _)| *file > version) {
        let sql = AssertSqlSafe(in_schema(sql, &quoted(schema)));
        transaction.execute(sqlx::raw_sql(sql)).await?;
        if let (1, Some(source)) = (file, source) {
            query(text(schema, SOURCE)).bind(source).execute(&mut *transaction).await?;
        }
    }
    let meta = query_as::<_, (i32, String, String, i64)>(text(schema, META));
    let (now, stored, store, _) = meta.fetch_one(&mut *transaction).await?;
    if let Some(asked) = source.filter(|asked| *asked != stored) {
        return Err(SchemaError::OtherSource { stored, asked: asked.into() });
    }
    transaction.commit().await?;
    Ok(Schema { version: now, source: stored, store, found: version })
}

fn text(schema: &str, statement: Statement) -> AssertSqlSafe<String> {
    AssertSqlSafe(in_schema(statement.0, &quoted(schema)))
}

async fn check_server(connection: &mut PgConnection) -> Result<(), SchemaError> {
    let server = query_as::<_, (i32, String, String)>(text("", SERVER));
    let (number, version, encoding) = server.fetch_one(connection).await?;
    if i64::from(number) < SERVER_MIN {
        return Err(SchemaError::Server { version });
    }
    if encoding == "UTF8" { Ok(()) } else { Err(SchemaError::Encoding { encoding }) }
}

/// Whether the schema stands, and its version; what is not ours or is newer is refused.
async fn found(connection: &mut PgConnection, schema: &str) -> Result<(bool, i32), SchemaError> {
    let found = query_as::<_, (bool, bool, Option<String>)>(text(schema, FOUND)).bind(schema);
    let (stands, is_ours, holds) = found.fetch_one(&mut *connection).await?;
    match holds {
        Some(holds) if !is_ours => {
            return Err(SchemaError::Foreign { schema: schema.into(), holds });
        }
        None if !is_ours => return Ok((stands, 0)),
        _ => {}
    }
    let version = query_scalar::<_, i32>(AssertSqlSafe(version_sql(schema)));
    match version.fetch_optional(connection).await?.unwrap_or(0) {
        found if found > SCHEMA_VERSION => Err(SchemaError::Newer { found }),
        version => Ok((stands, version)),
    }
}

impl From<sqlx::Error> for SchemaError {
    fn from(error: sqlx::Error) -> Self {
        let (code, said) = sqlx_words(&error);
        // No answer at all, or another transaction, the load, or a shutdown in the way.
        let may_pass = code.is_none_or(|code| {
            ["40", "53", "55P03", "57", "08"].iter().any(|class| code.starts_with(class))
        });
        Self::Postgres { said, may_pass }
    }
}
