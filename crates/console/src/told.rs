//! The story of one workflow, as far as the tables tell it.
//!
//! Guarantees: bounded: the newest events, as many as were asked for and [`EVENT_BYTES_MAX`] at
//! most, at most [`SHOWN`] commands that were issued with them and as many that wait for a person,
//! and at most [`SHOWN`] inputs; what is left out is said, with where it goes on. Does not: fold
//! the state; that needs the user's program.

use std::collections::VecDeque;

use counterfoil_core::domain::workflow::Status;
use counterfoil_core::domain::{EventRow, Stream};
use counterfoil_core::port::Workflows;
use counterfoil_core::port::read::{Filter, Listed};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{Issued, ListedWorkflow, WaitingInput};
use serde_json::{Value, json};

use crate::json::{self, Fate};

/// At most so many commands and inputs of one workflow are told.
pub const SHOWN: usize = 1000;
/// So many bytes of events are told, as JSON, but always the newest one.
pub const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// So many events are read at once: each may have 16 MiB.
const PAGE: i64 = 4;
/// So many commands are looked up one by one; of more the outbox is read from the first one on.
const ONE_BY_ONE: usize = 100;

/// Which part of a story is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Events up to this seq; `None`: up to the newest.
    pub at: Option<i64>,
    /// At most so many events.
    pub limit: usize,
    /// The inputs behind this one, by their ids.
    pub inputs_after: Option<String>,
}

/// What is told of one workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkflowTold {
    /// How it stands.
    pub row: ListedWorkflow,
    /// Its events, the newest of those that were asked for.
    pub events: Vec<EventRow>,
    /// The newest event that is left out before those: the `at` of the page with it.
    pub earlier_at: Option<i64>,
    /// What became of the commands that were issued with these events, after those of earlier ones
    /// that wait for a person.
    pub fates: Vec<Fate>,
    /// Whether earlier events issued commands that are left out.
    pub earlier: bool,
    /// The last command that is told, where more follow.
    pub commands_after: Option<String>,
    /// What waits for it.
    pub waiting: Vec<WaitingInput>,
    /// The last input that is told, where more follow.
    pub inputs_after: Option<String>,
}

impl WorkflowTold {
    /// The object of `workflow show --json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = json::workflow_story(&self.row, &self.events, &self.fates, &self.waiting);
        object["earlier_events_at"] = self.earlier_at.into();
        object["earlier_commands"] = self.earlier.into();
        object["commands_after"] = self.commands_after.clone().into();
        object["inputs_after"] = self.inputs_after.clone().into();
        let stuck = self.stuck();
        object["stuck"] = stuck.map_or(
            Value::Null,
            |stuck| json!({ "seq": stuck.seq, "step": stuck.step, "reason": stuck.reason }),
        );
        object
    }

    /// The step of a saga whose undo was refused, so that it waits for a person, as the events tell
    /// it that are here.
    #[must_use]
    pub fn stuck(&self) -> Option<StuckUndo> {
        if self.row.status != Some(Status::Running) {
            return None;
        }
        let is_of_undo = |event: &&EventRow| {
            event.cause.is_none()
                && matches!(event.kind.as_str(), "undo_refused" | "undo_asked" | "undone")
        };
        let last = self.events.iter().rfind(is_of_undo)?;
        if last.kind.as_str() != "undo_refused" {
            return None;
        }
        let body: Value = serde_json::from_slice(&last.body).ok()?;
        let text = |name| Some(body[name].as_str()?.to_owned());
        Some(StuckUndo { seq: last.seq, step: text("step")?, reason: text("reason")? })
    }

    /// Has the bodies of the events read, from the oldest on, and keeps the newest events that
    /// have room.
    ///
    /// # Errors
    /// What `read` says.
    pub fn fill<E>(
        &mut self,
        mut read: impl FnMut(&mut [EventRow]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut kept = VecDeque::new();
        let mut bytes = 0;
        for mut event in std::mem::take(&mut self.events) {
            read(std::slice::from_mut(&mut event))?;
            let len = json::event_bytes(&event);
            bytes += len;
            kept.push_back((event, len));
            while bytes > EVENT_BYTES_MAX
                && kept.len() > 1
                && let Some((left_out, len)) = kept.pop_front()
            {
                bytes -= len;
                self.earlier_at = Some(left_out.seq);
            }
        }
        self.events = kept.into_iter().map(|(event, _)| event).collect();
        Ok(())
    }
}

/// An undo that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckUndo {
    /// The event that says so.
    pub seq: i64,
    /// The step's label.
    pub step: String,
    /// Why.
    pub reason: String,
}

