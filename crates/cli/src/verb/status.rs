//! `status`: counts by destination and state, what has been due for long, what nobody serves.
//!
//! Guarantees: reads only. Does not: know which relays run.

use counterfoil_console::json;
use counterfoil_core::port::Store;
use counterfoil_core::port::read::Status;

use super::{Found, block_on};
use crate::args::{Reading, Shared};
use crate::exit::{Ended, Exit};
use crate::output::table::cell;
use crate::output::{self, table, time};

/// Does `status`.
///
/// # Errors
/// The store cannot be read.
pub(crate) fn run(shared: &Shared, args: &Reading) -> Ended {
    let found = Found::new(shared)?;
    let store = found.open()?;
    let status = block_on(async { Ok(store.status().await?) })?;
    // Without a configuration nobody can say what is served.
    let served = found.config.as_ref().map(crate::config::Config::destination_names);
    let unserved = served.map_or_else(Vec::new, |served| json::unserved(&status, &served));
    if args.json {
        output::line(&json::status(&status, &unserved).to_string())?;
    } else {
        print(&status, &unserved)?;
    }
    Ok(Exit::Done)
}

fn print(status: &Status, unserved: &[(String, u64)]) -> Result<(), crate::exit::Failure> {
    if status.destinations.is_empty() {
        return output::line("no command was ever recorded here");
    }
    let mut rows = table::table(&["destination", "state", "commands", "note"]);
    for (name, states) in &status.destinations {
        // It speaks of what is open: a completed row is not overdue.
        let of = if states.contains_key("pending") { Some("pending") } else { None };
        let of = of.or(states.keys().next().map(String::as_str));
        for (state, count) in states {
            let is_of = Some(state.as_str()) == of;
            let note = if is_of { note(status, unserved, name) } else { String::new() };
            rows.add_row([cell(name), state.clone(), count.to_string(), note]);
        }
    }
    output::line(&rows.trim_fmt())
}

/// What there is to say about a destination.
fn note(status: &Status, unserved: &[(String, u64)], name: &str) -> String {
    let mut notes = Vec::new();
    if let Some(span) = status.oldest_due.get(name) {
        notes.push(format!("oldest due since {}", time::about(*span)));
    }
    if unserved.iter().any(|(other, _)| other == name) {
        notes.push("unserved: not in the configuration".to_owned());
    }
    if let Some(why) = status.paused.get(name) {
        notes.push(format!("paused: {}", cell(why)));
    }
    notes.join("; ")
}
