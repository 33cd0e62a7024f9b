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

impl Strike {
    /// For the environment of a child process.
    pub(super) fn to_code(self) -> String {
        let point = match self.point {
            CrashPoint::BeforeHandler => "before_handler".into(),
            CrashPoint::AtWait(wait) => wait.to_string(),
            CrashPoint::AfterHandler => "after_handler".into(),
            CrashPoint::AfterSettle => "after_settle".into(),
        };
        format!("{} {point}", self.attempt)
    }

    /// From the environment of a child process.
    pub(super) fn from_code(code: &str) -> Option<Self> {
        let (attempt, point) = code.split_once(' ')?;
        let point = match point {
            "before_handler" => CrashPoint::BeforeHandler,
            "after_handler" => CrashPoint::AfterHandler,
            "after_settle" => CrashPoint::AfterSettle,
            wait => CrashPoint::AtWait(wait.parse().ok()?),
        };
        Some(Self { attempt: attempt.parse().ok()?, point })
    }
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a crash {} (attempt {} of the run)", self.point, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strike_goes_through_the_environment() {
        let points = [
            CrashPoint::BeforeHandler,
            CrashPoint::AtWait(3),
            CrashPoint::AfterHandler,
            CrashPoint::AfterSettle,
        ];
        for point in points {
            let strike = Strike { attempt: 2, point };
            assert_eq!(Strike::from_code(&strike.to_code()), Some(strike));
        }
        assert_eq!(Strike::from_code("2 nowhere"), None);
    }
}
