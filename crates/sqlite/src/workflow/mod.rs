//! Workflows in a SQLite file: their inputs, their steps, and what is known about them.
//!
//! Guarantees: what the `Workflows` port asks; an input names the program that it waits for, so
//! one that cannot go on costs no look at those that can. Does not: decide anything.

pub(crate) mod due;
mod ended;
pub(crate) mod hand;
pub(crate) mod input;
pub(crate) mod keep;
pub(crate) mod list;
pub(crate) mod quarantine;
pub(crate) mod step;
pub(crate) mod turn;
