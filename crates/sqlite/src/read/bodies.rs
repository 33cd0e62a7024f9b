//! Events whose bodies may be archived, and those whose bodies are.
//!
//! Guarantees: a page looks at a bounded number of rows and holds a bounded number of bytes, so
//! that its snapshot is short; what must stay is counted by why. Does not: read what is no
//! workflow's.

use counterfoil_core::domain::workflow::Status;
use counterfoil_core::domain::{EventRow, Micros};
use counterfoil_core::port::bodies::{BODY_BYTES_MIN, BodyPage, Place};
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params};

use super::event::whole;
use crate::row::{int, lossy, time};
use crate::sql::Sql;

/// How many workflows a page looks at, and about how many events.
const LOOKS_MAX: i64 = 4096;
/// A page ends with the event that brings its bodies over so many bytes.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// One workflow as looked at.
struct Flow {
    stream: String,
    status: String,
    /// When its newest event was recorded.
    newest: Option<Micros>,
    /// How far its program's saved state reaches.
    saved: Option<i64>,
    /// The newest event that is archived; 0: none is.
    archived: i64,
    is_begun: bool,
}

impl Flow {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            stream: lossy(row, 0)?.unwrap_or_default(),
            status: lossy(row, 1)?.unwrap_or_default(),
            newest: time(row, 2)?,
            saved: int(row, 3)?,
            archived: int(row, 4)?.unwrap_or(0),
            is_begun: row.get(5)?,
        })
    }

    /// Up to which seq its bodies may leave; `None`: none may, and why is counted.
    fn until(&self, before: Micros, is_first: bool, page: &mut BodyPage) -> Option<i64> {
        let is_old = self.newest.is_some_and(|at| at < before);
        match Status::from_name(&self.status) {
            Some(status) if status.has_ended() && self.is_begun => is_old.then_some(i64::MAX),
            Some(Status::Running) if self.is_begun => {
                if self.saved.is_none() {
                    page.kept.without_snapshot += u64::from(is_old && is_first);
                }
                self.saved
            }
            _ => {
                page.kept.quarantined += u64::from(is_old && is_first);
                None
            }
        }
    }
}

/// The events after a place whose bodies may leave, at most `limit`.
pub(crate) fn old(
    store: &Connection,
    before: Micros,
    after: Option<Place>,
    limit: usize,
) -> rusqlite::Result<BodyPage> {
    let is_first_page = after.is_none();
    let (first, seq) = after.unwrap_or_default();
    let mut looking = Looking { before, limit: limit.max(1), page: BodyPage::default(), looks: 0 };
    let mut flows = store.prepare_cached(Sql::BodyStreams.text())?;
    let mut rows = flows.query(params![first, LOOKS_MAX])?;
    let mut last = None;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let flow = Flow::of(row)?;
        (count, looking.looks) = (count + 1, looking.looks + 1);
        let goes_on = flow.stream == first;
        if let Some(until) = flow.until(before, is_first_page || !goes_on, &mut looking.page) {
            let from = if goes_on { seq.max(flow.archived) } else { flow.archived };
            if let Some(place) = looking.events(store, &flow.stream, from, until)? {
                looking.page.next = Some(place);
                return Ok(looking.page);
            }
        }
        last = Some((flow.stream, i64::MAX));
        if looking.looks >= LOOKS_MAX {
            break;
        }
    }
    let more = count == LOOKS_MAX || looking.looks >= LOOKS_MAX;
    looking.page.next = last.filter(|_| more);
    Ok(looking.page)
}

/// A page while it is made.
struct Looking {
    before: Micros,
    limit: usize,
    page: BodyPage,
    looks: i64,
}

impl Looking {
    /// Adds the events of a stream after `from` up to `until`; where the page ended within it.
    fn events(
        &mut self,
        store: &Connection,
        stream: &str,
        mut from: i64,
        until: i64,
    ) -> rusqlite::Result<Option<Place>> {
        let mut head = store.prepare_cached(Sql::EventNewest.text())?;
        let head: Option<i64> = head.query_row([stream], |row| int(row, 0))?;
        let until = until.min(head.unwrap_or(0));
        let mut events = store.prepare_cached(Sql::BodyOld.text())?;
        while from < until {
            let to = until.min(from.saturating_add(LOOKS_MAX));
            let least = i64::try_from(BODY_BYTES_MIN).unwrap_or(i64::MAX);
            let mut rows = events.query(params![stream, from, to, self.before.get(), least])?;
            while let Some(row) = rows.next()? {
                if self.is_full() {
                    return Ok(Some((stream.to_owned(), from)));
                }
                from = int(row, 1)?.unwrap_or(from);
                match whole(row) {
                    Ok(event) => self.page.events.push(event),
                    Err(rusqlite::Error::FromSqlConversionFailure(..)) => {
                        self.page.kept.unreadable += 1;
                    }
                    Err(error) => return Err(error),
                }
            }
            (self.looks, from) = (self.looks.saturating_add(to - from), to);
            if from < until && self.looks >= LOOKS_MAX {
                return Ok(Some((stream.to_owned(), from)));
            }
        }
        Ok(None)
    }

    fn is_full(&self) -> bool {
        let bytes: usize = self.page.events.iter().map(|event| event.body.len()).sum();
        self.page.events.len() >= self.limit || bytes >= BYTES_MAX
    }
}

/// The event at a place; `None` where none stands or it cannot be read.
pub(crate) fn at(store: &Connection, stream: &str, seq: i64) -> rusqlite::Result<Option<EventRow>> {
    let mut event = store.prepare_cached(Sql::EventAt.text())?;
    match event.query_row(params![stream, seq], whole).optional() {
        Err(rusqlite::Error::FromSqlConversionFailure(..)) => Ok(None),
        found => found,
    }
}

/// The archived ones after a place, at most `limit`.
pub(crate) fn archived(
    store: &Connection,
    after: Option<Place>,
    limit: usize,
) -> rusqlite::Result<Vec<EventRow>> {
    let (stream, seq) = after.unwrap_or_default();
    all(store, Sql::BodyArchived, params![stream, seq, most(limit)])
}

/// The newest archived ones of a stream before a seq, at most `limit`.
pub(crate) fn archived_before(
    store: &Connection,
    stream: &str,
    before: i64,
    limit: usize,
) -> rusqlite::Result<Vec<EventRow>> {
    all(store, Sql::BodyArchivedBefore, params![stream, before, most(limit)])
}

fn all(store: &Connection, sql: Sql, params: impl Params) -> rusqlite::Result<Vec<EventRow>> {
    let mut events = store.prepare_cached(sql.text())?;
    events.query_map(params, whole)?.collect()
}

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
