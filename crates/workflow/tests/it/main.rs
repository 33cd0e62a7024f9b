//! The runner and the verification against stores.

mod faults;
mod programs;
mod running;
mod scene;
mod snapshots;
mod verifying;
