//! Counts by destination and state.
//!
//! Guarantees: one snapshot; ended commands are counted by their tally, so that a long history
//! costs nothing. Does not: check the tally; the audit does, by `totals`.

use std::collections::BTreeMap;

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::laws::Totals;
use counterfoil_core::port::read::{Expiring, Status, StillWorkflows};
use rusqlite::{Connection, Row};

use super::lane;
use crate::row::{int, lossy, time};
use crate::spelled;
use crate::sql::Sql;

/// The counts of the store.
pub(crate) fn status(store: &Connection, now: Micros) -> rusqlite::Result<Status> {
    let mut status = Status { now, ..Status::default() };
    for sql in [Sql::StatusOpen, Sql::TallyAll] {
        for (destination, state, count) in counts(store, sql)? {
            if count > 0 {
                let states = status.destinations.entry(destination).or_default();
                *states.entry(state).or_default() += count.unsigned_abs();
            }
        }
    }
    let mut due = store.prepare_cached(Sql::StatusDue.text())?;
    let mut rows = due.query([now.get()])?;
    while let Some(row) = rows.next()? {
        let since = time(row, 1)?.unwrap_or(now);
        status.oldest_due.insert(lossy(row, 0)?.unwrap_or_default(), now.since(since));
    }
    let mut expiring = store.prepare_cached(Sql::StatusExpiring.text())?;
    let mut rows = expiring.query([])?;
    while let Some(row) = rows.next()? {
        let count = int(row, 1)?.unwrap_or(0).unsigned_abs();
        let expiring = Expiring { count, first: time(row, 2)?.unwrap_or_default() };
        status.expiring.insert(lossy(row, 0)?.unwrap_or_default(), expiring);
    }
    let mut all = store.prepare_cached(Sql::DestinationAll.text())?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let name = lossy(row, 0)?.unwrap_or_default();
        if row.get(2)? {
            let (at, by) = (time(row, 4)?.unwrap_or_default(), lossy(row, 5)?.unwrap_or_default());
            status.paused.insert(name.clone(), lossy(row, 3)?.unwrap_or_default());
            status.paused_by.insert(name.clone(), (at, by));
        }
        if row.get(1)? {
            status.declared.push(name);
        }
    }
    status.blocked = lane::blocked(store)?;
    status.workflows = workflows(store, now)?;
    Ok(status)
}

fn workflows(store: &Connection, now: Micros) -> rusqlite::Result<StillWorkflows> {
    let count = |row: &Row<'_>, at| {
        Ok::<_, rusqlite::Error>(int(row, at)?.unwrap_or(0).max(0).unsigned_abs())
    };
    let mut still = store.prepare_cached(Sql::StatusWorkflows.text())?;
    still.query_row([], |row| {
        Ok(StillWorkflows {
            quarantined: count(row, 0)?,
            starts: count(row, 1)?,
            oldest_start: time(row, 2)?.map(|at| now.since(at)),
            orphans: count(row, 3)?,
        })
    })
}

/// The totals of each destination, counted row by row.
pub(crate) fn totals(store: &Connection) -> rusqlite::Result<Vec<Totals>> {
    let mut all: BTreeMap<String, Totals> = BTreeMap::new();
    let mut of = |destination: String, add: &dyn Fn(&mut Totals)| {
        add(all.entry(destination.clone()).or_insert_with(|| Totals {
            destination,
            outbox: 0,
            archived: 0,
            open: 0,
            tally: Vec::new(),
        }));
    };
    for (destination, count) in sums(store, Sql::TotalsOutbox)? {
        of(destination, &|totals| totals.outbox = count);
    }
    for (destination, count) in sums(store, Sql::TotalsArchived)? {
        of(destination, &|totals| totals.archived = count);
    }
    for (destination, count) in sums(store, Sql::TotalsOpen)? {
        of(destination, &|totals| totals.open = count);
    }
    for (destination, outcome, count) in counts(store, Sql::TallyAll)? {
        of(destination, &|totals| totals.tally.push((outcome.clone(), count, 0)));
    }
    for (destination, outcome, count) in counts(store, Sql::TotalsEnded)? {
        of(destination, &|totals| match totals.tally.iter_mut().find(|entry| entry.0 == outcome) {
            Some(entry) => entry.2 = count,
            None => totals.tally.push((outcome.clone(), 0, count)),
        });
    }
    Ok(all.into_values().collect())
}

fn counts(store: &Connection, sql: Sql) -> rusqlite::Result<Vec<(String, String, i64)>> {
    let mut statement = store.prepare_cached(sql.text())?;
    let rows = statement.query_map([], |row| {
        Ok((spelled::column(row, 0)?, spelled::column(row, 1)?, int(row, 2)?.unwrap_or(0)))
    })?;
    rows.collect()
}

fn sums(store: &Connection, sql: Sql) -> rusqlite::Result<Vec<(String, i64)>> {
    let mut statement = store.prepare_cached(sql.text())?;
    let sum = |row: &Row<'_>| Ok((spelled::column(row, 0)?, int(row, 1)?.unwrap_or(0)));
    statement.query_map([], sum)?.collect()
}
