//! The events of a stream, and what the audit wants to know of them.
//!
//! Guarantees: in order of seq. Does not: interpret a body.

use counterfoil_core::domain::laws::{BodyFacts, EventFacts};
use counterfoil_core::domain::{ArchivedBody, EventRow, IdRefused, Kind, Stream};
use counterfoil_core::port::seal::UnreadableEvent;
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::row::{bytes, digest, flag, int, string, text, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const LOAD: Statement = statement!("event_load");
const LOAD_PAGE: Statement = statement!("event_load_page");
const FACTS: Statement = statement!("event_facts");

/// The same, but that a page ends with the event by which it has `EVENT_PAGE_BYTES`.
pub(crate) async fn load_page(
    tx: &Tx<'_>,
    stream: &Stream,
    after: i64,
    limit: usize,
) -> Result<Vec<EventRow>, Failure> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(LOAD_PAGE, &[&stream.as_str(), &after, &limit]).await?;
    rows.iter().map(|event| row(event, stream)).collect()
}

/// The events after `after`, at most `limit`.
pub(crate) async fn load(
    tx: &Tx<'_>,
    stream: &Stream,
    after: i64,
    limit: usize,
) -> Result<Vec<EventRow>, Failure> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(LOAD, &[&stream.as_str(), &after, &limit]).await?;
    rows.iter().map(|event| row(event, stream)).collect()
}

/// An event of a stream: seq, kind, body, cause, commands, recorded_at, decided, file, digest.
pub(crate) fn row(row: &Row, stream: &Stream) -> Result<EventRow, Failure> {
    let seq = int(row, 0).unwrap_or(0);
    let unreadable = |why| Failure::broken(format!("event {seq} of stream {stream}: {why}"));
    decoded(row, Ok(stream.clone())).map_err(unreadable)
}

fn decoded(row: &Row, stream: Result<Stream, IdRefused>) -> Result<EventRow, IdRefused> {
    Ok(EventRow {
        stream: stream?,
        seq: int(row, 0).unwrap_or(0),
        kind: Kind::from_bytes(text(row, 1).unwrap_or_default().as_bytes())?,
        body: bytes(row, 2).unwrap_or_default().to_vec(),
        cause: string(row, 3),
        commands: int(row, 4).unwrap_or(0),
        recorded_at: time(row, 5).unwrap_or_default(),
        decided: string(row, 6),
        archived: string(row, 7).map(|file| ArchivedBody { file, digest: digest(row, 8) }),
    })
}

/// The same with its stream in the column behind.
pub(crate) fn with_stream(row: &Row) -> Result<EventRow, Failure> {
    readable(row).map_err(|UnreadableEvent { stream, seq, why }| {
        Failure::broken(format!("event {seq} of stream {stream}: {why}"))
    })
}

/// The same, where one that cannot be decoded must not stop the others.
pub(crate) fn readable(row: &Row) -> Result<EventRow, UnreadableEvent> {
    let name = text(row, 9).unwrap_or_default();
    decoded(row, Stream::from_bytes(name.as_bytes())).map_err(|refused| UnreadableEvent {
        stream: name.to_owned(),
        seq: int(row, 0).unwrap_or(0),
        why: refused.to_string(),
    })
}

/// What stands about the events after a stream and seq, at most `limit`.
pub(crate) async fn event_facts(
    tx: &Tx<'_>,
    after: Option<(String, i64)>,
    limit: usize,
) -> Result<Vec<EventFacts>, Failure> {
    let (stream, seq) = after.unwrap_or((String::new(), i64::MIN));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(FACTS, &[&stream, &seq, &limit]).await?;
    let facts = |row| EventFacts {
        stream: string(row, 0).unwrap_or_default(),
        seq: int(row, 1).unwrap_or(0),
        commands: int(row, 2).unwrap_or(0),
        seq_before: int(row, 3).unwrap_or(0),
        found: int(row, 4).unwrap_or(0),
        body: BodyFacts {
            file: string(row, 5),
            digest_bytes: int(row, 6),
            bytes: int(row, 7).unwrap_or(0),
            is_workflows: flag(row, 8),
        },
    };
    Ok(rows.iter().map(facts).collect())
}
