//! Lanes: who goes next among the commands of one ordering key.
//!
//! Guarantees: whoever has the turn has an `available_at` and a `turn`, and a unique index lets it
//! be one; nobody here waits for another transaction, and what another holds is noted for a sweep.
//! Does not: see what a contract that was replaced frees; a sweep walks all lanes for that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{Delivery, Micros, lane};
use tokio_postgres::Row;

use crate::destination;
use crate::failure::Failure;
use crate::group::Group;
use crate::row::{self, micros};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const TURN: Statement = statement!("lane_turn");
const YIELD: Statement = statement!("lane_yield");
const LOCK: Statement = statement!("lane_lock");
const PAGE: Statement = statement!("lane_page");
const LEAVE: Statement = statement!("lane_leave");
const FREED: Statement = statement!("lane_freed");
const RULES: Statement = statement!("destination_rules");

/// So many notes are looked at for each lane: those of one lane are one.
const NOTES_A_LANE: i64 = 16;
/// So often one sweep takes notes of which none gave a turn.
const NOTES_ROUNDS: usize = 16;

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

    /// Gives the turn of each lane whose turn nobody has, at the server's time where none is given.
    /// What another transaction holds is noted for a sweep.
    pub(crate) async fn give(&self, tx: &Tx<'_>, now: Option<Micros>) -> Result<Given, Failure> {
        let Self { destinations, keys, skips } = self;
        let mut given = Given::default();
        for row in tx.query(TURN, &[destinations, keys, skips, &micros(now)]).await? {
            if row::int(&row, 0).is_none() {
                given.noted += 1;
                continue;
            }
            given.turns += 1;
            if let (Some(destination), Some(at)) = (row::text(&row, 1), row::time(&row, 2)) {
                tx.made_due(destination, at, now.unwrap_or(at));
            }
        }
        Ok(given)
    }
}

/// What came of giving turns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given {
    /// How many lanes got one.
    pub(crate) turns: usize,
    /// How many are left to a sweep.
    pub(crate) noted: usize,
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
    Ok(freed.give(group.tx, Some(group.now)).await?.turns)
}

/// Leaves notes that a sweep must look at these lanes.
pub(crate) async fn leave(tx: &Tx<'_>, lanes: &[Lane<'_>]) -> Result<(), Failure> {
    let destinations: Vec<&str> = lanes.iter().map(|lane| lane.destination).collect();
    let keys: Vec<&str> = lanes.iter().map(|lane| lane.key).collect();
    tx.execute(LEAVE, &[&destinations, &keys]).await
}

/// Gives the turns that notes speak of, of `limit` lanes at a time.
pub(crate) async fn give_noted(group: &Group<'_>, limit: usize) -> Result<Given, Failure> {
    let mut all = Given::default();
    for _ in 0..NOTES_ROUNDS {
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = group.tx.query(FREED, &[&most.saturating_mul(NOTES_A_LANE), &most]).await?;
        let more = rows.iter().any(|row| row::flag(row, 2));
        let lanes: Vec<_> = rows.iter().map(name).collect();
        let given = give(group, &lanes).await?;
        all.turns += given.turns;
        all.noted += given.noted;
        // Where some got their turn another sweep comes at once; a note that stays would be found
        // again.
        if !more || all.turns > 0 || all.noted > 0 {
            break;
        }
    }
    Ok(all)
}

/// Gives the turn of each of these lanes whose turn nobody has, by the stored contracts.
pub(crate) async fn give(group: &Group<'_>, lanes: &[(String, String)]) -> Result<Given, Failure> {
    if lanes.is_empty() {
        return Ok(Given::default());
    }
    let skips = skipping(group.tx, lanes).await?;
    let mut freed = Freed::default();
    for (destination, key) in lanes {
        let on_parked = skips.get(destination).copied().unwrap_or(OnParked::Block);
        freed.add(Lane { destination, key }, on_parked);
    }
    freed.give(group.tx, Some(group.now)).await
}

/// What a parked one does to lanes of these destinations, by their stored contracts.
async fn skipping(
    tx: &Tx<'_>,
    lanes: &[(String, String)],
) -> Result<BTreeMap<String, OnParked>, Failure> {
    let names: BTreeSet<&str> = lanes.iter().map(|(destination, _)| destination.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let rows = tx.query(RULES, &[&names]).await?;
    let rule = |row| {
        let contract = row::text(row, 1).and_then(destination::contract);
        let on_parked = contract.map_or(OnParked::Block, |contract| contract.on_parked);
        (row::string(row, 0).unwrap_or_default(), on_parked)
    };
    Ok(rows.iter().map(rule).collect())
}

fn name(row: &Row) -> (String, String) {
    (row::string(row, 0).unwrap_or_default(), row::string(row, 1).unwrap_or_default())
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
    /// Of the next lanes, `limit` at most, those whose turn nobody has, though one could have it.
    pub(crate) async fn look(
        &self,
        tx: &Tx<'_>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, Failure> {
        let (destination, key) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let page = tx.query(PAGE, &[&destination, &key, &most]).await?;
        let next = page.last().filter(|_| page.len() >= limit).map(name).unwrap_or_default();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
        let free = page.iter().filter(|row| row::flag(row, 2));
        let (mut stuck, mut behind) = (Vec::new(), Vec::new());
        for row in free {
            if row::flag(row, 3) {
                stuck.push(name(row));
            } else if row::flag(row, 4) {
                behind.push(name(row));
            }
        }
        if !behind.is_empty() {
            let skips = skipping(tx, &behind).await?;
            let passes = |name: &(String, String)| skips.get(&name.0) == Some(&OnParked::Skip);
            stuck.extend(behind.into_iter().filter(passes));
        }
        Ok(stuck)
    }
}
