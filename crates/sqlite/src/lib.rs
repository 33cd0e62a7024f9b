//! The SQLite store of Counterfoil: its schema, and the connections that keep its promises.
//!
//! Guarantees: what the schema's guards say holds for every program that writes the file. Does
//! not: keep those rules on a connection whose triggers are off; that is the caller's work then.

mod act;
mod alert;
mod append;
mod bodies;
mod burial;
mod claim;
mod clock;
mod commit_queue;
mod connection;
#[cfg(test)]
mod crash;
mod destination;
mod enqueue;
mod entry;
mod erasure;
mod exchange;
mod facts;
mod failure;
mod group;
mod inbox;
mod lane;
mod member;
mod mend;
mod open_error;
mod options;
mod outbox;
mod patient;
mod pause;
mod place;
mod position;
mod read;
mod reader;
mod report;
mod restored;
mod row;
mod schema;
mod seal;
mod settle;
mod spelled;
mod sql;
mod store;
mod sweep;
mod tombstone;
mod transaction;
mod user_decision;
mod user_report;
mod wake;
mod watch;
mod workflow;
mod writer;

pub use connection::{BUSY_TIMEOUT, check_library, init, open_own, open_reader};
pub use inbox::{BookPage, BookRefused, InTransaction, InboxBook, InboxTx, InboxTxError};
pub use open_error::OpenError;
pub use options::Options;
pub use outbox::{EnqueueError, Outbox};
pub use schema::{SCHEMA_VERSION, Schema, SchemaError, migrate, read_schema, schema_sql};
pub use store::SqliteStore;
