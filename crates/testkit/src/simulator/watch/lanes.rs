//! The lanes that the judge sees: who stands in each, and whether it keeps its order.
//!
//! Guarantees: looked at after each write that changes one. Does not: hold the rules; see `lane`.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::Delivery;

use super::super::judge::Scene;
use super::super::lane::{self, Lane};
use super::super::{Broken, Coverage};
use super::{Known, Watch};

impl Watch {
    fn open_in(&self, lane: Lane) -> impl Iterator<Item = (&Known, &Delivery)> {
        let of = move |known: &&Known| known.lane == Some(lane);
        self.known.values().filter(of).filter_map(|known| Some((known, known.open.as_ref()?)))
    }

    pub(super) fn judge_lanes(
        &self,
        before: &BTreeMap<i64, Option<Delivery>>,
        scene: &Scene<'_>,
        coverage: &mut Coverage,
    ) -> Result<(), Broken> {
        let lanes = before.keys().filter_map(|n| self.known.get(n)?.lane);
        for lane in lanes.collect::<BTreeSet<_>>() {
            let was = |known: &Known, open: &Delivery| match before.get(&open.n) {
                Some(before) => before.clone(),
                None => known.open.clone(),
            };
            let open: Vec<_> = self.open_in(lane).collect();
            let was: Vec<_> = open.iter().map(|(known, open)| was(known, open)).collect();
            let mut members = Vec::new();
            for ((known, after), before) in open.iter().zip(&was) {
                members.push(lane::Member { id: &known.id, before: before.as_ref(), after });
            }
            let on_parked = scene.sites[lane.0].terms.contract.on_parked;
            lane::judge_lane(on_parked, &members)?;
            lane::count(on_parked, &members, coverage);
        }
        Ok(())
    }

    /// Whether a machine still has something to do about it.
    pub(super) fn is_owned(&self, known: &Known, scene: &Scene<'_>) -> bool {
        let Some(open) = known.open.as_ref().filter(|open| !open.state.is_parked()) else {
            return false;
        };
        let Some(lane) = known.lane.filter(|_| open.available_at.is_none()) else { return true };
        let on_parked = scene.sites[lane.0].terms.contract.on_parked;
        let others: Vec<_> = self.open_in(lane).map(|(_, open)| open).collect();
        !lane::is_blocked_by_parked(on_parked, open, &others)
    }

    /// Another command of its lane that is in flight.
    pub(in super::super) fn flies_beside(&self, id: &str) -> Option<&str> {
        let lane = self.meant(id)?.lane?;
        let mut open = self.open_in(lane);
        let other = open.find(|(known, open)| known.id != id && lane::is_in_flight(open.state));
        other.map(|(known, _)| known.id.as_str())
    }

    /// Its lane, its place there, and its `n`, while it is open.
    pub(in super::super) fn place_of(&self, id: &str) -> Option<(Lane, i64, i64)> {
        let n = self.n_of(id)?;
        Some((self.meant(id)?.lane?, self.open(n)?.key_seq?, n))
    }
}
