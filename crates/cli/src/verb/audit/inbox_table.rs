//! The receiver's book as an audit reads it: the inbox of a PostgreSQL schema.
//!
//! Guarantees: reads only, and only the keys of one source. Does not: create or upgrade the schema.

use counterfoil_core::audit::{BookEntry, InboxBook};
use counterfoil_core::port::store::StoreError;
use tokio_postgres::{Client, Row};

use super::inbox_file::entry;
use super::kept::Kept;
use crate::config::postgres_url::PostgresUrl;
use crate::exit::Failure;
use crate::store::{no_server, words};

/// The inbox of one schema, for one source.
pub(super) struct InboxTable {
    client: Client,
    url: PostgresUrl,
    source: String,
}

impl InboxTable {
    /// Connects.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub(super) async fn open(url: &PostgresUrl, source: &str) -> Result<Self, Failure> {
        let client = counterfoil_postgres::connect(&url.config, &url.options).await;
        let client = client.map_err(|error| no_server(url, &error))?;
        Ok(Self { client, url: url.clone(), source: source.to_owned() })
    }

    /// How long it keeps the keys of the source.
    ///
    /// # Errors
    /// What PostgreSQL says, such as that there is no inbox.
    pub(super) async fn kept(&self) -> Result<Kept, Failure> {
        let sql = self.url.in_schema(include_str!("sql/postgres/inbox_retention.sql"));
        let read = self.url.within(self.client.query_one(&sql, &[&self.source])).await;
        let read =
            read.map_err(|why| Failure::could_not_run(format!("--inbox {}: {why}", self.url)))?;
        let kept =
            read.and_then(|row| Ok(Kept::new(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)));
        kept.map_err(|error| {
            let (url, said) = (&self.url, words(&error));
            Failure::could_not_run(format!(
                "--inbox {url}: no inbox can be read there: PostgreSQL says: {said}"
            ))
            .help("name the receiver's own store, with ?schema=NAME where it has another name")
        })
    }

    async fn rows(
        &self,
        sql: &str,
        params: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<Vec<Option<BookEntry>>, StoreError> {
        let sql = self.url.in_schema(sql);
        let rows = self.url.within(self.client.query(&sql, params)).await;
        let rows = rows.map_err(StoreError::Unavailable)?;
        let rows = rows.and_then(|rows| rows.iter().map(read).collect());
        rows.map_err(|error| StoreError::Unavailable(words(&error)))
    }
}

impl InboxBook for InboxTable {
    type Error = StoreError;

    async fn has(&self, keys: &[String]) -> Result<Vec<Option<BookEntry>>, StoreError> {
        self.rows(include_str!("sql/postgres/inbox_key.sql"), &[&self.source, &keys]).await
    }

    async fn page(&self, after: Option<&str>, limit: usize) -> Result<Vec<BookEntry>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let after = after.unwrap_or_default();
        let sql = include_str!("sql/postgres/inbox_page.sql");
        Ok(self.rows(sql, &[&self.source, &after, &limit]).await?.into_iter().flatten().collect())
    }
}

fn read(row: &Row) -> Result<Option<BookEntry>, tokio_postgres::Error> {
    let Some(key) = row.try_get(0)? else { return Ok(None) };
    Ok(Some(entry(key, row.try_get(1)?, row.try_get(2)?)))
}
