//! The integration tests of the PostgreSQL store, one module a subject; they need a server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

mod migrate;
mod random;
mod server;
mod suite;
