//! Finds inputs that are due, and what a runner must know to decide them.
//!
//! Guarantees: reads only, in one round trip, or two where more is due than a page holds, and one
//! more where the upkeep has met what came to workflows that have ended, which comes last; what is
//! due at once comes in order of arrival, then what has a time, by it, and of one workflow whatever
//! was due first; however much comes at once, a quarter of a page is for what has a time. Does not:
//! mend; what cannot be read, or waits for somebody else by now, is noted for the upkeep.

use counterfoil_core::domain::workflow::{InputKind, Program, Status, pointed_to};
use counterfoil_core::domain::{Destination, Kind, Micros, ReceiptOutcome, Stream};
use counterfoil_core::port::workflow::{
    Behind, DUE_BYTES, DueFrom, DueInput, DueLists, Placed, ReceiptRead, Snapshot, Standing,
    ended_max, keys,
};
use tokio_postgres::Row;

use super::ended;
use super::keep::InputCursor;
use crate::failure::Failure;
use crate::row::{bytes, flag, int, string, text, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const DUE: Statement = statement!("input_due_now");
const BEHIND: Statement = statement!("input_behind");
const NEXT: Statement = statement!("input_next");
const STANDING: Statement = statement!("stream_with_snapshot");

/// A page of inputs that are due.
pub(crate) async fn due(
    tx: &Tx<'_>,
    from: &DueFrom,
    cursor: &InputCursor,
) -> Result<Vec<DueInput>, Failure> {
    let limit = i64::try_from(from.limit).unwrap_or(i64::MAX);
    let keys = keys(&from.programs);
    let ended = ended::due(tx, &keys, cursor, ended_max(from.limit)).await?;
    let rows = tx.query(DUE, &[&keys, &from.owner, &limit]).await?;
    let (mut at_once, mut timed) = (List::default(), List::default());
    for row in &rows {
        let due_at = time(row, 5);
        let list = if due_at.is_some() { &mut timed } else { &mut at_once };
        list.rows += 1;
        list.bytes += bytes(row, 4).map_or(0, <[u8]>::len);
        match read(row) {
            Some(input) if flag(row, 10) => {
                let at = due_at.or_else(|| time(row, 20)).unwrap_or_default();
                list.placed.push(Placed { at, arrival: int(row, 21).unwrap_or(0), input });
            }
            readable => {
                let at = |at| string(row, at).unwrap_or_default();
                cursor.note((at(0), at(1)), readable.is_some());
            }
        }
    }
    // What the bytes or the limit hold back stands behind what is given.
    let (at_once, timed) = (at_once.cut(from.limit), timed.cut(from.limit));
    let lists = DueLists::new(at_once, timed, from.limit.saturating_sub(ended.len()));
    let questions = lists.questions();
    let behind =
        if questions.is_empty() { Vec::new() } else { stand_behind(tx, &questions).await? };
    let mut page = lists.page(&behind);
    page.extend(ended);
    Ok(page)
}

/// What is due at once, or has a time.
#[derive(Default)]
struct List {
    placed: Vec<Placed>,
    rows: usize,
    bytes: usize,
}

impl List {
    /// The same, and whether more may be due.
    fn cut(self, limit: usize) -> (Vec<Placed>, bool) {
        let is_cut = self.rows >= limit || self.bytes > DUE_BYTES;
        (self.placed, is_cut)
    }
}

/// Of each whether an input that was to come before another one stands behind what was read.
async fn stand_behind(tx: &Tx<'_>, asked: &[Behind]) -> Result<Vec<bool>, Failure> {
    let streams: Vec<&str> = asked.iter().map(|one| one.stream.as_str()).collect();
    let timed: Vec<bool> = asked.iter().map(|one| one.is_timed).collect();
    let times: Vec<i64> = asked.iter().map(|one| one.after.0.get()).collect();
    let arrivals: Vec<i64> = asked.iter().map(|one| one.after.1).collect();
    let before: Vec<i64> = asked.iter().map(|one| one.before.get()).collect();
    let rows = tx.query(BEHIND, &[&streams, &timed, &times, &arrivals, &before]).await?;
    Ok(rows.iter().map(|row| flag(row, 0)).collect())
}

/// The input; `None` where it cannot be read.
pub(super) fn read(row: &Row) -> Option<DueInput> {
    let (stream, id, kind, name) = texts(row)?;
    let standing = standing_in(row, 6).ok()?;
    let receipt = match kind {
        InputKind::Receipt => receipt(row, &stream, &id).ok()?,
        _ => None,
    };
    let body = bytes(row, 4).unwrap_or_default().to_vec();
    Some(DueInput { stream, id, kind, name, body, standing, receipt })
}

/// Stream, id, kind and name in the first four columns; `None` where one cannot be read.
pub(super) fn texts(row: &Row) -> Option<(Stream, String, InputKind, String)> {
    let stream = Stream::from_bytes(text(row, 0)?.as_bytes()).ok()?;
    let kind = InputKind::from_name(text(row, 2)?)?;
    Some((stream, string(row, 1)?, kind, string(row, 3)?))
}

/// It stands, but cannot be read.
pub(crate) struct Unreadable;

/// The row of a workflow in four columns from `at`: workflow, version, status, head.
fn standing_in(row: &Row, at: usize) -> Result<Option<Standing>, Unreadable> {
    let Some(name) = text(row, at) else { return Ok(None) };
    let read = || {
        let version = u32::try_from(int(row, at + 1)?).ok()?;
        let program = Program::new(name, version).ok()?;
        let status = Status::from_name(text(row, at + 2)?)?;
        Some(Standing { program, status, head: int(row, at + 3)? })
    };
    read().map(Some).ok_or(Unreadable)
}

/// The receipt to which an input points; `None` where there is none, or no such pointer.
fn receipt(row: &Row, stream: &Stream, input: &str) -> Result<Option<ReceiptRead>, Unreadable> {
    let Some((command_id, seq, idx)) = pointed_to(stream, input) else { return Ok(None) };
    let idx = i64::try_from(idx).unwrap_or(i64::MAX);
    // Another's id may look like a generated one.
    let is_its_own = text(row, 12) == Some(stream.as_str())
        && (int(row, 13), int(row, 14)) == (Some(seq), Some(idx));
    if !is_its_own || text(row, 17).is_none() {
        return Ok(None);
    }
    let read = || {
        Some(ReceiptRead {
            command_id,
            destination: Destination::from_bytes(text(row, 15)?.as_bytes()).ok()?,
            kind: Kind::from_bytes(text(row, 16)?.as_bytes()).ok()?,
            outcome: ReceiptOutcome::from_name(text(row, 17)?)?,
            result: bytes(row, 18).map(<[u8]>::to_vec),
            evidence: string(row, 19),
        })
    };
    read().map(Some).ok_or(Unreadable)
}

/// When the next input of these programs is due; one that is due at once, long ago.
pub(crate) async fn next(tx: &Tx<'_>, programs: &[Program]) -> Result<Option<Micros>, Failure> {
    let row = tx.query_opt(NEXT, &[&keys(programs)]).await?;
    Ok(row.and_then(|row| time(&row, 0)))
}

/// A workflow's row and the snapshot of a program.
pub(crate) async fn standing(
    tx: &Tx<'_>,
    stream: &Stream,
    program: &Program,
) -> Result<(Option<Standing>, Option<Snapshot>), Failure> {
    let version = i64::from(program.version());
    let row = tx.query_opt(STANDING, &[&stream.as_str(), &program.name(), &version]).await?;
    let Some(row) = row else { return Ok((None, None)) };
    let standing = standing_in(&row, 0).map_err(|Unreadable| {
        Failure::broken(format!("the row of workflow {stream} names no program or status"))
    })?;
    let snapshot = int(&row, 4).zip(bytes(&row, 5)).map(|(seq, state)| Snapshot {
        program: program.clone(),
        seq,
        state: state.to_vec(),
    });
    Ok((standing, snapshot))
}
