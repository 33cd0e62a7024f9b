//! The HTTP transport against real sockets: a receiver that does what a script says.
//!
//! Guarantees: loopback only. Does not: judge by speed; where a test waits, it waits for
//! something that must happen, or long enough that it would have happened.

mod answer;
mod connection;
mod receiver;
mod request;
mod send;
mod suite;
mod tls;
mod warning;
