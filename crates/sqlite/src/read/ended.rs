//! Ended commands by rising number, whole, for the archive.
//!
//! Guarantees: a page looks at a bounded number of rows and holds a bounded number of bytes, so that
//! its snapshot is short; what must stay is counted by why. Does not: read what has not ended.

use counterfoil_core::domain::Micros;
use counterfoil_core::port::archive::{EndedPage, Entry};
use rusqlite::{Connection, params};

use crate::entry;
use crate::row::{int, time};
use crate::sql::Sql;

/// How many rows a page looks at.
const LOOKS_MAX: usize = 4096;

/// A page ends with the entry that brings its bodies, results and texts over so many bytes.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// One row as looked at.
struct Seen {
    n: i64,
    is_open: bool,
    ended_at: Option<Micros>,
    is_of_workflow: bool,
}

/// The commands with a larger `n` than `after` that ended before `before`, at most `limit`.
pub(crate) fn ended(
    store: &Connection,
    before: Micros,
    after: i64,
    limit: usize,
) -> rusqlite::Result<EndedPage> {
    let mut page = EndedPage { looked_at: after, ..EndedPage::default() };
    let newest: Option<i64> =
        store.prepare_cached(Sql::OutboxNewest.text())?.query_row([], |row| row.get(0))?;
    let mut statement = store.prepare_cached(Sql::EndedAfter.text())?;
    let most = i64::try_from(LOOKS_MAX).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![after, most])?;
    let (mut size, mut looks) = (0, 0);
    while page.entries.len() < limit.max(1) && size < BYTES_MAX {
        let Some(row) = rows.next()? else {
            page.last = looks < LOOKS_MAX;
            return Ok(page);
        };
        looks += 1;
        let seen = Seen {
            n: int(row, 0)?.unwrap_or_default(),
            is_open: row.get(1)?,
            ended_at: time(row, 2)?,
            is_of_workflow: row.get(3)?,
        };
        page.looked_at = seen.n;
        if !seen.is_open && seen.ended_at.is_some_and(|at| at < before) {
            size += add(store, &seen, newest, &mut page)?;
        }
    }
    page.last = newest.is_none_or(|newest| newest <= page.looked_at);
    Ok(page)
}

/// Adds the command, or counts why it stays; how many bytes it holds.
fn add(
    store: &Connection,
    seen: &Seen,
    newest: Option<i64>,
    page: &mut EndedPage,
) -> rusqlite::Result<usize> {
    // Whatever else it may be, its content need not be read.
    let kept = if seen.is_of_workflow {
        &mut page.kept.of_workflow
    } else if newest == Some(seen.n) {
        &mut page.kept.newest
    } else {
        match entry::read(store, seen.n)? {
            Some(Ok(stands)) if !stands.is_contradicted => {
                let bytes = bytes(&stands.entry);
                page.entries.push(stands.entry);
                return Ok(bytes);
            }
            Some(Ok(_)) => &mut page.kept.contradicted,
            Some(Err(_)) => &mut page.kept.unreadable,
            None => return Ok(0),
        }
    };
    *kept += 1;
    Ok(0)
}

fn bytes(entry: &Entry) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let receipts = entry.receipts.iter().map(|receipt| &receipt.receipt);
    let receipts =
        receipts.map(|one| one.result.as_ref().map_or(0, Vec::len) + text(&one.evidence));
    let attempts = entry.attempts.iter().map(|attempt| text(&attempt.reason));
    let outbox = entry.outbox.body.len() + text(&entry.outbox.headers);
    outbox + receipts.sum::<usize>() + attempts.sum::<usize>()
}
