//! What an audit asks about workflows and inputs.
//!
//! Guarantees: a page is one snapshot; names that cannot be read are told as nearly as they can be.
//! Does not: judge.

use counterfoil_core::domain::laws::{FlowFacts, InputFacts, TimerFacts};
use counterfoil_core::port::seal::{FlowsFrom, InputPage, TIMERS_MAX};
use rusqlite::{Connection, Row, params};

use crate::row::{int, lossy, time};
use crate::spelled::{self, Unspelled};
use crate::sql::Sql;

/// A page of workflows.
pub(crate) fn flows(
    store: &Connection,
    from: &FlowsFrom,
    limit: usize,
) -> rusqlite::Result<Vec<FlowFacts>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let after = from.after.as_ref();
    let after = after.map(|(status, stream)| (Unspelled::of(status), Unspelled::of(stream)));
    let (status, stream) = after.unzip();
    if from.open_only {
        let mut page = store.prepare_cached(Sql::FlowOpenFacts.text())?;
        return page.query_map(params![status, stream, limit], flow)?.collect();
    }
    let mut page = store.prepare_cached(Sql::FlowFacts.text())?;
    let flows = page.query_map(params![stream, limit], flow)?;
    let mut flows = flows.collect::<rusqlite::Result<Vec<_>>>()?;
    add_timers(store, &mut flows)?;
    Ok(flows)
}

fn flow(row: &Row<'_>) -> rusqlite::Result<FlowFacts> {
    Ok(FlowFacts {
        stream: spelled::column(row, 0)?,
        workflow: lossy(row, 1)?.unwrap_or_default(),
        status: spelled::column(row, 2)?,
        head: int(row, 3)?.unwrap_or_default(),
        newest: int(row, 4)?.unwrap_or_default(),
        begun_as: lossy(row, 5)?,
        end: lossy(row, 6)?,
        has_reason: row.get(7)?,
        names_input: row.get(8)?,
        is_held: row.get(9)?,
        timers: Vec::new(),
    })
}

/// Adds the timers of each; where they become too many, the others are left to the next page.
fn add_timers(store: &Connection, flows: &mut Vec<FlowFacts>) -> rusqlite::Result<()> {
    let mut timers = store.prepare_cached(Sql::FlowTimers.text())?;
    let mut count = 0;
    for at in 0..flows.len() {
        let Some(flow) = flows.get_mut(at) else { break };
        let waiting = timers.query_map([Unspelled::of(&flow.stream)], |row| {
            Ok(TimerFacts { id: lossy(row, 0)?.unwrap_or_default(), due_at: time(row, 1)? })
        })?;
        flow.timers = waiting.collect::<rusqlite::Result<_>>()?;
        count += flow.timers.len();
        if count > TIMERS_MAX && at > 0 {
            flows.truncate(at);
        }
    }
    Ok(())
}

/// A page of inputs; the cursor is a rowid.
pub(crate) fn inputs(
    store: &Connection,
    from: Option<&str>,
    limit: usize,
) -> rusqlite::Result<InputPage> {
    let after: i64 = from.and_then(|from| from.parse().ok()).unwrap_or(i64::MIN);
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut page = store.prepare_cached(Sql::InputFacts.text())?;
    let mut rows = page.query(params![after, most])?;
    let (mut inputs, mut last) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        last = int(row, 0)?;
        inputs.push(InputFacts {
            stream: lossy(row, 1)?.unwrap_or_default(),
            id: lossy(row, 2)?.unwrap_or_default(),
            kind: lossy(row, 3)?.unwrap_or_default(),
            name: lossy(row, 4)?.unwrap_or_default(),
            due_at: time(row, 5)?,
            has_body: row.get(6)?,
            is_decided: row.get(7)?,
            has_receipt: row.get(8)?,
            waits_for: lossy(row, 9)?,
            program: lossy(row, 10)?,
        });
    }
    let next = last.filter(|_| inputs.len() >= limit).map(|last| last.to_string());
    Ok((inputs, next))
}
