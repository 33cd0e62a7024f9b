//! Lanes: who goes next among the commands of one ordering key.
//!
//! Guarantees: whoever has the turn has an `available_at` and a `turn`, and a unique index lets it
//! be one; nobody here waits for another transaction. Does not: see what is freed while another
//! gives the turn, or what a stranger's report frees; a sweep does.

use std::sync::{Mutex, PoisonError};

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{Delivery, lane};

use crate::destination;
use crate::failure::Failure;
use crate::group::Group;
use crate::row;
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const TURN: Statement = statement!("lane_turn");
const YIELD: Statement = statement!("lane_yield");
const LOCK: Statement = statement!("lane_lock");
const PAGE: Statement = statement!("lane_page");

/// A lane, by its destination and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane<'a> {
    pub(crate) destination: &'a str,
    pub(crate) key: &'a str,
}

/// Lanes that were freed, and whether each passes what is parked.
#[derive(Default)]
pub(crate) struct Freed<'a> {
    destinations: Vec<&'a str>,
    keys: Vec<&'a str>,
    skips: Vec<bool>,
}

impl<'a> Freed<'a> {
    pub(crate) fn add(&mut self, lane: Lane<'a>, on_parked: OnParked) {
        self.destinations.push(lane.destination);
        self.keys.push(lane.key);
        self.skips.push(on_parked == OnParked::Skip);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Gives the turn of each lane whose turn nobody has; how many got it.
    pub(crate) async fn give(&self, group: &Group<'_>) -> Result<usize, Failure> {
        let Self { destinations, keys, skips } = self;
        let now = group.now.get();
        let given = group.tx.query(TURN, &[destinations, keys, skips, &now]).await?;
        Ok(given.len())
    }
}

/// Gives the turn to whom it belongs. `on_parked`: by the stored contract, where it is not known.
pub(crate) async fn turn(
    group: &Group<'_>,
    lane: Lane<'_>,
    on_parked: Option<OnParked>,
) -> Result<usize, Failure> {
    let on_parked = match on_parked {
        Some(on_parked) => on_parked,
        None => destination::stored(group, lane.destination).await?.on_parked,
    };
    let mut freed = Freed::default();
    freed.add(lane, on_parked);
    let Freed { destinations, keys, skips } = &freed;
    group.tx.execute(YIELD, &[destinations, keys, skips]).await?;
    freed.give(group).await
}

/// Keeps writers of the lane away until this transaction ends: verbs only.
pub(crate) async fn lock(group: &Group<'_>, lane: Lane<'_>) -> Result<(), Failure> {
    group.tx.execute(LOCK, &[&lane.destination, &lane.key]).await
}

/// The delivery as it may be written: in a lane the turn is given, not taken.
pub(crate) fn without_turn(before: Option<&Delivery>, mut next: Delivery) -> Delivery {
    let had_it = before.is_some_and(|before| before.available_at.is_some());
    if next.key_seq.is_some() && !had_it && !lane::is_in_flight(next.state) {
        next.available_at = None;
    }
    next
}

/// Where a store's sweeps are among its lanes.
#[derive(Debug, Default)]
pub(crate) struct LaneCursor(Mutex<(String, String)>);

impl LaneCursor {
    /// The next lanes, `limit` at most, whose turn nobody has.
    pub(crate) async fn look(
        &self,
        tx: &Tx<'_>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, Failure> {
        let (destination, key) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let page = tx.query(PAGE, &[&destination, &key, &most]).await?;
        let name = |row| {
            (row::string(row, 0).unwrap_or_default(), row::string(row, 1).unwrap_or_default())
        };
        let next = page.last().filter(|_| page.len() >= limit).map(name).unwrap_or_default();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(page.iter().filter(|row| !row::flag(row, 2)).map(name).collect())
    }
}
