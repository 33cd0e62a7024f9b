//! What stands about commands beside their rows: events, contradictions, people's acts, tombstones.
//!
//! Guarantees: what no table has is not asked for, id by id. Does not: begin a snapshot.

use std::collections::BTreeMap;

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::laws::{CommandFacts, RestoreFacts};
use counterfoil_core::domain::workflow::receipt_input;
use counterfoil_core::port::act::restored_from;
use futures_util::future::try_join3;
use tokio_postgres::Row;

use super::{CONTRADICTION, contradiction};
use crate::failure::Failure;
use crate::row::{flag, int, string, text, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const SAID: Statement = statement!("facts_said");
const ACTION: Statement = statement!("facts_action");
const ACKNOWLEDGING: Statement = statement!("facts_acknowledging");
const REDELIVERED: Statement = statement!("facts_redelivered");
const RESTORED: Statement = statement!("action_restored");
const ARCHIVED: Statement = statement!("facts_archived");
const ISSUED: Statement = statement!("event_issued");
const UNHEARD: Statement = statement!("receipt_unheard");

/// Adds what stands about the commands.
pub(super) async fn add(tx: &Tx<'_>, commands: &mut [CommandFacts]) -> Result<(), Failure> {
    add_issued(tx, commands).await?;
    add_unheard(tx, commands).await?;
    let said = tx.query_opt(SAID, &[]).await?;
    let stands = |at| said.as_ref().is_some_and(|row| flag(row, at));
    let (is_contradicted, is_acted, is_archived) = (stands(0), stands(1), stands(2));
    if is_acted {
        add_restores(tx, commands).await?;
    }
    if !(is_contradicted || is_acted || is_archived) {
        return Ok(());
    }
    let ids: Vec<String> = commands.iter().map(|command| command.id.clone()).collect();
    let none: Vec<String> = Vec::new();
    let of_ids = |stands| if stands { &ids } else { &none };
    let (said, acts, archived) = try_join3(
        tx.query(CONTRADICTION, &[of_ids(is_contradicted)]),
        tx.query(ACTION, &[of_ids(is_acted)]),
        tx.query(ARCHIVED, &[of_ids(is_archived)]),
    )
    .await?;
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
            if flag(row, 3) {
                command.has_erase = true;
                return;
            }
            command.begun += 1;
            if flag(row, 2) {
                command.cleared_at.push(time(row, 1).unwrap_or_default());
            }
        });
    }
    for row in &tx.query(REDELIVERED, &[of_ids(is_acted)]).await? {
        of(row, &|command| command.reopened.push(string(row, 1).unwrap_or_default()));
    }
    for row in &archived {
        of(row, &|command| command.archived = true);
    }
    Ok(())
}

/// Adds whether the event stands that says that it issued the command.
async fn add_issued(tx: &Tx<'_>, commands: &mut [CommandFacts]) -> Result<(), Failure> {
    let mut issued = Vec::new();
    let (mut streams, mut seqs, mut idx) = (Vec::new(), Vec::new(), Vec::new());
    for command in commands {
        let Some(row) = &command.outbox else { continue };
        let Some(stream) = row.stream.as_ref().map(Stream::to_string) else { continue };
        streams.push(stream);
        seqs.push(row.seq);
        idx.push(row.idx);
        issued.push(command);
    }
    if issued.is_empty() {
        return Ok(());
    }
    for row in tx.query(ISSUED, &[&streams, &seqs, &idx]).await? {
        let place = int(&row, 0).and_then(|place| usize::try_from(place - 1).ok());
        if let Some(command) = place.and_then(|at| issued.get_mut(at)) {
            command.has_event = true;
        }
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
