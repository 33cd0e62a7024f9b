//! What came since the audit before: receipts by arrival, events, acts of people.
//!
//! Guarantees: pages go on where the last one ended, and none skips what stands. Does not: know how
//! far the store is complete; see `horizon`.

use std::collections::BTreeMap;

use counterfoil_core::domain::laws::{CommandFacts, ContradictionFacts};
use counterfoil_core::port::archive::ActionRow;
use counterfoil_core::port::read::Facts;
use counterfoil_core::port::seal::{Arrived, EventRead};

use crate::archive::action;
use crate::facts;
use crate::failure::Failure;
use crate::position;
use crate::read::{asked, event};
use crate::row::{count, int, string, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const CLOCK: Statement = statement!("clock");
const ARRIVED: Statement = statement!("receipt_arrived");
const NUMBERS: Statement = statement!("numbers");
const EVENTS: Statement = statement!("event_page");
const ACTIONS: Statement = statement!("action_page");
const TOMBSTONES: Statement = statement!("archive_tombstone_count");
const SAYINGS: Statement = statement!("contradiction_page");

/// The first span of arrivals that is looked at, in µs; it doubles until a page is full.
const FIRST_SPAN: i64 = 1_000_000;

/// The facts of the commands whose receipts arrived after `after`, in the order of arrival.
pub(super) async fn ended_since(
    tx: &Tx<'_>,
    after: Arrived,
    limit: usize,
) -> Result<(Facts, Arrived), Failure> {
    let now = tx.query_opt(CLOCK, &[]).await?.and_then(|row| time(&row, 0)).unwrap_or_default();
    let limit = limit.max(1);
    let (arrived, last) = page(tx, after, limit, now.get()).await?;
    let next = arrived.last().copied().unwrap_or(after);
    let mut numbers: Vec<i64> = arrived.iter().map(|one| one.n).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut by_number: BTreeMap<i64, CommandFacts> =
        facts::of(tx, &numbers).await?.into_iter().map(|facts| (facts.n, facts)).collect();
    // Two receipts of one command in a page are one look at it.
    let commands = arrived.iter().filter_map(|one| by_number.remove(&one.n)).collect();
    Ok((Facts { now, commands, last }, next))
}

/// The next arrivals, and whether nothing follows. The index tells ranges of blocks, so a span of
/// time is looked at that holds about a page.
async fn page(
    tx: &Tx<'_>,
    after: Arrived,
    limit: usize,
    now: i64,
) -> Result<(Vec<Arrived>, bool), Failure> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let round = position::int(after.round);
    let mut span = FIRST_SPAN;
    loop {
        let until = after.arrival.saturating_add(span);
        // A clock that was set back leaves receipts of the future.
        let until = if until > now { i64::MAX } else { until };
        let rows = tx.query(ARRIVED, &[&after.arrival, &after.n, &round, &until, &most]).await?;
        if rows.len() > limit || until == i64::MAX {
            let arrived = rows.iter().take(limit).map(|row| Arrived {
                arrival: int(row, 0).unwrap_or(0),
                n: int(row, 1).unwrap_or(0),
                round: count(row, 2),
            });
            return Ok((arrived.collect(), rows.len() <= limit));
        }
        span = span.saturating_mul(2);
    }
}

/// The events after a stream and seq.
pub(super) async fn events(
    tx: &Tx<'_>,
    after: Option<(String, i64)>,
    limit: usize,
) -> Result<Vec<EventRead>, Failure> {
    let (stream, seq) = after.unwrap_or((String::new(), i64::MIN));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(EVENTS, &[&stream, &seq, &limit]).await?;
    Ok(rows.iter().map(event::readable).collect())
}

/// The acts of people after `after`.
pub(super) async fn actions(
    tx: &Tx<'_>,
    after: i64,
    limit: usize,
) -> Result<Vec<ActionRow>, Failure> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(tx.query(ACTIONS, &[&after, &limit]).await?.iter().map(action).collect())
}

/// The number of each of these commands, 0 of an archived one.
pub(super) async fn numbers(tx: &Tx<'_>, ids: &[String]) -> Result<Vec<Option<i64>>, Failure> {
    let ids: Vec<&str> = ids.iter().map(|id| asked(id)).collect();
    let rows = tx.query(NUMBERS, &[&ids]).await?;
    Ok(rows.iter().map(|row| int(row, 0)).collect())
}

/// How many tombstones stand.
pub(super) async fn archived(tx: &Tx<'_>) -> Result<i64, Failure> {
    let row = tx.query_opt(TOMBSTONES, &[]).await?;
    Ok(row.and_then(|row| int(&row, 0)).unwrap_or_default())
}

/// The reports that said otherwise after `after`, each with the id of its command.
pub(super) async fn contradictions(
    tx: &Tx<'_>,
    after: i64,
    limit: usize,
) -> Result<Vec<(String, ContradictionFacts)>, Failure> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(SAYINGS, &[&after, &limit]).await?;
    let told = |row| (string(row, 0).unwrap_or_default(), facts::contradiction(row));
    Ok(rows.iter().map(told).collect())
}
