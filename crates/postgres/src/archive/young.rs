//! Commands that some session may not see yet.
//!
//! Guarantees: what is not young is seen by every snapshot of this database, in the outbox or, once
//! it is buried, by its tombstone. So no insert of its id passes between the two: neither one that
//! began before it was recorded and waits, nor one of a transaction of REPEATABLE READ. Does not:
//! hold anybody up; a burial waits a moment, and leaves what is still young.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::pool::Pool;
use crate::row::int;
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const YOUNG: Statement = statement!("archive_young");

/// How long a burial waits for snapshots that are older than its commands. What is archived by age
/// is older than every snapshot but that of a transaction which was left open as long.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How long it waits between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Which of these commands are young. The server tells of its sessions once a transaction.
pub(super) async fn among(tx: &Tx<'_>, numbers: &Vec<i64>) -> Result<Vec<i64>, Failure> {
    let rows = tx.query(YOUNG, &[numbers]).await?;
    Ok(rows.iter().filter_map(|row| int(row, 0)).collect())
}

/// Waits until none of these is young, or long enough.
pub(super) async fn wait(pool: &Pool, numbers: &Vec<i64>) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let tx = pool.glance().await?;
        let young = among(&tx, numbers).await;
        tx.rollback().await;
        if young?.is_empty() || began.elapsed() > WAIT_MAX {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
