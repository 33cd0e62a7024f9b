//! The helpers for users' own tests, each also where it must say no.
//!
//! Guarantees: real SQLite files and the real relay; no test waits for a retry. Does not: test the
//! relay or the store, which have suites of their own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

mod abort;
mod crash;
mod deliver;
mod enqueued;
mod refused;
mod simulation;
mod time;

use std::panic::{AssertUnwindSafe, catch_unwind};

use counterfoil::Command;
use serde_json::json;

/// What the helper says when it ends a test.
fn words(test: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(test)).expect_err("it should have panicked");
    match panic.downcast::<String>() {
        Ok(words) => *words,
        Err(panic) => (*panic.downcast::<&str>().expect("words")).to_owned(),
    }
}

/// A command `kind:n` of that kind.
fn command(destination: &str, kind: &str, n: u32) -> Command {
    Command::json(format!("{kind}:{n}"), destination, kind, &json!({"n": n})).unwrap()
}
