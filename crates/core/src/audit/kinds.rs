//! How many commands of each kind were recorded.
//!
//! Guarantees: a bounded number of kinds; what it does not know it says. Does not: tell which.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::laws::CommandFacts;

/// The most kinds that are counted.
const KINDS_MAX: usize = 64;

/// How many commands of each kind were recorded, archived ones included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kinds {
    counts: BTreeMap<String, i64>,
    /// There are more kinds than are counted.
    more: bool,
}

impl Kinds {
    /// How many of this kind; `None`: it is not known.
    #[must_use]
    pub fn of(&self, kind: &str) -> Option<i64> {
        self.counts.get(kind).copied().or((!self.more).then_some(0))
    }

    pub(super) fn command(&mut self, facts: &CommandFacts) {
        if let Some(row) = &facts.outbox {
            self.add(row.kind.as_str(), 1);
        }
    }

    pub(super) fn add(&mut self, kind: &str, by: i64) {
        if let Some(count) = self.counts.get_mut(kind) {
            *count += by;
        } else if self.counts.len() < KINDS_MAX && !self.more {
            self.counts.insert(kind.to_owned(), by);
        } else {
            self.more = true;
        }
    }

    pub(super) fn and(mut self, other: &Self) -> Self {
        // Of a kind that is not counted there, nothing is known here either.
        if other.more {
            self.counts.retain(|kind, _| other.counts.contains_key(kind));
            self.more = true;
        }
        if self.more {
            let known: Vec<_> = self.counts.keys().cloned().collect();
            for kind in known {
                self.add(&kind, other.of(&kind).unwrap_or(0));
            }
            return self;
        }
        other.counts.iter().for_each(|(kind, count)| self.add(kind, *count));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(of: impl IntoIterator<Item = usize>) -> Kinds {
        let mut kinds = Kinds::default();
        of.into_iter().for_each(|at| kinds.add(&format!("kind-{at}"), 1));
        kinds
    }

    #[test]
    fn what_is_not_counted_is_not_known() {
        let few = kinds([1, 1, 2]);
        assert_eq!((few.of("kind-1"), few.of("kind-9")), (Some(2), Some(0)));
        let many = kinds(0..KINDS_MAX + 1);
        assert_eq!((many.of("kind-1"), many.of("kind-64")), (Some(1), None));
        assert_eq!(many.of("kind-99"), None);
    }

    #[test]
    fn parts_know_no_more_than_the_whole() {
        let both = kinds([1, 2]).and(&kinds([2, 3]));
        assert_eq!(both, kinds([1, 2, 2, 3]));
        let many = kinds(0..KINDS_MAX + 1);
        for both in [kinds([1, 99]).and(&many), many.clone().and(&kinds([1, 99]))] {
            assert_eq!((both.of("kind-1"), both.of("kind-99")), (Some(2), None));
        }
    }
}
