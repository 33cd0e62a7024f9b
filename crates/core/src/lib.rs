//! The pure heart of Counterfoil: its words, its state machine, and the ports that stores and
//! transports implement.
//!
//! Guarantees: [`domain`] reads no clock, no randomness, no file and no network; time and seeds
//! come in as values. Does not: persist or send anything; that is what implementations of
//! [`port`] are for.

pub mod domain;
pub mod port;
