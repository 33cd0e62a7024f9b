//! Gives new commands the turn of their lanes.
//!
//! Guarantees: who comes to an empty lane has the turn; else the end of the one before sees who
//! came, or a note tells a sweep. Does not: wait for another transaction for longer than a moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Inserted;
use crate::failure::Failure;
use crate::group::Group;
use crate::lane::{self, Lane};
use crate::row;
use crate::statement::{Statement, statement};

const ARRIVE: Statement = statement!("lane_arrive");

/// How long who comes to a lane waits before it looks again; doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(1);
/// The longest of these waits: a settle takes less, and a user's transaction is not waited for.
const WAIT_MAX: Duration = Duration::from_millis(16);

/// Gives new commands the turn of their lanes, where nobody is before them. Where another
/// transaction holds the one before, it is looked at again for a moment; then a sweep is told.
pub(crate) async fn arrive(group: &Group<'_>, new: &Inserted) -> Result<(), Failure> {
    // Of several in one lane the first counts. Lanes are locked in their order.
    let mut first: BTreeMap<Lane<'_>, (i64, i64)> = BTreeMap::new();
    for row in new.rows.values() {
        let Some((destination, key, key_seq)) = &row.lane else { continue };
        let place = first.entry(Lane { destination, key }).or_insert((*key_seq, row.n));
        *place = (*key_seq, row.n).min(*place);
    }
    let mut coming: Vec<Coming<'_>> =
        first.into_iter().map(|(lane, (key_seq, n))| Coming { lane, key_seq, n }).collect();
    let mut wait = FIRST_WAIT;
    while !coming.is_empty() {
        coming = look(group, coming).await?;
        if wait > WAIT_MAX && !coming.is_empty() {
            let lanes: Vec<Lane<'_>> = coming.iter().map(|one| one.lane).collect();
            return lane::leave(group.tx, &lanes).await;
        }
        if !coming.is_empty() {
            tokio::time::sleep(wait).await;
        }
        wait *= 2;
    }
    Ok(())
}

/// Who came to a lane.
struct Coming<'a> {
    lane: Lane<'a>,
    key_seq: i64,
    n: i64,
}

/// Looks who is before them; gives those that must look again.
async fn look<'a>(
    group: &Group<'_>,
    mut coming: Vec<Coming<'a>>,
) -> Result<Vec<Coming<'a>>, Failure> {
    let numbers: Vec<i64> = coming.iter().map(|one| one.n).collect();
    let places: Vec<i64> = coming.iter().map(|one| one.key_seq).collect();
    let destinations: Vec<&str> = coming.iter().map(|one| one.lane.destination).collect();
    let keys: Vec<&str> = coming.iter().map(|one| one.lane.key).collect();
    let now = group.now.get();
    let params: [&dyn crate::param::Param; 5] = [&numbers, &destinations, &keys, &places, &now];
    let mut again = BTreeSet::new();
    for row in group.tx.query(ARRIVE, &params).await? {
        let n = row::int(&row, 0).unwrap_or(0);
        if !row::flag(&row, 1) {
            again.insert(n);
        } else if let Some(one) = coming.iter().find(|one| one.n == n) {
            // By the contract, which says whether those that are parked are passed.
            lane::turn(group, one.lane, None).await?;
        }
    }
    coming.retain(|one| again.contains(&one.n));
    Ok(coming)
}
