//! The upkeep of inputs that no program is served: adopts, expires, and sets aside.
//!
//! Guarantees: all that are aside are looked at in turn, a few at a time; with nothing to do it
//! only reads; what is taken away is recorded. Does not: take away what waits for a workflow that
//! stands, nor a start that can be read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{Micros, Span};
use counterfoil_core::port::workflow::{EXPIRE_ACTOR, EXPIRE_VERB, Kept, expire_reason};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::due::texts;
use super::ended;
use crate::group::Group;
use crate::member::Work;
use crate::pause::{Action, insert_action};
use crate::row::{Stored, int, lossy, stored, time};
use crate::sql::Sql;

/// So many that cannot be read are remembered; the rest is met again.
const NOTED_MAX: usize = 1000;

/// Where a store's upkeep is among the inputs, and what reads have met that cannot be read.
#[derive(Default)]
pub(crate) struct InputCursor(Mutex<Place>);

#[derive(Default)]
struct Place {
    after: (Vec<u8>, Vec<u8>),
    unreadable: BTreeSet<i64>,
    /// Among those that wait for a program: the last one's, and its arrival.
    served_to: (Vec<u8>, i64),
    /// What has come to workflows that have ended.
    ended: BTreeSet<i64>,
}

impl InputCursor {
    /// An input cannot be read: the next upkeep sets it aside.
    pub(crate) fn note(&self, rowid: i64) {
        let mut place = self.lock();
        if place.unreadable.len() < NOTED_MAX {
            place.unreadable.insert(rowid);
        }
    }

    /// Where the upkeep is among those that wait for a program.
    pub(super) fn served_to(&self) -> (Vec<u8>, i64) {
        self.lock().served_to.clone()
    }

    /// So far it has come, and has met these of workflows that have ended.
    pub(super) fn met(&self, served_to: (Vec<u8>, i64), ended: Vec<i64>) {
        let mut place = self.lock();
        place.served_to = served_to;
        let room = NOTED_MAX.saturating_sub(place.ended.len());
        place.ended.extend(ended.into_iter().take(room));
    }

    /// Takes one of those that were met.
    pub(super) fn next_ended(&self) -> Option<i64> {
        self.lock().ended.pop_first()
    }

