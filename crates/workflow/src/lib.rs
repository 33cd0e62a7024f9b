//! Workflows: processes of several steps that survive a crash at any statement and never send from
//! replay.
//!
//! Guarantees: a [`Workflow`] is two pure functions over its stream; each input is decided once,
//! and what it caused stands in the transaction that consumes it. Does not: deliver commands; a
//! relay does.

pub mod broken;
pub mod decision;
pub mod input;
mod instance;
mod legal;
pub mod limits;
mod live;
pub mod programs;
mod record;
pub mod runner;
pub mod running;
pub mod saga;
pub mod testing;
pub mod verify;
pub mod workflow;

pub use broken::Broken;
pub use decision::{Decision, Unnamed};
pub use input::{Input, Receipt, What};
pub use programs::{Programs, ProgramsRefused};
pub use runner::{Runner, RunnerEnd, RunnerError};
pub use running::Running;
pub use saga::{Saga, Step};
pub use workflow::Workflow;
