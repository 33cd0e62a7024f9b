//! Creates, upgrades and reads the schema.
use counterfoil_core::domain::Micros;
use tokio_postgres::Client;
use crate::row;
use crate::statement::{in_schema, quoted};

/// The newest version of the schema.
pub const SCHEMA_VERSION: i32 = 1;
const FILES: [&str; 1] = [include_str!("../../../sql/postgres/schema/0001_tables.sql")];

/// Why the schema cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The server's words.
    #[error("the schema cannot be used: {0}")]
    Server(String),
}
/// The SQL.
pub fn schema_sql(schema: &str) -> String { FILES.map(|f| in_schema(f, &quoted(schema))).join("\n") }
/// Creates it.
pub async fn migrate(client: &mut Client, schema: &str, source: Option<&str>) -> Result<(), SchemaError> {
    let _ = source;
    let name = quoted(schema);
    client.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {name}; {}", schema_sql(schema))).await.map_err(|e| SchemaError::Server(crate::failure::words(&e)))
}
pub(crate) struct Found { pub(crate) source: String, pub(crate) now: Micros }
pub(crate) async fn read(client: &Client, schema: &str) -> Result<Found, SchemaError> {
    let sql = in_schema("SELECT source, cf.micros() FROM cf.meta", &quoted(schema));
    let row = client.query_one(&sql, &[]).await.map_err(|e| SchemaError::Server(crate::failure::words(&e)))?;
    Ok(Found { source: row::string(&row, 0).unwrap_or_default(), now: row::time(&row, 1).unwrap_or_default() })
}

