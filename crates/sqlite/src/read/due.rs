//! When the next command is due, and what is left for a relay.
//!
//! Guarantees: paused destinations are left out of what is due, and counted by themselves. Does
//! not: see what other relays hold in memory.

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{Destination, Micros, State};
use counterfoil_core::port::store::Remaining;
use rusqlite::{Connection, OptionalExtension as _};

use crate::destination;
use crate::row::{bytes, int, lossy, time};
use crate::sql::Sql;

/// The earliest due time at these destinations.
pub(crate) fn next_due(
    store: &Connection,
    destinations: &[Destination],
) -> rusqlite::Result<Option<Micros>> {
    let mut earliest = None;
    for destination in destinations {
        if is_paused(store, destination.as_str())? {
            continue;
        }
        let mut next = store.prepare_cached(Sql::DeliveryNextDue.text())?;
        let due = next.query_row([destination.as_str()], |row| time(row, 0))?;
        earliest = match (earliest, due) {
            (Some(earliest), Some(due)) => Some(Micros::min(earliest, due)),
            (earliest, due) => earliest.or(due),
        };
    }
    Ok(earliest)
}

/// Where something waits for a relay.
pub(crate) fn awaiting(store: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut next = store.prepare_cached(Sql::DeliveryAwaiting.text())?;
    let mut names: Vec<String> = Vec::new();
    loop {
        let last = names.last().map_or("", String::as_str);
        match next.query_row([last], |row| lossy(row, 0))? {
            // A name that is no UTF-8 reads as another, which may lie before it.
            Some(name) if name.as_str() > last => names.push(name),
            _ => return Ok(names),
        }
    }
}

fn is_paused(store: &Connection, destination: &str) -> rusqlite::Result<bool> {
    let mut row = store.prepare_cached(Sql::DestinationRow.text())?;
    Ok(row.query_row([destination], |row| row.get(1)).optional()?.unwrap_or(false))
}

/// What a parked command does to its lane, by the stored contract.
fn on_parked(store: &Connection, destination: &str) -> rusqlite::Result<OnParked> {
    let mut row = store.prepare_cached(Sql::DestinationRow.text())?;
    let stored =
        row.query_row([destination], |row| Ok(bytes(row, 0)?.and_then(destination::contract)));
    let contract = stored.optional()?.flatten();
    Ok(contract.map_or(OnParked::Block, |contract| contract.on_parked))
}

/// What is left for a relay of these destinations.
pub(crate) fn remaining(
    store: &Connection,
    destinations: &[Destination],
    now: Micros,
) -> rusqlite::Result<Remaining> {
    let mut left = Remaining::default();
    let mut statement = store.prepare_cached(Sql::DeliveryLeft.text())?;
    let mut rows = statement.query([now.get()])?;
    while let Some(row) = rows.next()? {
        let destination = lossy(row, 0)?.unwrap_or_default();
        let state = lossy(row, 1)?.and_then(|name| State::from_name(&name));
        let number = |at| int(row, at).map(|number| number.unwrap_or(0).unsigned_abs());
        let (count, early, leased) = (number(2)?, number(3)?, number(4)?);
        let (idle, behind) = (number(5)?, number(6)?);
        if !destinations.iter().any(|served| served.as_str() == destination) {
            left.unserved += count;
        } else if state.is_some_and(State::is_parked) {
            left.parked += count;
        } else if is_paused(store, &destination)? {
            // Who sends there now still settles; nobody takes over what a dead relay left.
            left.busy += leased;
            left.paused += count;
        } else {
            match state {
                Some(State::Published) => {}
                Some(State::Pending) => {
                    let skips = on_parked(store, &destination)? == OnParked::Skip;
                    left.busy += count - early - idle - if skips { 0 } else { behind };
                }
                _ => left.busy += count,
            }
        }
    }
    Ok(left)
}
