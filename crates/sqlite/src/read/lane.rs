//! What stands about lanes, for the audit and for people.
//!
//! Guarantees: a lane is found by its row, or by a command of it whose lane has none. Does not:
//! hold more than a page in memory.

use std::collections::BTreeMap;

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::laws::LaneFacts;
use counterfoil_core::domain::{Contract, Idempotent, State};
use counterfoil_core::port::act::LaneStatus;
use counterfoil_core::port::read::{AHEAD_MAX, BLOCKED_MAX, LanePlace};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::destination;
use crate::row::{Stored, bytes, int, lossy, stored};
use crate::spelled::{spelled, unspelled};
use crate::sql::Sql;

/// The lanes after `after`, at most `limit`, in order.
pub(crate) fn lane_facts(
    store: &Connection,
    after: Option<(String, String)>,
    limit: usize,
) -> rusqlite::Result<Vec<LaneFacts>> {
    let (destination, key) = after.unwrap_or_default();
    let mut at = (unspelled(&destination), unspelled(&key));
    let mut facts = Vec::new();
    while facts.len() < limit {
        let Some((lane, last)) = next(store, &at)? else { break };
        facts.push(of_lane(store, &lane, last)?);
        at = lane;
    }
    Ok(facts)
}

/// A lane, by destination and ordering key as they are stored.
type Name = (Vec<u8>, Vec<u8>);

fn next(store: &Connection, after: &Name) -> rusqlite::Result<Option<(Name, Option<i64>)>> {
    let (destination, key) = after;
    let after = [Stored(destination), Stored(key)];
    let row = store.prepare_cached(Sql::LaneRowAfter.text())?.query_row(after, |row| {
        let name = (stored(row, 0)?.unwrap_or_default(), stored(row, 1)?.unwrap_or_default());
        Ok((name, int(row, 2)?))
    });
    let outbox = store.prepare_cached(Sql::LaneOutboxAfter.text())?.query_row(after, |row| {
        Ok((stored(row, 0)?.unwrap_or_default(), stored(row, 1)?.unwrap_or_default()))
    });
    Ok(match (row.optional()?, outbox.optional()?) {
        (Some((row, last)), Some(outbox)) if row <= outbox => Some((row, last)),
        (Some((row, last)), None) => Some((row, last)),
        (_, Some(outbox)) => Some((outbox, None)),
        (None, None) => None,
    })
}

fn of_lane(store: &Connection, lane: &Name, last: Option<i64>) -> rusqlite::Result<LaneFacts> {
    let (destination, ordering_key) = lane;
    let name = [Stored(destination), Stored(ordering_key)];
    let mut facts = store.prepare_cached(Sql::LaneCommands.text())?.query_row(name, |row| {
        Ok(LaneFacts {
            destination: spelled(destination),
            ordering_key: spelled(ordering_key),
            last,
            commands: row.get(0)?,
            places: row.get(1)?,
            newest: row.get(2)?,
            in_flight: row.get(3)?,
            archived: false,
        })
    })?;
    if facts.places != last.unwrap_or(0) {
        facts.archived = store.prepare_cached(Sql::LaneArchived.text())?.exists(name)?;
    }
    Ok(facts)
}

/// Lanes where a parked head blocks others, most waiting first.
pub(crate) fn blocked(store: &Connection) -> rusqlite::Result<Vec<LaneStatus>> {
    let mut rules = BTreeMap::new();
    let mut statement = store.prepare_cached(Sql::LaneBlocked.text())?;
    let mut rows = statement.query([])?;
    let mut blocked = Vec::new();
    while let Some(row) = rows.next()? {
        let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
        let waiting = int(row, 4)?.unwrap_or(0).unsigned_abs();
        // The longest come first.
        if waiting == 0 || blocked.len() == BLOCKED_MAX {
            break;
        }
        let destination = text(0)?;
        if !rules.contains_key(&destination) {
            rules.insert(destination.clone(), blocks(store, &destination)?);
        }
        if rules.get(&destination) == Some(&true) {
            let head = text(2)?;
            let parked_head = State::from_name(&text(3)?).map(|state| (head, state));
            blocked.push(LaneStatus { destination, ordering_key: text(1)?, waiting, parked_head });
        }
    }
    Ok(blocked)
}

/// Whether a parked command blocks those behind it there, by the stored contract.
fn blocks(store: &Connection, destination: &str) -> rusqlite::Result<bool> {
    let mut row = store.prepare_cached(Sql::DestinationRow.text())?;
    let found =
        row.query_row([destination], |row| Ok(bytes(row, 0)?.and_then(destination::contract)));
    let contract = found.optional()?.flatten();
    let contract = contract.unwrap_or_else(|| Contract::new(Idempotent::No));
    Ok(contract.on_parked == OnParked::Block)
}

/// Where an open command stands in its lane.
pub(crate) fn place(
    store: &Connection,
    destination: &str,
    ordering_key: &[u8],
    place: i64,
) -> rusqlite::Result<LanePlace> {
    let named = |row: &rusqlite::Row<'_>| {
        Ok((lossy(row, 0)?.unwrap_or_default(), lossy(row, 1)?.unwrap_or_default()))
    };
    let most = i64::try_from(AHEAD_MAX).unwrap_or(i64::MAX);
    let mut ahead = store.prepare_cached(Sql::LaneAhead.text())?;
    let first = ahead.query_map(params![destination, Stored(ordering_key), place, most], named)?;
    let first = first.collect::<rusqlite::Result<_>>()?;
    let mut turn = store.prepare_cached(Sql::LaneTurnId.text())?;
    let turn = turn.query_row(params![destination, Stored(ordering_key)], named).optional()?;
    let mut around = store.prepare_cached(Sql::LaneAround.text())?;
    let (ahead, behind) =
        around.query_row(params![destination, Stored(ordering_key), place], |row| {
            let count = |at| Ok::<_, rusqlite::Error>(int(row, at)?.unwrap_or(0).unsigned_abs());
            Ok((count(0)?, count(1)?))
        })?;
    let ordering_key = String::from_utf8_lossy(ordering_key).into_owned();
    Ok(LanePlace { ordering_key, place, ahead, first, turn, behind })
}