    fn lock(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One upkeep.
pub(crate) struct Keep {
    pub(crate) limit: usize,
    pub(crate) orphans_after: Span,
    pub(crate) cursor: Arc<InputCursor>,
}

/// An input that is aside.
struct Aside {
    rowid: i64,
    stream: Vec<u8>,
    id: Vec<u8>,
    todo: Todo,
}

enum Todo {
    Nothing,
    /// Its workflow has come.
    Adopt(String),
    /// It waited for too long: why it is taken away.
    Expire(String),
}

impl Work for Keep {
    type Answer = Kept;

    fn size(&self) -> usize {
        self.limit
    }

    fn peek(&self, store: &Connection, now: Micros) -> rusqlite::Result<Option<Kept>> {
        let after = {
            let place = self.cursor.lock();
            if !place.unreadable.is_empty() {
                return Ok(None);
            }
            place.after.clone()
        };
        let (page, more) = self.look(store, &after, now)?;
        if page.iter().any(|aside| !matches!(aside.todo, Todo::Nothing)) {
            return Ok(None);
        }
        self.go_on(&page, more);
        let ended = ended::meet(store, &self.cursor, self.limit)?;
        Ok(Some(Kept { ended, more, ..Kept::default() }))
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Kept> {
        let noted: Vec<_> = self.cursor.lock().unreadable.iter().copied().collect();
        for rowid in noted.into_iter().take(self.limit) {
            set_aside(group, rowid)?;
            self.cursor.lock().unreadable.remove(&rowid);
        }
        let after = self.cursor.lock().after.clone();
        let (page, more) = self.look(group.connection, &after, group.now)?;
        let mut kept = Kept::default();
        for aside in &page {
            match &aside.todo {
                Todo::Nothing => {}
                Todo::Adopt(program) => {
                    group.sql(Sql::InputAdopt)?.execute(params![aside.rowid, program])?;
                    group.gave_input();
                    kept.adopted += 1;
                }
                Todo::Expire(why) => {
                    expire(group, aside, why)?;
                    kept.expired += 1;
                }
            }
        }
        self.go_on(&page, more);
        kept.ended = ended::meet(group.connection, &self.cursor, self.limit)?;
        kept.more = more || !self.cursor.lock().unreadable.is_empty();
        Ok(kept)
    }
}

impl Keep {
    /// The next inputs that are aside, `limit` at most, what is to be done about each, and whether
    /// more follow.
    fn look(
        &self,
        store: &Connection,
        (stream, id): &(Vec<u8>, Vec<u8>),
        now: Micros,
    ) -> rusqlite::Result<(Vec<Aside>, bool)> {
        let mut aside = store.prepare_cached(Sql::InputAside.text())?;
        let mut rows = aside.query(params![Stored(stream), Stored(id)])?;
        let mut page: Vec<Aside> = Vec::new();
        let mut starts = Starts::new(store);
        while let Some(row) = rows.next()? {
            if page.len() >= self.limit {
                return Ok((page, true));
            }
            let todo = self.todo(row, now, &mut starts)?;
            let stream = stored(row, 1)?.unwrap_or_default();
            let id = stored(row, 2)?.unwrap_or_default();
            page.push(Aside { rowid: int(row, 0)?.unwrap_or(0), stream, id, todo });
        }
        Ok((page, false))
    }

    fn todo(&self, row: &Row<'_>, now: Micros, starts: &mut Starts<'_>) -> rusqlite::Result<Todo> {
        let read = texts(row, 1)?;
        if let Some(program) = lossy(row, 7)? {
            let status = lossy(row, 9)?.and_then(|status| Status::from_name(&status));
            let is_served = status.is_some_and(|status| status != Status::Quarantined);
            return Ok(match (read, int(row, 8)?) {
                (Some(_), Some(version)) if is_served => {
                    Todo::Adopt(format!("{program}/{version}"))
                }
                _ => Todo::Nothing,
            });
        }
        if let Some((_, _, InputKind::Start, name)) = read {
            return Ok(Todo::Adopt(name));
        }
        let old = time(row, 6)?.is_some_and(|at| at.plus(self.orphans_after) <= now);
        if !old || starts.wait(&stored(row, 1)?.unwrap_or_default())? {
            return Ok(Todo::Nothing);
        }
        let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
        Ok(Todo::Expire(expire_reason(&text(2)?, &text(3)?, &text(4)?)))
    }

    /// Goes on after the page, or from the beginning.
    fn go_on(&self, page: &[Aside], more: bool) {
        let last = page.last().filter(|_| more);
        let after = last.map(|last| (last.stream.clone(), last.id.clone()));
        self.cursor.lock().after = after.unwrap_or_default();
    }
}

/// Whether a start waits in the stream that was asked about last.
pub(crate) struct Starts<'c> {
    store: &'c Connection,
    last: Option<(Vec<u8>, bool)>,
}

impl<'c> Starts<'c> {
    pub(crate) const fn new(store: &'c Connection) -> Self {
        Self { store, last: None }
    }

    pub(crate) fn wait(&mut self, stream: &[u8]) -> rusqlite::Result<bool> {
        if let Some((last, waits)) = &self.last
            && last == stream
        {
            return Ok(*waits);
        }
        let mut starts = self.store.prepare_cached(Sql::InputStarts.text())?;
        let waits = starts.exists([Stored(stream)])?;
        self.last = Some((stream.to_vec(), waits));
        Ok(waits)
    }
}

/// Sets an input aside if it still cannot be read.
fn set_aside(group: &mut Group<'_>, rowid: i64) -> rusqlite::Result<()> {
    let readable =
        group.sql(Sql::InputTexts)?.query_row([rowid], |row| texts(row, 0)).optional()?;
    if let Some(None) = readable {
        group.sql(Sql::InputSetAside)?.execute([rowid])?;
    }
    Ok(())
}

fn expire(group: &mut Group<'_>, aside: &Aside, why: &str) -> rusqlite::Result<()> {
    group.sql(Sql::InputRemove)?.execute([aside.rowid])?;
    let about = String::from_utf8_lossy(&aside.stream);
    let action = Action { verb: EXPIRE_VERB, about: &about, actor: EXPIRE_ACTOR };
    insert_action(group, &action, Some(why), (Some("waiting"), "gone"))
}