/// Looks at one workflow; `None` if nothing stands under this stream.
///
/// # Errors
/// [`StoreError`].
pub async fn told<S: Workflows>(
    store: &S,
    stream: &Stream,
    part: Part,
) -> Result<Option<WorkflowTold>, StoreError> {
    let Some(row) = store.workflow(stream.as_str()).await? else { return Ok(None) };
    let last = part.at.unwrap_or(row.head).min(row.head);
    let events = newest(store, stream, last, part.limit).await?;
    let first = events.first().map_or(last, |event| event.seq - 1);
    let earlier_at = Some(first).filter(|first| *first > 0 && !events.is_empty());
    // One more says whether anything follows.
    let mut issued = store.issued(stream, (first, i64::MAX), SHOWN + 1).await?;
    issued.retain(|one| one.seq <= last);
    let follows = issued.len() > SHOWN;
    issued.truncate(SHOWN);
    let commands_after = issued.last().filter(|_| follows).map(|one| id_of(stream, one));
    let mut fates = parked_before(store, stream, first).await?;
    fates.extend(fates_of(store, stream, issued).await?);
    let before = if first > 0 { store.issued(stream, (0, -1), 1).await? } else { Vec::new() };
    let earlier = before.first().is_some_and(|one| one.seq <= first);
    let after = part.inputs_after.map(|id| (stream.to_string(), id));
    let mut waiting = store.waiting_inputs(Some(stream.as_str()), after, SHOWN + 1).await?;
    let follows = waiting.len() > SHOWN;
    waiting.truncate(SHOWN);
    let inputs_after = waiting.last().filter(|_| follows).map(|one| one.id.clone());
    Ok(Some(WorkflowTold {
        row,
        events,
        earlier_at,
        fates,
        earlier,
        commands_after,
        waiting,
        inputs_after,
    }))
}

/// The newest events up to `last`, read backwards a few at a time, so that long ones are never all
/// in memory.
async fn newest<S: Workflows>(
    store: &S,
    stream: &Stream,
    last: i64,
    limit: usize,
) -> Result<Vec<EventRow>, StoreError> {
    let mut kept = VecDeque::new();
    let (mut before, mut room) = (last, EVENT_BYTES_MAX);
    while before > 0 && kept.len() < limit {
        let first = (before - PAGE).max(0);
        let count = usize::try_from(before - first).unwrap_or(0);
        let mut page = store.load(stream, first, count).await?;
        page.retain(|event| event.seq <= before);
        if page.is_empty() {
            break;
        }
        for event in page.into_iter().rev() {
            let len = json::event_bytes(&event);
            let is_full = kept.len() >= limit || len > room;
            if is_full && !kept.is_empty() {
                return Ok(kept.into());
            }
            room = room.saturating_sub(len);
            kept.push_front(event);
        }
        before = first;
    }
    Ok(kept.into())
}

fn id_of(stream: &Stream, issued: &Issued) -> String {
    format!("{stream}:{}:{}", issued.seq, issued.idx)
}

/// What was issued, with what stands of it; what is archived has ended.
async fn fates_of<S: Workflows>(
    store: &S,
    stream: &Stream,
    issued: Vec<Issued>,
) -> Result<Vec<Fate>, StoreError> {
    let mut fates = Vec::with_capacity(issued.len());
    let mut rest: Option<Vec<Listed>> = None;
    let is_long = issued.len() > ONE_BY_ONE;
    for issued in issued {
        let command_id = id_of(stream, &issued);
        let listed = match &rest {
            Some(rest) => find(rest, &command_id),
            None => store.show(&command_id).await?.map(|story| story.listed),
        };
        if is_long && rest.is_none() && listed.is_some() {
            let (stream, after) = (Some(stream.to_string()), Some(command_id.clone()));
            let filter = Filter { stream, after, limit: SHOWN, ..Filter::default() };
            rest = Some(store.list(filter).await?);
        }
        fates.push(Fate { command_id, issued, listed });
    }
    Ok(fates)
}

fn find(all: &[Listed], command_id: &str) -> Option<Listed> {
    all.iter().find(|row| row.command_id == command_id).cloned()
}

/// What earlier events issued and waits for a person, whom the workflow waits for, too.
async fn parked_before<S: Workflows>(
    store: &S,
    stream: &Stream,
    first: i64,
) -> Result<Vec<Fate>, StoreError> {
    if first == 0 {
        return Ok(Vec::new());
    }
    let (of, state) = (Some(stream.to_string()), Some("parked".to_owned()));
    let filter = Filter { stream: of, state, limit: SHOWN, ..Filter::default() };
    let parked = store.list(filter).await?.into_iter();
    let fate = |row: Listed| {
        let place = row.command_id.strip_prefix(stream.as_str())?.strip_prefix(':')?;
        let (seq, idx) = place.split_once(':')?;
        let issued = Issued {
            seq: seq.parse().ok().filter(|seq| *seq <= first)?,
            idx: idx.parse().ok()?,
            destination: row.destination.clone(),
            kind: row.kind.clone(),
            ordering_key: None,
            digest: None,
            carried: None,
        };
        Some(Fate { command_id: row.command_id.clone(), issued, listed: Some(row) })
    };
    Ok(parked.filter_map(fate).collect())
}
