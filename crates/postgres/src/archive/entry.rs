//! Ended commands whole, as they stand.
//!
//! Guarantees: one look each at the rows, in order of arrival; what is open, or cannot be read, is
//! no entry. Does not: lock anything; see `bury`.

use std::collections::BTreeMap;

use counterfoil_core::domain::laws::ContradictionFacts;
use counterfoil_core::port::archive::{ActionRow, Entry};
use futures_util::future::{try_join, try_join4};
use tokio_postgres::Row;

use crate::facts::{self, ATTEMPT, CONTRADICTION, DELIVERY, OUTBOX, RECEIPT};
use crate::failure::Failure;
use crate::read::list;
use crate::row::{self, int, string, text, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const ACTIONS: Statement = statement!("archive_actions");

/// The entries of those of these commands that have ended and can be read, by rising `n`.
pub(super) async fn of(tx: &Tx<'_>, numbers: &Vec<i64>) -> Result<Vec<Entry>, Failure> {
    let mut entries = rows(tx, numbers).await?;
    let ids = entries.values().map(|entry| entry.outbox.command_id.to_string());
    let ids: Vec<String> = ids.collect();
    let (said, done) =
        try_join(tx.query(CONTRADICTION, &[&ids]), tx.query(ACTIONS, &[&ids])).await?;
    let mut by_id: BTreeMap<String, &mut Entry> =
        ids.into_iter().zip(entries.values_mut()).collect();
    for row in &said {
        add(&mut by_id, row, |entry| entry.contradictions.push(facts::contradiction(row)));
    }
    for row in &done {
        add(&mut by_id, row, |entry| entry.actions.push(action(row)));
    }
    for entry in entries.values_mut() {
        entry.contradictions.sort_by_key(|said: &ContradictionFacts| said.arrival);
    }
    Ok(entries.into_values().collect())
}

/// The entry of one command, if it has ended.
pub(super) async fn of_command(tx: &Tx<'_>, command_id: &str) -> Result<Option<Entry>, Failure> {
    let Some(n) = list::number(tx, command_id).await? else { return Ok(None) };
    Ok(of(tx, &vec![n]).await?.pop())
}

/// What stands under the numbers of the commands.
async fn rows(tx: &Tx<'_>, numbers: &Vec<i64>) -> Result<BTreeMap<i64, Entry>, Failure> {
    if numbers.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (outbox, open, receipts, attempts) = try_join4(
        tx.query(OUTBOX, &[numbers]),
        tx.query(DELIVERY, &[numbers]),
        tx.query(RECEIPT, &[numbers]),
        tx.query(ATTEMPT, &[numbers]),
    )
    .await?;
    let mut entries: BTreeMap<i64, Entry> =
        outbox.iter().filter_map(|row| Some((int(row, 0)?, begun(row)?))).collect();
    for row in &open {
        entries.remove(&int(row, 0).unwrap_or(0));
    }
    for row in &receipts {
        if let Some(entry) = int(row, 0).and_then(|n| entries.get_mut(&n)) {
            entry.receipts.push(facts::receipt(row));
        }
    }
    for row in &attempts {
        if let Some(entry) = int(row, 0).and_then(|n| entries.get_mut(&n)) {
            entry.attempts.push(facts::attempt(row));
        }
    }
    entries.retain(|_, entry| !entry.receipts.is_empty());
    Ok(entries)
}

/// An entry of an outbox row alone.
fn begun(row: &Row) -> Option<Entry> {
    Some(Entry {
        outbox: row::outbox(row, 0, usize::MAX).ok()?,
        erased_at: time(row, 16),
        receipts: Vec::new(),
        attempts: Vec::new(),
        contradictions: Vec::new(),
        actions: Vec::new(),
    })
}

fn add(by_id: &mut BTreeMap<String, &mut Entry>, row: &Row, add: impl FnOnce(&mut Entry)) {
    if let Some(entry) = text(row, 0).and_then(|id| by_id.get_mut(id)) {
        add(entry);
    }
}

/// A row of `archive_actions` or `action_page`.
pub(crate) fn action(row: &Row) -> ActionRow {
    ActionRow {
        about: string(row, 0).unwrap_or_default(),
        arrival: int(row, 1).unwrap_or(0),
        verb: string(row, 2).unwrap_or_default(),
        actor: string(row, 3).unwrap_or_default(),
        reason: string(row, 4),
        before: string(row, 5),
        after: string(row, 6),
        recorded_at: time(row, 7).unwrap_or_default(),
    }
}
