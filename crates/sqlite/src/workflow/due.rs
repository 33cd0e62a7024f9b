//! Finds inputs that are due, and what a runner must know to decide them.
//!
//! Guarantees: reads only; what is due at once comes in order of arrival, then what has a time, by
//! it, and of one workflow whatever was due first; however much comes at once, a quarter of a page
//! is for what has a time; long bodies make a page short; last comes what the upkeep has met of
//! workflows that have ended; what cannot be read costs no other its place. Does not: set it aside;
//! it is noted for the upkeep.

use counterfoil_core::domain::workflow::{InputKind, Program, Status, pointed_to};
use counterfoil_core::domain::{Destination, Kind, Micros, ReceiptOutcome, Stream};
use counterfoil_core::port::workflow::{
    Behind, DUE_BYTES, DueFrom, DueInput, DueLists, Placed, ReceiptRead, Snapshot, Standing,
    ended_max, keys,
};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::ended;
use super::keep::InputCursor;
use crate::row::{bytes, int, lossy, time};
use crate::sql::Sql;

/// A page of inputs that are due.
pub(crate) fn due(
    store: &Connection,
    from: &DueFrom,
    cursor: &InputCursor,
    now: Micros,
) -> rusqlite::Result<Vec<DueInput>> {
    let keys = keys(&from.programs);
    let at_once = page(store, Sql::InputAtOnce, (from, &keys), cursor, now)?;
    let timed = page(store, Sql::InputTimed, (from, &keys), cursor, now)?;
    let ended = ended::due(store, &keys, cursor, ended_max(from.limit))?;
    let lists = DueLists::new(at_once, timed, from.limit.saturating_sub(ended.len()));
    let behind = lists.questions();
    let behind = behind.iter().map(|asked| stands_behind(store, asked));
    let behind: Vec<bool> = behind.collect::<rusqlite::Result<_>>()?;
    let mut page = lists.page(&behind);
    page.extend(ended);
    Ok(page)
}

/// Whether an input that was to come before another one stands behind what was read.
fn stands_behind(store: &Connection, asked: &Behind) -> rusqlite::Result<bool> {
    let Behind { stream, is_timed, after, before } = asked;
    let (stream, (due_at, arrival), before) = (stream.as_str(), after, before.get());
    if *is_timed {
        let mut behind = store.prepare_cached(Sql::InputTimedBehind.text())?;
        return behind.exists(params![stream, due_at.get(), arrival, before]);
    }
    let mut behind = store.prepare_cached(Sql::InputAtOnceBehind.text())?;
    behind.exists(params![stream, arrival, before])
}

/// The first that are due, and whether more may be.
fn page(
    store: &Connection,
    sql: Sql,
    (from, keys): (&DueFrom, &[String]),
    cursor: &InputCursor,
    now: Micros,
) -> rusqlite::Result<(Vec<Placed>, bool)> {
    let mut page = Vec::new();
    for key in keys {
        let mut statement = store.prepare_cached(sql.text())?;
        let mut rows = statement.query(params![key, now.get(), from.owner])?;
        let (mut found, mut held) = (0, 0);
        while found < from.limit
            && held <= DUE_BYTES
            && let Some(row) = rows.next()?
        {
            match read(store, row)? {
                Some(placed) => {
                    held += size(&placed);
                    page.push(placed);
                    found += 1;
                }
                None => cursor.note(int(row, 0)?.unwrap_or(0)),
            }
        }
    }
    match sql {
        Sql::InputTimed => page.sort_by_key(|one: &Placed| (one.at, one.arrival)),
        _ => page.sort_by_key(|one| one.arrival),
    }
    // What a program's bytes hold back comes behind this many of all.
    let mut held = 0;
    let fits = |placed: &&Placed| {
        let fits = held <= DUE_BYTES;
        held += size(placed);
        fits
    };
    let count = page.iter().take_while(fits).count();
    page.truncate(count);
    let is_cut = page.len() >= from.limit || held > DUE_BYTES;
    Ok((page, is_cut))
}

/// What an input has in memory, as far as strangers say it.
fn size(placed: &Placed) -> usize {
    let input = &placed.input;
    let result = input.receipt.as_ref().and_then(|receipt| receipt.result.as_deref());
    input.body.len() + result.map_or(0, <[u8]>::len)
}

