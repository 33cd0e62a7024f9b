//! What an audit found.
//!
//! Guarantees: every violation is counted, a bounded number is kept. Does not: print.

use std::collections::BTreeMap;

use super::pass::Pass;
use crate::domain::laws::{Violation, law};

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
    /// Of them: keys of archived commands, which were compared with their tombstones.
    pub archived_keys: u64,
    /// Commands that ended and were looked for in the receiver's book.
    pub looked_up: u64,
    /// Commands that ended, and were not looked for there: the receiver may have forgotten them.
    pub too_old: u64,
    /// Contradictions that somebody has looked into, so that they break no law any more.
    pub acknowledged: u64,
    /// Tombstones of archived commands.
    pub archived: u64,
    /// Workflows.
    pub workflows: u64,
    /// Inputs that wait for workflows.
    pub inputs: u64,
}

impl Checked {
    /// Both in one.
    #[must_use]
    pub const fn and(mut self, other: Self) -> Self {
        self.commands += other.commands;
        self.events += other.events;
        self.lanes += other.lanes;
        self.destinations += other.destinations;
        self.expected += other.expected;
        self.keys += other.keys;
        self.archived_keys += other.archived_keys;
        self.looked_up += other.looked_up;
        self.too_old += other.too_old;
        self.acknowledged += other.acknowledged;
        self.archived += other.archived;
        self.workflows += other.workflows;
        self.inputs += other.inputs;
        self
    }
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
    /// Commands that stood with neither a delivery nor a receipt and are uncertain now; at most as
    /// many as violations are kept.
    pub mended: Vec<String>,
    /// Of each expectation with a kind: that kind, and how many commands of it were looked for in
    /// its answer, those included that were compared by the sum of their ids.
    pub expected_of: Vec<(String, u64)>,
    /// From where it looked, and what became of the seal; `None` for an audit without one.
    pub pass: Option<Pass>,
}

impl AuditReport {
    /// Both reports in one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.checked = self.checked.and(other.checked);
        self.holds &= other.holds;
        self.found += other.found;
        self.violations.extend(other.violations);
        self.mended.extend(other.mended);
        self.expected_of.extend(other.expected_of);
        self.pass = self.pass.or(other.pass);
        self
    }
}

/// A report in the making.
#[derive(Clone, Debug)]
pub(super) struct Findings {
    pub(super) checked: Checked,
    kept: Vec<Violation>,
    found: u64,
    /// Of them: about what was sealed.
    seals: u64,
    /// Of them: about what tallies say.
    tallies: u64,
    keep: usize,
    mended: Vec<String>,
    /// By query and kind.
    expected_of: BTreeMap<(String, String), u64>,
}

impl Findings {
    pub(super) fn new(keep: usize) -> Self {
        let (checked, kept, mended) = (Checked::default(), Vec::new(), Vec::new());
        let expected_of = BTreeMap::new();
        Self { checked, kept, found: 0, seals: 0, tallies: 0, keep, mended, expected_of }
    }

    /// Counts violations that are not told.
    pub(super) const fn more(&mut self, violations: u64) {
        self.found += violations;
    }

    /// Counts commands of a query's kind that are looked for in its answer; 0 counts, too.
    pub(super) fn looks_back(&mut self, (sql, kind): (&str, &str), commands: u64) {
        *self.expected_of.entry((sql.to_owned(), kind.to_owned())).or_default() += commands;
    }

    pub(super) fn add(&mut self, violations: impl IntoIterator<Item = Violation>) {
        for violation in violations {
            self.found += 1;
            let is_seal = [law::SEALED.code, law::SEAL_BEYOND.code].contains(&violation.code);
            self.seals += u64::from(is_seal);
            let is_tally = [law::TOTALS.code, law::TALLY.code].contains(&violation.code);
            self.tallies += u64::from(is_tally);
            if self.kept.len() < self.keep {
                self.kept.push(violation);
            }
        }
    }

    pub(super) fn mend(&mut self, ids: Vec<String>) {
        let room = self.keep.saturating_sub(self.mended.len());
        self.mended.extend(ids.into_iter().take(room));
    }

    /// Whether nothing is wrong but that other rows were sealed, or that tallies say otherwise than
    /// the rows that they count: what a `reseal` gives up, and counts anew.
    pub(super) const fn may_be_given_up(&self) -> bool {
        self.found == self.seals + self.tallies
    }

    /// Whether tallies are to be counted anew.
    pub(super) const fn miscounts(&self) -> bool {
        self.tallies > 0
    }

    pub(super) const fn holds(&self) -> bool {
        self.found == 0
    }

    /// Whether it was told already that this command is contradicted.
    pub(super) fn is_contradicted(&self, id: &str) -> bool {
        let is_it = |found: &&Violation| found.code == law::CONTRADICTED.code;
        self.kept.iter().filter(is_it).any(|found| found.ids.iter().any(|of| of == id))
    }

    pub(super) fn into_report(self) -> AuditReport {
        let Self { checked, kept, found, mended, expected_of, .. } = self;
        let holds = found == 0;
        let expected_of = expected_of.into_iter().map(|((_, kind), count)| (kind, count)).collect();
        AuditReport { holds, checked, violations: kept, found, mended, expected_of, pass: None }
    }
}
