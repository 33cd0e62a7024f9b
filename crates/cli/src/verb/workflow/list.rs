//! `workflow list`: workflows in the order of streams, or signals of none that was started.
//!
//! Guarantees: bounded by `--limit`; what is left out is said, and `--after` goes on where a page
//! ended. Does not: show bodies.

use counterfoil_console::json;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::workflow::{ListedWorkflow, WaitingInput, WorkflowFilter};
use counterfoil_core::port::{Store as _, Workflows as _};

use super::tell::age;
use super::{Found, block_on};
use crate::args::{ListWorkflows, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::output::table::cell;
use crate::output::{self, table, time};
use crate::store::OpenStore;

/// How those are listed that no runner has begun.
const WAITING: &str = "counterfoil workflow list --status waiting";

/// Does `workflow list`.
///
/// # Errors
/// The store cannot be read.
pub(super) fn run(shared: &Shared, args: ListWorkflows) -> Ended {
    let store = Found::new(shared)?.open()?;
    if args.orphans {
        return orphans(&store, args);
    }
    let limit = args.limit as usize;
    let status = args.status.as_deref().and_then(Status::from_name);
    let is_waiting = args.status.as_deref() == Some("waiting");
    let (name, after) = (args.workflow, args.after);
    // One more says whether anything follows.
    let filter = WorkflowFilter { name: name.clone(), status, is_waiting, after, limit: limit + 1 };
    let (mut rows, waits) = block_on(async {
        let rows = store.workflows(filter).await?;
        if args.status.is_some() || args.json {
            return Ok((rows, false));
        }
        let first =
            WorkflowFilter { name, is_waiting: true, limit: 1, ..WorkflowFilter::default() };
        Ok((rows, !store.workflows(first).await?.is_empty()))
    })?;
    let follows = rows.len() > limit;
    rows.truncate(limit);
    if args.json {
        rows.iter().try_for_each(|row| output::line(&json::workflow(row).to_string()))?;
    } else {
        print(&rows)?;
    }
    if let Some(last) = rows.last().filter(|_| follows) {
        more(args.json, &format!("--after {}", cell(&last.stream)))?;
    }
    if waits {
        output::line(&format!("starts that no runner has decided are not among them: {WAITING}"))?;
    }
    Ok(Exit::Done)
}

fn orphans(store: &OpenStore, args: ListWorkflows) -> Ended {
    let limit = args.limit as usize;
    // Behind every id: no id begins with the last character there is.
    let id = args.after_id.unwrap_or_else(|| char::MAX.to_string());
    let after = args.after.map(|stream| (stream, id));
    let now = store.now()?;
    let rows = block_on(async { Ok(store.waiting_inputs(None, after, limit + 1).await?) });
    let mut rows = rows?;
    let follows = rows.len() > limit;
    rows.truncate(limit);
    if args.json {
        rows.iter().try_for_each(|row| output::line(&json::waiting_input(row).to_string()))?;
    } else {
        print_orphans(&rows, now)?;
    }
    if let Some(last) = rows.last().filter(|_| follows) {
        let (stream, id) = (cell(&last.stream), cell(&last.id));
        more(args.json, &format!("--after {stream} --after-id {id}"))?;
    }
    Ok(Exit::Done)
}

/// Says where the list goes on; beside JSON lines that is talk.
fn more(is_beside_json: bool, flags: &str) -> Result<(), Failure> {
    let text = format!("more follow: say the same again with {flags}");
    if is_beside_json {
        tracing::warn!("{text}");
        return Ok(());
    }
    output::line(&text)
}

fn print(rows: &[ListedWorkflow]) -> Result<(), Failure> {
    if rows.is_empty() {
        return output::line("no workflows match");
    }
    let mut shown = table::table(&["workflow", "program", "status", "at", "changed", "why"]);
    for row in rows {
        shown.add_row([
            cell(&row.stream),
            cell(&row.program),
            row.standing().to_owned(),
            row.head.to_string(),
            row.changed_at.map(time::show).unwrap_or_default(),
            row.reason.as_deref().map(cell).unwrap_or_default(),
        ]);
    }
    output::line(&shown.trim_fmt())
}

fn print_orphans(
    rows: &[WaitingInput],
    now: counterfoil_core::domain::Micros,
) -> Result<(), Failure> {
    if rows.is_empty() {
        return output::line("no input waits without a workflow");
    }
    let mut shown = table::table(&["workflow", "input", "kind", "name", "waits"]);
    for row in rows {
        shown.add_row([
            cell(&row.stream),
            cell(&row.id),
            cell(&row.kind),
            cell(&row.name),
            age(row.recorded_at, now),
        ]);
    }
    output::line(&shown.trim_fmt())
}
