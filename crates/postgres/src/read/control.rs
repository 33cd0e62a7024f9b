//! The command that a control question asks about.
//!
//! Guarantees: it is one that a receiver is known to have completed; a person's word is no such
//! knowledge. Does not: look further back than the receipts of the newest commands.

use counterfoil_core::domain::{CommandId, Destination};
use counterfoil_core::port::store::CONTROL_RANGE;

use crate::failure::Failure;
use crate::row::text;
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const CONTROL: Statement = statement!("receipt_control");

/// The newest completed command of `destination` other than `except`.
pub(crate) async fn newest_completed(
    tx: &Tx<'_>,
    destination: &Destination,
    except: &CommandId,
) -> Result<Option<CommandId>, Failure> {
    let range = i64::try_from(CONTROL_RANGE).unwrap_or(i64::MAX);
    let row = tx.query_opt(CONTROL, &[&destination.as_str(), &except.as_str(), &range]).await?;
    let id = row.as_ref().and_then(|row| text(row, 0));
    Ok(id.and_then(|id| CommandId::from_bytes(id.as_bytes()).ok()))
}
