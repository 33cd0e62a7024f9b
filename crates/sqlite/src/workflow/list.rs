//! What people look at: workflows, inputs that wait, commands that were issued.
//!
//! Guarantees: pages by their keys; what cannot be read is shown as nearly as it can be. Does not:
//! read events.

use counterfoil_core::domain::workflow::Status;
use counterfoil_core::domain::{CommandId, Digest, OrderingKey, Stream};
use counterfoil_core::port::workflow::{
    Carried, Issued, ListedWorkflow, WaitingInput, WorkflowFilter,
};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::keep::Starts;
use crate::row::{bytes, digest, int, lossy, stored, time};
use crate::sql::Sql;

/// A page of workflows.
pub(crate) fn workflows(
    store: &Connection,
    filter: &WorkflowFilter,
) -> rusqlite::Result<Vec<ListedWorkflow>> {
    let after = filter.after.as_deref().unwrap_or_default();
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
    if filter.is_waiting {
        let mut list = store.prepare_cached(Sql::StreamListWaiting.text())?;
        return list.query_map(params![after, filter.name, limit], listed_waiting)?.collect();
    }
    let is_open = filter.status.is_some_and(|status| status != Status::Completed);
    let sql = if is_open { Sql::StreamListOpen } else { Sql::StreamList };
    let mut list = store.prepare_cached(sql.text())?;
    let status = filter.status.map(Status::name);
    list.query_map(params![after, filter.name, status, limit], listed)?.collect()
}

/// A workflow in the columns of `stream_list_waiting.sql`.
fn listed_waiting(row: &Row<'_>) -> rusqlite::Result<ListedWorkflow> {
    Ok(ListedWorkflow {
        stream: lossy(row, 0)?.unwrap_or_default(),
        program: lossy(row, 1)?.unwrap_or_default(),
        status: None,
        head: 0,
        reason: None,
        input: None,
        changed_at: time(row, 2)?,
    })
}

/// A workflow in the columns of `stream_list.sql`.
fn listed(row: &Row<'_>) -> rusqlite::Result<ListedWorkflow> {
    let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
    Ok(ListedWorkflow {
        stream: text(0)?,
        program: format!("{}/{}", text(1)?, int(row, 2)?.unwrap_or(0)),
        status: Status::from_name(&text(3)?),
        head: int(row, 4)?.unwrap_or(0),
        reason: lossy(row, 5)?,
        input: lossy(row, 6)?,
        changed_at: time(row, 7)?,
    })
}

/// One workflow, or what waits for it.
pub(crate) fn workflow(
    store: &Connection,
    stream: &str,
) -> rusqlite::Result<Option<ListedWorkflow>> {
    let mut row = store.prepare_cached(Sql::StreamRow.text())?;
    if let Some(found) = row.query_row([stream], listed).optional()? {
        return Ok(Some(found));
    }
    let mut known = store.prepare_cached(Sql::StreamKnown.text())?;
    let head = known.query_row([stream], |row| row.get(0)).optional()?;
    let Some(head) = head else { return Ok(None) };
    let mut starts = store.prepare_cached(Sql::InputStarts.text())?;
    let start = starts.query_row([stream], |row| Ok((lossy(row, 0)?, time(row, 1)?))).optional()?;
    let (program, changed_at) = start.unwrap_or_default();
    Ok(Some(ListedWorkflow {
        stream: stream.to_owned(),
        program: program.unwrap_or_default(),
        status: None,
        head,
        reason: None,
        input: None,
        changed_at,
    }))
}

/// A page of inputs that wait: of a stream, or orphans.
pub(crate) fn waiting(
    store: &Connection,
    stream: Option<&str>,
    after: Option<(String, String)>,
    limit: usize,
) -> rusqlite::Result<Vec<WaitingInput>> {
    let (after_stream, after_id) = after.unwrap_or_default();
    match stream {
        Some(stream) => {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut waiting = store.prepare_cached(Sql::InputOfStream.text())?;
            let page = waiting.query_map(params![stream, after_id, limit], |row| {
                Ok(WaitingInput { is_served: row.get(6)?, ..waits(row, [0, 1, 2, 3, 4, 5])? })
            })?;
            page.collect()
        }
        None => orphans(store, (&after_stream, &after_id), limit),
    }
}

