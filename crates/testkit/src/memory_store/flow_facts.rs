//! What the audit reads of workflows and of their inputs.
//!
//! Guarantees: a page is one snapshot. Does not: judge.

use std::ops::Bound::{Excluded, Unbounded};

use counterfoil_core::domain::laws::{FlowFacts, InputFacts, TimerFacts};
use counterfoil_core::domain::workflow::{Status, receipt_input};
use counterfoil_core::domain::{EventRow, Stream};
use counterfoil_core::port::seal::{FlowsFrom, InputPage};

use super::rows::{InputEntry, InputId, OutboxEntry, Rows, StreamEntry};

/// Between the stream and the id in a cursor: no name holds it.
const BETWEEN: char = '\u{1f}';

impl Rows {
    pub(super) fn flow_facts(&self, from: &FlowsFrom, limit: usize) -> Vec<FlowFacts> {
        let at = |(stream, row): &(&String, &StreamEntry)| {
            let status = if from.open_only { row.status.name() } else { "" };
            (status.to_owned(), (*stream).clone())
        };
        let is_open = |row: &StreamEntry| !from.open_only || row.status != Status::Completed;
        let mut found: Vec<_> = self.streams.iter().filter(|(_, row)| is_open(row)).collect();
        found.retain(|found| from.after.as_ref().is_none_or(|after| at(found) > *after));
        found.sort_by_key(at);
        let facts = |(stream, row): (&String, &StreamEntry)| {
            let timers = if from.open_only { Vec::new() } else { self.timers_of(stream) };
            FlowFacts { timers, ..self.facts_of_flow(stream, row) }
        };
        found.into_iter().take(limit).map(facts).collect()
    }

    fn timers_of(&self, stream: &str) -> Vec<TimerFacts> {
        let timers = self.inputs_of(stream).filter(|((_, id), _)| id.starts_with("timer:"));
        timers.map(|(at, input)| TimerFacts { id: at.1.clone(), due_at: input.due_at }).collect()
    }

    fn facts_of_flow(&self, stream: &str, row: &StreamEntry) -> FlowFacts {
        let ends = |text: &&String| text.contains("\"end\":{");
        let mut decided = self.events_of(stream).rev().filter_map(|event| event.decided.as_ref());
        let first = self.events_of(stream).next().filter(|event| event.seq == 1);
        let kind = |event: &EventRow| {
            let kind = event.cause.as_ref().map(|_| event.kind.to_string());
            kind.unwrap_or_default()
        };
        FlowFacts {
            stream: stream.to_owned(),
            workflow: row.program.name().into(),
            status: row.status.name().into(),
            head: row.head,
            newest: self.head(stream),
            begun_as: first.map(kind),
            end: decided.find(ends).cloned(),
            has_reason: row.reason.is_some(),
            names_input: row.input.is_some(),
            is_held: row.lease.is_some(),
            timers: Vec::new(),
        }
    }

    pub(super) fn input_facts(&self, from: Option<&String>, limit: usize) -> InputPage {
        let after = from.and_then(|from| from.split_once(BETWEEN));
        let after = after.map(|(stream, id)| (stream.to_owned(), id.to_owned()));
        let later = self.inputs.range((after.map_or(Unbounded, Excluded), Unbounded));
        let page: Vec<_> = later.take(limit).collect();
        let next = page.last().filter(|_| page.len() == limit);
        let next = next.map(|((stream, id), _)| format!("{stream}{BETWEEN}{id}"));
        (page.into_iter().map(|(at, input)| self.facts_of_input(at, input)).collect(), next)
    }

    fn facts_of_input(&self, at: &InputId, input: &InputEntry) -> InputFacts {
        let (stream, id) = at;
        let of = Stream::new(stream.as_str()).ok();
        let receipt = of.and_then(|of| self.pointed_to(&of, id));
        InputFacts {
            stream: stream.clone(),
            id: id.clone(),
            kind: input.kind.name().into(),
            name: input.name.clone(),
            due_at: input.due_at,
            has_body: input.body.is_some(),
            is_decided: self.caused_by(stream, id).is_some(),
            has_receipt: receipt.is_some_and(|receipt| receipt.outcome.name() == input.name),
            waits_for: input.workflow.clone(),
            program: self.streams.get(stream).map(|row| row.program.to_string()),
        }
    }

    /// Whether it is of a workflow that never heard of its first receipt.
    pub(super) fn is_unheard(&self, n: i64, entry: &OutboxEntry) -> bool {
        let Ok(row) = &entry.row else { return false };
        let (Some(stream), Some(seq), Some(idx)) = (&row.stream, row.seq, row.idx) else {
            return false;
        };
        let (stream, id) = (stream.as_str(), receipt_input(seq, idx));
        let mut events = self.events_of(stream);
        let begins = events.next().is_some_and(|event| event.kind.as_str().starts_with("start:"));
        self.streams.contains_key(stream)
            && begins
            && self.receipts_of(n).next().is_some()
            && !self.inputs.contains_key(&(stream.to_owned(), id.clone()))
            && self.caused_by(stream, &id).is_none()
    }
}
