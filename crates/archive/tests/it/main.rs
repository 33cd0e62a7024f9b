//! The archive over a store in memory and over a file, with real folders, crashes and damage.
//!
//! Guarantees: every crash point is found by running, none is listed by hand. Does not: pull the
//! plug; a process that dies is as far as a test goes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

mod bodies;
mod bodies_damage;
mod crash;
mod damage;
mod erasing;
mod flows;
mod kill;
mod line;
mod moving;
mod racing;
mod scene;
