//! What stays of an archived command: its row, read and written.
//!
//! Guarantees: a tombstone that stands is never written over. Does not: judge one that was changed
//! by hand; its `row_digest` tells.

use counterfoil_core::domain::Digest;
use counterfoil_core::port::archive::{Entry, Tombstone};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::group::Group;
use crate::row::{Bytes32, count, digest, lossy};
use crate::spelled::{self, Unspelled};
use crate::sql::Sql;

/// What will stay of this command; `None` where it has no receipt, no digest of its body is known,
/// or it is not what was sent: that must be seen for as long as it stands.
pub(crate) fn of(entry: &Entry, file: &str) -> Option<Tombstone> {
    let newest = entry.newest()?;
    let digest = match entry.erased_at {
        Some(_) => newest.digest?,
        None => {
            let body = Digest::of(&entry.outbox.body);
            let was_sent = |sent: Option<Digest>, stands| sent.is_none_or(|sent| sent == stands);
            let whole = entry.outbox.row_digest(body);
            let same = was_sent(newest.digest, body) && was_sent(newest.row_digest, whole);
            same.then_some(body)?
        }
    };
    let mut tombstone = Tombstone {
        command_id: entry.outbox.command_id.to_string(),
        destination: entry.outbox.destination.to_string(),
        kind: entry.outbox.kind.to_string(),
        ordering_key: entry.outbox.ordering_key.as_ref().map(ToString::to_string),
        digest,
        outcome: newest.receipt.outcome.name().into(),
        rounds: newest.receipt.round,
        file: file.into(),
        row_digest: None,
    };
    tombstone.row_digest = Some(tombstone.row_digest());
    Some(tombstone)
}

/// Writes it; whether none stood before.
pub(crate) fn insert(group: &mut Group<'_>, tombstone: &Tombstone) -> rusqlite::Result<bool> {
    let inserted = group.sql(Sql::ArchivedInsert)?.execute(params![
        tombstone.command_id,
        tombstone.destination,
        tombstone.kind,
        tombstone.ordering_key,
        Bytes32(Some(tombstone.digest)),
        tombstone.outcome,
        tombstone.rounds,
        tombstone.file,
        Bytes32(tombstone.row_digest),
    ])?;
    Ok(inserted == 1)
}

/// The tombstone of a command.
pub(crate) fn find(store: &Connection, command_id: &str) -> rusqlite::Result<Option<Tombstone>> {
    let mut whole = store.prepare_cached(Sql::ArchivedWhole.text())?;
    whole.query_row([command_id], read).optional()
}

/// How many tombstones stand.
pub(crate) fn count_all(store: &Connection) -> rusqlite::Result<i64> {
    store.prepare_cached(Sql::ArchivedCount.text())?.query_row([], |row| row.get(0))
}

/// The tombstones with a larger command id, at most `limit`, in order.
pub(crate) fn after(
    store: &Connection,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Vec<Tombstone>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut page = store.prepare_cached(Sql::ArchivedAfter.text())?;
    page.query_map(params![after.map(Unspelled::of), limit], read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Tombstone> {
    let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
    Ok(Tombstone {
        // Bytes that are none of an id must not stop the pages, which go on after it.
        command_id: spelled::column(row, 0)?,
        destination: text(1)?,
        kind: text(2)?,
        ordering_key: lossy(row, 3)?,
        // One that is none was changed by hand: the row's digest does not fit to this one either.
        digest: digest(row, 4)?.unwrap_or_else(|| Digest::of(b"")),
        outcome: text(5)?,
        rounds: count(row, 6)?,
        file: text(7)?,
        row_digest: digest(row, 8)?,
    })
}
