//! A receiver, and the book in which it says what it did.
//!
//! Guarantees: each kind of book is matched in bounded memory, and none is written. Does not:
//! judge; `match_inbox` does.

use counterfoil_core::audit::{AuditReport, InboxMatch, match_inbox};
use counterfoil_core::domain::Contract;
use counterfoil_core::port::Store;

use super::asking::{self, Asked};
use super::inbox_file::InboxFile;
use super::inbox_table::InboxTable;
use super::kept::Kept;
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
        let (report, kept) = match self.book {
            Book::Inbox(StoreUrl::Sqlite(path)) => {
                let book = InboxFile::open(path, &source)?;
                let kept = book.kept()?;
                options.since = kept.remembers_since(now);
                let matched = match_inbox(store, &book, options.clone()).await;
                (matched.map_err(Failure::could_not_run)?, Some(kept))
            }
            Book::Inbox(StoreUrl::Postgres(url)) => {
                let book = InboxTable::open(url, &source).await?;
                let kept = book.kept().await?;
                options.since = kept.remembers_since(now);
                let matched = match_inbox(store, &book, options.clone()).await;
                (matched.map_err(Failure::could_not_run)?, Some(kept))
            }
            Book::Query { url, sql } => (queried(store, url, sql, options.clone()).await?, None),
            Book::Asked { config, relay } => {
                return asking::asked(store, config, relay, self.destinations).await;
            }
        };
        let notes = match kept {
            Some(kept) => self.too_short(store, kept).await?,
            None => Vec::new(),
        };
        Ok(Asked { report, unclear: 0, since: options.since, notes })
    }

    /// For which destinations the receiver keeps its keys shorter than their stored contract counts
    /// on: it is looked less far back then than it should be.
    async fn too_short(&self, store: &OpenStore, kept: Kept) -> Result<Vec<String>, Failure> {
        let contracts = store.contracts().await?;
        let serves =
            |name: &String| self.destinations.is_empty() || self.destinations.contains(name);
        let served = contracts.iter().filter(|(name, _)| serves(name));
        let of_one = |(name, contract): (&String, &Option<Contract>)| {
            kept.too_short(name, contract.as_ref()?)
        };
        Ok(served.filter_map(of_one).collect())
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
