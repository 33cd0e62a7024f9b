//! A receiver's own table in PostgreSQL as its book: what a query answers.
//!
//! Guarantees: the query runs in a session that cannot write, in pages, each in one snapshot;
//! nothing but a page is in memory. Does not: know when an effect took place, or of a refusal.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};

use counterfoil_core::audit::{BookEntry, InboxBook, Repeated};
use counterfoil_core::port::store::StoreError;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Row};

use super::query_file::{PAGES, PARAMETER, effect, refused};
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
            Ok(()) => client.prepare(&of(&asked, "LIMIT 1")).await,
            Err(error) => Err(error),
        };
        let statement = tried.map_err(|error| refused(url, sql, &words(&error)))?;
        if !statement.params().is_empty() {
            return Err(refused(url, sql, &PARAMETER));
        }
        Ok(Self { client, sql: asked, told: AtomicUsize::new(0) })
    }

    async fn ids(
        &self,
        sql: &str,
        params: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let rows = self.client.query(sql, params).await;
        let id = |row: &Row| Ok(row.try_get::<_, Option<Bytes>>(0)?.map(|Bytes(bytes)| bytes));
        let rows = rows.and_then(|rows| rows.iter().map(id).collect());
        rows.map_err(|error| StoreError::Unavailable(words(&error)))
    }
}

/// A text as it stands: in a database without an encoding it may be no UTF-8.
struct Bytes(Vec<u8>);

impl<'r> FromSql<'r> for Bytes {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw.to_vec()))
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::TEXT
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
        let found: BTreeSet<_> = self.ids(&sql, &[&keys]).await?.into_iter().flatten().collect();
        let stands = |key: &String| found.contains(key.as_bytes());
        let entry = |key: &String| effect(Some(key.clone().into_bytes()), 0);
        Ok(keys.iter().map(|key| stands(key).then(|| entry(key))).collect())
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
            let is_over = ids.is_empty();
            let first = told + 1;
            told += ids.len();
            self.told.store(told, Ordering::Relaxed);
            let entries = (first..).zip(ids).map(|(row, id)| effect(id, row));
            // A key that ends a page may come again; `repeated` tells it.
            let is_new =
                |entry: &BookEntry| entry.place.is_some() || Some(entry.key.as_str()) != after;
            let entries: Vec<_> = entries.filter(is_new).collect();
            if is_over || !entries.is_empty() {
                return Ok(entries);
            }
        }
    }

    async fn repeated(&self, limit: usize) -> Result<Repeated, StoreError> {
        let sql = format!(
            "SELECT q.first::text COLLATE \"C\", count(*), count(*) OVER () FROM (\n{}\n) AS \
             q(first) WHERE q.first::text IS NOT NULL GROUP BY 1 HAVING count(*) > 1 ORDER BY 1 \
             LIMIT {limit}",
            self.sql
        );
        let failed = |error| StoreError::Unavailable(words(&error));
        let mut repeated = Repeated::default();
        for row in self.client.query(&sql, &[]).await.map_err(failed)? {
            let Bytes(key) = row.try_get(0).map_err(failed)?;
            let (times, found): (i64, i64) =
                (row.try_get(1).map_err(failed)?, row.try_get(2).map_err(failed)?);
            repeated.first.push((effect(Some(key), 0).key, times.unsigned_abs()));
            repeated.found = found.unsigned_abs();
        }
        Ok(repeated)
    }
}
