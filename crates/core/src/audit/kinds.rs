//! Which commands of each kind were recorded: how many, and the sum of their ids.
//!
//! Guarantees: a bounded number of kinds; what it does not know it says. Does not: tell which.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::seal::Sum;
use crate::domain::Digest;
use crate::domain::laws::CommandFacts;

/// The most kinds that are summed.
const KINDS_MAX: usize = 64;

/// The ids of the commands of each kind that were recorded, archived ones included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Kinds {
    ids: BTreeMap<String, Sum>,
    /// There are more kinds than are summed.
    more: bool,
}

/// As it may stand in a seal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    ids: Option<BTreeMap<String, Sum>>,
    more: bool,
    /// Seals of before the ids were summed counted them: nothing is known until a full audit.
    #[serde(rename = "counts")]
    _counts: Option<IgnoredAny>,
}

impl From<Written> for Kinds {
    fn from(Written { ids, more, .. }: Written) -> Self {
        Self { more: more || ids.is_none(), ids: ids.unwrap_or_default() }
    }
}

impl Kinds {
    /// The ids of this kind; `None`: they are not known.
    #[must_use]
    pub fn of(&self, kind: &str) -> Option<Sum> {
        self.ids.get(kind).copied().or_else(|| (!self.more).then(Sum::default))
    }

    pub(super) fn command(&mut self, facts: &CommandFacts) {
        if let Some(row) = &facts.outbox {
            self.add(row.kind.as_str(), row.command_id.as_str());
        }
    }

    pub(super) fn add(&mut self, kind: &str, id: &str) {
        self.change(kind, |sum| sum.add(&Digest::of(id.as_bytes())));
    }

    pub(super) fn remove(&mut self, kind: &str, id: &str) {
        self.change(kind, |sum| sum.remove(&Digest::of(id.as_bytes())));
    }

    fn change(&mut self, kind: &str, change: impl FnOnce(&mut Sum)) {
        if let Some(sum) = self.ids.get_mut(kind) {
            change(sum);
        } else if self.ids.len() < KINDS_MAX && !self.more {
            change(self.ids.entry(kind.to_owned()).or_default());
        } else {
            self.more = true;
        }
    }

    pub(super) fn and(mut self, other: &Self) -> Self {
        // Of a kind that is not summed there, nothing is known here either.
        if other.more {
            self.ids.retain(|kind, _| other.ids.contains_key(kind));
            self.more = true;
        }
        if self.more {
            for (kind, sum) in &mut self.ids {
                sum.merge(&other.of(kind).unwrap_or_default());
            }
            return self;
        }
        for (kind, sum) in &other.ids {
            self.change(kind, |mine| mine.merge(sum));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(of: impl IntoIterator<Item = usize>) -> Kinds {
        let mut kinds = Kinds::default();
        of.into_iter().for_each(|at| kinds.add(&format!("kind-{at}"), "a"));
        kinds
    }

    fn rows(kinds: &Kinds, kind: &str) -> Option<i64> {
        kinds.of(kind).map(|sum| sum.rows)
    }

    #[test]
    fn what_is_not_summed_is_not_known() {
        let few = kinds([1, 1, 2]);
        assert_eq!((rows(&few, "kind-1"), rows(&few, "kind-9")), (Some(2), Some(0)));
        let many = kinds(0..KINDS_MAX + 1);
        assert_eq!((rows(&many, "kind-1"), rows(&many, "kind-64")), (Some(1), None));
        assert_eq!(rows(&many, "kind-99"), None);
    }

    #[test]
    fn parts_know_no_more_than_the_whole() {
        let both = kinds([1, 2]).and(&kinds([2, 3]));
        assert_eq!(both, kinds([1, 2, 2, 3]));
        let many = kinds(0..KINDS_MAX + 1);
        for both in [kinds([1, 99]).and(&many), many.clone().and(&kinds([1, 99]))] {
            assert_eq!((rows(&both, "kind-1"), rows(&both, "kind-99")), (Some(2), None));
        }
    }

    #[test]
    fn the_same_number_of_other_ids_is_another_sum() {
        let (mut twice, mut both) = (Kinds::default(), Kinds::default());
        ["a", "a"].iter().for_each(|id| twice.add("k", id));
        ["a", "b"].iter().for_each(|id| both.add("k", id));
        assert_eq!(rows(&twice, "k"), rows(&both, "k"));
        assert_ne!(twice.of("k"), both.of("k"));
        both.remove("k", "b");
        both.add("k", "a");
        assert_eq!(twice, both);
    }

    /// A seal of an earlier version: counts alone say nothing of the ids.
    #[test]
    fn counts_alone_are_not_known() {
        let old: Kinds = serde_json::from_str(r#"{"counts":{"k":2},"more":false}"#).unwrap();
        assert_eq!((old.of("k"), old.of("other")), (None, None));
        let grown = kinds([1]).and(&old);
        assert_eq!(grown.of("kind-1"), None);
        let written = serde_json::to_string(&kinds([1])).unwrap();
        assert_eq!(serde_json::from_str::<Kinds>(&written).unwrap(), kinds([1]));
    }
}
