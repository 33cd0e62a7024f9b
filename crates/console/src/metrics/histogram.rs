//! How long attempts took, in buckets.
//!
//! Guarantees: bounded; each length is in exactly one bucket. Does not: keep single lengths.

use counterfoil_core::domain::Span;

/// The upper bounds of the buckets, in µs, and as they are written, in seconds.
pub(crate) const BOUNDS: [(i64, &str); 13] = [
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
    (60_000_000, "60"),
];

/// Lengths of time by bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum_micros: u64,
}

impl Histogram {
    pub(crate) fn add(&mut self, took: Span) {
        let micros = took.as_micros().max(0);
        if let Some(at) = BOUNDS.iter().position(|(bound, _)| micros <= *bound) {
            self.buckets[at] += 1;
        }
        self.count += 1;
        self.sum_micros = self.sum_micros.saturating_add(micros.unsigned_abs());
    }

    /// How many were no longer than each bound, in the order of the bounds.
    pub(crate) fn cumulated(&self) -> [u64; BOUNDS.len()] {
        let mut sum = 0;
        self.buckets.map(|count| {
            sum += count;
            sum
        })
    }

    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all, in µs.
    pub(crate) const fn sum_micros(&self) -> u64 {
        self.sum_micros
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_length_is_in_the_first_bucket_that_holds_it() {
        let mut histogram = Histogram::default();
        for micros in [0, 5_000, 5_001, 60_000_000, 60_000_001] {
            histogram.add(Span::from_micros(micros));
        }
        let cumulated = histogram.cumulated();
        assert_eq!((cumulated[0], cumulated[1], cumulated[11], cumulated[12]), (2, 3, 3, 4));
        assert_eq!(histogram.count(), 5);
        assert_eq!(histogram.sum_micros(), 120_010_002);
    }
}
