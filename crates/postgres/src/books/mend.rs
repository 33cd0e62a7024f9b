//! Gives lost commands a delivery that waits for a person.
//!
//! Guarantees: only what has neither a delivery nor a receipt gets one, uncertain and in doubt, and
//! in a lane a place that nobody else holds; the record of who did it is one transaction with it.
//! Does not: send anything, nor know which place a command had: of the free ones it takes the first
//! behind those that were recorded before it.

use std::collections::BTreeSet;

use counterfoil_core::port::Actor;
use counterfoil_core::port::store::StoreError;
use tokio_postgres::Row;

use crate::act;
use crate::failure::Failure;
use crate::group::Group;
use crate::pause::{Action, insert_action};
use crate::read::asked;
use crate::row::{int, string, text};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const LOST: Statement = statement!("mend_lost");
const LANE: Statement = statement!("mend_lane");
const PLACES: Statement = statement!("mend_places");
const LANE_LAST: Statement = statement!("mend_lane_last");
const DELIVERY: Statement = statement!("mend_delivery");

/// What `show` and `list` say of a mended one.
const OUTCOME: &str =
    "mended: its delivery was lost; nobody knows what became of it: ask its receiver";

/// One mending.
pub(super) struct Mend<'a> {
    store: &'a Inner,
    command_ids: Vec<String>,
    actor: Actor,
}

impl<'a> Mend<'a> {
    pub(super) fn new(
        store: &'a Inner,
        command_ids: &[String],
        actor: Actor,
    ) -> Result<Self, StoreError> {
        act::check(&actor)?;
        Ok(Self { store, command_ids: command_ids.to_vec(), actor })
    }

    /// Mends one; whether nobody else did.
    async fn mend(&self, group: &Group<'_>, lost: &Row) -> Result<bool, Failure> {
        let (n, known) = (int(lost, 0).unwrap_or(0), int(lost, 4).unwrap_or(0));
        let id = text(lost, 1).unwrap_or_default();
        let place = match (text(lost, 2), string(lost, 3)) {
            (Some(destination), Some(key)) => Some(place(group.tx, destination, &key, n).await?),
            _ => None,
        };
        let now = group.now.get();
        // Above any that an attempt may still hold: its settle is a stale one.
        let token = known.saturating_add(1).max(now);
        let made = group.tx.query(DELIVERY, &[&n, &token, &now, &place, &OUTCOME]).await?;
        if made.is_empty() {
            return Ok(false);
        }
        let action = Action { verb: "mend", about: id, actor: &self.actor.name };
        let reason = (!self.actor.reason.is_empty()).then_some(self.actor.reason.as_str());
        insert_action(group, &action, reason, (None, "uncertain")).await?;
        Ok(true)
    }
}

impl Work for Mend<'_> {
    /// How many.
    type Answer = u64;

    async fn run(&self, tx: &Tx<'_>) -> Result<u64, Failure> {
        let group = Group::begin(tx, self.store).await?;
        let ids: Vec<&str> = self.command_ids.iter().map(|id| asked(id)).collect();
        let mut mended = 0;
        for lost in tx.query(LOST, &[&ids]).await? {
            mended += u64::from(self.mend(&group, &lost).await?);
        }
        Ok(mended)
    }
}

/// A place for a command of a lane, whose writers are kept away until the transaction ends.
async fn place(tx: &Tx<'_>, destination: &str, key: &str, n: i64) -> Result<i64, Failure> {
    let last = tx.query_opt(LANE, &[&destination, &key]).await?;
    let last = last.and_then(|row| int(&row, 0)).unwrap_or(0);
    let (mut held, mut before) = (BTreeSet::new(), 0);
    for row in tx.query(PLACES, &[&destination, &key]).await? {
        let Some(place) = int(&row, 1) else { continue };
        held.insert(place);
        if int(&row, 0).is_some_and(|other| other < n) {
            before = place.max(before);
        }
    }
    let last = held.last().copied().unwrap_or(0).max(last);
    let place = free_place(&held, before, last);
    tx.execute(LANE_LAST, &[&destination, &key, &place.max(last)]).await?;
    Ok(place)
}

/// The first free place behind `before`, else the last free one, else a new one behind `last`.
fn free_place(held: &BTreeSet<i64>, before: i64, last: i64) -> i64 {
    let is_free = |place: &i64| !held.contains(place);
    let behind = (before + 1..=last).find(is_free);
    behind.or_else(|| (1..=before.min(last)).rev().find(is_free)).unwrap_or(last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_one_takes_the_gap_that_it_left() {
        let held = |places: &[i64]| places.iter().copied().collect::<BTreeSet<i64>>();
        assert_eq!(free_place(&held(&[1, 2, 4, 5]), 2, 5), 3);
        assert_eq!(free_place(&held(&[2, 3]), 0, 3), 1);
        assert_eq!(free_place(&held(&[1, 2]), 2, 3), 3);
        // Numbers and places may cross: the gap lies before those with a smaller number.
        assert_eq!(free_place(&held(&[1, 3]), 3, 3), 2);
        assert_eq!(free_place(&held(&[1, 2]), 2, 2), 3, "no gap: a new place");
        assert_eq!(free_place(&held(&[]), 0, 0), 1, "the lane's row was lost, too");
    }
}
