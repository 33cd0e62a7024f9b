//! Lanes: who goes next among the commands of one ordering key.
//!
//! Guarantees: whoever has the turn has an `available_at`, and its lane's number as `turn`, which a
//! unique index lets one have; the turn goes on in the transaction that frees it. Does not: give on
//! what a stranger's statement frees; that leaves a note, and a sweep does.

mod cursor;

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{Delivery, State, lane};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::destination;
use crate::group::Group;
use crate::row::{self, Stored};
use crate::sql::Sql;

pub(crate) use cursor::LaneCursor;

/// A lane, by its destination and key as they are stored: a stranger's key need not be UTF-8, and
/// its lane goes on all the same.
#[derive(Clone, Copy)]
pub(crate) struct Lane<'a> {
    pub(crate) destination: &'a [u8],
    pub(crate) key: &'a [u8],
}

impl<'a> Lane<'a> {
    /// Of names that are UTF-8.
    pub(crate) const fn of(destination: &'a str, key: &'a str) -> Self {
        Self { destination: destination.as_bytes(), key: key.as_bytes() }
    }

    /// As statements take it.
    pub(crate) const fn name(self) -> [Stored<'a>; 2] {
        [Stored(self.destination), Stored(self.key)]
    }
}

/// One command of a lane.
struct Standing {
    n: i64,
    state: Option<State>,
    key_seq: i64,
}

impl Standing {
    /// Its columns stand from `at`.
    fn read(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        let name = row::lossy(row, at + 1)?.unwrap_or_default();
        let n = row::int(row, at)?.unwrap_or(0);
        let key_seq = row::int(row, at + 2)?.unwrap_or(0);
        Ok(Self { n, state: State::from_name(&name), key_seq })
    }

    fn waits(&self) -> bool {
        self.state == Some(State::Pending)
    }
}

/// A lane as its row says it.
struct Told {
    /// Its number: what whoever has the turn carries.
    number: i64,
    holder: Option<Standing>,
}

impl Told {
    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let Some(number) = row::int(row, 0)? else { return Ok(None) };
        let holder = match row::int(row, 1)? {
            Some(_) => Some(Standing::read(row, 1)?),
            None => None,
        };
        Ok(Some(Self { number, holder }))
    }
}

/// What a new command of a lane is given.
pub(crate) struct Arrival {
    /// Its place.
    pub(crate) key_seq: i64,
    /// The number of the lane, if it has the turn: it is alone there.
    pub(crate) turn: Option<i64>,
    /// Nobody has the turn, though others are there: it is to be given anew.
    pub(crate) is_freed: bool,
}

/// Draws the next place of a lane for the command `n`.
pub(crate) fn draw(group: &mut Group<'_>, lane: Lane<'_>, n: i64) -> rusqlite::Result<Arrival> {
    let drawn = params![Stored(lane.destination), Stored(lane.key), n];
    let (key_seq, number) =
        group.sql(Sql::LaneNext)?.query_row(drawn, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let others = key_seq > 1;
    if others && group.sql(Sql::LaneHasTurn)?.exists([number])? {
        return Ok(Arrival { key_seq, turn: None, is_freed: false });
    }
    let is_freed = others && find(group, Sql::LaneFirst, lane)?.is_some();
    Ok(Arrival { key_seq, turn: (!is_freed).then_some(number), is_freed })
}

/// Takes back the place of the newest command of a lane, which is refused in the transaction that
/// drew it.
pub(crate) fn take_back(group: &mut Group<'_>, n: i64) -> rusqlite::Result<()> {
    group.sql(Sql::LaneBack)?.execute([n])?;
    group.sql(Sql::LaneUnmake)?.execute([n]).map(drop)
}

/// Gives the turn to whom it belongs; whether it was given. `on_parked`: by the stored contract,
/// where it is not known.
pub(crate) fn turn(
    group: &mut Group<'_>,
    lane: Lane<'_>,
    on_parked: Option<OnParked>,
) -> rusqlite::Result<bool> {
    // Most lanes are empty after an end: then nothing else is asked.
    let Some(first) = find(group, Sql::LaneFirst, lane)? else { return Ok(false) };
    let on_parked = match on_parked {
        Some(on_parked) => on_parked,
        None => destination::on_parked(group, &String::from_utf8_lossy(lane.destination))?,
    };
    let first = match on_parked {
        OnParked::Skip if !first.waits() => match find(group, Sql::LaneFirstWaiting, lane)? {
            Some(first) => first,
            None => return Ok(false),
        },
        OnParked::Block | OnParked::Skip => first,
    };
    let told = group.sql(Sql::LaneTurn)?.query_row(lane.name(), Told::read);
    // A lane that lost its row stands still until the audit is heard.
    let Some(Told { number, holder }) = told.optional()?.flatten() else { return Ok(false) };
    if let Some(holder) = holder {
        if !holder.waits() || first.key_seq > holder.key_seq {
            return Ok(false);
        }
        group.sql(Sql::LaneYield)?.execute([holder.n])?;
    }
    if !first.waits() {
        return Ok(false);
    }
    let now = group.now.get();
    Ok(group.sql(Sql::LanePromote)?.execute(params![first.n, now, number])? == 1)
}

fn find(group: &mut Group<'_>, sql: Sql, lane: Lane<'_>) -> rusqlite::Result<Option<Standing>> {
    group.sql(sql)?.query_row(lane.name(), |row| Standing::read(row, 0)).optional()
}

/// The delivery as it may be written: in a lane the turn is given, not taken.
pub(crate) fn without_turn(before: Option<&Delivery>, mut next: Delivery) -> Delivery {
    let had_it = before.is_some_and(|before| before.available_at.is_some());
    if next.key_seq.is_some() && !had_it && !lane::is_in_flight(next.state) {
        next.available_at = None;
    }
    next
}
