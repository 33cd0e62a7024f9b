//! What the store shows: to relays that wait, to people, to the audit.
//!
//! Guarantees: each read is one snapshot of a connection that cannot write; rows are decoded one
//! by one. Does not: decide anything.

pub(crate) mod arrived;
pub(crate) mod bodies;
pub(crate) mod control;
pub(crate) mod due;
pub(crate) mod ended;
pub(crate) mod event;
pub(crate) mod expected;
pub(crate) mod flow;
pub(crate) mod lane;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod status;
