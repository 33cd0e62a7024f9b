//! Points in time and lengths of time, in integer microseconds, UTC.
//!
//! Guarantees: arithmetic saturates and never panics. Does not: read a clock; see the `Clock` port.

use serde::{Deserialize, Serialize};

/// A point in time: microseconds since 1970-01-01 00:00 UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Micros(i64);

impl Micros {
    /// The earliest time a stored column may hold: 2001-09-09.
    pub const EARLIEST: Self = Self(1_000_000_000_000_000);
    /// The latest time a stored column may hold: 2286-11-20.
    pub const LATEST: Self = Self(9_999_999_999_999_999);

    /// A point in time from microseconds since the epoch; any value is taken.
    #[must_use]
    pub const fn new(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Whether a stored column may hold it. Seconds, milliseconds and nanoseconds by mistake fall
    /// outside.
    #[must_use]
    pub const fn is_plausible(self) -> bool {
        self.0 >= Self::EARLIEST.0 && self.0 <= Self::LATEST.0
    }

    /// This time and `span` more; saturates at the ends of the range of `i64`.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// A length of time in microseconds, never negative.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of microseconds; a negative number becomes zero.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        if micros < 0 { Self(0) } else { Self(micros) }
    }

    /// A span of milliseconds; saturates.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self::from_micros(millis.saturating_mul(1_000))
    }

    /// A span of seconds; saturates.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self::from_micros(secs.saturating_mul(1_000_000))
    }

    /// The span in microseconds.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Both spans one after the other; saturates.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left of this span after `other`; zero if nothing is.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self::from_micros(self.0.saturating_sub(other.0))
    }

    /// `numerator / denominator` of this span, rounded down; zero for a denominator of zero.
    #[must_use]
    pub const fn times(self, numerator: i64, denominator: i64) -> Self {
        if denominator == 0 {
            return Self::ZERO;
        }
        let wide = self.0 as i128 * numerator as i128 / denominator as i128;
        Self::from_micros(if wide > i64::MAX as i128 { i64::MAX } else { wide as i64 })
    }

    /// The same span for the standard library.
    #[must_use]
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_micros(self.0.unsigned_abs())
    }

    /// The same span from the standard library; saturates.
    #[must_use]
    pub fn from_std(span: std::time::Duration) -> Self {
        Self(i64::try_from(span.as_micros()).unwrap_or(i64::MAX))
    }
}
