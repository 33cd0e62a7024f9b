//! What stands about lanes, for the audit and for people.
//!
//! Guarantees: a lane is found by its row, or by a command of it whose lane has none. Does not:
//! hold more than a page in memory.

use std::collections::BTreeSet;

use counterfoil_core::domain::State;
use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::laws::LaneFacts;
use counterfoil_core::port::act::LaneStatus;
use counterfoil_core::port::read::{AHEAD_MAX, BLOCKED_MAX, LanePlace};
use futures_util::future::try_join3;
use tokio_postgres::Row;

use crate::destination;
use crate::failure::Failure;
use crate::row::{int, string, text};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const FACTS: Statement = statement!("lane_facts");
const ARCHIVED: Statement = statement!("lane_archived");
const BLOCKED: Statement = statement!("lane_blocked");
const AHEAD: Statement = statement!("lane_ahead");
const HOLDER: Statement = statement!("lane_holder");
const AROUND: Statement = statement!("lane_around");

/// The lanes after `after`, at most `limit`, in order.
pub(crate) async fn lane_facts(
    tx: &Tx<'_>,
    after: Option<(String, String)>,
    limit: usize,
) -> Result<Vec<LaneFacts>, Failure> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let (destination, key) = after.unwrap_or_default();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(FACTS, &[&destination, &key, &limit]).await?;
    let mut facts: Vec<LaneFacts> = rows.iter().map(of_lane).collect();
    let misses = |lane: &&mut LaneFacts| lane.places != lane.last.unwrap_or(0);
    let missing: Vec<&mut LaneFacts> = facts.iter_mut().filter(misses).collect();
    if !missing.is_empty() {
        let destinations: Vec<&str> = missing.iter().map(|l| l.destination.as_str()).collect();
        let keys: Vec<&str> = missing.iter().map(|l| l.ordering_key.as_str()).collect();
        let rows = tx.query(ARCHIVED, &[&destinations, &keys]).await?;
        let archived: BTreeSet<_> = rows.iter().map(|row| (text(row, 0), text(row, 1))).collect();
        for lane in missing {
            let name = (Some(lane.destination.as_str()), Some(lane.ordering_key.as_str()));
            lane.archived = archived.contains(&name);
        }
    }
    Ok(facts)
}

fn of_lane(row: &Row) -> LaneFacts {
    LaneFacts {
        destination: string(row, 0).unwrap_or_default(),
        ordering_key: string(row, 1).unwrap_or_default(),
        last: int(row, 2),
        commands: int(row, 3).unwrap_or(0),
        places: int(row, 4).unwrap_or(0),
        newest: int(row, 5).unwrap_or(0),
        in_flight: int(row, 6).unwrap_or(0),
        archived: false,
    }
}

/// Lanes where a parked head blocks others, most waiting first.
pub(crate) async fn blocked(tx: &Tx<'_>) -> Result<Vec<LaneStatus>, Failure> {
    let rows = tx.query(BLOCKED, &[]).await?;
    let status = |row| {
        let text = |at| string(row, at).unwrap_or_default();
        let parked_head = State::from_name(&text(3)).map(|state| (text(2), state));
        let waiting = int(row, 4).unwrap_or(0).unsigned_abs();
        LaneStatus { destination: text(0), ordering_key: text(1), waiting, parked_head }
    };
    Ok(rows.iter().filter(|row| blocks(row)).take(BLOCKED_MAX).map(status).collect())
}

/// Whether a parked command blocks those behind it there, by the stored contract.
fn blocks(row: &Row) -> bool {
    let contract = text(row, 5).and_then(destination::contract);
    contract.is_none_or(|contract| contract.on_parked == OnParked::Block)
}

/// Where an open command stands in its lane.
pub(crate) async fn place(
    tx: &Tx<'_>,
    destination: &str,
    ordering_key: String,
    place: i64,
) -> Result<LanePlace, Failure> {
    let most = i64::try_from(AHEAD_MAX).unwrap_or(i64::MAX);
    let (first, turn, around) = try_join3(
        tx.query(AHEAD, &[&destination, &ordering_key, &place, &most]),
        tx.query_opt(HOLDER, &[&destination, &ordering_key]),
        tx.query_opt(AROUND, &[&destination, &ordering_key, &place]),
    )
    .await?;
    let named =
        |row: &Row| (string(row, 0).unwrap_or_default(), string(row, 1).unwrap_or_default());
    let first = first.iter().map(named).collect();
    let turn = turn.as_ref().map(named);
    let count = |at| around.as_ref().and_then(|row| int(row, at)).unwrap_or(0).unsigned_abs();
    let (ahead, behind) = (count(0), count(1));
    Ok(LanePlace { ordering_key, place, ahead, first, turn, behind })
}
