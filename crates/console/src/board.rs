//! How the relay of this process stands, as the API shows it.
//!
//! Guarantees: plain data, read without waiting for anything. Does not: know the relay; whoever
//! runs both joins them.

use std::fmt;

/// How one destination stands in the relay of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Standing {
    /// The destination.
    pub destination: String,
    /// Attempts and questions under way.
    pub in_flight: usize,
    /// `closed`, `open` or `probing`.
    pub breaker: &'static str,
}

impl Standing {
    /// So many attempts under way, and this breaker: `closed`, `open` or `probing`.
    #[must_use]
    pub fn new(destination: impl Into<String>, in_flight: usize, breaker: &'static str) -> Self {
        Self { destination: destination.into(), in_flight, breaker }
    }

    /// Whether its breaker holds claims back.
    #[must_use]
    pub fn is_held_back(&self) -> bool {
        self.breaker != "closed"
    }
}

/// What the relay of this process shows of itself. It must not block.
pub trait Board: fmt::Debug + Send + Sync + 'static {
    /// How many attempts and questions may be under way at once.
    fn workers(&self) -> usize;

    /// How each destination that it serves stands.
    fn standings(&self) -> Vec<Standing>;
}
