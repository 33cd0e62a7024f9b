//! The suite that every transport must pass: each case is one rule of the port.
//!
//! Guarantees: a transport that passes sends once, sends what was committed, stops at its gate,
//! and calls unknown what may have acted. Does not: know protocols; a transport's own answers have
//! tests of their own.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a suite tells what is wrong by a panic, as tests do"
)]

mod cases;
mod scripted_far_end;
mod sending;

use std::future::Future;
use std::sync::Arc;

use counterfoil_core::port::{BoxFuture, Transport};

pub use scripted_far_end::ScriptedFarEnd;

/// What the far end does with each call from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It acts and answers with this result.
    Done(Vec<u8>),
    /// It may have acted, and its answer says so or breaks off: a 500, an error of a handler.
    Fail,
    /// It takes the call and never answers.
    Hang,
}

/// A call as it arrived at the far end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The command's id, decoded.
    pub command_id: String,
    /// The bytes.
    pub body: Vec<u8>,
}

/// A transport and the far end it leads to. Each value is a fresh one.
///
/// A request time-out of a second or less keeps the suite quick.
pub trait FarEnd: Send + Sync + 'static {
    /// The transport.
    fn transport(&self) -> Arc<dyn Transport>;

    /// What the far end does from now on; `Done` with an empty result until this is called.
    fn reply(&self, reply: Reply);

    /// What has arrived so far, oldest first.
    fn arrivals(&self) -> Vec<Arrival>;

    /// Takes the far end away, so that no connection can be made; `false` where there is always
    /// one, as with a handler in this process.
    fn vanish(&self) -> BoxFuture<'_, bool>;
}

/// One rule of the port.
pub struct TransportCase<E> {
    /// The rule, in words.
    pub name: &'static str,
    run: fn(E) -> BoxFuture<'static, ()>,
}

impl<E: FarEnd> TransportCase<E> {
    /// Runs it against a fresh far end.
    ///
    /// # Panics
    /// If the transport breaks the rule.
    pub async fn run(&self, far_end: E) {
        (self.run)(far_end).await;
    }
}

/// All cases.
#[must_use]
pub fn transport_cases<E: FarEnd>() -> Vec<TransportCase<E>> {
    crate::transport_suite!(@list cases (E))
}

/// Runs the case of that name against a fresh far end.
///
/// # Panics
/// If there is no such case, or if the transport breaks its rule.
pub async fn run_transport_case<E: FarEnd>(name: &str, far_end: E) {
    let case = transport_cases::<E>().into_iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("no case is named {name}"));
    case.run(far_end).await;
}

/// Runs every case, each against a far end of its own, and names all that fail.
///
/// # Panics
/// If the transport breaks a rule; the message names each broken one.
pub async fn exercise_transport<E: FarEnd, F: Future<Output = E>>(make: impl Fn() -> F) {
    let mut broken = Vec::new();
    for case in transport_cases::<E>() {
        let (name, far_end) = (case.name, make().await);
        if tokio::spawn(async move { case.run(far_end).await }).await.is_err() {
            broken.push(name);
        }
    }
    assert!(broken.is_empty(), "the transport breaks {} rules: {broken:#?}", broken.len());
}
