//! What stands about lanes, for the audit.
//!
//! Guarantees: a lane is found by its row, or by a command of it whose lane has none. Does not:
//! hold more than a page in memory.

use counterfoil_core::domain::laws::LaneFacts;
use rusqlite::{Connection, OptionalExtension as _};

use crate::row::{int, lossy};
use crate::sql::Sql;

/// The lanes after `after`, at most `limit`, in order.
pub(crate) fn lane_facts(
    store: &Connection,
    after: Option<(String, String)>,
    limit: usize,
) -> rusqlite::Result<Vec<LaneFacts>> {
    let mut at = after.unwrap_or_default();
    let mut facts = Vec::new();
    while facts.len() < limit {
        let Some((lane, last)) = next(store, &at)? else { break };
        facts.push(of_lane(store, &lane, last)?);
        at = lane;
    }
    Ok(facts)
}

/// A lane, by destination and ordering key.
type Name = (String, String);

fn next(store: &Connection, after: &Name) -> rusqlite::Result<Option<(Name, Option<i64>)>> {
    let (destination, key) = after;
    let after = [destination, key];
    let row = store.prepare_cached(Sql::LaneRowAfter.text())?.query_row(after, |row| {
        let name = (lossy(row, 0)?.unwrap_or_default(), lossy(row, 1)?.unwrap_or_default());
        Ok((name, int(row, 2)?))
    });
    let outbox = store.prepare_cached(Sql::LaneOutboxAfter.text())?.query_row(after, |row| {
        Ok((lossy(row, 0)?.unwrap_or_default(), lossy(row, 1)?.unwrap_or_default()))
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
    let name = [destination, ordering_key];
    let mut facts = store.prepare_cached(Sql::LaneCommands.text())?.query_row(name, |row| {
        Ok(LaneFacts {
            destination: destination.clone(),
            ordering_key: ordering_key.clone(),
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
