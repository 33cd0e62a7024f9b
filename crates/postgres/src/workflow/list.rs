//! What people look at: workflows, inputs that wait, commands that were issued.
//!
//! Guarantees: pages by their keys; what cannot be read is shown as nearly as it can be. Does not:
//! read events.

use counterfoil_core::domain::workflow::Status;
use counterfoil_core::domain::{OrderingKey, Stream};
use counterfoil_core::port::workflow::{
    Carried, Issued, ListedWorkflow, WaitingInput, WorkflowFilter,
};
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::read::asked;
use crate::row::{digest, flag, int, string, text, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const LIST: Statement = statement!("stream_list");
const LIST_OPEN: Statement = statement!("stream_list_open");
const LIST_WAITING: Statement = statement!("stream_list_waiting");
const ROW: Statement = statement!("stream_row");
const KNOWN: Statement = statement!("stream_known");
const OF_STREAM: Statement = statement!("input_of_stream");
const ORPHANS: Statement = statement!("input_orphans");
const ISSUED: Statement = statement!("stream_issued");

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A page of workflows.
pub(crate) async fn workflows(
    tx: &Tx<'_>,
    filter: &WorkflowFilter,
) -> Result<Vec<ListedWorkflow>, Failure> {
    let after = asked(filter.after.as_deref().unwrap_or_default());
    let name = filter.name.as_deref().map(asked);
    if filter.is_waiting {
        let rows = tx.query(LIST_WAITING, &[&after, &name, &most(filter.limit)]).await?;
        return Ok(rows.iter().map(listed_waiting).collect());
    }
    let status = filter.status.map(Status::name);
    let is_open = filter.status.is_some_and(|status| status != Status::Completed);
    let list = if is_open { LIST_OPEN } else { LIST };
    let rows = tx.query(list, &[&after, &name, &status, &most(filter.limit)]).await?;
    Ok(rows.iter().map(listed).collect())
}

/// A workflow in the columns of `stream_list_waiting.sql`.
fn listed_waiting(row: &Row) -> ListedWorkflow {
    ListedWorkflow {
        stream: string(row, 0).unwrap_or_default(),
        program: string(row, 1).unwrap_or_default(),
        status: None,
        head: 0,
        reason: None,
        input: None,
        changed_at: time(row, 2),
    }
}

/// A workflow in the columns of `stream_list.sql`.
fn listed(row: &Row) -> ListedWorkflow {
    let name = string(row, 1).unwrap_or_default();
    ListedWorkflow {
        stream: string(row, 0).unwrap_or_default(),
        program: format!("{name}/{}", int(row, 2).unwrap_or(0)),
        status: text(row, 3).and_then(Status::from_name),
        head: int(row, 4).unwrap_or(0),
        reason: string(row, 5),
        input: string(row, 6),
        changed_at: time(row, 7),
    }
}

/// One workflow, or what waits for it.
pub(crate) async fn workflow(tx: &Tx<'_>, stream: &str) -> Result<Option<ListedWorkflow>, Failure> {
    let stream = asked(stream);
    if let Some(row) = tx.query_opt(ROW, &[&stream]).await? {
        return Ok(Some(listed(&row)));
    }
    let known = tx.query_opt(KNOWN, &[&stream]).await?;
    Ok(known.map(|row| ListedWorkflow {
        stream: stream.to_owned(),
        program: string(&row, 1).unwrap_or_default(),
        status: None,
        head: int(&row, 0).unwrap_or(0),
        reason: None,
        input: None,
        changed_at: time(&row, 2),
    }))
}

/// A page of inputs that wait: of a stream, or orphans.
pub(crate) async fn waiting(
    tx: &Tx<'_>,
    stream: Option<&str>,
    after: Option<&(String, String)>,
    limit: usize,
) -> Result<Vec<WaitingInput>, Failure> {
    let (after_stream, after_id) =
        after.map_or(("", ""), |(stream, id)| (asked(stream), asked(id)));
    let rows = match stream {
        Some(stream) => tx.query(OF_STREAM, &[&asked(stream), &after_id, &most(limit)]).await?,
        None => tx.query(ORPHANS, &[&after_stream, &after_id, &most(limit)]).await?,
    };
    let waits = |row| WaitingInput {
        stream: string(row, 0).unwrap_or_default(),
        id: string(row, 1).unwrap_or_default(),
        kind: string(row, 2).unwrap_or_default(),
        name: string(row, 3).unwrap_or_default(),
        due_at: time(row, 4),
        recorded_at: time(row, 5).unwrap_or_default(),
        is_served: flag(row, 6),
    };
    Ok(rows.iter().map(waits).collect())
}

/// A page of the commands that a stream issued: its events say how many, and their ids follow.
pub(crate) async fn issued(
    tx: &Tx<'_>,
    stream: &Stream,
    (after_seq, after_idx): (i64, i64),
    limit: usize,
) -> Result<Vec<Issued>, Failure> {
    let rows = tx.query(ISSUED, &[&stream.as_str(), &after_seq, &after_idx, &most(limit)]).await?;
    let issued = |row| Issued {
        seq: int(row, 0).unwrap_or(0),
        idx: int(row, 1).unwrap_or(0),
        destination: string(row, 2).unwrap_or_default(),
        kind: string(row, 3).unwrap_or_default(),
        ordering_key: text(row, 4).and_then(|key| OrderingKey::from_bytes(key.as_bytes()).ok()),
        digest: digest(row, 5),
        carried: string(row, 6).map(|content_type| Carried {
            content_type,
            headers: string(row, 7),
            core_digest: string(row, 8),
            not_before: time(row, 9),
            expires_at: time(row, 10),
        }),
    };
    Ok(rows.iter().map(issued).collect())
}
