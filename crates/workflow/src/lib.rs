//! Workflows: processes of several steps that survive a crash at any statement and never send from
//! replay.
//!
//! Guarantees: a [`Workflow`] is two pure functions over its stream; each input is decided once,
//! and what it caused stands in the transaction that consumes it. Does not: deliver commands; a
//! relay does.

pub mod decision;
pub mod input;
pub mod saga;
pub mod workflow;

pub use decision::{Decision, Unnamed};
pub use input::{Input, Receipt, What};
pub use saga::{Saga, Step};
pub use workflow::Workflow;
