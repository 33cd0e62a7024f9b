//! The runner and the verification against a store in memory and a SQLite file.
//!
//! Guarantees: each fault is made on purpose, and what must not happen is counted in rows. Does
//! not: kill processes; the command line's tests do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

mod faults;
mod on_sqlite;
mod programs;
mod running;
mod scene;
mod snapshots;
mod verifying;
