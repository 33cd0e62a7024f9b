//! A receiver, and the book in which it says what it did.
//!
//! Guarantees: each kind of book is matched in bounded memory, and none is written. Does not:
//! judge; `match_inbox` does.

use counterfoil_core::audit::{AuditReport, InboxMatch, match_inbox};
use counterfoil_core::port::Store;

use super::asking::{self, Asked};
use super::inbox_file::InboxFile;
use super::inbox_table::InboxTable;
use super::query_file::QueryFile;
use super::query_table::QueryTable;
use crate::config::store_url::StoreUrl;
use crate::config::{Config, RelaySettings};
use crate::exit::Failure;
use crate::store::OpenStore;

/// A receiver whose book is matched.
pub(crate) struct Receiver<'a> {
    /// Its book.
    pub(crate) book: Book<'a>,
    /// What it serves; empty: all. Others have their keys in a book of their own.
    pub(crate) destinations: &'a [String],
}

/// Where a receiver says what it did.
pub(crate) enum Book<'a> {
    /// The inbox of a store.
    Inbox(&'a StoreUrl),
    /// What a query over its own tables answers.
    Query {
        /// Where.
        url: &'a StoreUrl,
        /// What.
        sql: &'a str,
    },
    /// Its answers, key by key.
    Asked {
        /// Which says how each receiver is asked.
        config: Option<&'a Config>,
        /// The same.
        relay: &'a RelaySettings,
    },
}

impl Receiver<'_> {
    /// Whether every command is taken for one of its own, and nobody said so.
    pub(super) fn serves_all(&self) -> bool {
        self.destinations.is_empty() && !matches!(self.book, Book::Asked { .. })
    }

    /// Our book against its.
    ///
    /// # Errors
    /// Its book cannot be read.
    pub(super) async fn matched(self, store: &OpenStore) -> Result<Asked, Failure> {
        let serves = self.destinations.iter();
        let mut options = serves.fold(InboxMatch::default(), InboxMatch::destination);
        let (source, now) = (store.source(), store.now()?);
        let report = match self.book {
            Book::Inbox(StoreUrl::Sqlite(path)) => {
                let book = InboxFile::open(path, &source)?;
                options.since = book.kept()?.remembers_since(now);
                match_inbox(store, &book, options).await.map_err(Failure::could_not_run)?
            }
            Book::Inbox(StoreUrl::Postgres(url)) => {
                let book = InboxTable::open(url, &source).await?;
                options.since = book.kept().await?.remembers_since(now);
                match_inbox(store, &book, options).await.map_err(Failure::could_not_run)?
            }
            Book::Query { url, sql } => queried(store, url, sql, options).await?,
            Book::Asked { config, relay } => {
                return asking::asked(store, config, relay, self.destinations).await;
            }
        };
        Ok(Asked { report, unclear: 0 })
    }
}

async fn queried(
    store: &OpenStore,
    url: &StoreUrl,
    sql: &str,
    options: InboxMatch,
) -> Result<AuditReport, Failure> {
    match url {
        StoreUrl::Sqlite(path) => {
            let book = QueryFile::open(path, sql)?;
            match_inbox(store, &book, options).await.map_err(Failure::could_not_run)
        }
        StoreUrl::Postgres(url) => {
            let book = QueryTable::open(url, sql).await?;
            match_inbox(store, &book, options).await.map_err(Failure::could_not_run)
        }
    }
}
