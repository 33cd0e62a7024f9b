#![doc = include_str!("../../../../docs/testing.md")]

mod abort;
mod assert_enqueued;
mod crash;
mod crash_point;
mod deliver_inline;
mod delivered;
mod fragile;
mod pass;
pub mod simulation;
mod temp_store;

use std::sync::Arc;

use counterfoil_core::domain::{Contract, Destination, Idempotent, Terms};
use counterfoil_core::port::Transport;
use counterfoil_relay::Served;

/// Tests of a workflow without a runtime, a store or a clock.
pub use counterfoil_workflow::testing as workflow;

pub use counterfoil_testkit::enqueued;
pub use counterfoil_testkit::{
    Enqueued, ManualClock, MemoryStore, Receiver, Script, ScriptedTransport, Sent, TestClock,
    VirtualClock, Wanted,
};

pub use abort::{AbortScenario, abort_at_every_crash_point};
pub use assert_enqueued::{
    ENQUEUED_MAX, all_enqueued, assert_enqueued, assert_enqueued_once, refute_enqueued,
};
pub use crash::{ATTEMPTS_CRASHED_MAX, Crash, CrashReport, WAITS_CRASHED_MAX, every_crash_point};
pub use crash_point::CrashPoint;
pub use deliver_inline::{ATTEMPTS_MAX, DeliverAll, WITHIN, deliver_all_inline};
pub use delivered::{Delivered, Left, Tried};
pub use temp_store::TempStore;

/// A destination that is served by `transport`, with default terms for a receiver that folds
/// repeats into one effect ([`Idempotent::Forever`]).
///
/// For other terms use [`Served::new`].
///
/// # Panics
/// The name breaks its rule.
///
/// # Example
/// ```
/// use counterfoil::relay::{HandlerError, handler};
/// use counterfoil::testing::served;
///
/// let shipping = served("shipping", handler(|_| async { Ok::<_, HandlerError>(()) }));
/// assert_eq!(shipping.destination.as_str(), "shipping");
/// ```
#[must_use]
#[track_caller]
pub fn served(destination: &str, transport: impl Transport) -> Served {
    let name = must(Destination::new(destination), "naming a destination");
    Served::new(name, Terms::new(Contract::new(Idempotent::Forever)), Arc::new(transport))
}

/// The value, or a panic that says what was being done: a test has no better way out.
#[track_caller]
fn must<T, E: std::fmt::Display>(done: Result<T, E>, doing: &str) -> T {
    match done {
        Ok(value) => value,
        Err(why) => fail(format_args!("{doing}: {why}")),
    }
}

/// Ends the test.
#[expect(clippy::panic, reason = "that is how a helper of tests says no")]
#[track_caller]
fn fail(words: impl std::fmt::Display) -> ! {
    panic!("{words}")
}
