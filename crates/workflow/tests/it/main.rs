//! The runner and the verification against a store in memory, on SQLite and on PostgreSQL.
//!
//! Guarantees: each fault is made on purpose, and what must not happen is counted in rows. Does
//! not: kill a runner inside a transaction on SQLite; that store's own tests do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

mod archived;
mod crash;
mod crash_scene;
mod faults;
mod folds;
mod frozen;
mod long;
mod on_sqlite;
mod programs;
mod running;
mod scene;
mod server;
mod sites;
mod snapshots;
mod verifying;
mod versions;
