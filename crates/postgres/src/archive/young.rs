//! Commands that some session may not see yet.
//!
//! Guarantees: what is not young is seen by every snapshot of this database, in the outbox or, once
//! it is buried, by its tombstone. So no insert of its id passes between the two: neither one that
//! began before it was recorded and waits, nor one of a transaction of REPEATABLE READ. Does not:
//! hold anybody up; a burial waits a moment, and leaves what is still young; nor look for who
//! imports another session's snapshot while it waits.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::pool::Pool;
use crate::row::string;
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const YOUNG: Statement = statement!("archive_young");

/// How long a burial waits for snapshots that are older than its commands. What is archived by age
/// is older than every snapshot but that of a transaction which was left open as long.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How long it waits between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Which of these commands, that were read before, are young; once it is not, none becomes it
/// again. Waits for the transactions that made them so. Later ones see them, though the server
/// tells of all snapshots alike while any transaction that wrote before them is open.
pub(super) async fn among(pool: &Pool, numbers: &Vec<i64>) -> Result<HashSet<i64>, Failure> {
    let began = Instant::now();
    let mut waited: Option<Vec<String>> = None;
    loop {
        let tx = pool.glance().await?;
        let seen = look(&tx, numbers, waited.as_ref()).await;
        tx.rollback().await;
        let (left, young) = seen?;
        if left.is_empty() || began.elapsed() > WAIT_MAX {
            return Ok(young);
        }
        waited = Some(left);
        tokio::time::sleep(PAUSE).await;
    }
}

/// The transactions, of `among` if it is given, that may not see some of these; and those.
async fn look(
    tx: &Tx<'_>,
    numbers: &Vec<i64>,
    among: Option<&Vec<String>>,
) -> Result<(Vec<String>, HashSet<i64>), Failure> {
    let all = among.is_none();
    let among: Vec<&str> = among.into_iter().flatten().map(String::as_str).collect();
    let rows = tx.query(YOUNG, &[numbers, &all, &among]).await?;
    let names = rows.iter().filter_map(|row| string(row, 0)).collect();
    let young = rows.iter().flat_map(|row| row.try_get::<_, Vec<i64>>(1).unwrap_or_default());
    Ok((names, young.collect()))
}
