//! Destinations: do their contracts agree, is each one served, is one paused.
//!
//! Guarantees: names what differs, who paused and why, and what waits for a person. Does not:
//! connect to one.

use std::collections::BTreeMap;

use counterfoil_console::json;
use counterfoil_core::domain::{Contract, Micros, State};
use counterfoil_core::port::read::Status;

use super::super::audit::Kept;
use super::super::way_out::quoted;
use super::Look;
use super::check::Check;
use crate::config::DestinationSettings;
use crate::exit::Failure;
use crate::output::time;

/// A row of the store.
pub(super) struct Stored {
    /// The destination.
    pub(super) name: String,
    contract: Option<String>,
    paused: Option<Paused>,
}

/// Who paused it, and why.
struct Paused {
    by: String,
    why: String,
    at: Micros,
}

/// Looks at every destination, configured or stored.
pub(super) fn checks(
    stored: &[Stored],
    configured: &[DestinationSettings],
    status: &Status,
) -> Vec<Check> {
    let mut checks = Vec::new();
    for destination in configured {
        let name = destination.name.as_str();
        let contract = stored.iter().find(|row| row.name == name);
        let contract = contract.and_then(|row| row.contract.as_deref());
        checks.push(agreement(destination, contract).of(name));
    }
    if !configured.is_empty() {
        let served: Vec<_> = configured.iter().map(|one| one.name.to_string()).collect();
        for (name, open) in json::unserved(status, &served) {
            checks.push(unserved(open).of(&name));
        }
    }
    for (name, states) in &status.destinations {
        checks.extend(parked(name, states).map(|check| check.of(name)));
    }
    for row in stored {
        checks.extend(row.paused.as_ref().map(|paused| paused.check().of(&row.name)));
    }
    checks
}

/// Those of a file.
pub(super) fn stored(look: &Look<'_>) -> Result<Vec<Stored>, Failure> {
    let read = || -> rusqlite::Result<Vec<Stored>> {
        let mut statement = look.connection.prepare(include_str!("sql/destinations.sql"))?;
        let rows = statement.query_map([], |row| {
            let paused = (row.get(2)?, row.get(3)?, row.get(4)?);
            Ok(Stored::new(row.get(0)?, row.get(1)?, paused))
        })?;
        rows.collect()
    };
    read().map_err(|error| look.failed(&error))
}

impl Stored {
    /// A row: name, contract, and by whom, why and when it was paused.
    pub(super) fn new(
        name: String,
        contract: Option<String>,
        (by, why, at): (Option<String>, Option<String>, Option<i64>),
    ) -> Self {
        let (by, why) = (by.unwrap_or_default(), why.unwrap_or_default());
        let paused = at.map(|at| Paused { by, why, at: Micros::new(at) });
        Self { name, contract, paused }
    }

    /// Its contract, if one is stored that this program can read.
    pub(super) fn contract(&self) -> Option<Contract> {
        serde_json::from_str(self.contract.as_deref()?).ok()
    }
}

/// By destination, how long the file's own inbox keeps the keys of the file's own commands.
pub(super) fn own_inbox(look: &Look<'_>, source: &str) -> Result<Vec<(String, Kept)>, Failure> {
    let read = || -> rusqlite::Result<Vec<(String, Kept)>> {
        let mut statement = look.connection.prepare(include_str!("sql/own_inbox.sql"))?;
        let rows = statement.query_map([source], |row| {
            Ok((row.get(0)?, Kept::new(row.get(1)?, row.get(2)?, row.get(3)?)))
        })?;
        rows.collect()
    };
    read().map_err(|error| look.failed(&error))
}

fn agreement(destination: &DestinationSettings, stored: Option<&str>) -> Check {
    let Some(stored) = stored else {
        return Check::note("contract", "none is stored yet; the first relay that runs stores it");
    };
    let differing = destination.terms.contract.differences(stored.as_bytes());
    if differing.is_empty() {
        return Check::well("contract", "the stored one and the configured one agree");
    }
    let names: Vec<_> = differing.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    Check::wrong(
        "contract",
        format!("the stored one and the configured one differ in {names}; no relay starts so"),
        "restore the old values, or run `counterfoil relay --replace-contract` once",
    )
}

/// What waits for a person there; no fault of the configuration, and not to be overlooked.
fn parked(name: &str, states: &BTreeMap<String, u64>) -> Option<Check> {
    let states = State::ALL.into_iter().filter(|state| state.is_parked()).filter_map(|state| {
        Some(format!("{} {}", states.get(state.name()).filter(|count| **count > 0)?, state.name()))
    });
    let counts: Vec<_> = states.collect();
    if counts.is_empty() {
        return None;
    }
    let text = format!("what waits for a person, and for no machine: {}", counts.join(", "));
    let help = format!(
        "counterfoil list --groups --destination {}, then counterfoil show ID, which says how each \
         can be ended",
        quoted(name)
    );
    Some(Check::note("parked", text).help(help))
}

fn unserved(waiting: u64) -> Check {
    let commands = if waiting == 1 { "1 open command waits" } else { "open commands wait" };
    let number = if waiting == 1 { String::new() } else { format!("{waiting} ") };
    Check::wrong(
        "unserved",
        format!(
            "{number}{commands} for a relay, and this configuration does not name the destination"
        ),
        "add a table [destination.NAME], or run a relay with a configuration that has one",
    )
}

impl Paused {
    fn check(&self) -> Check {
        let at = time::show(self.at);
        Check::wrong(
            "paused",
            format!("paused by {} at {at}: {}", self.by, self.why),
            "nothing is sent there until it is resumed; look first whether the reason is gone",
        )
    }
}
