//! How a store behaves.
//!
//! Guarantees: the defaults are safe and fast; nothing here weakens a commit. Does not: stand in
//! the file; each process has its own.

use std::time::Duration;

use counterfoil_core::domain::command::BODY_BYTES_MAX;

/// How a store behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The most bytes a body may have; more is refused when recorded, and parked when claimed.
    /// Default 1 MiB, at most 16 MiB.
    pub body_bytes_max: usize,
    /// How long a relay's next write is held back while another process writes the file, whose
    /// turn would else not come. Default 1 ms.
    pub relay_gap: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { body_bytes_max: BODY_BYTES_MAX, relay_gap: Duration::from_millis(1) }
    }
}

impl Options {
    /// Sets the most bytes a body may have.
    #[must_use]
    pub fn body_bytes_max(mut self, bytes: usize) -> Self {
        self.body_bytes_max = bytes;
        self
    }

    /// Sets how long a relay is held back while another process writes.
    #[must_use]
    pub fn relay_gap(mut self, gap: Duration) -> Self {
        self.relay_gap = gap;
        self
    }
}
