//! Where a process may die around one attempt.
//!
//! Guarantees: each point is named in words that a report shows. Does not: strike; see
//! [`Crash`](super::Crash).

use std::fmt;

/// Where the process dies around one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CrashPoint {
    /// The claim is committed, and the handler has not run.
    BeforeHandler,
    /// The handler waits for the so-manieth time, from 1, and never goes on.
    AtWait(u32),
    /// The handler has returned, and its outcome is not settled.
    AfterHandler,
    /// The settle is committed.
    AfterSettle,
}

impl fmt::Display for CrashPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeHandler => f.write_str("before the handler runs"),
            Self::AtWait(wait) => write!(f, "at wait {wait} of the handler"),
            Self::AfterHandler => f.write_str("after the handler, before its settle"),
            Self::AfterSettle => f.write_str("after the settle's commit"),
        }
    }
}

/// One crash of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strike {
    /// Which attempt of the run, from 1.
    pub(super) attempt: u32,
    /// Where in it.
    pub(super) point: CrashPoint,
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a crash {} (attempt {} of the run)", self.point, self.attempt)
    }
}
