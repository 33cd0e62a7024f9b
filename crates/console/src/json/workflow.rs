//! Workflows as JSON.
//!
//! Guarantees: as its parent. Does not: fold a state; that needs the user's program.

use counterfoil_core::domain::EventRow;
use counterfoil_core::port::read::Listed;
use counterfoil_core::port::workflow::{Issued, ListedWorkflow, WaitingInput};
use serde_json::{Value, json};

use super::{at, bytes, time};

/// What became of a command that a workflow issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Its id.
    pub command_id: String,
    /// What was issued.
    pub issued: Issued,
    /// How it stands; `None` once it is archived.
    pub listed: Option<Listed>,
}

impl Fate {
    /// Whether it waits for a person, and so does its workflow.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        let parked = |row: &Listed| matches!(row.state.as_str(), "dead" | "uncertain" | "conflict");
        self.listed.as_ref().is_some_and(parked)
    }
}

/// One workflow: the object of each line of `workflow list`.
#[must_use]
pub fn workflow(row: &ListedWorkflow) -> Value {
    let (name, version) = match row.program.rsplit_once('/') {
        Some((name, version)) => (name, version.parse::<u32>().ok()),
        None => (row.program.as_str(), None),
    };
    json!({
        "stream": row.stream,
        "workflow": Some(name).filter(|name| !name.is_empty()),
        "version": version,
        "status": row.standing(),
        "head": row.head,
        "reason": row.reason,
        "input": row.input,
        "changed_at": at(row.changed_at),
    })
}

/// One workflow whole: the object of `workflow show`.
#[must_use]
pub fn workflow_story(
    row: &ListedWorkflow,
    events: &[EventRow],
    fates: &[Fate],
    waiting: &[WaitingInput],
) -> Value {
    let mut object = workflow(row);
    object["events"] = events.iter().map(event).collect();
    object["commands"] = fates.iter().map(fate).collect();
    object["inputs"] = waiting.iter().map(waiting_input).collect();
    object
}

/// An input that waits.
#[must_use]
pub fn waiting_input(input: &WaitingInput) -> Value {
    json!({
        "stream": input.stream,
        "id": input.id,
        "kind": input.kind,
        "name": input.name,
        "due_at": at(input.due_at),
        "recorded_at": time(input.recorded_at),
        "served": input.is_served,
    })
}

/// How long an event is as JSON.
pub(crate) fn event_bytes(row: &EventRow) -> usize {
    event(row).to_string().len()
}

fn event(row: &EventRow) -> Value {
    let decided = row.decided.as_deref().map(serde_json::from_str::<Value>);
    json!({
        "seq": row.seq,
        "kind": row.kind.as_str(),
        // What an archive took is not told as an empty body.
        "body": row.archived.is_none().then(|| bytes(Some(&row.body))),
        "archived": row.archived.as_ref().map(|it| it.file.as_str()),
        "cause": row.cause,
        "commands": row.commands,
        "recorded_at": time(row.recorded_at),
        "decided": decided.and_then(Result::ok),
    })
}

fn fate(fate: &Fate) -> Value {
    let Issued { seq, idx, destination, kind, ordering_key, .. } = &fate.issued;
    json!({
        "command_id": fate.command_id,
        "seq": seq,
        "idx": idx,
        "destination": destination,
        "kind": kind,
        "ordering_key": ordering_key.as_ref().map(counterfoil_core::domain::OrderingKey::as_str),
        "state": fate.listed.as_ref().map_or("archived", |row| row.state.as_str()),
        "last_outcome": fate.listed.as_ref().and_then(|row| row.last_outcome.as_deref()),
        "parked": fate.is_parked(),
    })
}
