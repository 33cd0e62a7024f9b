//! The API held to its words: real sockets, over a store in memory and one in a real file.
//!
//! Guarantees: each test uses files and ports of its own. Does not: measure speed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]
