//! The command that a control question asks about.
//!
//! Guarantees: it is one that a receiver is known to have completed; a person's word is no such
//! knowledge. Does not: look further back than the newest receipts.

use counterfoil_core::domain::{CommandId, Destination};
use counterfoil_core::port::store::CONTROL_RANGE;
use rusqlite::{Connection, params};

use crate::row::bytes;
use crate::sql::Sql;

/// How the source of a receipt begins that a person's verb wrote.
const OPERATOR: &[u8] = b"operator ";

/// The newest completed command of `destination` other than `except`.
pub(crate) fn newest_completed(
    store: &Connection,
    destination: &Destination,
    except: &CommandId,
) -> rusqlite::Result<Option<CommandId>> {
    let range = i64::try_from(CONTROL_RANGE).unwrap_or(i64::MAX);
    let mut statement = store.prepare_cached(Sql::ReceiptControl.text())?;
    let mut rows = statement.query(params![destination.as_str(), except.as_str(), range])?;
    while let Some(row) = rows.next()? {
        // The source stands behind a result that may be long, so it is read last, by us.
        if bytes(row, 1)?.is_some_and(|source| source.starts_with(OPERATOR)) {
            continue;
        }
        if let Ok(id) = CommandId::from_bytes(bytes(row, 0)?.unwrap_or_default()) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
