//! What stands about commands, range by range, for the audit.
//!
//! Guarantees: a page is one snapshot and every table's rows of its range, orphans too. Does not:
//! hold more than one page in memory.

use counterfoil_core::domain::laws::{
    AttemptFacts, CommandFacts, ContradictionFacts, DeliveryFacts, ReceiptFacts, RestoreFacts,
    UnreadableFacts,
};
use counterfoil_core::domain::workflow::receipt_input;
use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome};
use counterfoil_core::port::act::restored_from;
use counterfoil_core::port::read::{Facts, FactsFrom};
use rusqlite::{Connection, Row, params};

use crate::row::{self, count, digest, int, lossy, time};
use crate::sql::Sql;

/// The facts of the commands from an `n` on.
pub(crate) fn facts(
    store: &Connection,
    from: FactsFrom,
    limit: usize,
    now: Micros,
) -> rusqlite::Result<Facts> {
    let limit = limit.max(1);
    let sql = if from.open_only { Sql::FactsOpenNumbers } else { Sql::FactsNumbers };
    let mut statement = store.prepare_cached(sql.text())?;
    // One more than a page tells whether another follows.
    let page = params![from.n, i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)];
    let numbers = statement.query_map(page, |row| row.get(0))?;
    let mut numbers = numbers.collect::<rusqlite::Result<Vec<i64>>>()?;
    let last = numbers.len() <= limit;
    numbers.truncate(limit);
    // Between two open commands there may be any number of ended ones.
    let commands = if from.open_only {
        of_numbers(store, &numbers)?
    } else {
        let mut commands: Vec<CommandFacts> = numbers.iter().map(|n| unknown(*n)).collect();
        if let Some(last) = numbers.last() {
            read_range(store, [from.n, *last], &mut commands)?;
        }
        with_words(store, commands)?
    };
    Ok(Facts { now, last, commands })
}

/// The facts of these commands, in this order.
pub(crate) fn of_numbers(
    store: &Connection,
    numbers: &[i64],
) -> rusqlite::Result<Vec<CommandFacts>> {
    let mut commands: Vec<CommandFacts> = numbers.iter().map(|n| unknown(*n)).collect();
    for (n, command) in numbers.iter().zip(&mut commands) {
        read_range(store, [*n, *n], std::slice::from_mut(command))?;
    }
    with_words(store, commands)
}

/// With what stands under their names.
fn with_words(
    store: &Connection,
    mut commands: Vec<CommandFacts>,
) -> rusqlite::Result<Vec<CommandFacts>> {
    add_events(store, &mut commands)?;
    add_contradictions(store, &mut commands)?;
    add_people_and_tombstones(store, &mut commands)?;
    Ok(commands)
}

fn unknown(n: i64) -> CommandFacts {
    CommandFacts { n, id: format!("n={n}"), ..CommandFacts::default() }
}

/// Adds the rows from the first `n` to the last, which are those of `commands`, in their order.
fn read_range(
    store: &Connection,
    range: [i64; 2],
    commands: &mut [CommandFacts],
) -> rusqlite::Result<()> {
    each(store, Sql::FactsOutbox, range, commands, |row, command| {
        command.has_outbox = true;
        command.id = lossy(row, 1)?.unwrap_or_default();
        command.erased = row.get(15)?;
        match row::outbox(row, 0, usize::MAX)? {
            Ok(outbox) => command.outbox = Some(outbox),
            Err(why) => {
                let destination = lossy(row, 5)?.unwrap_or_default();
                let body = row::bytes(row, 8)?.map(Digest::of);
                command.unreadable = Some(UnreadableFacts { why, destination, body });
            }
        }
        Ok(())
    })?;
    each(store, Sql::FactsDelivery, range, commands, |row, command| {
        command.delivery = Some(DeliveryFacts {
            delivery: row::delivery(row, 0)?.0,
            state_name: lossy(row, 1)?.unwrap_or_default(),
            destination: lossy(row, 15)?.unwrap_or_default(),
            ordering_key: lossy(row, 18)?,
            expires_at: time(row, 19)?,
            turn: row.get(20)?,
            digest: digest(row, 16)?,
            row_digest: digest(row, 17)?,
        });
        Ok(())
    })?;
    each(store, Sql::FactsReceipt, range, commands, |row, command| {
        command.receipts.push(receipt(row)?);
        let outcome = lossy(row, 2)?.unwrap_or_default();
        if ReceiptOutcome::from_name(&outcome).is_none() {
            command.strange_outcomes.push(outcome);
        }
        Ok(())
    })?;
    each(store, Sql::FactsAttempt, range, commands, |row, command| {
        command.attempts.push(attempt(row)?);
        Ok(())
    })
}

/// A receipt in the columns of `facts_receipt.sql`.
pub(crate) fn receipt(row: &Row<'_>) -> rusqlite::Result<ReceiptFacts> {
    Ok(ReceiptFacts {
        arrival: int(row, 14)?.unwrap_or_default(),
        receipt: row::receipt(row, 0)?,
        destination: lossy(row, 11)?.unwrap_or_default(),
        digest: digest(row, 12)?,
        row_digest: digest(row, 13)?,
    })
}

/// An attempt in the columns of `facts_attempt.sql`.
pub(crate) fn attempt(row: &Row<'_>) -> rusqlite::Result<AttemptFacts> {
    Ok(AttemptFacts {
        arrival: int(row, 5)?.unwrap_or_default(),
        token: int(row, 6)?.unwrap_or_default(),
        started_at: time(row, 7)?,
        reason: lossy(row, 8)?,
        round: count(row, 1)?,
        purpose: lossy(row, 2)?.unwrap_or_default(),
        outcome: lossy(row, 3)?.unwrap_or_default(),
        ended_at: time(row, 4)?.unwrap_or_default(),
    })
}

