//! What an audit asks about workflows and inputs.
//!
//! Guarantees: a page is one snapshot. Does not: judge.

use counterfoil_core::domain::laws::{FlowFacts, InputFacts, TimerFacts};
use counterfoil_core::port::seal::{FlowsFrom, InputPage, TIMERS_MAX};
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::read::asked;
use crate::row::{flag, int, string, text, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const FLOWS: Statement = statement!("flow_facts");
const OPEN_FLOWS: Statement = statement!("flow_open_facts");
const TIMERS: Statement = statement!("flow_timers");
const INPUTS: Statement = statement!("input_facts");

/// Between the stream and the id in a cursor: no name holds it.
const BETWEEN: char = '\u{1f}';

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A page of workflows.
pub(super) async fn flows(
    tx: &Tx<'_>,
    from: &FlowsFrom,
    limit: usize,
) -> Result<Vec<FlowFacts>, Failure> {
    let after = from.after.as_ref().map(|(status, stream)| (asked(status), asked(stream)));
    let ((status, stream), limit) = (after.unzip(), most(limit));
    if from.open_only {
        let rows = tx.query(OPEN_FLOWS, &[&status, &stream, &limit]).await?;
        return Ok(rows.iter().map(flow).collect());
    }
    let rows = tx.query(FLOWS, &[&stream, &limit]).await?;
    let mut flows: Vec<FlowFacts> = rows.iter().map(flow).collect();
    add_timers(tx, &mut flows).await?;
    Ok(flows)
}

fn flow(row: &Row) -> FlowFacts {
    FlowFacts {
        stream: string(row, 0).unwrap_or_default(),
        workflow: string(row, 1).unwrap_or_default(),
        status: string(row, 2).unwrap_or_default(),
        head: int(row, 3).unwrap_or_default(),
        newest: int(row, 4).unwrap_or_default(),
        begun_as: string(row, 5),
        end: string(row, 6),
        has_reason: flag(row, 7),
        names_input: flag(row, 8),
        is_held: flag(row, 9),
        timers: Vec::new(),
    }
}

/// Adds the timers of each; where they are too many, the last ones are left to the next page.
async fn add_timers(tx: &Tx<'_>, flows: &mut Vec<FlowFacts>) -> Result<(), Failure> {
    if flows.is_empty() {
        return Ok(());
    }
    let streams: Vec<&str> = flows.iter().map(|flow| asked(&flow.stream)).collect();
    let rows = tx.query(TIMERS, &[&streams, &most(TIMERS_MAX.saturating_add(1))]).await?;
    if let Some(last) = rows.last().filter(|_| rows.len() > TIMERS_MAX) {
        let last = text(last, 0).unwrap_or_default();
        let whole = flows.iter().take_while(|flow| flow.stream.as_str() < last).count();
        flows.truncate(whole.max(1));
    }
    let mut at = 0;
    for row in &rows {
        let stream = text(row, 0).unwrap_or_default();
        while flows.get(at).is_some_and(|flow| flow.stream.as_str() < stream) {
            at += 1;
        }
        if let Some(flow) = flows.get_mut(at).filter(|flow| flow.stream == stream) {
            let id = string(row, 1).unwrap_or_default();
            flow.timers.push(TimerFacts { id, due_at: time(row, 2) });
        }
    }
    Ok(())
}

/// A page of inputs; the cursor is the stream and the id of the last one.
pub(super) async fn inputs(
    tx: &Tx<'_>,
    from: Option<&str>,
    limit: usize,
) -> Result<InputPage, Failure> {
    let (stream, id) = from.and_then(|from| from.split_once(BETWEEN)).unwrap_or_default();
    let rows = tx.query(INPUTS, &[&asked(stream), &asked(id), &most(limit)]).await?;
    let inputs: Vec<InputFacts> = rows.iter().map(input).collect();
    let last = inputs.last().filter(|_| inputs.len() >= limit);
    let next = last.map(|last| format!("{}{BETWEEN}{}", last.stream, last.id));
    Ok((inputs, next))
}

fn input(row: &Row) -> InputFacts {
    InputFacts {
        stream: string(row, 0).unwrap_or_default(),
        id: string(row, 1).unwrap_or_default(),
        kind: string(row, 2).unwrap_or_default(),
        name: string(row, 3).unwrap_or_default(),
        due_at: time(row, 4),
        has_body: flag(row, 5),
        is_decided: flag(row, 6),
        has_receipt: flag(row, 7),
        waits_for: string(row, 8),
        program: string(row, 9),
    }
}