/// The input; `None` where it cannot be read.
pub(super) fn read(store: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<Placed>> {
    let Some((stream, id, kind, name)) = texts(row, 1)? else { return Ok(None) };
    let Ok(standing) = standing_in(row, 7)? else { return Ok(None) };
    let receipt = match kind {
        InputKind::Receipt => match receipt(store, &stream, &id)? {
            Ok(receipt) => receipt,
            Err(Unreadable) => return Ok(None),
        },
        _ => None,
    };
    let body = bytes(row, 5)?.unwrap_or_default().to_vec();
    let (at, arrival) = (time(row, 6)?.unwrap_or_default(), int(row, 0)?.unwrap_or(0));
    let input = DueInput { stream, id, kind, name, body, standing, receipt };
    Ok(Some(Placed { at, arrival, input }))
}

/// Stream, id, kind and name in four columns from `at`; `None` where one cannot be read.
pub(crate) fn texts(
    row: &Row<'_>,
    at: usize,
) -> rusqlite::Result<Option<(Stream, String, InputKind, String)>> {
    let text =
        |at| Ok::<_, rusqlite::Error>(bytes(row, at)?.and_then(|b| std::str::from_utf8(b).ok()));
    let stream = bytes(row, at)?.and_then(|bytes| Stream::from_bytes(bytes).ok());
    let kind = text(at + 2)?.and_then(InputKind::from_name);
    let (Some(stream), Some(id), Some(kind), Some(name)) =
        (stream, text(at + 1)?, kind, text(at + 3)?)
    else {
        return Ok(None);
    };
    Ok(Some((stream, id.to_owned(), kind, name.to_owned())))
}

/// It stands, but cannot be read.
pub(crate) struct Unreadable;

/// The row of a workflow in four columns from `at`: workflow, version, status, head.
pub(crate) fn standing_in(
    row: &Row<'_>,
    at: usize,
) -> rusqlite::Result<Result<Option<Standing>, Unreadable>> {
    let Some(name) = lossy(row, at)? else { return Ok(Ok(None)) };
    let version = int(row, at + 1)?.and_then(|version| u32::try_from(version).ok());
    let program = version.and_then(|version| Program::new(name, version).ok());
    let status = lossy(row, at + 2)?.and_then(|status| Status::from_name(&status));
    let head = int(row, at + 3)?;
    let (Some(program), Some(status), Some(head)) = (program, status, head) else {
        return Ok(Err(Unreadable));
    };
    Ok(Ok(Some(Standing { program, status, head })))
}

/// The receipt to which an input points; `None` where there is none, or no such pointer.
fn receipt(
    store: &Connection,
    stream: &Stream,
    input: &str,
) -> rusqlite::Result<Result<Option<ReceiptRead>, Unreadable>> {
    let Some((command_id, seq, idx)) = pointed_to(stream, input) else { return Ok(Ok(None)) };
    let idx = i64::try_from(idx).unwrap_or(i64::MAX);
    let mut first = store.prepare_cached(Sql::ReceiptFirst.text())?;
    let of = params![command_id.as_str(), stream.as_str(), seq, idx];
    let read = first.query_row(of, |row| {
        let destination = bytes(row, 0)?.and_then(|bytes| Destination::from_bytes(bytes).ok());
        let kind = bytes(row, 1)?.and_then(|bytes| Kind::from_bytes(bytes).ok());
        let outcome = lossy(row, 2)?.and_then(|name| ReceiptOutcome::from_name(&name));
        let (Some(destination), Some(kind), Some(outcome)) = (destination, kind, outcome) else {
            return Ok(Err(Unreadable));
        };
        let (result, evidence) = (bytes(row, 3)?.map(<[u8]>::to_vec), lossy(row, 4)?);
        let command_id = command_id.clone();
        Ok(Ok(ReceiptRead { command_id, destination, kind, outcome, result, evidence }))
    });
    Ok(match read.optional()? {
        None => Ok(None),
        Some(Ok(read)) => Ok(Some(read)),
        Some(Err(unreadable)) => Err(unreadable),
    })
}

/// When the next input of these programs is due.
pub(crate) fn next(
    store: &Connection,
    programs: &[Program],
    now: Micros,
) -> rusqlite::Result<Option<Micros>> {
    let mut next = None;
    for key in keys(programs) {
        let mut first = store.prepare_cached(Sql::InputNext.text())?;
        let due = first.query_row([key], |row| int(row, 0)).optional()?;
        let due = due.map(|due| due.map_or(now, Micros::new));
        next = match (next, due) {
            (Some(one), Some(other)) => Some(Micros::min(one, other)),
            (one, other) => one.or(other),
        };
    }
    Ok(next)
}

/// A workflow's row, and the snapshot where a load may begin.
type LoadFrom = (Option<Standing>, Option<Snapshot>);

/// A workflow's row and the snapshot of a program.
pub(crate) fn standing(
    store: &Connection,
    stream: &Stream,
    program: &Program,
) -> rusqlite::Result<Result<LoadFrom, Unreadable>> {
    let mut both = store.prepare_cached(Sql::StreamWithSnapshot.text())?;
    both.query_row(params![stream.as_str(), program.name(), program.version()], |row| {
        let Ok(standing) = standing_in(row, 0)? else { return Ok(Err(Unreadable)) };
        let snapshot = match (int(row, 4)?, bytes(row, 5)?) {
            (Some(seq), Some(state)) => {
                Some(Snapshot { program: program.clone(), seq, state: state.to_vec() })
            }
            _ => None,
        };
        Ok(Ok((standing, snapshot)))
    })
}
