//! What the two examples share: a ledger as the far end, and a process that runs workflows to
//! their end.
//!
//! Guarantees: a process that is killed at any moment goes on where it was when it is started
//! again. Does not: decide anything; see `bin/trip.rs` and `bin/transfer.rs`.

mod ledger;
mod work;

pub use ledger::{Ledger, Posting};
pub use work::{Failure, Site, run};
