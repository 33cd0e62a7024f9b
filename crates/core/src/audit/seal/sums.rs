//! Sums over rows that depend on no order, kept by ranges of a number.
//!
//! Guarantees: a row that is missing, changed or there twice changes the sum of its range; ranges
//! grow, so that there are at most [`RANGES_MAX`] of them. Does not: say which row it was.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

use crate::domain::Digest;

/// The most ranges of one table: each more than this halves their number.
pub const RANGES_MAX: usize = 64;

/// How many rows there are, and the sum of their digests: four numbers that wrap around. An
/// exclusive or would cancel a row that is there twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// How many rows. Negative only in a seal that is not that of its store.
    pub rows: i64,
    parts: [u64; 4],
}

impl Sum {
    /// Counts a row.
    pub fn add(&mut self, row: &Digest) {
        self.rows += 1;
        self.each(&parts(row), u64::wrapping_add);
    }

    /// Counts a row no more.
    pub fn remove(&mut self, row: &Digest) {
        self.rows -= 1;
        self.each(&parts(row), u64::wrapping_sub);
    }

    /// Counts what another has counted, too.
    pub(in crate::audit) fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.each(&other.parts, u64::wrapping_add);
    }

    fn each(&mut self, other: &[u64; 4], with: fn(u64, u64) -> u64) {
        for (mine, theirs) in self.parts.iter_mut().zip(other) {
            *mine = with(*mine, *theirs);
        }
    }
}

fn parts(row: &Digest) -> [u64; 4] {
    let mut parts = [0; 4];
    for (part, bytes) in parts.iter_mut().zip(row.as_bytes().chunks_exact(8)) {
        *part = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    }
    parts
}

/// The sums of one table, by ranges of a number of its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sums {
    /// A range is this power of two wide.
    shift: u32,
    /// By the range's first number, shifted.
    ranges: BTreeMap<i64, Sum>,
}

/// A range whose rows are not those that were summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Differing {
    /// Its first number.
    pub first: i64,
    /// Its last number.
    pub last: i64,
    /// How many rows were summed.
    pub were: i64,
    /// How many stand.
    pub are: i64,
}

impl Sums {
    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.ranges.values().map(|sum| sum.rows).sum()
    }

    /// Counts a row that stands at `at`.
    pub fn add(&mut self, at: i64, row: &Digest) {
        self.ranges.entry(at >> self.shift).or_default().add(row);
        self.bound();
    }

    /// Counts a row that stood at `at` no more.
    pub fn remove(&mut self, at: i64, row: &Digest) {
        if let Entry::Occupied(mut range) = self.ranges.entry(at >> self.shift) {
            range.get_mut().remove(row);
            if *range.get() == Sum::default() {
                range.remove();
            }
        } else {
            // Not a row of this seal; the difference stays to be seen.
            self.ranges.entry(at >> self.shift).or_default().remove(row);
            self.bound();
        }
    }

    /// Both in one.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.widen(other.shift);
        other.widen(self.shift);
        for (range, sum) in &other.ranges {
            self.ranges.entry(*range).or_default().merge(sum);
        }
        self.bound();
        self
    }

    /// The ranges in which `now` is not what was summed.
    #[must_use]
    pub fn differing(&self, now: &Self) -> Vec<Differing> {
        let (mut were, mut are) = (self.clone(), now.clone());
        were.widen(are.shift);
        are.widen(were.shift);
        let shift = were.shift;
        let mut ranges: Vec<i64> = were.ranges.keys().chain(are.ranges.keys()).copied().collect();
        ranges.sort_unstable();
        ranges.dedup();
        let sum = |sums: &Self, range: &i64| sums.ranges.get(range).copied().unwrap_or_default();
        let told = |range: i64| {
            let (then, now) = (sum(&were, &range), sum(&are, &range));
            let first = range << shift;
            let last = first | !(i64::MAX << shift) & i64::MAX;
            let differing = Differing { first, last, were: then.rows, are: now.rows };
            (then != now).then_some(differing)
        };
        ranges.into_iter().filter_map(told).collect()
    }

    fn bound(&mut self) {
        while self.ranges.len() > RANGES_MAX {
            self.widen(self.shift + 1);
        }
    }

    /// Makes the ranges that wide, unless they are.
    fn widen(&mut self, shift: u32) {
        let Some(by) = shift.checked_sub(self.shift).filter(|by| *by > 0) else { return };
        for (range, sum) in std::mem::take(&mut self.ranges) {
            self.ranges.entry(range >> by.min(63)).or_default().merge(&sum);
        }
        self.shift = shift;
    }

    /// Whether the numbers may be shifted so.
    pub(super) const fn is_sound(&self) -> bool {
        self.shift < 64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digest(of: i64) -> Digest {
        Digest::of(&of.to_be_bytes())
    }

    fn sums(of: impl IntoIterator<Item = i64>) -> Sums {
        let mut sums = Sums::default();
        of.into_iter().for_each(|at| sums.add(at, &digest(at)));
        sums
    }

    #[test]
    fn the_order_is_no_matter_and_a_row_twice_is() {
        assert_eq!(sums(1..=40), sums((1..=40).rev()));
        let twice = sums((1..=40).chain([7, 7]));
        let found = sums(1..=40).differing(&twice);
        assert_eq!(found, [Differing { first: 7, last: 7, were: 1, are: 3 }]);
    }

    #[test]
    fn ranges_are_bounded_and_narrow_what_differs() {
        let all = sums(1..=10_000);
        assert!(all.ranges.len() <= RANGES_MAX, "{}", all.ranges.len());
        assert_eq!(all.rows(), 10_000);
        let without = sums((1..=10_000).filter(|at| *at != 5_000));
        let found = all.differing(&without);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].first <= 5_000 && 5_000 <= found[0].last, "{found:?}");
        assert!(found[0].last - found[0].first < 512, "{found:?}");
        assert_eq!(found[0].were - found[0].are, 1);
        let changed = sums((1..=10_000).filter(|at| *at != 5_000));
        let mut changed = changed;
        changed.add(5_000, &digest(-1));
        assert_eq!(all.differing(&changed).len(), 1, "as many rows, another sum");
    }

    #[test]
    fn what_is_removed_leaves_nothing() {
        let mut all = sums(1..=10);
        (1..=10).for_each(|at| all.remove(at, &digest(at)));
        assert_eq!(all, Sums::default());
        all.remove(3, &digest(3));
        let found = all.differing(&Sums::default());
        assert_eq!(found, [Differing { first: 3, last: 3, were: -1, are: 0 }]);
    }

    proptest! {
        #[test]
        fn parts_of_any_width_make_the_whole(
            rows in proptest::collection::vec(any::<i64>(), 0..300),
            cut in any::<prop::sample::Index>(),
        ) {
            let cut = if rows.is_empty() { 0 } else { cut.index(rows.len()) };
            let both = sums(rows[..cut].to_vec()).and(sums(rows[cut..].to_vec()));
            let whole = sums(rows.clone());
            prop_assert_eq!(whole.differing(&both), []);
            prop_assert!(both.ranges.len() <= RANGES_MAX);
            let ranges = Sums::default().differing(&whole);
            for range in ranges {
                prop_assert!(range.first <= range.last);
            }
        }
    }
}
