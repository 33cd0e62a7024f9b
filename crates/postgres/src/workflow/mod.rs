//! Workflows in the tables: inputs, steps, upkeep, and what people look at.
//!
//! Guarantees: what the `Workflows` port asks. Does not: decide; programs do.

pub(crate) mod due;
mod ended;
pub(crate) mod hand;
pub(crate) mod input;
pub(crate) mod keep;
pub(crate) mod list;
pub(crate) mod quarantine;
pub(crate) mod step;
mod wave;
