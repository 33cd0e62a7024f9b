//! The pure heart of Counterfoil: its words, its state machine, the ports that stores and
//! transports implement, and the audit over any store.
//!
//! Guarantees: [`domain`] reads no clock, no randomness, no file and no network; time and seeds
//! come in as values. Does not: persist or send anything; that is what implementations of
//! [`port`] are for.

pub mod audit;
pub mod bulk;
pub mod domain;
pub mod port;
