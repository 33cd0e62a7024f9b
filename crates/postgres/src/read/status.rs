//! Counts by destination and state.
//!
//! Guarantees: one snapshot; ended commands are counted by their tally, so that a long history
//! costs nothing. Does not: check the tally; the audit does, by `totals`.

use std::collections::BTreeMap;

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::laws::Totals;
use counterfoil_core::port::read::{Expiring, Status, StillWorkflows};
use futures_util::future::{try_join, try_join5};
use tokio_postgres::Row;

use super::lane;
use crate::failure::Failure;
use crate::row::{flag, int, string, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const CLOCK: Statement = statement!("clock");
const OPEN: Statement = statement!("status_open");
const DUE: Statement = statement!("status_due");
const EXPIRING: Statement = statement!("status_expiring");
const WORKFLOWS: Statement = statement!("status_workflows");
const TALLY: Statement = statement!("tally_all");
const DESTINATIONS: Statement = statement!("destination_all");
const TOTALS_OUTBOX: Statement = statement!("totals_outbox");
const TOTALS_ARCHIVED: Statement = statement!("totals_archived");
const TOTALS_OPEN: Statement = statement!("totals_open");
const TOTALS_ENDED: Statement = statement!("totals_ended");

/// The counts of the store.
pub(crate) async fn status(tx: &Tx<'_>) -> Result<Status, Failure> {
    let now = tx.query_opt(CLOCK, &[]).await?;
    let now = now.and_then(|row| time(&row, 0)).unwrap_or_default();
    let mut status = Status { now, ..Status::default() };
    let (open, ended, due, all, blocked) = try_join5(
        tx.query(OPEN, &[]),
        tx.query(TALLY, &[]),
        tx.query(DUE, &[&now.get()]),
        tx.query(DESTINATIONS, &[]),
        lane::blocked(tx),
    )
    .await?;
    for (destination, state, count) in open.iter().chain(&ended).map(counted) {
        if count > 0 {
            let states = status.destinations.entry(destination).or_default();
            *states.entry(state).or_default() += count.unsigned_abs();
        }
    }
    for row in &due {
        let since = time(row, 1).unwrap_or(now);
        status.oldest_due.insert(string(row, 0).unwrap_or_default(), now.since(since));
    }
    for row in tx.query(EXPIRING, &[]).await? {
        let count = int(&row, 1).unwrap_or(0).unsigned_abs();
        let expiring = Expiring { count, first: time(&row, 2).unwrap_or_default() };
        status.expiring.insert(string(&row, 0).unwrap_or_default(), expiring);
    }
    for row in &all {
        let name = string(row, 0).unwrap_or_default();
        if flag(row, 2) {
            let (at, by) = (time(row, 4).unwrap_or_default(), string(row, 5).unwrap_or_default());
            status.paused.insert(name.clone(), string(row, 3).unwrap_or_default());
            status.paused_by.insert(name.clone(), (at, by));
        }
        if flag(row, 1) {
            status.declared.push(name);
        }
    }
    status.blocked = blocked;
    let still = tx.query_opt(WORKFLOWS, &[]).await?;
    status.workflows = still.map(|row| workflows(&row, now)).unwrap_or_default();
    Ok(status)
}

fn workflows(row: &Row, now: Micros) -> StillWorkflows {
    let count = |at| int(row, at).unwrap_or(0).max(0).unsigned_abs();
    StillWorkflows {
        quarantined: count(0),
        starts: count(1),
        oldest_start: time(row, 2).map(|at| now.since(at)),
        orphans: count(3),
    }
}

/// The totals of each destination, counted row by row.
pub(crate) async fn totals(tx: &Tx<'_>) -> Result<Vec<Totals>, Failure> {
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
    let (outbox, archived) =
        try_join(tx.query(TOTALS_OUTBOX, &[]), tx.query(TOTALS_ARCHIVED, &[])).await?;
    for (destination, count) in outbox.iter().map(summed) {
        of(destination, &|totals| totals.outbox = count);
    }
    for (destination, _, count) in archived.iter().map(counted) {
        of(destination, &|totals| totals.archived += count);
    }
    for (destination, count) in tx.query(TOTALS_OPEN, &[]).await?.iter().map(summed) {
        of(destination, &|totals| totals.open = count);
    }
    let (tally, ended) = try_join(tx.query(TALLY, &[]), tx.query(TOTALS_ENDED, &[])).await?;
    for (destination, outcome, count) in tally.iter().map(counted) {
        of(destination, &|totals| totals.tally.push((outcome.clone(), count, 0)));
    }
    // A tombstone tells how the newest receipt of its command ended it.
    for (destination, outcome, count) in ended.iter().chain(&archived).map(counted) {
        of(destination, &|totals| match totals.tally.iter_mut().find(|entry| entry.0 == outcome) {
            Some(entry) => entry.2 += count,
            None => totals.tally.push((outcome.clone(), 0, count)),
        });
    }
    Ok(all.into_values().collect())
}

/// Destination, state or outcome, and how many.
fn counted(row: &Row) -> (String, String, i64) {
    let text = |at| string(row, at).unwrap_or_default();
    (text(0), text(1), int(row, 2).unwrap_or(0))
}

/// Destination, and how many.
fn summed(row: &Row) -> (String, i64) {
    (string(row, 0).unwrap_or_default(), int(row, 1).unwrap_or(0))
}
