//! What stands about commands, range by range, for the audit.
//!
//! Guarantees: a page is one snapshot and every table's rows of its commands, orphans too. Does
//! not: hold more than one page in memory.

mod said;

use counterfoil_core::domain::laws::{
    AttemptFacts, CommandFacts, ContradictionFacts, DeliveryFacts, ReceiptFacts, UnreadableFacts,
};
use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome};
use counterfoil_core::port::read::{Facts, FactsFrom};
use futures_util::future::{try_join, try_join4};
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::row::{self, count, digest, flag, int, string, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const CLOCK: Statement = statement!("clock");
const BOUND: Statement = statement!("facts_bound");
const PAGE_OUTBOX: Statement = statement!("facts_page_outbox");
const PAGE_DELIVERY: Statement = statement!("facts_page_delivery");
const PAGE_RECEIPT: Statement = statement!("facts_page_receipt");
const PAGE_ATTEMPT: Statement = statement!("facts_page_attempt");
const OPEN_NUMBERS: Statement = statement!("facts_open_numbers");
pub(crate) const OUTBOX: Statement = statement!("facts_outbox");
pub(crate) const DELIVERY: Statement = statement!("facts_delivery");
pub(crate) const RECEIPT: Statement = statement!("facts_receipt");
pub(crate) const ATTEMPT: Statement = statement!("facts_attempt");
pub(crate) const CONTRADICTION: Statement = statement!("facts_contradiction");

/// The facts of the commands from an `n` on.
pub(crate) async fn facts(tx: &Tx<'_>, from: FactsFrom, limit: usize) -> Result<Facts, Failure> {
    let limit = limit.max(1);
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    if from.open_only {
        // One more than a page tells whether another follows.
        let page = most.saturating_add(1);
        let (now, numbers) = try_join(now(tx), tx.query(OPEN_NUMBERS, &[&from.n, &page])).await?;
        let mut numbers: Vec<i64> = numbers.iter().filter_map(|row| int(row, 0)).collect();
        let last = numbers.len() <= limit;
        numbers.truncate(limit);
        return Ok(Facts { now, commands: of(tx, &numbers).await?, last });
    }
    let (now, bound) = try_join(now(tx), tx.query_opt(BOUND, &[&from.n, &most])).await?;
    let bound = bound.and_then(|row| int(&row, 0));
    let through = bound.map_or(i64::MAX, |bound| bound.saturating_sub(1));
    let mut commands = Rows::page(tx, from.n, through).await?.commands();
    // Orphans stand in one table each, and together may be more than any of them has.
    let last = bound.is_none() && commands.len() <= limit;
    commands.truncate(limit);
    said::add(tx, &mut commands).await?;
    Ok(Facts { now, commands, last })
}

async fn now(tx: &Tx<'_>) -> Result<Micros, Failure> {
    let now = tx.query_opt(CLOCK, &[]).await?;
    Ok(now.and_then(|row| time(&row, 0)).unwrap_or_default())
}

/// What stands about the commands of these numbers, each once and rising.
pub(crate) async fn of(tx: &Tx<'_>, numbers: &Vec<i64>) -> Result<Vec<CommandFacts>, Failure> {
    let mut commands: Vec<CommandFacts> = numbers.iter().map(|n| unknown(*n)).collect();
    if !numbers.is_empty() {
        Rows::of(tx, numbers).await?.add_to(&mut commands);
        said::add(tx, &mut commands).await?;
    }
    Ok(commands)
}

fn unknown(n: i64) -> CommandFacts {
    CommandFacts { n, id: format!("n={n}"), ..CommandFacts::default() }
}

/// What stands under numbers of commands, table by table, sorted by the number.
struct Rows {
    outbox: Vec<Row>,
    deliveries: Vec<Row>,
    receipts: Vec<Row>,
    attempts: Vec<Row>,
}

impl Rows {
    /// All from one number through another: a walk along each index costs a third of as many
    /// looks for one number each.
    async fn page(tx: &Tx<'_>, from: i64, through: i64) -> Result<Self, Failure> {
        let (outbox, deliveries, receipts, attempts) = try_join4(
            tx.query(PAGE_OUTBOX, &[&from, &through]),
            tx.query(PAGE_DELIVERY, &[&from, &through]),
            tx.query(PAGE_RECEIPT, &[&from, &through]),
            tx.query(PAGE_ATTEMPT, &[&from, &through]),
        )
        .await?;
        Ok(Self { outbox, deliveries, receipts, attempts })
    }

    /// Those of these numbers.
    async fn of(tx: &Tx<'_>, numbers: &Vec<i64>) -> Result<Self, Failure> {
        let (outbox, deliveries, receipts, attempts) = try_join4(
            tx.query(OUTBOX, &[numbers]),
            tx.query(DELIVERY, &[numbers]),
            tx.query(RECEIPT, &[numbers]),
            tx.query(ATTEMPT, &[numbers]),
        )
        .await?;
        Ok(Self { outbox, deliveries, receipts, attempts })
    }

    /// One for each number that stands in any table.
    fn commands(&self) -> Vec<CommandFacts> {
        let all = [&self.outbox, &self.deliveries, &self.receipts, &self.attempts];
        let numbers = all.into_iter().flatten().filter_map(|row| int(row, 0));
        let mut numbers: Vec<i64> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut commands: Vec<CommandFacts> = numbers.into_iter().map(unknown).collect();
        self.add_to(&mut commands);
        commands
    }

    fn add_to(&self, commands: &mut [CommandFacts]) {
        let Self { outbox, deliveries, receipts, attempts } = self;
        each(outbox, commands, |row, command| {
            command.has_outbox = true;
            command.id = string(row, 1).unwrap_or_default();
            command.erased = flag(row, 15);
            match row::outbox(row, 0, usize::MAX) {
                Ok(outbox) => command.outbox = Some(outbox),
                Err(why) => {
                    let destination = string(row, 5).unwrap_or_default();
                    let body = row::bytes(row, 8).map(Digest::of);
                    command.unreadable = Some(UnreadableFacts { why, destination, body });
                }
            }
        });
        each(deliveries, commands, |row, command| {
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
        each(receipts, commands, |row, command| {
            command.receipts.push(receipt(row));
            let outcome = string(row, 2).unwrap_or_default();
            if ReceiptOutcome::from_name(&outcome).is_none() {
                command.strange_outcomes.push(outcome);
            }
        });
        each(attempts, commands, |row, command| command.attempts.push(attempt(row)));
    }
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
