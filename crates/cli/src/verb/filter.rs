//! What was typed as filters, as a filter of the store.
//!
//! Guarantees: a state that there is not, and a time that is none, are refused before a store is
//! read. Does not: read the store.

use counterfoil_core::domain::{Micros, ReceiptOutcome, State};
use counterfoil_core::port::read;

use super::time_or_ago;
use crate::args::Filters;
use crate::exit::Failure;

/// The filter, without limit and cursor.
///
/// # Errors
/// A state or a time is none.
pub(super) fn filter(filters: Filters, now: Micros) -> Result<read::Filter, Failure> {
    check_state(filters.state.as_deref())?;
    let at = |flag, text: Option<String>| {
        text.map(|text| time_or_ago::parse(flag, &text, now)).transpose()
    };
    Ok(read::Filter {
        state: filters.state,
        destination: filters.destination,
        kind: filters.kind,
        stream: filters.stream,
        reason: filters.last_outcome,
        since: at("--since", filters.since)?,
        until: at("--until", filters.until)?,
        limit: 0,
        after: None,
    })
}

/// Refuses a state that there is not.
pub(super) fn check_state(state: Option<&str>) -> Result<(), Failure> {
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
