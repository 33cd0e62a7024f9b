//! `list`: commands by filter, in the order in which they were recorded.
//!
//! Guarantees: bounded by `--limit`; `--after` goes on where a page ended. Does not: show bodies,
//! but with `--json`, where each line is the object of `show`.

use counterfoil_console::json;
use counterfoil_core::domain::{ReceiptOutcome, State};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::{Filter, Listed};

use super::{Found, block_on, time_or_ago};
use crate::args::{List, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::output::table::cell;
use crate::output::{self, table, time};

/// Does `list`.
///
/// # Errors
/// A filter is wrong, `--after` names no command, or the store cannot be read.
pub(crate) fn run(shared: &Shared, args: List) -> Ended {
    let json = args.json;
    check_state(args.state.as_deref())?;
    let store = Found::new(shared)?.open()?;
    let now = store.now()?;
    let at = |flag, text: Option<String>| {
        text.map(|text| time_or_ago::parse(flag, &text, now)).transpose()
    };
    let filter = Filter {
        state: args.state,
        destination: args.destination,
        kind: args.kind,
        stream: args.stream,
        reason: args.reason,
        since: at("--since", args.since)?,
        until: at("--until", args.until)?,
        limit: args.limit as usize,
        after: args.after,
    };
    block_on(async {
        if let Some(id) = &filter.after
            && store.show(id).await?.is_none()
        {
            let text = format!("--after {id}: no such command was ever recorded");
            return Err(Failure::refused(text).help("give the last command of the page before"));
        }
        let rows = store.list(filter).await?;
        if !json {
            return print(&rows);
        }
        for row in rows {
            let story = store.show(&row.command_id).await?;
            let object = story.as_ref().map_or_else(|| json::listed_alone(&row), json::story);
            output::line(&object.to_string())?;
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}

fn check_state(state: Option<&str>) -> Result<(), Failure> {
    let Some(state) = state else { return Ok(()) };
    let states = State::ALL.map(State::name).into_iter();
    let names: Vec<_> =
        states.chain(ReceiptOutcome::ALL.map(ReceiptOutcome::name)).chain(["parked"]).collect();
    if names.contains(&state) {
        return Ok(());
    }
    Err(Failure::could_not_run(format!("--state {state}: there is no such state or outcome"))
        .help(format!("give one of: {}", names.join(", "))))
}

fn print(rows: &[Listed]) -> Result<(), Failure> {
    if rows.is_empty() {
        return output::line("no commands match");
    }
    let mut shown = table::table(&["command", "destination", "kind", "state", "attempts", "last"]);
    for row in rows {
        let doubt = if row.in_doubt { ", in doubt" } else { "" };
        shown.add_row([
            cell(&row.command_id),
            cell(&row.destination),
            cell(&row.kind),
            format!("{}{doubt}", row.state),
            row.attempts.to_string(),
            last(row),
        ]);
    }
    output::line(&shown.trim_fmt())
}

fn last(row: &Listed) -> String {
    let said = row.last_outcome.as_deref().map(cell).unwrap_or_default();
    match row.available_at {
        Some(at) => {
            format!("{said}{}next {}", if said.is_empty() { "" } else { "; " }, time::show(at))
        }
        None => said,
    }
}
