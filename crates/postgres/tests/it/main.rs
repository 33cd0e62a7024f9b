//! The integration tests of the PostgreSQL store, one module a subject; they need a server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

mod books;
mod corrupted;
mod fault;
mod functions;
mod guards;
mod guards_made;
mod guards_own;
mod guards_receiver;
mod guards_report;
mod guards_values;
mod intents;
mod lanes;
mod limits;
mod listen;
mod long_body;
mod many;
mod migrate;
mod not_known;
mod page;
mod plans;
mod private;
mod psycopg;
mod random;
mod restore;
mod roles;
mod server;
mod shared;
mod suite;
mod tls;
mod upgrade;
mod user;
mod user_archived;
#[cfg(feature = "sqlx")]
mod user_sqlx;
mod workflow;
