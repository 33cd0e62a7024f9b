//! Erases the content of one ended command on request.
//!
//! Guarantees: digests, receipts and the record of it are one write with the erasure; the bytes of
//! cleared rows are overwritten in the file. Does not: rewrite an archive's file; clear copies that
//! a backup, or the write-ahead log until its next reset, may hold.

use counterfoil_core::domain::{Digest, Position, Receipt};
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::{Erased, SealChange};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::group::Group;
use crate::member::Work;
use crate::pause::{Action, insert_action};
use crate::position;
use crate::row::{self, Bytes32, bytes, int};
use crate::seal;
use crate::sql::Sql;
use crate::tombstone;

/// One erasure.
pub(crate) struct Erasure {
    pub(crate) command_id: String,
    pub(crate) actor: Actor,
    pub(crate) reason: String,
    pub(crate) seal: Option<SealChange>,
}

impl Work for Erasure {
    type Answer = Erased;

    fn size(&self) -> usize {
        8
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Erased> {
        let connection = group.connection;
        overwrite(connection, true)?;
        let erased = self.erase(group);
        // Whatever came of it: for other work it costs too much.
        overwrite(connection, false)?;
        erased
    }

    fn stands(&self, store: &Connection, answer: &Erased) -> rusqlite::Result<Option<bool>> {
        Ok(match answer {
            Erased::Done => Some(find(store, &self.command_id)?.is_some_and(|known| known.1)),
            // What it recorded may be another's.
            Erased::Archived(_) => None,
            Erased::Repeated | Erased::Open | Erased::SealMoved | Erased::Unknown => Some(true),
        })
    }
}

impl Erasure {
    fn erase(&self, group: &mut Group<'_>) -> rusqlite::Result<Erased> {
        let Some((n, is_erased)) = find(group.connection, &self.command_id)? else {
            return self.erase_archived(group);
        };
        if is_erased {
            return Ok(Erased::Repeated);
        }
        let Some(Position::Ended(newest)) = position::read(group, n)?.map(|read| read.position)
        else {
            return Ok(Erased::Open);
        };
        if !self.change_seal(group)? {
            return Ok(Erased::SealMoved);
        }
        keep_digests(group, &newest)?;
        let now = group.now.get();
        group.sql(Sql::OutboxErase)?.execute([n, now])?;
        group.sql(Sql::ReceiptErase)?.execute([n])?;
        group.sql(Sql::AttemptErase)?.execute([n])?;
        self.clear_words(group, newest.outcome.name())?;
        Ok(Erased::Done)
    }

    fn erase_archived(&self, group: &mut Group<'_>) -> rusqlite::Result<Erased> {
        let Some(tombstone) = tombstone::find(group.connection, &self.command_id)? else {
            return Ok(Erased::Unknown);
        };
        let is_repeat = group.sql(Sql::EraseAgain)?.query_row([&self.command_id], |row| row.get(0));
        if is_repeat? {
            return Ok(Erased::Repeated);
        }
        if !self.change_seal(group)? {
            return Ok(Erased::SealMoved);
        }
        self.clear_words(group, &tombstone.outcome)?;
        Ok(Erased::Archived(tombstone))
    }

    fn change_seal(&self, group: &mut Group<'_>) -> rusqlite::Result<bool> {
        seal::turn(group, self.seal.as_ref())
    }

    /// Clears what reports and people said of it, and records the erasure.
    fn clear_words(&self, group: &mut Group<'_>, outcome: &str) -> rusqlite::Result<()> {
        let Self { command_id, actor, reason, .. } = self;
        group.sql(Sql::ContradictionErase)?.execute([command_id])?;
        group.sql(Sql::ActionErase)?.execute([command_id])?;
        let action = Action { verb: "erase", about: command_id, actor: &actor.name };
        let reason = [reason, &actor.reason].into_iter().find(|reason| !reason.is_empty());
        insert_action(group, &action, reason.map(String::as_str), (Some(outcome), "erased"))
    }
}

/// Whether somebody erased each of these.
pub(crate) fn erased(store: &Connection, ids: &[String]) -> rusqlite::Result<Vec<bool>> {
    let mut statement = store.prepare_cached(Sql::ActionErased.text())?;
    ids.iter().map(|id| statement.query_row([id], |row| row.get(0))).collect()
}

/// Its number, and whether it was erased before.
fn find(store: &Connection, id: &str) -> rusqlite::Result<Option<(i64, bool)>> {
    let mut act = store.prepare_cached(Sql::OutboxAct.text())?;
    act.query_row([id], |row| Ok((int(row, 0)?.unwrap_or_default(), row.get(4)?))).optional()
}

/// Writes the digests of what stands into the newest receipt, where none stand: it ended before its
/// first claim, or through plain SQL.
fn keep_digests(group: &mut Group<'_>, newest: &Receipt) -> rusqlite::Result<()> {
    let digests = group.sql(Sql::OutboxRow)?.query_row([newest.n], |row| {
        let body = Digest::of(bytes(row, 8)?.unwrap_or_default());
        // Of a row that cannot be read, the body's alone.
        let whole = row::outbox(row, 0, usize::MAX)?.ok().map(|row| row.row_digest(body));
        Ok((body, whole))
    });
    let Some((body, whole)) = digests.optional()? else { return Ok(()) };
    let (body, whole) = (Bytes32(Some(body)), Bytes32(whole));
    group.sql(Sql::ReceiptDigest)?.execute(params![newest.n, newest.round, body, whole]).map(drop)
}

/// Whether freed bytes are overwritten with zeros.
pub(crate) fn overwrite(connection: &Connection, on: bool) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "secure_delete", on, |_| Ok(()))
}
