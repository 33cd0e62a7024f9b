//! Reads all that stands about one ended command, exactly.
//!
//! Guarantees: two entries that are equal stand for equal rows, since what would be read only
//! nearly, such as text that is no UTF-8, is told as unreadable. Does not: read what is open.

use counterfoil_core::domain::ReceiptOutcome;
use counterfoil_core::domain::laws::ContradictionFacts;
use counterfoil_core::port::archive::{ActionRow, Entry};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::facts;
use crate::row::{self, Unreadable, bytes, int, lossy, time};
use crate::sql::Sql;

/// An ended command as it stands.
pub(crate) struct Standing {
    pub(crate) entry: Entry,
    /// A report says otherwise than its receipt, and nobody has looked into it.
    pub(crate) is_contradicted: bool,
    /// It belongs to a workflow, which reads its receipt.
    pub(crate) is_of_workflow: bool,
}

/// The command `n`, or why it cannot be read whole; `None` where it has not ended.
pub(crate) fn read(
    store: &Connection,
    n: i64,
) -> rusqlite::Result<Option<Result<Standing, Unreadable>>> {
    let mut outbox = store.prepare_cached(Sql::EntryOutbox.text())?;
    let outbox = outbox.query_row([n], |row| {
        let read = row::outbox(row, 0, usize::MAX)?;
        Ok((read, time(row, 15)?, row.get(16)?))
    });
    let Some((outbox, erased_at, is_of_workflow)) = outbox.optional()? else { return Ok(None) };
    let range = [n, n];
    let receipts = all(store, Sql::FactsReceipt, range, exact_receipt, facts::receipt)?;
    let attempts = all(store, Sql::FactsAttempt, range, exact_attempt, facts::attempt)?;
    if receipts.as_ref().is_ok_and(Vec::is_empty) {
        return Ok(None);
    }
    let (outbox, receipts, attempts) = match (outbox, receipts, attempts) {
        (Ok(outbox), Ok(receipts), Ok(attempts)) => (outbox, receipts, attempts),
        (Err(why), ..) | (_, Err(why), _) | (.., Err(why)) => return Ok(Some(Err(why))),
    };
    let id = [outbox.command_id.as_str()];
    let sql = Sql::ContradictionOfCommand;
    let contradictions = match all(store, sql, id, exact_contradiction, facts::contradiction)? {
        Ok(contradictions) => contradictions,
        Err(why) => return Ok(Some(Err(why))),
    };
    let is_contradicted = is_contradicted(store, id[0], &contradictions)?;
    let mut actions = store.prepare_cached(Sql::ActionOfEntry.text())?;
    let actions = actions.query_map(id, action)?.collect::<rusqlite::Result<_>>()?;
    let entry = Entry { outbox, erased_at, receipts, attempts, contradictions, actions };
    if entry.erased_at.is_some() && entry.newest().is_none_or(|newest| newest.digest.is_none()) {
        return Ok(Some(Err("its content was erased, and no digest of it stands".into())));
    }
    Ok(Some(Ok(Standing { entry, is_contradicted, is_of_workflow })))
}

/// Whether nobody has looked into one of these since it came.
fn is_contradicted(
    store: &Connection,
    id: &str,
    said: &[ContradictionFacts],
) -> rusqlite::Result<bool> {
    let Some(last) = said.iter().map(|said| said.recorded_at).max() else { return Ok(false) };
    let mut looked = store.prepare_cached(Sql::ActionAcknowledging.text())?;
    let looked = looked.query_map([id], |row| time(row, 0))?;
    let looked = looked.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().flatten().max();
    Ok(looked.is_none_or(|at| at < last))
}

/// An act of a person in the columns of `action_of_entry.sql`.
pub(crate) fn action(row: &Row<'_>) -> rusqlite::Result<ActionRow> {
    let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
    Ok(ActionRow {
        arrival: int(row, 0)?.unwrap_or_default(),
        verb: text(1)?,
        about: text(2)?,
        actor: text(3)?,
        reason: lossy(row, 4)?,
        before: lossy(row, 5)?,
        after: lossy(row, 6)?,
        recorded_at: time(row, 7)?.unwrap_or_default(),
    })
}

/// All rows of a statement, or why one of them is not read exactly.
fn all<P: rusqlite::Params, T>(
    store: &Connection,
    sql: Sql,
    of: P,
    exact: impl Fn(&Row<'_>) -> rusqlite::Result<Result<(), Unreadable>>,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Result<Vec<T>, Unreadable>> {
    let mut statement = store.prepare_cached(sql.text())?;
    let mut rows = statement.query(of)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        if let Err(why) = exact(row)? {
            return Ok(Err(why));
        }
        all.push(read(row)?);
    }
    Ok(Ok(all))
}

fn exact_receipt(row: &Row<'_>) -> rusqlite::Result<Result<(), Unreadable>> {
    let outcome = bytes(row, 2)?.and_then(|name| std::str::from_utf8(name).ok());
    if outcome.and_then(ReceiptOutcome::from_name).is_none() {
        return Ok(Err("the outcome of a receipt is none that is known".into()));
    }
    let digests = [12, 13].map(|at| Ok(row.get_ref(at)? == ValueRef::Null || has_digest(row, at)?));
    for is_exact in digests {
        let is_exact: rusqlite::Result<bool> = is_exact;
        if !is_exact? {
            return Ok(Err("a digest of a receipt is none".into()));
        }
    }
    exact(row, "receipt", (&[4, 5, 11], &[3], &[1, 6]))
}

fn has_digest(row: &Row<'_>, at: usize) -> rusqlite::Result<bool> {
    Ok(row::digest(row, at)?.is_some())
}

fn exact_attempt(row: &Row<'_>) -> rusqlite::Result<Result<(), Unreadable>> {
    exact(row, "attempt", (&[2, 3, 8], &[], &[1]))
}

fn exact_contradiction(row: &Row<'_>) -> rusqlite::Result<Result<(), Unreadable>> {
    exact(row, "contradiction", (&[1, 3, 4], &[2], &[0]))
}

/// Whether these columns hold UTF-8, text or bytes, and counts.
fn exact(
    row: &Row<'_>,
    what: &str,
    (texts, anything, counts): (&[usize], &[usize], &[usize]),
) -> rusqlite::Result<Result<(), Unreadable>> {
    for at in texts {
        if bytes(row, *at)?.is_some_and(|text| std::str::from_utf8(text).is_err()) {
            return Ok(Err(format!("a text of its {what} is not UTF-8")));
        }
    }
    for at in anything {
        if matches!(row.get_ref(*at)?, ValueRef::Integer(_) | ValueRef::Real(_)) {
            return Ok(Err(format!("a value of its {what} is a number, not text or bytes")));
        }
    }
    for at in counts {
        if int(row, *at)?.is_none_or(|count| u32::try_from(count).is_err()) {
            return Ok(Err(format!("a count of its {what} is out of range")));
        }
    }
    Ok(Ok(()))
}
