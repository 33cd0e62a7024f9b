//! Commands by filter and cursor.
//!
//! Guarantees: in the order of recording; a filter by an open state walks open commands only.
//! Does not: list what is archived.

use counterfoil_core::domain::State;
use counterfoil_core::port::read::{Filter, Listed};
use counterfoil_core::port::store::StoreError;
use tokio_postgres::Row;

use super::asked;
use crate::failure::Failure;
use crate::row::{count, flag, int, micros, string, text, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const NUMBER: Statement = statement!("outbox_number");
const ALL: Statement = statement!("list_all");
const OPEN: Statement = statement!("list_open");

/// How many a filter without a limit lists.
const LIMIT: usize = 100;

/// The commands that pass the filter.
pub(crate) async fn list(
    tx: &Tx<'_>,
    filter: &Filter,
) -> Result<Result<Vec<Listed>, StoreError>, Failure> {
    let after = match &filter.after {
        None => 0,
        Some(id) => match number(tx, id).await? {
            Some(n) => n,
            None => return Ok(Err(StoreError::NoCursor { id: id.clone() })),
        },
    };
    if filter.reason.as_ref().is_some_and(|reason| reason.contains('\0')) {
        return Ok(Ok(Vec::new()));
    }
    let state = filter.state.as_deref().map(asked);
    let is_open = state.is_some_and(|name| name == "parked" || State::from_name(name).is_some());
    let statement = if is_open { OPEN } else { ALL };
    let limit = if filter.limit == 0 { LIMIT } else { filter.limit };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx
        .query(
            statement,
            &[
                &after,
                &filter.destination.as_deref().map(asked),
                &filter.kind.as_deref().map(asked),
                &filter.stream.as_deref().map(asked),
                &micros(filter.since),
                &micros(filter.until),
                &state,
                &filter.reason,
                &limit,
            ],
        )
        .await?;
    Ok(Ok(rows.iter().map(listed).collect()))
}

/// The number of the command.
pub(crate) async fn number(tx: &Tx<'_>, id: &str) -> Result<Option<i64>, Failure> {
    let row = tx.query_opt(NUMBER, &[&asked(id)]).await?;
    Ok(row.and_then(|row| int(&row, 0)))
}

/// The line of one command.
pub(super) async fn line(tx: &Tx<'_>, n: i64) -> Result<Option<Listed>, Failure> {
    let (before, text, time) = (n.saturating_sub(1), None::<&str>, None::<i64>);
    let row = tx
        .query_opt(ALL, &[&before, &text, &text, &text, &time, &time, &text, &text, &1_i64])
        .await?;
    Ok(row.as_ref().map(listed))
}

/// One line, in the columns of `list_all.sql`.
fn listed(row: &Row) -> Listed {
    let name = |at| string(row, at).unwrap_or_default();
    let is_open = text(row, 5).is_some();
    let (state, round, attempts, token) = if is_open { (5, 6, 7, 10) } else { (12, 13, 14, 15) };
    Listed {
        command_id: name(1),
        destination: name(2),
        kind: name(3),
        // Neither delivery nor receipt: the audit says more.
        state: string(row, state).unwrap_or_else(|| "missing".into()),
        round: count(row, round),
        attempts: count(row, attempts),
        in_doubt: int(row, 8).unwrap_or(0) != 0,
        available_at: time(row, 9),
        token: int(row, token).unwrap_or(0),
        recorded_at: time(row, 4).unwrap_or_default(),
        last_outcome: string(row, 11),
        expires_at: time(row, 16),
        first_sent_at: time(row, 17),
        is_erased: flag(row, 18),
    }
}
