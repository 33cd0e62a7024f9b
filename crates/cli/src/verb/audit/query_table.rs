//! A receiver's own table in PostgreSQL as its book: what a query answers.
//!
//! Guarantees: the query runs in a session that cannot write, in pages, each in one snapshot;
//! nothing but a page is in memory. Does not: know when an effect took place, or of a refusal.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use counterfoil_core::audit::{BookEntry, InboxBook};
use counterfoil_core::port::store::StoreError;
use tokio_postgres::Client;

use super::query_file::{PAGES, effect, refused};
use crate::config::postgres_url::PostgresUrl;
use crate::exit::Failure;
use crate::store::{no_server, words};

/// The answer of a query, as a book.
pub(super) struct QueryTable {
    client: Client,
    sql: String,
    /// How many rows were told.
    told: AtomicUsize,
}

impl QueryTable {
    /// Connects, and looks whether the query is one.
    ///
    /// # Errors
    /// The server cannot be reached, or the query cannot be asked there.
    pub(super) async fn open(url: &PostgresUrl, sql: &str) -> Result<Self, Failure> {
        let client = counterfoil_postgres::connect(&url.config, &url.options).await;
        let client = client.map_err(|error| no_server(url, &error))?;
        let reads = "SET default_transaction_read_only = on";
        let asked = sql.trim_end().trim_end_matches(';').to_owned();
        let tried = match client.batch_execute(reads).await {
            Ok(()) => client.prepare(&of(&asked, "LIMIT 1")).await.map(drop),
            Err(error) => Err(error),
        };
        tried.map_err(|error| refused(url, sql, &words(&error)))?;
        Ok(Self { client, sql: asked, told: AtomicUsize::new(0) })
    }

    async fn ids(
        &self,
        sql: &str,
        params: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<Vec<String>, StoreError> {
        let rows = self.client.query(sql, params).await;
        let id = |row: &tokio_postgres::Row| {
            Ok(row.try_get::<_, Option<String>>(0)?.unwrap_or_default())
        };
        let rows = rows.and_then(|rows| rows.iter().map(id).collect());
        rows.map_err(|error| StoreError::Unavailable(words(&error)))
    }
}

/// The query in lines of its own, so that a comment ends with it.
fn of(sql: &str, rest: &str) -> String {
    format!("SELECT q.first::text FROM (\n{sql}\n) AS q(first) {rest}")
}

impl InboxBook for QueryTable {
    type Error = StoreError;

    async fn has(&self, keys: &[String]) -> Result<Vec<Option<BookEntry>>, StoreError> {
        let sql = of(&self.sql, "WHERE q.first::text = ANY($1::text[])");
        let found: BTreeSet<String> = self.ids(&sql, &[&keys]).await?.into_iter().collect();
        Ok(keys.iter().map(|key| found.contains(key).then(|| effect(key.clone()))).collect())
    }

    fn at_once(&self, page: usize) -> usize {
        page.saturating_mul(PAGES)
    }

    /// The answer has no key to go on after, so it is counted how many rows were told.
    async fn page(&self, after: Option<&str>, limit: usize) -> Result<Vec<BookEntry>, StoreError> {
        let mut told = if after.is_none() { 0 } else { self.told.load(Ordering::Relaxed) };
        loop {
            let page = format!("OFFSET {told} LIMIT {limit}");
            let ids = self.ids(&of(&self.sql, &page), &[]).await?;
            told += ids.len();
            self.told.store(told, Ordering::Relaxed);
            let is_over = ids.is_empty();
            // A key that ends a page may come again.
            let new = ids.into_iter().filter(|id| Some(id.as_str()) != after);
            let entries: Vec<_> = new.map(effect).collect();
            if is_over || !entries.is_empty() {
                return Ok(entries);
            }
        }
    }
}
