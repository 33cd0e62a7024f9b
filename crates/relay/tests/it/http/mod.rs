//! The HTTP transport against real sockets: a receiver that does what a script says.
//!
//! Guarantees: loopback only. Does not: judge by speed; where a test waits, it waits for
//! something that must happen, or long enough that it would have happened.

mod answer;
mod ask;
mod client_certificate;
mod connection;
mod habits;
mod key;
mod proxy;
mod receiver;
mod recipe;
mod request;
mod send;
mod suite;
mod tls;
mod tls_server;
mod trace;
mod warning;
