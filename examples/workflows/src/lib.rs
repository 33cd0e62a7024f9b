//! What the two examples share: a ledger as the far end, a process that runs workflows to their
//! end, and the trip, which a test simulates.
//!
//! Guarantees: a process that is killed at any moment goes on where it was when it is started
//! again. Does not: start anything; see `bin/trip.rs` and `bin/transfer.rs`.

mod ledger;
mod trip;
mod work;

pub use ledger::{Ledger, Posting};
pub use trip::{Trip, trip};
pub use work::{Failure, Site, run};
