//! Lanes: who goes next among the commands of one ordering key.
//!
//! Guarantees: whoever has the turn has an `available_at` and a `turn`, and a unique index lets it
//! be one; the turn goes on in the transaction that frees it. Does not: see what a stranger's
//! report frees; a sweep does.

mod cursor;

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{Delivery, State, lane};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::destination;
use crate::group::Group;
use crate::row;
use crate::sql::Sql;

pub(crate) use cursor::LaneCursor;

/// A lane, by its destination and key.
#[derive(Clone, Copy)]
pub(crate) struct Lane<'a> {
    pub(crate) destination: &'a str,
    pub(crate) key: &'a str,
}

/// One command of a lane.
struct Standing {
    n: i64,
    state: Option<State>,
    key_seq: i64,
}

impl Standing {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let name = row::lossy(row, 1)?.unwrap_or_default();
        let (n, key_seq) = (row::int(row, 0)?.unwrap_or(0), row::int(row, 2)?.unwrap_or(0));
        Ok(Self { n, state: State::from_name(&name), key_seq })
    }

    fn waits(&self) -> bool {
        self.state == Some(State::Pending)
    }
}

/// Draws the next place of a lane.
pub(crate) fn draw(group: &mut Group<'_>, destination: &str, key: &str) -> rusqlite::Result<i64> {
    group.sql(Sql::LaneNext)?.query_row([destination, key], |row| row.get(0))
}

/// A new command came to the lane: alone there, it has the turn.
pub(crate) fn arrive(group: &mut Group<'_>, lane: Lane<'_>, n: i64) -> rusqlite::Result<()> {
    match find(group, Sql::LaneFirst, lane)? {
        Some(first) if first.n == n => promote(group, n),
        Some(first) if first.state.is_some_and(State::is_parked) => turn(group, lane, None),
        _ => Ok(()),
    }
}

/// Gives the turn to whom it belongs. `on_parked`: by the stored contract, where it is not known.
pub(crate) fn turn(
    group: &mut Group<'_>,
    lane: Lane<'_>,
    on_parked: Option<OnParked>,
) -> rusqlite::Result<()> {
    let on_parked = match on_parked {
        Some(on_parked) => on_parked,
        None => destination::on_parked(group, lane.destination)?,
    };
    let first = match on_parked {
        OnParked::Block => find(group, Sql::LaneFirst, lane)?,
        OnParked::Skip => find(group, Sql::LaneFirstWaiting, lane)?,
    };
    // Most lanes are empty after an end: then who has the turn is not asked.
    let Some(first) = first else { return Ok(()) };
    if let Some(holder) = find(group, Sql::LaneTurn, lane)? {
        if !holder.waits() || holder.n == first.n || first.key_seq > holder.key_seq {
            return Ok(());
        }
        group.sql(Sql::LaneYield)?.execute([holder.n])?;
    }
    if first.waits() { promote(group, first.n) } else { Ok(()) }
}

fn find(group: &mut Group<'_>, sql: Sql, lane: Lane<'_>) -> rusqlite::Result<Option<Standing>> {
    group.sql(sql)?.query_row([lane.destination, lane.key], Standing::read).optional()
}

fn promote(group: &mut Group<'_>, n: i64) -> rusqlite::Result<()> {
    let now = group.now.get();
    group.sql(Sql::LanePromote)?.execute(params![n, now]).map(drop)
}

/// The delivery as it may be written: in a lane the turn is given, not taken.
pub(crate) fn without_turn(before: Option<&Delivery>, mut next: Delivery) -> Delivery {
    let had_it = before.is_some_and(|before| before.available_at.is_some());
    if next.key_seq.is_some() && !had_it && !lane::is_in_flight(next.state) {
        next.available_at = None;
    }
    next
}
