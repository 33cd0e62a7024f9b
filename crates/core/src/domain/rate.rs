//! How many commands one relay may begin in a time: a token bucket.
//!
//! Guarantees: pure; over any time, at most the rate times that time and one second's worth more.
//! Does not: know of other relays: the limit is each relay's own.

use super::time::{Micros, Span};

/// A rate of begun sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// So many, at least 1.
    pub count: u32,
    /// In this time.
    pub per: Span,
}

/// The bucket of one destination in one relay. Its times are of any clock that never steps back.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: Rate,
    /// What is left, in microseconds' worth: a send costs `per / count`.
    left: Span,
    filled_at: Micros,
}

impl Bucket {
    /// A full bucket.
    #[must_use]
    pub fn new(rate: Rate, now: Micros) -> Self {
        let mut bucket = Self { rate, left: Span::ZERO, filled_at: now };
        bucket.left = bucket.full();
        bucket
    }

    /// What one send costs, at least a microsecond.
    fn cost(&self) -> Span {
        self.rate.per.times(1, i64::from(self.rate.count.max(1))).max(Span::from_micros(1))
    }

    /// The most it holds: a second's worth, and one send at least.
    fn full(&self) -> Span {
        Span::from_secs(1).max(self.cost())
    }

    fn fill(&mut self, now: Micros) {
        self.left = self.left.plus(now.since(self.filled_at)).min(self.full());
        self.filled_at = self.filled_at.max(now);
    }

    /// How many of the `wanted` sends may begin now.
    pub fn allows(&mut self, wanted: usize, now: Micros) -> usize {
        self.fill(now);
        let whole = self.left.as_micros() / self.cost().as_micros();
        wanted.min(usize::try_from(whole).unwrap_or(usize::MAX))
    }

    /// So many began.
    pub fn take(&mut self, count: usize) {
        let spent = self.cost().times(i64::try_from(count).unwrap_or(i64::MAX), 1);
        self.left = self.left.minus(spent);
    }

    /// When the next send may begin; now or earlier, if one may.
    #[must_use]
    pub fn next_at(&self) -> Micros {
        self.filled_at.plus(self.cost().minus(self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lets_through_its_rate_and_one_second_more() {
        let rate = Rate { count: 200, per: Span::from_secs(1) };
        let start = Micros::EARLIEST;
        let mut bucket = Bucket::new(rate, start);
        let mut begun = 0;
        for millis in 0..10_000 {
            let now = start.plus(Span::from_millis(millis));
            let some = bucket.allows(64, now);
            bucket.take(some);
            begun += some;
        }
        assert!((2_190..=2_200).contains(&begun), "{begun}");
    }

    #[test]
    fn a_slow_rate_says_when_the_next_may_begin() {
        let rate = Rate { count: 2, per: Span::from_secs(60) };
        let start = Micros::EARLIEST;
        let mut bucket = Bucket::new(rate, start);
        assert_eq!(bucket.allows(64, start), 1);
        bucket.take(1);
        assert_eq!(bucket.allows(64, start), 0);
        let next = bucket.next_at();
        assert_eq!(next, start.plus(Span::from_secs(30)));
        assert_eq!(bucket.allows(64, next), 1);
    }
}
