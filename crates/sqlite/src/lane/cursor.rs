//! Looks for lanes that nobody holds the turn of, a few at a time.
//!
//! Guarantees: all lanes in which a command waits are looked at in turn, and a look only reads.
//! Does not: give the turn, the sweep that looked does, in its write; find soon what a stranger's
//! statement has freed, since that leaves a note. What it finds was freed by another contract, or
//! by hand.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{Contract, Idempotent, State};
use rusqlite::{Connection, OptionalExtension as _};

use super::{Lane, Told};
use crate::destination;
use crate::row::{bytes, lossy, stored};
use crate::sql::Sql;

/// A lane that nothing blocks, and whose turn nobody has.
#[derive(Clone)]
pub(crate) struct Stuck {
    destination: Vec<u8>,
    key: Vec<u8>,
}

impl Stuck {
    pub(crate) fn lane(&self) -> Lane<'_> {
        Lane { destination: &self.destination, key: &self.key }
    }
}

/// Where a store's sweeps are among its lanes.
#[derive(Default)]
pub(crate) struct LaneCursor(Mutex<Place>);

#[derive(Default)]
struct Place {
    after: (Vec<u8>, Vec<u8>),
    stuck: Vec<Stuck>,
}

impl LaneCursor {
    /// Looks at the next lanes, `limit` at most; whether any is stuck.
    pub(crate) fn look(&self, store: &Connection, limit: usize) -> rusqlite::Result<bool> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.stuck.clear();
        let mut rules = HashMap::new();
        for _ in 0..limit {
            let (destination, key) = &place.after;
            let mut next = store.prepare_cached(Sql::LaneAfter.text())?;
            let next = next.query_row(Lane { destination, key }.name(), |row| {
                Ok((stored(row, 0)?.unwrap_or_default(), stored(row, 1)?.unwrap_or_default()))
            });
            let Some((destination, key)) = next.optional()? else {
                place.after = Default::default();
                break;
            };
            let lane = Lane { destination: &destination, key: &key };
            if is_stuck(store, lane, &mut rules)? {
                place.stuck.push(Stuck { destination: destination.clone(), key: key.clone() });
            }
            place.after = (destination, key);
        }
        Ok(!place.stuck.is_empty())
    }

    /// What the last look found.
    pub(crate) fn stuck(&self) -> Vec<Stuck> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stuck.clone()
    }
}

fn is_stuck(
    store: &Connection,
    lane: Lane<'_>,
    rules: &mut HashMap<String, OnParked>,
) -> rusqlite::Result<bool> {
    let name = lane.name();
    let told =
        store.prepare_cached(Sql::LaneTurn.text())?.query_row(name, Told::read).optional()?;
    // One whose row is lost is not sweeps' to mend.
    if told.flatten().is_none_or(|told| told.holder.is_some()) {
        return Ok(false);
    }
    let mut first = store.prepare_cached(Sql::LaneFirst.text())?;
    let first = first.query_row(name, |row| lossy(row, 1)).optional()?.flatten();
    if first.as_deref() == Some(State::Pending.name()) {
        return Ok(true);
    }
    if rule(store, &String::from_utf8_lossy(lane.destination), rules)? == OnParked::Block {
        return Ok(false);
    }
    store.prepare_cached(Sql::LaneFirstWaiting.text())?.exists(name)
}

fn rule(
    store: &Connection,
    destination: &str,
    rules: &mut HashMap<String, OnParked>,
) -> rusqlite::Result<OnParked> {
    if let Some(known) = rules.get(destination) {
        return Ok(*known);
    }
    let mut row = store.prepare_cached(Sql::DestinationRow.text())?;
    let found =
        row.query_row([destination], |row| Ok(bytes(row, 0)?.and_then(destination::contract)));
    let contract = found.optional()?.flatten();
    let rule = contract.unwrap_or_else(|| Contract::new(Idempotent::No)).on_parked;
    rules.insert(destination.to_owned(), rule);
    Ok(rule)
}
