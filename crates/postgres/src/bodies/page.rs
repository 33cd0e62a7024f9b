//! Pages of events whose bodies may be archived, and of those whose bodies are.
//!
//! Guarantees: a page looks at a bounded number of rows and holds a bounded number of bytes, but
//! for a single body that is larger; what stays is counted by why. Does not: know of files.

use counterfoil_core::domain::workflow::Status;
use counterfoil_core::domain::{EventRow, Micros, Stream};
use counterfoil_core::port::bodies::{BODY_BYTES_MIN, BodyPage, Place};
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::read::event;
use crate::row::{flag, int, string, text, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const STREAMS: Statement = statement!("body_streams");
const OLD: Statement = statement!("body_old");
const AT: Statement = statement!("event_at");
const ARCHIVED: Statement = statement!("body_archived");
const ARCHIVED_BEFORE: Statement = statement!("body_archived_before");

/// How many workflows a page looks at, and about how many events.
const LOOKS_MAX: i64 = 4096;
/// The bodies of one page have so many bytes.
const BYTES_MAX: i64 = 32 << 20;

/// One workflow as looked at.
struct Flow<'r> {
    stream: &'r str,
    status: Option<Status>,
    newest: i64,
    is_old: bool,
    /// How far its program's saved state reaches.
    saved: Option<i64>,
    /// The newest event that is archived; 0: none is.
    archived: i64,
    is_begun: bool,
}

impl<'r> Flow<'r> {
    fn of(row: &'r Row, before: Micros) -> Self {
        Self {
            stream: text(row, 0).unwrap_or_default(),
            status: text(row, 1).and_then(Status::from_name),
            newest: int(row, 2).unwrap_or(0),
            is_old: time(row, 3).is_some_and(|at| at < before),
            saved: int(row, 4),
            archived: int(row, 5).unwrap_or(0),
            is_begun: flag(row, 6),
        }
    }

    /// Up to which seq its bodies may leave; `None`: none may, and why is counted.
    fn until(&self, is_first: bool, page: &mut BodyPage) -> Option<i64> {
        let counts = u64::from(self.is_old && is_first);
        match self.status {
            Some(status) if status.has_ended() && self.is_begun => {
                self.is_old.then_some(self.newest)
            }
            Some(Status::Running) if self.is_begun => {
                if self.saved.is_none() {
                    page.kept.without_snapshot += counts;
                }
                self.saved.map(|saved| saved.min(self.newest))
            }
            _ => {
                page.kept.quarantined += counts;
                None
            }
        }
    }
}

/// Parts of streams, after a seq and up to another one.
#[derive(Default)]
struct Ranges<'r> {
    streams: Vec<&'r str>,
    low: Vec<i64>,
    high: Vec<i64>,
}

/// The events after a place whose bodies may leave, at most `limit`.
pub(super) async fn old(
    tx: &Tx<'_>,
    before: Micros,
    after: Option<Place>,
    limit: usize,
) -> Result<BodyPage, Failure> {
    let is_first_page = after.is_none();
    let (first, seq) = after.unwrap_or_default();
    let rows = tx.query(STREAMS, &[&first, &LOOKS_MAX]).await?;
    let mut page = BodyPage::default();
    let (mut ranges, mut looks, mut count) = (Ranges::default(), 0_i64, 0);
    for row in &rows {
        let flow = Flow::of(row, before);
        (count, looks) = (count + 1, looks + 1);
        let goes_on = flow.stream == first;
        let from = if goes_on { seq.max(flow.archived) } else { flow.archived };
        let until = flow.until(is_first_page || !goes_on, &mut page);
        let mut place = i64::MAX;
        if let Some(until) = until.filter(|until| *until > from) {
            let to = until.min(from.saturating_add((LOOKS_MAX - looks).max(1)));
            ranges.streams.push(flow.stream);
            ranges.low.push(from);
            ranges.high.push(to);
            looks += to - from;
            place = if to < until { to } else { place };
        }
        if place < i64::MAX || looks >= LOOKS_MAX || count == LOOKS_MAX {
            page.next = Some((flow.stream.to_owned(), place));
            break;
        }
    }
    add(tx, &ranges, before, limit.max(1), &mut page).await?;
    Ok(page)
}

/// Adds the events of these ranges; where they are too many, the page ends within them.
async fn add(
    tx: &Tx<'_>,
    ranges: &Ranges<'_>,
    before: Micros,
    limit: usize,
    page: &mut BodyPage,
) -> Result<(), Failure> {
    if ranges.streams.is_empty() {
        return Ok(());
    }
    let least = i64::try_from(BODY_BYTES_MIN).unwrap_or(i64::MAX);
    let most = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let Ranges { streams, low, high } = ranges;
    let rows = tx.query(OLD, &[streams, low, high, &before.get(), &least, &most]).await?;
    let (mut places, mut bytes) = (Vec::new(), 0_i64);
    for row in &rows {
        bytes = bytes.saturating_add(int(row, 2).unwrap_or(0));
        if places.len() == limit || (bytes > BYTES_MAX && !places.is_empty()) {
            page.next = places.last().cloned();
            break;
        }
        places.push((string(row, 0).unwrap_or_default(), int(row, 1).unwrap_or(0)));
    }
    page.events = at(tx, &places).await?.into_iter().flatten().collect();
    page.kept.unreadable = (places.len() - page.events.len()) as u64;
    Ok(())
}

/// The event at each of these places; `None` where none stands or it cannot be read.
pub(super) async fn at(tx: &Tx<'_>, places: &[Place]) -> Result<Vec<Option<EventRow>>, Failure> {
    let streams: Vec<&str> = places.iter().map(|(stream, _)| stream.as_str()).collect();
    let seqs: Vec<i64> = places.iter().map(|(_, seq)| *seq).collect();
    let mut events = vec![None; places.len()];
    for row in &tx.query(AT, &[&streams, &seqs]).await? {
        let place = int(row, 10).and_then(|place| usize::try_from(place - 1).ok());
        if let Some(at) = place.and_then(|place| events.get_mut(place)) {
            *at = event::with_stream(row).ok();
        }
    }
    Ok(events)
}

/// The archived ones after a place, at most `limit`.
pub(super) async fn archived(
    tx: &Tx<'_>,
    after: Option<Place>,
    limit: usize,
) -> Result<Vec<EventRow>, Failure> {
    let (stream, seq) = after.unwrap_or_default();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(ARCHIVED, &[&stream, &seq, &limit]).await?;
    rows.iter().map(event::with_stream).collect()
}

/// The newest archived ones of a stream before a seq, at most `limit`.
pub(super) async fn archived_before(
    tx: &Tx<'_>,
    stream: &Stream,
    before: i64,
    limit: usize,
) -> Result<Vec<EventRow>, Failure> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(ARCHIVED_BEFORE, &[&stream.as_str(), &before, &limit]).await?;
    rows.iter().map(event::with_stream).collect()
}
