//! When the next command is due, and what is left for a relay.
//!
//! Guarantees: paused destinations are left out of what is due, and counted by themselves. Does
//! not: see what other relays hold in memory.

use std::collections::BTreeMap;

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{Destination, Micros, State};
use counterfoil_core::port::store::Remaining;
use futures_util::future::try_join;
use tokio_postgres::Row;

use crate::destination;
use crate::failure::Failure;
use crate::row::{flag, int, string, text, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const NEXT_DUE: Statement = statement!("delivery_next_due");
const AWAITING: Statement = statement!("delivery_awaiting");
const BUSY: Statement = statement!("delivery_busy");
const LEFT: Statement = statement!("delivery_left");
const RULES: Statement = statement!("destination_rules");

/// The earliest due time at these destinations.
pub(crate) async fn next_due(
    tx: &Tx<'_>,
    destinations: &[Destination],
) -> Result<Option<Micros>, Failure> {
    let names: Vec<&str> = destinations.iter().map(Destination::as_str).collect();
    let row = tx.query_opt(NEXT_DUE, &[&names]).await?;
    Ok(row.and_then(|row| time(&row, 0)))
}

/// Where something waits for a relay.
pub(crate) async fn awaiting(tx: &Tx<'_>) -> Result<Vec<String>, Failure> {
    let rows = tx.query(AWAITING, &[]).await?;
    Ok(rows.iter().filter_map(|row| string(row, 0)).collect())
}

/// Whether something at these destinations is plainly at work; if not, it must be counted.
pub(crate) async fn at_work(tx: &Tx<'_>, destinations: &[Destination]) -> Result<bool, Failure> {
    let names: Vec<&str> = destinations.iter().map(Destination::as_str).collect();
    Ok(tx.query_opt(BUSY, &[&names]).await?.is_some_and(|row| flag(&row, 0)))
}

/// What a destination's row says to those that wait there.
#[derive(Clone, Copy, Default)]
struct Rule {
    is_paused: bool,
    skips: bool,
}

impl Rule {
    fn read(row: &Row) -> Self {
        let contract = text(row, 1).and_then(destination::contract);
        let skips = contract.is_some_and(|contract| contract.on_parked == OnParked::Skip);
        Self { is_paused: flag(row, 2), skips }
    }
}

/// What is left for a relay of these destinations.
pub(crate) async fn remaining(
    tx: &Tx<'_>,
    destinations: &[Destination],
) -> Result<Remaining, Failure> {
    let served: Vec<&str> = destinations.iter().map(Destination::as_str).collect();
    let (rules, rows) = try_join(tx.query(RULES, &[&served]), tx.query(LEFT, &[])).await?;
    let rules: BTreeMap<&str, Rule> =
        rules.iter().map(|row| (text(row, 0).unwrap_or_default(), Rule::read(row))).collect();
    let mut left = Remaining::default();
    for row in &rows {
        let destination = text(row, 0).unwrap_or_default();
        let rule = rules.get(destination).copied().unwrap_or_default();
        add(&mut left, row, served.contains(&destination), rule);
    }
    Ok(left)
}

fn add(left: &mut Remaining, row: &Row, is_served: bool, rule: Rule) {
    let state = text(row, 1).and_then(State::from_name);
    let number = |at| int(row, at).unwrap_or(0).unsigned_abs();
    let (count, early, leased) = (number(2), number(3), number(4));
    let (idle, behind) = (number(5), number(6));
    if !is_served {
        left.unserved += count;
    } else if state.is_some_and(State::is_parked) {
        left.parked += count;
    } else if rule.is_paused {
        // Who sends there now still settles; nobody takes over what a dead relay left.
        left.busy += leased;
        left.paused += count;
    } else {
        match state {
            Some(State::Published) => {}
            Some(State::Pending) => {
                left.busy += count - early - idle - if rule.skips { 0 } else { behind };
            }
            _ => left.busy += count,
        }
    }
}
