//! How commands travel: one module a kind of destination.
//!
//! Guarantees: each keeps the rules of the `Transport` port. Does not: know stores or relays.

pub mod handler;
#[cfg(feature = "http")]
pub mod http;
pub mod log;
