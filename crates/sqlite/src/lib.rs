//! The SQLite store of Counterfoil: its schema, and the connections that keep its promises.
//!
//! Guarantees: what the schema's guards say holds for every program that writes the file. Does
//! not: keep those rules on a connection whose triggers are off; that is the caller's work then.

mod connection;
mod inbox;
mod schema;

pub use connection::{BUSY_TIMEOUT, OpenError, check_library, init, open_own, open_reader};
pub use inbox::{BookPage, BookRefused, InTransaction, InboxBook, InboxTx, InboxTxError};
pub use schema::{SCHEMA_VERSION, Schema, SchemaError, migrate, read_schema, schema_sql};
