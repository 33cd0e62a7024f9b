//! What stands about commands, range by range, for the audit.
//!
//! Guarantees: a page is one snapshot and every table's rows of its commands, orphans too. Does
//! not: hold more than one page in memory.

use std::collections::BTreeMap;

use counterfoil_core::domain::laws::{
    AttemptFacts, CommandFacts, ContradictionFacts, DeliveryFacts, ReceiptFacts, RestoreFacts,
};
use counterfoil_core::domain::workflow::receipt_input;
use counterfoil_core::domain::{ReceiptOutcome, Stream};
use counterfoil_core::port::act::restored_from;
use counterfoil_core::port::read::{Facts, FactsFrom};
use futures_util::future::{try_join, try_join4};
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::row::{self, count, digest, flag, int, string, text, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const CLOCK: Statement = statement!("clock");
const NUMBERS: Statement = statement!("facts_numbers");
const OPEN_NUMBERS: Statement = statement!("facts_open_numbers");
pub(crate) const OUTBOX: Statement = statement!("facts_outbox");
pub(crate) const DELIVERY: Statement = statement!("facts_delivery");
pub(crate) const RECEIPT: Statement = statement!("facts_receipt");
pub(crate) const ATTEMPT: Statement = statement!("facts_attempt");
pub(crate) const CONTRADICTION: Statement = statement!("facts_contradiction");
const ACTION: Statement = statement!("facts_action");
const ACKNOWLEDGING: Statement = statement!("facts_acknowledging");
const REDELIVERED: Statement = statement!("facts_redelivered");
const RESTORED: Statement = statement!("action_restored");
const ARCHIVED: Statement = statement!("facts_archived");
const ISSUED: Statement = statement!("event_issued");
const UNHEARD: Statement = statement!("receipt_unheard");

/// The facts of the commands from an `n` on.
pub(crate) async fn facts(tx: &Tx<'_>, from: FactsFrom, limit: usize) -> Result<Facts, Failure> {
    let limit = limit.max(1);
    // One more than a page tells whether another follows.
    let page = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let statement = if from.open_only { OPEN_NUMBERS } else { NUMBERS };
    let (now, numbers) =
        try_join(tx.query_opt(CLOCK, &[]), tx.query(statement, &[&from.n, &page])).await?;
    let now = now.and_then(|row| time(&row, 0)).unwrap_or_default();
    let mut numbers: Vec<i64> = numbers.iter().filter_map(|row| int(row, 0)).collect();
    let last = numbers.len() <= limit;
    numbers.truncate(limit);
    Ok(Facts { now, commands: of(tx, &numbers).await?, last })
}

/// What stands about the commands of these numbers, each once and rising.
pub(crate) async fn of(tx: &Tx<'_>, numbers: &Vec<i64>) -> Result<Vec<CommandFacts>, Failure> {
    let mut commands: Vec<CommandFacts> = numbers.iter().map(|n| unknown(*n)).collect();
    if !numbers.is_empty() {
        add_rows(tx, numbers, &mut commands).await?;
        add_sayings(tx, &mut commands).await?;
    }
    Ok(commands)
}

fn unknown(n: i64) -> CommandFacts {
    CommandFacts { n, id: format!("n={n}"), ..CommandFacts::default() }
}

/// Adds what stands under the numbers of the commands.
async fn add_rows(
    tx: &Tx<'_>,
    numbers: &Vec<i64>,
    commands: &mut [CommandFacts],
) -> Result<(), Failure> {
    let (outbox, deliveries, receipts, attempts) = try_join4(
        tx.query(OUTBOX, &[numbers]),
        tx.query(DELIVERY, &[numbers]),
        tx.query(RECEIPT, &[numbers]),
        tx.query(ATTEMPT, &[numbers]),
    )
    .await?;
    each(&outbox, commands, |row, command| {
        command.has_outbox = true;
        command.id = string(row, 1).unwrap_or_default();
        command.erased = flag(row, 15);
        command.outbox = row::outbox(row, 0, usize::MAX).ok();
    });
    each(&deliveries, commands, |row, command| {
        command.delivery = Some(DeliveryFacts {
            delivery: row::delivery(row, 0).0,
            state_name: string(row, 1).unwrap_or_default(),
            destination: string(row, 15).unwrap_or_default(),
            ordering_key: string(row, 18),
            expires_at: time(row, 19),
            turn: row.try_get(20).ok().flatten(),
            digest: digest(row, 16),
            row_digest: digest(row, 17),
        });
    });
    each(&receipts, commands, |row, command| {
        command.receipts.push(receipt(row));
        let outcome = string(row, 2).unwrap_or_default();
        if ReceiptOutcome::from_name(&outcome).is_none() {
            command.strange_outcomes.push(outcome);
        }
    });
    each(&attempts, commands, |row, command| command.attempts.push(attempt(row)));
    Ok(())
}

/// A row of `facts_receipt`.
pub(crate) fn receipt(row: &Row) -> ReceiptFacts {
    let receipt = row::receipt(row, 0);
    ReceiptFacts {
        // Several may arrive in one microsecond; they are told apart by n and round.
        arrival: receipt.recorded_at.get(),
        receipt,
        destination: string(row, 11).unwrap_or_default(),
        digest: digest(row, 12),
        row_digest: digest(row, 13),
    }
}

/// A row of `facts_attempt`.
pub(crate) fn attempt(row: &Row) -> AttemptFacts {
    AttemptFacts {
        arrival: int(row, 5).unwrap_or_default(),
        token: int(row, 6).unwrap_or_default(),
        started_at: time(row, 7),
        reason: string(row, 8),
        round: count(row, 1),
        purpose: string(row, 2).unwrap_or_default(),
        outcome: string(row, 3).unwrap_or_default(),
        ended_at: time(row, 4).unwrap_or_default(),
    }
}

/// A row of `facts_contradiction`.
pub(crate) fn contradiction(row: &Row) -> ContradictionFacts {
    ContradictionFacts {
        arrival: int(row, 4).unwrap_or_default(),
        result: row::bytes(row, 5).map(<[u8]>::to_vec),
        evidence: string(row, 6),
        source: string(row, 7).unwrap_or_default(),
        round: count(row, 1),
        outcome: string(row, 2).unwrap_or_default(),
        recorded_at: time(row, 3).unwrap_or_default(),
    }
}

/// Goes through rows, sorted by `n`, beside the commands, sorted alike.
fn each(rows: &[Row], commands: &mut [CommandFacts], mut add: impl FnMut(&Row, &mut CommandFacts)) {
    let mut at = 0;
    for row in rows {
        let n = int(row, 0).unwrap_or(0);
        while commands.get(at).is_some_and(|command| command.n < n) {
            at += 1;
        }
        if let Some(command) = commands.get_mut(at).filter(|command| command.n == n) {
            add(row, command);
        }
    }
}

/// Adds what stands under the ids of the commands: events, contradictions, people's acts,
/// tombstones.
async fn add_sayings(tx: &Tx<'_>, commands: &mut [CommandFacts]) -> Result<(), Failure> {
    let ids: Vec<String> = commands.iter().map(|command| command.id.clone()).collect();
    let issued = |command: &CommandFacts| {
        let row = command.outbox.as_ref();
        let stream = row.and_then(|row| row.stream.as_ref()).map(Stream::to_string);
        (stream, row.and_then(|row| row.seq), row.and_then(|row| row.idx))
    };
    let (mut streams, mut seqs, mut idx) = (Vec::new(), Vec::new(), Vec::new());
    for (stream, seq, at) in commands.iter().map(issued) {
        streams.push(stream);
        seqs.push(seq);
        idx.push(at);
    }
    let (events, said, acts, archived) = try_join4(
        tx.query(ISSUED, &[&streams, &seqs, &idx]),
        tx.query(CONTRADICTION, &[&ids]),
        tx.query(ACTION, &[&ids]),
        tx.query(ARCHIVED, &[&ids]),
    )
    .await?;
    for row in events {
        let place = int(&row, 0).and_then(|place| usize::try_from(place - 1).ok());
        if let Some(command) = place.and_then(|at| commands.get_mut(at)) {
            command.has_event = true;
        }
    }
    add_unheard(tx, commands).await?;
    add_restores(tx, commands).await?;
    let mut by_id: BTreeMap<&str, &mut CommandFacts> =
        ids.iter().map(String::as_str).zip(commands).collect();
    let mut of = |row: &Row, add: &dyn Fn(&mut CommandFacts)| {
        if let Some(command) = text(row, 0).and_then(|id| by_id.get_mut(id)) {
            add(command);
        }
    };
    for row in &said {
        let said = contradiction(row);
        of(row, &|command| command.contradictions.push(said.clone()));
    }
    if !said.is_empty() {
        for row in &tx.query(ACKNOWLEDGING, &[&ids]).await? {
            of(row, &|command| command.acknowledged_at = time(row, 1));
        }
    }
    for row in &acts {
        of(row, &|command| {
            command.begun += 1;
            if flag(row, 2) {
                command.cleared_at.push(time(row, 1).unwrap_or_default());
            }
        });
    }
    for row in &tx.query(REDELIVERED, &[&ids]).await? {
        of(row, &|command| command.reopened.push(string(row, 1).unwrap_or_default()));
    }
    for row in &archived {
        of(row, &|command| command.archived = true);
    }
    Ok(())
}

/// Adds whether a workflow never heard of a receipt of its command.
async fn add_unheard(tx: &Tx<'_>, commands: &mut [CommandFacts]) -> Result<(), Failure> {
    let mut ended = Vec::new();
    let (mut numbers, mut streams, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
    for command in commands.iter_mut().filter(|command| !command.receipts.is_empty()) {
        let Some(row) = &command.outbox else { continue };
        if let (Some(stream), Some(seq), Some(idx)) = (&row.stream, row.seq, row.idx) {
            numbers.push(command.n);
            streams.push(stream.to_string());
            inputs.push(receipt_input(seq, idx));
            ended.push(command);
        }
    }
    if ended.is_empty() {
        return Ok(());
    }
    for row in tx.query(UNHEARD, &[&numbers, &streams, &inputs]).await? {
        let place = int(&row, 0).and_then(|place| usize::try_from(place - 1).ok());
        if let Some(command) = place.and_then(|at| ended.get_mut(at)) {
            command.unheard = true;
        }
    }
    Ok(())
}

/// Adds the restores of the store.
async fn add_restores(tx: &Tx<'_>, commands: &mut [CommandFacts]) -> Result<(), Failure> {
    let restores = tx.query(RESTORED, &[&i64::MIN]).await?;
    let restores = restores.iter().filter_map(|row| {
        let taken_at = restored_from(text(row, 2)?)?;
        Some(RestoreFacts { taken_at, recorded_at: time(row, 3).unwrap_or_default() })
    });
    let restores: Vec<_> = restores.collect();
    for command in commands {
        command.restores.clone_from(&restores);
    }
    Ok(())
}