/// A contradiction in the columns of `contradiction_of_command.sql`.
pub(crate) fn contradiction(row: &Row<'_>) -> rusqlite::Result<ContradictionFacts> {
    Ok(ContradictionFacts {
        arrival: int(row, 6)?.unwrap_or_default(),
        result: row::bytes(row, 2)?.map(<[u8]>::to_vec),
        evidence: lossy(row, 3)?,
        source: lossy(row, 4)?.unwrap_or_default(),
        round: count(row, 0)?,
        outcome: lossy(row, 1)?.unwrap_or_default(),
        recorded_at: time(row, 5)?.unwrap_or_default(),
    })
}

/// Reads the rows of a range, sorted by `n`, beside the commands, sorted alike.
fn each(
    store: &Connection,
    sql: Sql,
    range: [i64; 2],
    commands: &mut [CommandFacts],
    mut add: impl FnMut(&Row<'_>, &mut CommandFacts) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut statement = store.prepare_cached(sql.text())?;
    let mut rows = statement.query(range)?;
    let mut at = 0;
    while let Some(row) = rows.next()? {
        let n = int(row, 0)?.unwrap_or(0);
        while commands.get(at).is_some_and(|command| command.n < n) {
            at += 1;
        }
        if let Some(command) = commands.get_mut(at).filter(|command| command.n == n) {
            add(row, command)?;
        }
    }
    Ok(())
}

/// Adds whether the event of each decision's command stands, and whether a workflow knows its end.
fn add_events(store: &Connection, commands: &mut [CommandFacts]) -> rusqlite::Result<()> {
    let mut issued = store.prepare_cached(Sql::EventIssued.text())?;
    let mut unheard = store.prepare_cached(Sql::ReceiptUnheard.text())?;
    for command in commands {
        let Some(row) = &command.outbox else { continue };
        if let Some(stream) = &row.stream {
            command.has_event = issued.exists(params![stream.as_str(), row.seq, row.idx])?;
            let pointer = row.seq.zip(row.idx).map(|(seq, idx)| receipt_input(seq, idx));
            command.unheard = match pointer.filter(|_| !command.receipts.is_empty()) {
                Some(pointer) => unheard.exists(params![stream.as_str(), command.n, pointer])?,
                None => false,
            };
        }
    }
    Ok(())
}

/// Adds reports that said otherwise and who looked into them, where there are any at all.
fn add_contradictions(store: &Connection, commands: &mut [CommandFacts]) -> rusqlite::Result<()> {
    if !store.prepare_cached(Sql::ContradictionAny.text())?.exists([])? {
        return Ok(());
    }
    let mut said = store.prepare_cached(Sql::ContradictionOfCommand.text())?;
    let mut looked = store.prepare_cached(Sql::ActionAcknowledging.text())?;
    for command in commands {
        let rows = said.query_map([&command.id], contradiction)?;
        command.contradictions = rows.collect::<rusqlite::Result<_>>()?;
        if !command.contradictions.is_empty() {
            let looked = looked.query_map([&command.id], |row| time(row, 0))?;
            let looked = looked.collect::<rusqlite::Result<Vec<_>>>()?;
            command.acknowledged_at = looked.into_iter().flatten().max();
        }
    }
    Ok(())
}

/// Adds what people did and the tombstones, where there are any at all.
fn add_people_and_tombstones(
    store: &Connection,
    commands: &mut [CommandFacts],
) -> rusqlite::Result<()> {
    if store.prepare_cached(Sql::ActionAny.text())?.exists([])? {
        let mut clearing = store.prepare_cached(Sql::ActionClearing.text())?;
        let mut redelivered = store.prepare_cached(Sql::ActionRedelivered.text())?;
        let mut erased = store.prepare_cached(Sql::ActionErased.text())?;
        let restores = restores(store)?;
        for command in commands.iter_mut() {
            let mut acts = clearing.query([&command.id])?;
            while let Some(act) = acts.next()? {
                command.begun += 1;
                if act.get(1)? {
                    command.cleared_at.push(time(act, 0)?.unwrap_or_default());
                }
            }
            drop(acts);
            let reopened = redelivered.query_map([&command.id], |row| lossy(row, 0))?;
            let reopened = reopened.map(|outcome| Ok(outcome?.unwrap_or_default()));
            command.reopened = reopened.collect::<rusqlite::Result<_>>()?;
            command.restores.clone_from(&restores);
            if command.erased {
                command.has_erase = erased.query_row([&command.id], |row| row.get(0))?;
            }
        }
    }
    if store.prepare_cached(Sql::ArchivedAny.text())?.exists([])? {
        let mut archived = store.prepare_cached(Sql::ArchivedRow.text())?;
        for command in commands {
            command.archived = archived.exists([&command.id])?;
        }
    }
    Ok(())
}

/// The restores of the store.
fn restores(store: &Connection) -> rusqlite::Result<Vec<RestoreFacts>> {
    let mut restored = store.prepare_cached(Sql::ActionRestored.text())?;
    let mut rows = restored.query([i64::MIN])?;
    let mut restores = Vec::new();
    while let Some(row) = rows.next()? {
        let reason = lossy(row, 2)?.unwrap_or_default();
        if let Some(taken_at) = restored_from(&reason) {
            let recorded_at = time(row, 3)?.unwrap_or_default();
            restores.push(RestoreFacts { taken_at, recorded_at });
        }
    }
    Ok(restores)
}
