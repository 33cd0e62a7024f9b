//! How many attempts one relay may begin at a destination in a time.
//!
//! Guarantees: pure; in no span as long as the rate's begin more than its count, wherever that span
//! starts. Does not: spread them inside it, or know of other relays: the limit is each relay's own.

use std::collections::VecDeque;

use super::time::{Micros, Span};

/// Beginnings this close together are remembered as one, at the later time: a hundredth of the
/// rate's span, and at most so long.
const GRAIN_LONGEST: Span = Span::from_secs(1);

/// A rate of begun attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// So many; 0 counts as 1.
    pub count: u32,
    /// In any span of this length.
    pub per: Span,
}

/// What has begun at one destination in one relay. Its times are of any clock that never steps
/// back.
#[derive(Clone, Debug)]
pub struct Quota {
    rate: Rate,
    /// When, and how many, oldest first; those that are over are left out.
    begun: VecDeque<(Micros, usize)>,
    spent: usize,
}

impl Quota {
    /// Nothing has begun.
    #[must_use]
    pub const fn new(rate: Rate) -> Self {
        Self { rate, begun: VecDeque::new(), spent: 0 }
    }

    fn most(&self) -> usize {
        usize::try_from(self.rate.count.max(1)).unwrap_or(usize::MAX)
    }

    fn forget(&mut self, now: Micros) {
        while let Some((at, count)) = self.begun.front().copied()
            && at.plus(self.rate.per) <= now
        {
            self.begun.pop_front();
            self.spent = self.spent.saturating_sub(count);
        }
    }

    /// How many of the `wanted` ones may begin now.
    pub fn allows(&mut self, wanted: usize, now: Micros) -> usize {
        self.forget(now);
        wanted.min(self.most().saturating_sub(self.spent))
    }

    /// So many began.
    pub fn take(&mut self, count: usize, now: Micros) {
        self.spent = self.spent.saturating_add(count);
        let grain = self.rate.per.times(1, 100).min(GRAIN_LONGEST).as_micros().max(1);
        // Later than it was: what is remembered too long never lets too many through.
        let at = Micros::new(now.get().saturating_add(grain - 1) / grain * grain);
        match self.begun.back_mut() {
            Some((last, begun)) if *last >= at => *begun = begun.saturating_add(count),
            _ => self.begun.push_back((at, count)),
        }
    }

    /// When the next may begin; `None`: now, as far as was known at the last look.
    #[must_use]
    pub fn next_at(&self) -> Option<Micros> {
        let (at, _) = self.begun.front().filter(|_| self.spent >= self.most())?;
        Some(at.plus(self.rate.per))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes all it can each millisecond for some seconds; when each began.
    fn greedy(rate: Rate, millis: i64) -> Vec<i64> {
        let mut quota = Quota::new(rate);
        let mut begun = Vec::new();
        for now in 0..millis {
            let at = Micros::EARLIEST.plus(Span::from_millis(now));
            let some = quota.allows(7, at);
            quota.take(some, at);
            begun.extend(std::iter::repeat_n(now, some));
        }
        begun
    }

    #[test]
    fn in_no_span_begin_more_than_its_count_and_little_is_lost() {
        let begun = greedy(Rate { count: 200, per: Span::from_secs(1) }, 10_000);
        for (place, first) in begun.iter().enumerate() {
            let inside = begun[place..].iter().take_while(|at| **at < first + 1000).count();
            assert!(inside <= 200, "{inside} from {first} ms on");
        }
        assert!(begun.len() >= 1_950, "{}", begun.len());
    }

    #[test]
    fn a_slow_rate_says_when_the_next_may_begin() {
        let mut quota = Quota::new(Rate { count: 2, per: Span::from_secs(60) });
        let start = Micros::EARLIEST;
        assert_eq!(quota.allows(64, start), 2);
        quota.take(1, start);
        assert_eq!(quota.next_at(), None);
        let later = start.plus(Span::from_secs(20));
        quota.take(quota.clone().allows(64, later), later);
        let next = quota.next_at().unwrap();
        let due = start.plus(Span::from_secs(60));
        assert!(
            next >= due && next <= due.plus(Span::from_millis(600)),
            "a hundredth later at most"
        );
        assert_eq!(quota.allows(64, start.plus(Span::from_secs(59))), 0);
        assert_eq!(quota.allows(64, next), 1);
    }

    #[test]
    fn what_it_remembers_is_bounded() {
        let mut quota = Quota::new(Rate { count: u32::MAX, per: Span::from_secs(3600) });
        for step in 0..100_000 {
            let now = Micros::EARLIEST.plus(Span::from_millis(step * 50));
            quota.allows(1, now);
            quota.take(1, now);
        }
        assert!(quota.begun.len() <= 3601, "{}", quota.begun.len());
    }
}
