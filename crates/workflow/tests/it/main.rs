//! The runner and the verification against stores.

mod faults;
mod on_sqlite;
mod programs;
mod running;
mod scene;
mod snapshots;
mod verifying;
