//! The relay against a store in memory and a scripted transport, in paused time.
//!
//! Guarantees: no test waits on a real clock, so none is decided by a stopwatch (`http`
//! alone uses real sockets and real time). Does not: test a database; that is the stores' suite.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

mod alert;
mod announcing;
mod answering;
mod asking;
mod breaker;
mod clock;
mod contract;
mod control;
mod destination;
mod doubt;
mod expiry;
mod faults;
mod gone;
mod handler;
#[cfg(feature = "http")]
mod http;
mod lanes;
mod lease;
mod limits;
mod observer;
mod patience;
mod probe;
mod receipt;
mod relay;
mod scene;
mod settle;
mod simulate;
mod simulated_relay;
mod sqlite_file;
mod stop;
mod store_failure;
mod table;
mod trace;
mod watched_store;
mod wire;
mod worker;