/// Inputs of streams that have neither the row of a workflow nor a start that waits.
fn orphans(
    store: &Connection,
    (stream, id): (&str, &str),
    limit: usize,
) -> rusqlite::Result<Vec<WaitingInput>> {
    let mut aside = store.prepare_cached(Sql::InputAside.text())?;
    let mut rows = aside.query([stream, id])?;
    let mut starts = Starts::new(store);
    let mut page = Vec::new();
    while page.len() < limit
        && let Some(row) = rows.next()?
    {
        if bytes(row, 7)?.is_none() && !starts.wait(&stored(row, 1)?.unwrap_or_default())? {
            page.push(waits(row, [1, 2, 3, 4, 5, 6])?);
        }
    }
    Ok(page)
}

/// An input in the columns of stream, id, kind, name, due_at, recorded_at; not served.
fn waits(row: &Row<'_>, at: [usize; 6]) -> rusqlite::Result<WaitingInput> {
    let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
    Ok(WaitingInput {
        stream: text(at[0])?,
        id: text(at[1])?,
        kind: text(at[2])?,
        name: text(at[3])?,
        due_at: time(row, at[4])?,
        recorded_at: time(row, at[5])?.unwrap_or_default(),
        is_served: false,
    })
}

/// A page of the commands that a stream issued: its events say how many, and their ids follow.
pub(crate) fn issued(
    store: &Connection,
    stream: &Stream,
    (after_seq, after_idx): (i64, i64),
    limit: usize,
) -> rusqlite::Result<Vec<Issued>> {
    let mut issuing = store.prepare_cached(Sql::EventIssuing.text())?;
    let mut rows = issuing.query(params![stream.as_str(), after_seq])?;
    let mut page = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, commands) = (row.get(0)?, row.get::<_, i64>(1)?);
        let first = if seq == after_seq { after_idx.saturating_add(1) } else { 0 };
        for idx in first..commands {
            if page.len() >= limit {
                return Ok(page);
            }
            page.extend(one_issued(store, stream, seq, idx)?);
        }
    }
    Ok(page)
}

/// A command by its generated id, from the outbox or from its tombstone.
fn one_issued(
    store: &Connection,
    stream: &Stream,
    seq: i64,
    idx: i64,
) -> rusqlite::Result<Option<Issued>> {
    let place = usize::try_from(idx).unwrap_or(usize::MAX);
    let Ok(id) = CommandId::of_decision(stream, seq, place) else { return Ok(None) };
    let issued = |row: &Row<'_>, digest: Option<Digest>, carried: Option<Carried>| {
        let key = bytes(row, 2)?.and_then(|bytes| OrderingKey::from_bytes(bytes).ok());
        Ok::<_, rusqlite::Error>(Issued {
            seq,
            idx,
            destination: lossy(row, 0)?.unwrap_or_default(),
            kind: lossy(row, 1)?.unwrap_or_default(),
            ordering_key: key,
            digest,
            carried,
        })
    };
    let mut outbox = store.prepare_cached(Sql::OutboxIssued.text())?;
    let found = outbox.query_row(params![id.as_str(), stream.as_str()], |row| {
        let is_erased: bool = row.get(4)?;
        let of_body = || Ok::<_, rusqlite::Error>(bytes(row, 3)?.map(Digest::of));
        let digest = if is_erased { digest(row, 5)? } else { of_body()? };
        let carried = if is_erased { None } else { Some(carried(row, 6)?) };
        issued(row, digest, carried)
    });
    if let Some(found) = found.optional()? {
        return Ok(Some(found));
    }
    let mut archived = store.prepare_cached(Sql::ArchivedRow.text())?;
    archived.query_row([id.as_str()], |row| issued(row, digest(row, 3)?, None)).optional()
}

/// What a command carries in five columns from `at`.
fn carried(row: &Row<'_>, at: usize) -> rusqlite::Result<Carried> {
    Ok(Carried {
        content_type: lossy(row, at)?.unwrap_or_default(),
        headers: lossy(row, at + 1)?,
        core_digest: lossy(row, at + 2)?,
        not_before: time(row, at + 3)?,
        expires_at: time(row, at + 4)?,
    })
}
