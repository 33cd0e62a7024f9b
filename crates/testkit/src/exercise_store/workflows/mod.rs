//! The suite that every store of workflows must pass, too.
//!
//! Guarantees: each case is one rule of the port [`Workflows`]. Does not: decide; what a program
//! would say is written down in the cases.

mod aside;
mod bodies;
mod cancelling;
mod cases;
mod due;
mod flow;
mod hand;
mod inputs;
mod keeping;
mod leaving;
mod listing;
mod pointing;
mod proving;
mod starting;
mod stepping;
mod timers;

use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::port::{Archive, Audited, Bodies, BoxFuture, Workflows};

use super::{Case, Hands};
use crate::memory_store::rows::Rows;

/// What a suite of workflows needs beside the port.
pub trait WorkflowHands: Hands<Store: Workflows + Archive + Audited + Bodies> {
    /// Writes an input as only this library may, with the rights of the tables' owner: a pointer
    /// or a timer that is due at once. For whom it is follows from the stream's row.
    fn forge_input<'a>(
        &'a self,
        stream: &'a str,
        id: &'a str,
        kind: InputKind,
        name: &'a str,
    ) -> BoxFuture<'a, ()>;

    /// Sets a waiting input aside (its `workflow` is NULL): as one that came while its start stood
    /// in another open transaction.
    fn set_aside<'a>(&'a self, stream: &'a str, id: &'a str) -> BoxFuture<'a, ()>;

    /// Changes rows behind the store's back, past every guard.
    fn spoil<'a>(&'a self, spoil: &'a Spoil) -> BoxFuture<'a, ()>;
}

/// A change of rows by hand, as each store takes it.
#[derive(Clone, Copy, Debug)]
pub struct Spoil {
    /// A statement that both databases run; `cf.` stands before the name of each table.
    pub sql: &'static str,
    /// The same in memory.
    pub rows: fn(&mut Rows),
}

/// All cases of a store of workflows; see [`workflow_suite!`](crate::workflow_suite).
#[must_use]
pub fn workflow_cases<H: WorkflowHands>() -> Vec<Case<H>> {
    crate::workflow_suite!(@list cases (H))
}

/// Runs the case of that name of the workflows' suite on a fresh store.
///
/// # Panics
/// If there is no such case, or if the store breaks its rule.
pub async fn run_workflow<H: WorkflowHands>(name: &str, hands: H) {
    let case = workflow_cases::<H>().into_iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("no case is named {name}"));
    case.run(hands).await;
}
