//! One reading of a store, whole or in part.
//!
//! Guarantees: what is found, summed and counted belongs to one try; a try during which the seal
//! moved is thrown away whole. Does not: read; `full` and `incremental` do.

use super::expect::{Back, Expect};
use super::kinds::Kinds;
use super::report::Findings;
use super::seal::{Seal, Summing, Window};
use super::totals::Recorded;
use crate::domain::laws::Violation;
use crate::port::seal::Horizon;

/// One reading of a store.
pub(super) struct Reading<'a, S> {
    pub(super) store: &'a S,
    /// What is looked for in the answers of the user's own queries.
    pub(super) back: Vec<Back<'a>>,
    pub(super) page: usize,
    pub(super) findings: Findings,
    /// The rows that the seal has summed.
    pub(super) old: Summing,
    /// The rows that came since, up to the new horizon.
    pub(super) fresh: Summing,
    /// The commands at or below the new horizon, and the archived ones.
    pub(super) recorded: Recorded,
    /// The ids of the same, by kind.
    pub(super) kinds: Kinds,
    /// What an incremental reading's totals break, by the counts of the seal: it counts only if the
    /// seal stayed.
    pub(super) totals: Vec<Violation>,
}

impl<'a, S> Reading<'a, S> {
    /// A reading that begins with `seal` and seals up to `to`.
    pub(super) fn new(
        store: &'a S,
        (expect, page, keep): (&'a [Expect], usize, usize),
        seal: &Seal,
        to: Horizon,
    ) -> Self {
        // Below the one before only if that is given up.
        let n = seal.horizon.n.min(to.n);
        let old = Summing::of(Window { after: LOWEST, to: Horizon { n, ..seal.horizon } });
        let fresh = Summing::of(Window { after: Horizon { n, ..seal.horizon }, to });
        let (findings, recorded) = (Findings::new(keep), Recorded::new());
        let kinds = Kinds::default();
        let (totals, back) = (Vec::new(), Back::of_all(expect, page));
        Self { store, back, page, findings, old, fresh, recorded, kinds, totals }
    }
}

/// Below every row.
const LOWEST: Horizon = Horizon {
    n: i64::MIN,
    receipt: i64::MIN,
    attempt: i64::MIN,
    contradiction: i64::MIN,
    action: i64::MIN,
    event: crate::domain::Micros::new(i64::MIN),
};
