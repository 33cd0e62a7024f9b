//! `status`: counts by destination and state, what has been due for long, what nobody serves.
//!
//! Guarantees: reads only; what waits for a person is said with the verb that looks closer. Does
//! not: know which relays run, nor their breakers and rates, which no store holds.

use counterfoil_console::json;
use counterfoil_core::domain::State;
use counterfoil_core::port::Store;
use counterfoil_core::port::read::Status;

use super::pause::paused;
use super::{Found, block_on};
use crate::args::{Reading, Shared};
use crate::config::Config;
use crate::exit::{Ended, Exit};
use crate::output::table::cell;
use crate::output::{self, table, time};

/// How many blocked lanes are named to people.
const SHOWN: usize = 10;

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
        logged(found.config.as_ref())?;
    }
    Ok(Exit::Done)
}

/// Destinations whose commands go nowhere: a count of completed ones would say otherwise.
fn logged(config: Option<&Config>) -> Result<(), crate::exit::Failure> {
    for name in config.into_iter().flat_map(Config::destination_names) {
        if config.is_some_and(|config| config.is_logged(&name)) {
            let name = cell(&name);
            output::line(&format!(
                "{name}: transport = \"log\", so what is completed there was delivered nowhere"
            ))?;
        }
    }
    Ok(())
}

fn print(status: &Status, unserved: &[(String, u64)]) -> Result<(), crate::exit::Failure> {
    let is_elsewhere = |name: &&String| !status.destinations.contains_key(*name);
    for name in status.paused.keys().filter(is_elsewhere) {
        let why = paused(status, name).unwrap_or_default();
        output::line(&format!("{} is paused: {why}", cell(name)))?;
    }
    if status.destinations.is_empty() {
        output::line("no command was ever recorded here")?;
        return still(status).iter().try_for_each(|line| output::line(line));
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
    output::line(&rows.trim_fmt())?;
    let lines = blocked(status).into_iter().chain(still(status)).chain(hints(status));
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() { Ok(()) } else { output::line(&format!("\n{}", lines.join("\n"))) }
}

/// The lanes that wait for a person.
fn blocked(status: &Status) -> Vec<String> {
    let mut lines = Vec::new();
    for lane in status.blocked.iter().take(SHOWN) {
        let head = lane.parked_head.as_ref();
        let head = head.map(|(id, state)| format!("{} ({})", cell(id), state.name()));
        lines.push(format!(
            "lane {} to {}: {} {} behind {}",
            cell(&lane.ordering_key),
            cell(&lane.destination),
            lane.waiting,
            if lane.waiting == 1 { "waits" } else { "wait" },
            head.unwrap_or_default()
        ));
    }
    if status.blocked.len() > SHOWN {
        lines.push(format!("and {} more lanes: --json", status.blocked.len() - SHOWN));
    }
    lines
}

/// What of workflows stands still, and the verb that looks closer.
fn still(status: &Status) -> Vec<String> {
    let still = &status.workflows;
    let counted = |n, one: &str| Some(output::counted(n, one)).filter(|_| n > 0);
    let waits = |n| if n == 1 { "waits" } else { "wait" };
    let oldest = still.oldest_start.map(time::about).unwrap_or_default();
    let lines = [
        counted(still.quarantined, "quarantined workflow").map(|counted| {
            let waits = waits(still.quarantined);
            format!(
                "{counted} {waits} for a person: counterfoil workflow list --status quarantined"
            )
        }),
        counted(still.starts, "start").map(|counted| {
            let waits = waits(still.starts);
            format!(
                "{counted} {waits} for a runner, the oldest for {oldest}: counterfoil workflow \
                 list --status waiting"
            )
        }),
        counted(still.orphans, "input").map(|counted| {
            let waits = waits(still.orphans);
            format!("{counted} {waits} without any start: counterfoil workflow list --orphans")
        }),
    ];
    lines.into_iter().flatten().collect()
}

/// What to type next.
fn hints(status: &Status) -> Vec<String> {
    let states = status.destinations.values().flat_map(std::collections::BTreeMap::keys);
    let has = |state: State| states.clone().any(|name| name == state.name());
    let parked = [State::Dead, State::Uncertain, State::Conflict];
    let parked = parked.into_iter().filter(|state| has(*state)).count();
    let mut lines = Vec::new();
    if parked > 0 {
        lines.push("what waits for a person: counterfoil list --groups".to_owned());
    }
    if [State::Pending, State::Sending].into_iter().any(has) {
        lines.push("breakers and rates are each relay's own: its log and its /metrics".to_owned());
    }
    lines
}

/// What there is to say about a destination.
fn note(status: &Status, unserved: &[(String, u64)], name: &str) -> String {
    let mut notes = Vec::new();
    if let Some(span) = status.oldest_due.get(name) {
        notes.push(format!("oldest due since {}", time::about(*span)));
    }
    if let Some(expiring) = status.expiring.get(name) {
        let (count, first) = (expiring.count, time::show(expiring.first));
        let over =
            if expiring.first <= status.now { ", which is over: no relay sweeps" } else { "" };
        notes.push(format!("{count} with an expiry, the first {first}{over}"));
    }
    if unserved.iter().any(|(other, _)| other == name) {
        notes.push("unserved: not in the configuration".to_owned());
    }
    if let Some(why) = paused(status, name) {
        notes.push(format!("paused: {why}"));
    }
    notes.join("; ")
}
