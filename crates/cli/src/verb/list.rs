//! `list`: commands by filter, in the order in which they were recorded.
//!
//! Guarantees: bounded by `--limit`; `--after` goes on where a page ended. Does not: show bodies,
//! but with `--json`, where each line is the object of `show`.

use counterfoil_console::json;
use counterfoil_core::bulk;
use counterfoil_core::domain::failure_group::{FailureGroup, GroupKey};
use counterfoil_core::port::read::{Filter, Listed};
use counterfoil_core::port::{Archive, Store};
use serde_json::json;

use super::filter::{check_state, filter};
use super::pause::warn_unknown;
use super::{Found, block_on};
use crate::args::{List, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::output::table::cell;
use crate::output::{self, table, time};
use crate::store::OpenStore;

/// Does `list`.
///
/// # Errors
/// A filter is wrong, `--after` names no command, or the store cannot be read.
pub(crate) fn run(shared: &Shared, args: List) -> Ended {
    let as_json = args.json;
    check_state(args.filters.state.as_deref())?;
    let found = Found::new(shared)?;
    let store = found.open()?;
    let filter = filter(args.filters, store.now()?)?;
    let filter = Filter {
        reason: filter.reason.or(args.reason),
        limit: args.limit as usize,
        after: args.after,
        ..filter
    };
    block_on(async {
        if args.groups {
            return groups(&found, &store, filter, as_json).await;
        }
        if let Some(id) = &filter.after
            && store.show(id).await?.is_none()
        {
            let text = format!("--after {id}: no such command was ever recorded");
            return Err(Failure::refused(text).help("give the last command of the page before"));
        }
        let destination = filter.destination.clone();
        let rows = store.list(filter).await?;
        if rows.is_empty() {
            warn_unknown(&found, &store, destination.as_deref()).await?;
        }
        if !as_json && rows.is_empty() {
            return none_match(&store).await;
        }
        if !as_json {
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

/// Failures that are alike.
async fn groups(
    found: &Found,
    store: &OpenStore,
    filter: Filter,
    as_json: bool,
) -> Result<(), Failure> {
    let (by_default, destination) = (filter.state.is_none(), filter.destination.clone());
    let state = filter.state.or_else(|| Some("parked".into()));
    let groups = bulk::groups(store, Filter { state, ..filter }).await?;
    if groups.is_empty() {
        warn_unknown(found, store, destination.as_deref()).await?;
    }
    if !as_json {
        return print_groups(&groups, by_default);
    }
    for ((destination, state, reason), group) in groups {
        let object = json!({
            "destination": destination, "state": state, "reason": reason, "count": group.count,
            "first": time::show(group.first), "last": time::show(group.last),
            "example": group.example,
        });
        output::line(&object.to_string())?;
    }
    Ok(())
}

fn print_groups(groups: &[(GroupKey, FailureGroup)], by_default: bool) -> Result<(), Failure> {
    if groups.is_empty() {
        return output::line(if by_default {
            "no failures match among what is parked\n\
             what is tried again by itself: counterfoil list --groups --state pending"
        } else {
            "no failures match"
        });
    }
    let columns = ["commands", "destination", "state", "reason", "first", "last", "example"];
    let mut shown = table::table(&columns);
    for ((destination, state, reason), group) in groups {
        shown.add_row([
            group.count.to_string(),
            cell(destination),
            cell(state),
            cell(reason),
            time::show(group.first),
            time::show(group.last),
            cell(&group.example),
        ]);
    }
    output::line(&shown.trim_fmt())
}

/// What is archived is none of the list; who looks for it is told so.
async fn none_match(store: &OpenStore) -> Result<(), Failure> {
    if store.tombstones(None, 1).await?.is_empty() {
        return output::line("no commands match");
    }
    output::line(
        "no commands match among those in the store; archived ones are not listed: `show` tells \
         one by its id",
    )
}

fn print(rows: &[Listed]) -> Result<(), Failure> {
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
