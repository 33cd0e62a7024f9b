//! The PostgreSQL store of Counterfoil: its schema, and the connections that keep its promises.
//!
//! Guarantees: what the schema's guards say holds for every program that writes the tables; many
//! relays on many machines share them. Does not: need a leader, a registry, or NOTIFY.

mod act;
mod alert;
mod append;
mod archive;
mod bodies;
mod books;
mod claim;
mod crowd;
mod destination;
mod enqueue;
mod exchange;
mod facts;
mod failure;
mod floors;
mod group;
mod inbox;
mod lane;
mod listen;
mod options;
mod param;
mod pause;
mod pool;
mod pooled;
mod position;
mod read;
mod report;
mod restored;
mod row;
mod schema;
mod settle;
mod statement;
mod store;
mod sweep;
mod time;
mod tls;
mod tx;
mod url;
mod user;
mod wake;
mod work;
mod workflow;

/// The code of the page about drivers, compiled.
#[cfg(all(doctest, feature = "sqlx"))]
#[doc = include_str!("../../../docs/drivers.md")]
mod page {}

#[cfg(feature = "sqlx")]
pub use inbox::SqlxInboxTx;
pub use inbox::{BookPage, BookRefused, InTransaction, InboxBook, InboxSql, InboxTx, InboxTxError};
pub use options::Options;
#[cfg(feature = "sqlx")]
pub use schema::migrate_sqlx;
pub use schema::{SCHEMA_VERSION, Schema, SchemaError, migrate, roles_sql, schema_sql};
pub use store::{OpenError, PostgresStore, connect};
pub use tls::{Tls, Verify};
pub use user::{EnqueueError, Outbox, OutboxIn, OutboxSql, PreparedOutbox};
#[cfg(feature = "sqlx")]
pub use user::{SqlxOutbox, SqlxOutboxIn};
