//! The events of a stream, and what the audit wants to know of them.
//!
//! Guarantees: in order of seq. Does not: interpret a body.

use counterfoil_core::domain::event::EVENT_PAGE_BYTES;
use counterfoil_core::domain::laws::{BodyFacts, EventFacts};
use counterfoil_core::domain::{ArchivedBody, EventRow, IdRefused, Kind, Stream};
use counterfoil_core::port::seal::UnreadableEvent;
use rusqlite::{Connection, Row, params};

use crate::row::{bytes, digest, int, lossy, time};
use crate::spelled::{self, Unspelled};
use crate::sql::Sql;

/// The events after `after`, at most `limit`.
pub(crate) fn load(
    store: &Connection,
    stream: &Stream,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<EventRow>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = store.prepare_cached(Sql::EventLoad.text())?;
    let rows = statement.query_map(params![stream.as_str(), after, limit], whole)?;
    rows.collect()
}

/// The same, but that a page ends with the event by which it has [`EVENT_PAGE_BYTES`].
pub(crate) fn load_page(
    store: &Connection,
    stream: &Stream,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<EventRow>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = store.prepare_cached(Sql::EventLoad.text())?;
    let mut rows = statement.query(params![stream.as_str(), after, limit])?;
    let (mut page, mut held) = (Vec::new(), 0);
    while held < EVENT_PAGE_BYTES
        && let Some(row) = rows.next()?
    {
        let event = whole(row)?;
        held += event.bytes();
        page.push(event);
    }
    Ok(page)
}

/// The events after a stream and seq, whole, at most `limit`.
pub(crate) fn events(
    store: &Connection,
    after: Option<(String, i64)>,
    limit: usize,
) -> rusqlite::Result<Vec<Result<EventRow, UnreadableEvent>>> {
    let (stream, seq) = after.unwrap_or((String::new(), i64::MIN));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = store.prepare_cached(Sql::EventAfter.text())?;
    let rows = statement.query_map(params![Unspelled::of(&stream), seq, limit], |row| {
        Ok(match decoded(row)? {
            Ok(event) => Ok(event),
            Err(refused) => Err(UnreadableEvent {
                stream: spelled::column(row, 0)?,
                seq: int(row, 1)?.unwrap_or(0),
                why: refused.to_string(),
            }),
        })
    })?;
    rows.collect()
}

/// An event in the columns of `event_load.sql`.
pub(crate) fn whole(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    decoded(row)?.map_err(unreadable)
}

/// The same, where one that cannot be decoded must not stop the others.
fn decoded(row: &Row<'_>) -> rusqlite::Result<Result<EventRow, IdRefused>> {
    let stream = Stream::from_bytes(bytes(row, 0)?.unwrap_or_default());
    let kind = Kind::from_bytes(bytes(row, 2)?.unwrap_or_default());
    let (stream, kind) = match (stream, kind) {
        (Ok(stream), Ok(kind)) => (stream, kind),
        (Err(refused), _) | (_, Err(refused)) => return Ok(Err(refused)),
    };
    Ok(Ok(EventRow {
        stream,
        seq: int(row, 1)?.unwrap_or(0),
        kind,
        body: bytes(row, 3)?.unwrap_or_default().to_vec(),
        cause: lossy(row, 4)?,
        commands: int(row, 5)?.unwrap_or(0),
        recorded_at: time(row, 6)?.unwrap_or_default(),
        decided: lossy(row, 7)?,
        archived: match lossy(row, 8)? {
            Some(file) => Some(ArchivedBody { file, digest: digest(row, 9)? }),
            None => None,
        },
    }))
}

fn unreadable(refused: IdRefused) -> rusqlite::Error {
    let kind = rusqlite::types::Type::Text;
    rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(refused))
}

/// What stands about the events after a stream and seq, at most `limit`.
pub(crate) fn event_facts(
    store: &Connection,
    after: Option<(String, i64)>,
    limit: usize,
) -> rusqlite::Result<Vec<EventFacts>> {
    let (stream, seq) = after.unwrap_or((String::new(), i64::MIN));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = store.prepare_cached(Sql::EventFacts.text())?;
    let rows = statement.query_map(params![Unspelled::of(&stream), seq, limit], |row| {
        Ok(EventFacts {
            stream: spelled::column(row, 0)?,
            seq: int(row, 1)?.unwrap_or(0),
            seq_before: int(row, 3)?.unwrap_or(0),
            commands: int(row, 2)?.unwrap_or(0),
            found: 0,
            body: BodyFacts {
                file: lossy(row, 4)?,
                digest_bytes: int(row, 5)?,
                bytes: int(row, 6)?.unwrap_or(0),
                is_workflows: row.get(7)?,
            },
        })
    })?;
    let mut facts = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    for event in &mut facts {
        event.found = found(store, event)?;
    }
    Ok(facts)
}

/// How many commands carry that stream and seq. Their ids are generated, `{stream}:{seq}:{idx}`,
/// and `;` is the character after `:`; so the index of ids finds them.
fn found(store: &Connection, event: &EventFacts) -> rusqlite::Result<i64> {
    let EventFacts { stream, seq, commands, .. } = event;
    let (from, until) = (format!("{stream}:{seq}:"), format!("{stream}:{seq};"));
    let stream = Unspelled::of(stream);
    let mut outbox = store.prepare_cached(Sql::EventCommands.text())?;
    let open: i64 = outbox.query_row(params![from, until, stream, seq], |row| row.get(0))?;
    let mut archived = store.prepare_cached(Sql::EventArchived.text())?;
    let idx_at = i64::try_from(from.chars().count()).unwrap_or(i64::MAX).saturating_add(1);
    let ended = params![from, until, idx_at, commands];
    let ended: i64 = archived.query_row(ended, |row| row.get(0))?;
    Ok(open + ended)
}
