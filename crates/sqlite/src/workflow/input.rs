//! Writes inputs: what strangers send through this library, and what receipts become.
//!
//! Guarantees: the rules of the SQL guard, kept in Rust, since triggers are off here; the first
//! receipt of a workflow's command is one input, whatever writes it. Does not: lock or write the
//! row of a workflow.

use counterfoil_core::domain::{Digest, Receipt};
use counterfoil_core::port::store::Recorded;
use counterfoil_core::port::workflow::{InputRefused, NewInput};
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params};

use crate::group::Group;
use crate::member::Work;
use crate::row::{Shown, bytes, digest};
use crate::sql::Sql;

/// Inputs, each by itself.
pub(crate) struct Send(pub(crate) Vec<NewInput>);

type Sent = Vec<Result<Recorded, InputRefused>>;

impl Work for Send {
    type Answer = Sent;

    fn size(&self) -> usize {
        self.0.len()
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Sent> {
        self.0.iter().map(|input| send(group, input)).collect()
    }

    /// What was new must stand now, waiting or decided.
    fn stands(&self, store: &Connection, answer: &Sent) -> rusqlite::Result<Option<bool>> {
        for (input, answer) in self.0.iter().zip(answer) {
            if matches!(answer, Ok(Recorded::Recorded)) {
                let mut waits = store.prepare_cached(Sql::InputRow.text())?;
                let mut decided = store.prepare_cached(Sql::EventOfCause.text())?;
                if find(&mut waits, &mut decided, input)? != Some(true) {
                    return Ok(Some(false));
                }
            }
        }
        Ok(Some(true))
    }
}

fn send(
    group: &mut Group<'_>,
    input: &NewInput,
) -> rusqlite::Result<Result<Recorded, InputRefused>> {
    if let Err(refused) = input.check() {
        return Ok(Err(refused));
    }
    let NewInput { stream, id, kind, name, body } = input;
    let now = group.now.get();
    let body = body.as_deref().map(Shown);
    let inserted = group.sql(Sql::InputSend)?.execute(params![
        stream.as_str(),
        id,
        kind.name(),
        name,
        body,
        now
    ])?;
    if inserted == 1 {
        group.gave_input();
        return Ok(Ok(Recorded::Recorded));
    }
    let connection = group.connection;
    let mut waits = connection.prepare_cached(Sql::InputRow.text())?;
    let mut decided = connection.prepare_cached(Sql::EventOfCause.text())?;
    Ok(match find(&mut waits, &mut decided, input)? {
        Some(true) => Ok(Recorded::Repeated),
        Some(false) | None => {
            Err(InputRefused::Conflict { stream: stream.to_string(), id: id.clone() })
        }
    })
}

/// Whether what stands under the id, waiting or decided, is the same input.
fn find(
    waits: &mut CachedStatement<'_>,
    decided: &mut CachedStatement<'_>,
    input: &NewInput,
) -> rusqlite::Result<Option<bool>> {
    let of = params![input.stream.as_str(), input.id];
    let same = waits.query_row(of, |row| {
        Ok(bytes(row, 0)? == Some(input.kind.name().as_bytes())
            && bytes(row, 1)? == Some(input.name.as_bytes())
            && bytes(row, 2)? == input.body.as_deref())
    });
    if let Some(same) = same.optional()? {
        return Ok(Some(same));
    }
    let kind = input.kind.event_kind(&input.name);
    let same = decided.query_row(of, |row| {
        Ok(bytes(row, 0)? == Some(kind.as_bytes())
            && is_same_body(row, input.body.as_deref().unwrap_or_default())?)
    });
    same.optional()
}

/// Whether a decided input has this body; of an archived one its digest says so.
fn is_same_body(row: &Row<'_>, body: &[u8]) -> rusqlite::Result<bool> {
    if row.get(2)? {
        return Ok(digest(row, 3)? == Some(Digest::of(body)));
    }
    Ok(bytes(row, 1)? == Some(body))
}

/// Makes an input of the receipt if a workflow issued its command, and it is the command's first.
pub(crate) fn of_receipt(group: &mut Group<'_>, receipt: &Receipt) -> rusqlite::Result<()> {
    let now = group.now.get();
    let outcome = receipt.outcome.name();
    let insert = group.sql(Sql::InputOfReceipt)?;
    if insert.execute(params![receipt.n, receipt.round, outcome, now])? == 1 {
        group.gave_input();
    }
    Ok(())
}
