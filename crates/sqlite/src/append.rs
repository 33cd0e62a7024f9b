//! Appends a decision, events and commands whole, on the store's own connection.
//!
//! Guarantees: all of it or nothing; the stream's next seq and no cause twice; ids made of stream,
//! last seq and index; an id that is taken is a conflict, whatever stands under it. Does not:
//! decide anew after a version conflict; the caller loads the stream again.

use counterfoil_core::domain::{Command, CommandId, Event, Micros};
use counterfoil_core::port::intent;
use counterfoil_core::port::store::{Append, Appended, WriteRefused};
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, params};

use crate::enqueue::{Place, insert};
use crate::group::Group;
use crate::lane;
use crate::member::Work;
use crate::row::{Shown, bytes};
use crate::sql::Sql;

/// One decision.
pub(crate) struct Decision {
    append: Append,
    planned: Appended,
}

impl Decision {
    /// Checks on the caller's own thread what can be checked without the store.
    pub(crate) fn new(append: Append, body_bytes_max: usize) -> Result<Self, WriteRefused> {
        let planned = intent::plan(&append, body_bytes_max)?;
        Ok(Self { append, planned })
    }
}

impl Work for Decision {
    type Answer = Result<Appended, WriteRefused>;

    fn size(&self) -> usize {
        self.append.events.len() + self.append.commands.len().saturating_mul(2)
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Self::Answer> {
        let (append, planned) = (&self.append, &self.planned);
        let stream = append.stream.as_str();
        let head =
            group.sql(Sql::EventHead)?.query_row([stream], |row| Ok((row.get(0)?, row.get(1)?)));
        let (actual, is_workflow) = head?;
        if let Err(refused) = intent::check_place(append, actual, is_workflow) {
            return Ok(Err(refused));
        }
        for cause in append.events.iter().filter_map(|event| event.cause.as_deref()) {
            if group.sql(Sql::EventCause)?.exists(params![stream, cause])? {
                return Ok(Err(intent::cause_taken(&append.stream, cause)));
            }
        }
        let mut inserted = Vec::new();
        if let Some(taken) =
            insert_commands(group, stream, planned, &append.commands, &mut inserted)?
        {
            let refused = intent::conflict(taken);
            take_back(group, inserted)?;
            return Ok(Err(refused));
        }
        insert_events(group, append)?;
        Ok(Ok(planned.clone()))
    }

    fn stands(&self, store: &Connection, answer: &Self::Answer) -> rusqlite::Result<Option<bool>> {
        let (Ok(appended), Some(event)) = (answer, self.append.events.last()) else {
            return Ok(Some(true));
        };
        // The body of its last event and the ids of its commands tell it from another decision.
        let mut load = store.prepare_cached(Sql::EventLoad.text())?;
        let of_last = params![self.append.stream.as_str(), appended.seq - 1, 1];
        let same = load.query_row(of_last, |row| Ok(bytes(row, 3)? == Some(&event.body)));
        let mut number = store.prepare_cached(Sql::OutboxNumber.text())?;
        let issued = appended.command_ids.iter().map(|id| number.exists([id.as_str()]));
        let issued = issued.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(Some(same.optional()?.unwrap_or(false) && issued.into_iter().all(|stands| stands)))
    }

    fn wakes(&self, answer: &Self::Answer) -> bool {
        answer.as_ref().is_ok_and(|appended| !appended.command_ids.is_empty())
    }
}

/// Inserts the commands first, since they may be refused; names the first that is. The numbers of
/// those before it are in `inserted`, to be taken back.
pub(crate) fn insert_commands<'a>(
    group: &mut Group<'_>,
    stream: &str,
    planned: &'a Appended,
    commands: &[Command],
    inserted: &mut Vec<i64>,
) -> rusqlite::Result<Option<&'a CommandId>> {
    for ((idx, id), command) in (0..).zip(&planned.command_ids).zip(commands) {
        let place = Place { stream, seq: planned.seq, idx };
        let is_archived = group.sql(Sql::ArchivedRow)?.exists([id.as_str()])?;
        let n = if is_archived { None } else { insert(group, id, Some(place), command)? };
        let Some(n) = n else { return Ok(Some(id)) };
        inserted.push(n);
    }
    Ok(None)
}

/// Takes commands back that were inserted by this transaction.
pub(crate) fn take_back(group: &mut Group<'_>, inserted: Vec<i64>) -> rusqlite::Result<()> {
    for n in inserted.into_iter().rev() {
        lane::take_back(group, n)?;
        group.sql(Sql::OutboxRemove)?.execute([n])?;
        group.sql(Sql::DeliveryRemove)?.execute([n])?;
    }
    Ok(())
}

fn insert_events(group: &mut Group<'_>, append: &Append) -> rusqlite::Result<()> {
    let now = group.now;
    let stream = append.stream.as_str();
    let statement = group.sql(Sql::EventInsert)?;
    for (seq, commands, event) in intent::numbered(append) {
        insert_event(statement, (stream, seq, now), event, commands, None)?;
    }
    Ok(())
}

/// Inserts one event at its place and time.
pub(crate) fn insert_event(
    statement: &mut CachedStatement<'_>,
    (stream, seq, at): (&str, i64, Micros),
    event: &Event,
    commands: i64,
    decided: Option<&str>,
) -> rusqlite::Result<()> {
    let (kind, body, cause) = (event.kind.as_str(), Shown(&event.body), event.cause.as_deref());
    let event = params![stream, seq, kind, body, cause, commands, at.get(), decided];
    statement.execute(event).map(drop)
}
