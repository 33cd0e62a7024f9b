//! Appends a decision, events and commands whole, on the store's own connection.
//!
//! Guarantees: all of it or nothing; the stream's next seq and no cause twice; ids made of stream,
//! last seq and index; an id that is taken is a conflict, whatever stands under it. Does not:
//! decide anew after a version conflict; the caller loads the stream again.

use std::collections::BTreeSet;

use counterfoil_core::domain::command::CommandRefused;
use counterfoil_core::domain::{CommandId, Event, Micros, Stream};
use counterfoil_core::port::store::{Append, Appended, WriteRefused};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::enqueue::{Place, check, insert};
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
        let planned = plan(&append, body_bytes_max)?;
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
        let actual = group.sql(Sql::EventHead)?.query_row([stream], |row| row.get(0))?;
        if let Err(refused) = check_version(append, actual) {
            return Ok(Err(refused));
        }
        for cause in append.events.iter().filter_map(|event| event.cause.as_deref()) {
            if group.sql(Sql::EventCause)?.exists(params![stream, cause])? {
                return Ok(Err(cause_taken(&append.stream, cause)));
            }
        }
        if let Some(taken) = insert_commands(group, append, planned)? {
            return Ok(Err(WriteRefused::Conflict { id: taken.to_string() }));
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

/// Checks what needs no store, and names the commands.
pub(crate) fn plan(append: &Append, body_bytes_max: usize) -> Result<Appended, WriteRefused> {
    if append.events.is_empty() {
        return Err(WriteRefused::NoEvent { stream: append.stream.to_string() });
    }
    let mut causes = BTreeSet::new();
    for event in &append.events {
        check_event(event, &append.stream, body_bytes_max)?;
        if let Some(cause) = event.cause.as_deref().filter(|cause| !causes.insert(*cause)) {
            return Err(cause_taken(&append.stream, cause));
        }
    }
    let events = i64::try_from(append.events.len()).unwrap_or(i64::MAX);
    let seq = append.expected_seq.saturating_add(events);
    let mut command_ids = Vec::with_capacity(append.commands.len());
    for (idx, command) in append.commands.iter().enumerate() {
        let id = CommandId::of_decision(&append.stream, seq, idx).map_err(CommandRefused::from)?;
        check(command, &id, body_bytes_max)?;
        command_ids.push(id);
    }
    Ok(Appended { seq, command_ids })
}

pub(crate) fn check_version(append: &Append, actual: i64) -> Result<(), WriteRefused> {
    if actual == append.expected_seq {
        return Ok(());
    }
    let (stream, expected) = (append.stream.to_string(), append.expected_seq);
    Err(WriteRefused::VersionConflict { stream, expected, actual })
}

pub(crate) fn cause_taken(stream: &Stream, cause: &str) -> WriteRefused {
    WriteRefused::CauseTaken { stream: stream.to_string(), cause: cause.into() }
}

/// The events with their seq and how many commands each says it issued: all of a decision's
/// commands count on its last event.
pub(crate) fn numbered(append: &Append) -> impl Iterator<Item = (i64, i64, &Event)> {
    let last = append.events.len();
    let commands = i64::try_from(append.commands.len()).unwrap_or(i64::MAX);
    let seqs = append.expected_seq.saturating_add(1)..;
    let events = append.events.iter().enumerate();
    seqs.zip(events)
        .map(move |(seq, (at, event))| (seq, if at + 1 == last { commands } else { 0 }, event))
}

fn check_event(event: &Event, stream: &Stream, body_bytes_max: usize) -> Result<(), WriteRefused> {
    let id = || format!("(event {} of stream {stream})", event.kind);
    let max = body_bytes_max.min(counterfoil_core::domain::command::BODY_BYTES_LIMIT);
    let len = event.body.len();
    if len > max {
        return Err(CommandRefused::BodyTooLong { id: id(), len, max }.into());
    }
    let fits = |cause: &str| {
        (1..=255).contains(&cause.len()) && !cause.bytes().any(|byte| byte < 0x20 || byte == 0x7f)
    };
    if event.cause.as_deref().is_none_or(fits) {
        return Ok(());
    }
    let why = "must be 1 to 255 bytes without control characters".into();
    Err(CommandRefused::Value { id: id(), what: "cause", why }.into())
}

/// Inserts the commands first, since they may be refused; takes them back if one is, and names it.
fn insert_commands<'a>(
    group: &mut Group<'_>,
    append: &Append,
    planned: &'a Appended,
) -> rusqlite::Result<Option<&'a CommandId>> {
    let mut inserted = Vec::new();
    for ((idx, id), command) in (0..).zip(&planned.command_ids).zip(&append.commands) {
        let place = Place { stream: append.stream.as_str(), seq: planned.seq, idx };
        let is_archived = group.sql(Sql::ArchivedRow)?.exists([id.as_str()])?;
        let n = if is_archived { None } else { insert(group, id, Some(place), command)? };
        let Some(n) = n else {
            for n in inserted.into_iter().rev() {
                lane::take_back(group, n)?;
                group.sql(Sql::OutboxRemove)?.execute([n])?;
                group.sql(Sql::DeliveryRemove)?.execute([n])?;
            }
            return Ok(Some(id));
        };
        inserted.push(n);
    }
    Ok(None)
}

fn insert_events(group: &mut Group<'_>, append: &Append) -> rusqlite::Result<()> {
    let now = Micros::get(group.now);
    let statement = group.sql(Sql::EventInsert)?;
    for (seq, commands, event) in numbered(append) {
        statement.execute(params![
            append.stream.as_str(),
            seq,
            event.kind.as_str(),
            Shown(&event.body),
            event.cause,
            commands,
            now,
        ])?;
    }
    Ok(())
}
