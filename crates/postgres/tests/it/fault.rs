//! Faults on a real server, with the real relay: what must hold after each of them.
//!
//! Each test is named after its fault. What restarts, freezes or configures a server has one of its
//! own.

mod crowd;
mod cut;
mod dead_rows;
mod disk_full;
mod durable;
mod frozen;
mod many;
mod moved;
mod order;
mod pooler;
mod pools;
mod restarts;
pub(crate) mod scene;
mod silent;
