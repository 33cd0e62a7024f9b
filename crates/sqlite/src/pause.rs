//! Pauses a destination for all relays.
//!
//! Guarantees: the pause and the record of who made it are one write; a destination that is paused
//! stays as it is. Does not: stop what is in flight; a pause stops claims.

use counterfoil_core::domain::{Destination, Micros};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::group::Group;
use crate::member::Work;
use crate::sql::Sql;

/// One pause.
pub(crate) struct Pause {
    pub(crate) destination: Destination,
    pub(crate) actor: String,
    pub(crate) reason: String,
}

impl Work for Pause {
    /// Whether it was running before.
    type Answer = bool;

    fn size(&self) -> usize {
        2
    }

    /// A pause that stands needs no write.
    fn peek(&self, store: &Connection, _: Micros) -> rusqlite::Result<Option<bool>> {
        let mut row = store.prepare_cached(Sql::DestinationRow.text())?;
        let paused = row.query_row([self.destination.as_str()], |row| row.get(1)).optional()?;
        Ok(if paused == Some(true) { Some(false) } else { None })
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<bool> {
        let Self { destination, actor, reason } = self;
        let now = group.now.get();
        let pause = group.sql(Sql::DestinationPause)?;
        if pause.execute(params![destination.as_str(), now, actor, reason])? == 0 {
            return Ok(false);
        }
        let action = Action { verb: "pause", about: destination.as_str(), actor };
        insert_action(group, &action, Some(reason), (Some("running"), "paused"))?;
        Ok(true)
    }
}

/// Lets a paused destination go on.
pub(crate) struct Resume {
    pub(crate) destination: Destination,
    pub(crate) actor: String,
    /// Empty: none was given.
    pub(crate) reason: String,
}

impl Work for Resume {
    /// Whether it was paused.
    type Answer = bool;

    fn size(&self) -> usize {
        2
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<bool> {
        let Self { destination, actor, reason } = self;
        if group.sql(Sql::DestinationResume)?.execute([destination.as_str()])? == 0 {
            return Ok(false);
        }
        let action = Action { verb: "resume", about: destination.as_str(), actor };
        let reason = Some(reason.as_str()).filter(|reason| !reason.is_empty());
        insert_action(group, &action, reason, (Some("paused"), "running"))?;
        Ok(true)
    }

    fn wakes(&self, resumed: &bool) -> bool {
        *resumed
    }
}

/// What somebody did, to what.
pub(crate) struct Action<'a> {
    pub(crate) verb: &'a str,
    pub(crate) about: &'a str,
    pub(crate) actor: &'a str,
}

/// Keeps the record of an action: how it was before, where that is one thing, and after.
pub(crate) fn insert_action(
    group: &mut Group<'_>,
    action: &Action<'_>,
    reason: Option<&str>,
    (before, after): (Option<&str>, &str),
) -> rusqlite::Result<()> {
    let now = group.now.get();
    let Action { verb, about, actor } = action;
    let insert = group.sql(Sql::ActionInsert)?;
    insert.execute(params![verb, about, actor, reason, before, after, now]).map(drop)
}
