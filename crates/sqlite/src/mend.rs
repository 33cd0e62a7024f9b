//! Gives a command that has neither a delivery nor a receipt a delivery again: uncertain.
//!
//! Guarantees: nothing is sent by it, since nobody knows what became of the command; in a lane it
//! gets a place that no other holds, between those recorded before it and after it. Does not: mend
//! where the lane has no such place left, because its row was lost or a place was given twice: then
//! the audit tells both until the lane is put right.

use counterfoil_core::domain::{Micros, Token};
use counterfoil_core::port::Actor;
use rusqlite::{OptionalExtension as _, params};

use crate::claim::digests;
use crate::group::Group;
use crate::lane::Lane;
use crate::member::Work;
use crate::pause::{Action, insert_action};
use crate::row::{self, Bytes32, int, stored};
use crate::sql::Sql;

/// What stands as the last outcome of a mended one.
const WHY: &str = "mended: its delivery was missing, so what became of it is not known";

/// Commands to be mended.
pub(crate) struct Mend {
    pub(crate) command_ids: Vec<String>,
    pub(crate) actor: Actor,
}

/// A command that is neither open nor ended.
struct Lost {
    n: i64,
    destination: Vec<u8>,
    ordering_key: Option<Vec<u8>>,
    /// The newest that its attempts tell of.
    token: Option<i64>,
}

impl Work for Mend {
    /// How many were mended.
    type Answer = u64;

    fn size(&self) -> usize {
        self.command_ids.len().saturating_mul(2)
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<u64> {
        let mut count = 0;
        for id in &self.command_ids {
            count += u64::from(self.mend(group, id)?);
        }
        Ok(count)
    }
}

impl Mend {
    fn mend(&self, group: &mut Group<'_>, id: &str) -> rusqlite::Result<bool> {
        let lost = group.sql(Sql::MendLost)?.query_row([id], |row| {
            Ok(Lost {
                n: int(row, 0)?.unwrap_or_default(),
                destination: stored(row, 1)?.unwrap_or_default(),
                ordering_key: stored(row, 2)?,
                token: int(row, 3)?,
            })
        });
        let Some(lost) = lost.optional()? else { return Ok(false) };
        let place = match lost.place(group)? {
            Some(place) => Some(place),
            None if lost.ordering_key.is_some() => return Ok(false),
            None => None,
        };
        // Each of these acts began a round, and no receipt is left of one that did.
        let mut begun = group.sql(Sql::ActionClearing)?.query([id])?;
        let mut round = 1;
        while begun.next()?.is_some() {
            round += 1;
        }
        drop(begun);
        let now = group.now;
        // Whoever still holds a lease of it settles late.
        let token = Token::new(lost.token.unwrap_or_default()).next(now);
        let now = Micros::get(now);
        // What stands is what it is held to from now on; what cannot be read has no digest.
        let command = group
            .sql(Sql::OutboxRow)?
            .query_row([lost.n], |row| row::outbox(row, 0, usize::MAX).map(Result::ok))?;
        let (digest, row_digest) = command.as_ref().map(digests).unzip();
        let (digest, row_digest) = (Bytes32(digest), Bytes32(row_digest));
        let delivery = params![lost.n, round, token.get(), place, now, WHY, digest, row_digest];
        group.sql(Sql::MendDelivery)?.execute(delivery)?;
        let action = Action { verb: "mend", about: id, actor: &self.actor.name };
        let reason = Some(self.actor.reason.as_str()).filter(|reason| !reason.is_empty());
        insert_action(group, &action, reason, (Some("missing"), "uncertain"))?;
        Ok(true)
    }
}

impl Lost {
    /// A place of its lane that is free: places follow the order of recording.
    fn place(&self, group: &mut Group<'_>) -> rusqlite::Result<Option<i64>> {
        let Some(key) = &self.ordering_key else { return Ok(None) };
        let lane = Lane { destination: &self.destination, key };
        let last = group.sql(Sql::LaneLast)?.query_row(lane.name(), |row| row.get::<_, i64>(0));
        let Some(last) = last.optional()? else { return Ok(None) };
        let (before, lost_between) = self.neighbour(group, lane, Sql::LanePlacesBefore)?;
        let (after, _) = self.neighbour(group, lane, Sql::LanePlacesAfter)?;
        let place = before.unwrap_or_default() + lost_between + 1;
        let is_free = place <= last && after.is_none_or(|after| place < after);
        Ok(is_free.then_some(place))
    }

    /// The place of the nearest that holds one, and how many between have lost theirs.
    fn neighbour(
        &self,
        group: &mut Group<'_>,
        lane: Lane<'_>,
        sql: Sql,
    ) -> rusqlite::Result<(Option<i64>, i64)> {
        let [destination, key] = lane.name();
        let mut rows = group.sql(sql)?.query(params![destination, key, self.n])?;
        let mut lost = 0;
        while let Some(row) = rows.next()? {
            match int(row, 0)? {
                Some(place) => return Ok((Some(place), lost)),
                None => lost += 1,
            }
        }
        Ok((None, lost))
    }
}
