//! The inbox held to its words: real SQLite files, real sockets, real processes.
//!
//! Guarantees: each test uses files and ports of its own. Does not: measure speed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

mod bad_request;
mod client;
mod core_digest;
mod crash;
mod delivered;
mod failing_book;
mod guard;
mod plain_sql;
mod postgres;
mod postgres_receiver;
mod purge;
mod purge_turns;
mod receipts;
mod twins;
mod warehouse;
mod without_keys;
