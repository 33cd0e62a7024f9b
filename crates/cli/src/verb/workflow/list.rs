//! `workflow list`: workflows in the order of streams, or signals of none that was started.
//!
//! Guarantees: bounded by `--limit`; `--after` goes on where a page ended. Does not: show bodies.

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

/// Does `workflow list`.
///
/// # Errors
/// The store cannot be read.
pub(super) fn run(shared: &Shared, args: ListWorkflows) -> Ended {
    let store = Found::new(shared)?.open()?;
    let limit = args.limit as usize;
    if args.orphans {
        // Behind every id: no id begins with the last character there is.
        let id = args.after_id.unwrap_or_else(|| char::MAX.to_string());
        let after = args.after.map(|stream| (stream, id));
        let now = store.now()?;
        let rows = block_on(async { Ok(store.waiting_inputs(None, after, limit).await?) })?;
        if args.json {
            rows.iter().try_for_each(|row| output::line(&json::waiting_input(row).to_string()))?;
        } else {
            print_orphans(&rows, now)?;
        }
        return Ok(Exit::Done);
    }
    let status = args.status.as_deref().and_then(Status::from_name);
    let is_waiting = args.status.as_deref() == Some("waiting");
    let (name, after) = (args.workflow, args.after);
    let filter = WorkflowFilter { name, status, is_waiting, after, limit };
    let rows = block_on(async { Ok(store.workflows(filter).await?) })?;
    if args.json {
        rows.iter().try_for_each(|row| output::line(&json::workflow(row).to_string()))?;
    } else {
        print(&rows)?;
    }
    Ok(Exit::Done)
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
            row.status.map_or_else(|| "waiting".into(), |status| status.name().to_owned()),
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
