//! The integration tests of the SQLite store, one module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

mod append;
mod archive;
mod archive_race;
mod audit;
mod audited;
mod commit_queue;
mod corrupted;
mod dead_letters;
mod erase;
mod expiry;
mod fault;
mod guards;
mod guards_inbox;
mod guards_input;
mod guards_lane;
mod guards_own;
mod guards_pass;
mod guards_random;
mod guards_repeat;
mod guards_report;
mod guards_values;
mod inbox;
mod lane_names;
mod lanes;
mod long_worker;
mod mend;
mod old_library;
mod open;
mod page;
mod patience;
mod place;
mod plans;
mod random;
mod store;
mod suite;
mod tombstone;
mod upgrade;
mod upgrade_every;
mod user_report;
mod user_transaction;
mod wake;
mod workflow;
mod workflow_fault;
mod workflow_stranger;
