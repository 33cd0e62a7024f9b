//! What an audit found.
//!
//! Guarantees: every violation is counted, a bounded number is kept. Does not: print.

use crate::domain::laws::Violation;

/// How much was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Commands, orphans included.
    pub commands: u64,
    /// Events.
    pub events: u64,
    /// Lanes.
    pub lanes: u64,
    /// Destinations whose totals were added up.
    pub destinations: u64,
    /// Ids that the user's own queries expect.
    pub expected: u64,
    /// Keys of the receiver's book.
    pub keys: u64,
    /// Contradictions that somebody has looked into, so that they break no law any more.
    pub acknowledged: u64,
}

/// What an audit came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditReport {
    /// Every law holds.
    pub holds: bool,
    /// How much was checked.
    pub checked: Checked,
    /// The violations that are kept, in the order in which they were found.
    pub violations: Vec<Violation>,
    /// How many violations there are in all.
    pub found: u64,
}

impl AuditReport {
    /// Both reports in one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let (mine, theirs) = (&mut self.checked, other.checked);
        mine.commands += theirs.commands;
        mine.events += theirs.events;
        mine.lanes += theirs.lanes;
        mine.destinations += theirs.destinations;
        mine.expected += theirs.expected;
        mine.keys += theirs.keys;
        mine.acknowledged += theirs.acknowledged;
        self.holds &= other.holds;
        self.found += other.found;
        self.violations.extend(other.violations);
        self
    }
}

/// A report in the making.
pub(super) struct Findings {
    pub(super) checked: Checked,
    kept: Vec<Violation>,
    found: u64,
    keep: usize,
}

impl Findings {
    pub(super) fn new(keep: usize) -> Self {
        Self { checked: Checked::default(), kept: Vec::new(), found: 0, keep }
    }

    pub(super) fn add(&mut self, violations: impl IntoIterator<Item = Violation>) {
        for violation in violations {
            self.found += 1;
            if self.kept.len() < self.keep {
                self.kept.push(violation);
            }
        }
    }

    pub(super) fn into_report(self) -> AuditReport {
        let Self { checked, kept, found, .. } = self;
        AuditReport { holds: found == 0, checked, violations: kept, found }
    }
}
