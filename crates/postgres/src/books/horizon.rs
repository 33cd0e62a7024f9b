//! How far the store is complete.
//!
//! Guarantees: whoever had drawn a number or the time when the positions were read has ended when
//! they are told. An INSERT takes its table's lock before it draws, and keeps it to the end, so
//! nobody is passed: not a long transaction, not a prepared one, not one that is frozen. Does not:
//! wait for who comes later, so that a busy store has a horizon, too; nor see that the server's
//! clock was set back, which only an audit of everything does.

use std::time::{Duration, Instant};

use counterfoil_core::domain::{Micros, Span};
use counterfoil_core::port::seal::Horizon;

use crate::failure::Failure;
use crate::row;
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;

const POSITIONS: Statement = statement!("horizon");
const WRITERS: Statement = statement!("horizon_writers");

/// How long writers are waited for.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// How long it waits between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// Events carry the time at which their transaction began, of any writer's.
const EVENTS_BEHIND: Span = Span::from_secs(3600);

/// The horizon; `None` if a writer does not end in time.
pub(super) async fn horizon(store: &Inner) -> Result<Option<Horizon>, Failure> {
    let began = Instant::now();
    let positions = look(store, async |tx| positions(tx).await).await?;
    // Behind the positions, by a statement of its own.
    let mut left: Option<Vec<String>> = None;
    loop {
        let waited: Vec<String> = look(store, async |tx| writers(tx, left.as_ref()).await).await?;
        if waited.is_empty() {
            return Ok(Some(positions));
        }
        if began.elapsed() > WAIT_MAX {
            return Ok(None);
        }
        left = Some(waited);
        tokio::time::sleep(PAUSE).await;
    }
}

async fn look<T>(
    store: &Inner,
    look: impl AsyncFnOnce(&Tx<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let tx = store.pool.glance().await?;
    let seen = look(&tx).await;
    tx.rollback().await;
    seen
}

async fn positions(tx: &Tx<'_>) -> Result<Horizon, Failure> {
    let row = tx.query_opt(POSITIONS, &[]).await?;
    let row = row.ok_or_else(|| Failure::broken("no answer about the horizon"))?;
    let at = |column| row::int(&row, column).unwrap_or(0);
    let now = Micros::new(at(1));
    Ok(Horizon {
        n: at(0),
        receipt: now.get() - 1,
        attempt: at(2),
        contradiction: at(3),
        action: at(4),
        event: Micros::new(now.get() - EVENTS_BEHIND.as_micros()),
    })
}

/// Those that write now, or those of `among` that still do.
async fn writers(tx: &Tx<'_>, among: Option<&Vec<String>>) -> Result<Vec<String>, Failure> {
    let all = among.is_none();
    let among: Vec<&str> = among.into_iter().flatten().map(String::as_str).collect();
    let rows = tx.query(WRITERS, &[&all, &among]).await?;
    Ok(rows.iter().filter_map(|row| row::string(row, 0)).collect())
}
