//! The suites, run against what the testkit itself brings.
//!
//! Guarantees: the store in memory keeps every rule of the store suite. Does not: prove others.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by a panic")]

mod audit;
mod bulk;
mod memory_store;
mod scripted_transport;
mod sealed;
