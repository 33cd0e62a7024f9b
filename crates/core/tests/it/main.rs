//! The state machine, pair by pair and walk by walk.
//!
//! Guarantees: every promise about one command that the domain makes alone is tested here. Does
//! not: touch a store.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by a panic")]

mod bound;
mod document;
mod law;
mod pair;
mod shape;
mod table;
mod verb;
mod walk;
