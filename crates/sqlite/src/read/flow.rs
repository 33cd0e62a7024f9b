//! What an audit asks about workflows and inputs.
//!
//! Guarantees: a page is one snapshot; names that cannot be read are told as nearly as they can be.
//! Does not: judge.

use counterfoil_core::domain::laws::{FlowFacts, InputFacts};
use counterfoil_core::port::seal::{FlowsFrom, InputPage};
use rusqlite::{Connection, Row, params};

use crate::row::{int, lossy};
use crate::sql::Sql;

/// A page of workflows.
pub(crate) fn flows(
    store: &Connection,
    from: &FlowsFrom,
    limit: usize,
) -> rusqlite::Result<Vec<FlowFacts>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let (status, stream) = from.after.clone().unwrap_or_default();
    if from.open_only {
        let mut page = store.prepare_cached(Sql::FlowOpenFacts.text())?;
        return page.query_map(params![status, stream, limit], flow)?.collect();
    }
    let mut page = store.prepare_cached(Sql::FlowFacts.text())?;
    page.query_map(params![stream, limit], flow)?.collect()
}

fn flow(row: &Row<'_>) -> rusqlite::Result<FlowFacts> {
    Ok(FlowFacts {
        stream: lossy(row, 0)?.unwrap_or_default(),
        status: lossy(row, 1)?.unwrap_or_default(),
        head: int(row, 2)?.unwrap_or_default(),
        newest: int(row, 3)?.unwrap_or_default(),
        end: lossy(row, 4)?,
    })
}

/// A page of inputs; the cursor is a rowid.
pub(crate) fn inputs(
    store: &Connection,
    from: Option<&str>,
    limit: usize,
) -> rusqlite::Result<InputPage> {
    let after: i64 = from.and_then(|from| from.parse().ok()).unwrap_or(0);
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
            is_decided: row.get(4)?,
            has_receipt: row.get(5)?,
            waits_for: lossy(row, 6)?,
            serves: lossy(row, 7)?,
        });
    }
    let next = last.filter(|_| inputs.len() >= limit).map(|last| last.to_string());
    Ok((inputs, next))
}
