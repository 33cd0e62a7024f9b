//! The story of one workflow, as far as the tables tell it.
//!
//! Guarantees: bounded: the newest events, at most [`SHOWN`] commands that were issued with them
//! and as many that wait for a person, and at most [`SHOWN`] inputs; what is left out is said. Does
//! not: fold the state; that needs the user's program.

use counterfoil_core::domain::{EventRow, Stream};
use counterfoil_core::port::Workflows;
use counterfoil_core::port::read::{Filter, Listed};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{Issued, ListedWorkflow, WaitingInput};
use serde_json::Value;

use crate::json::{self, Fate};

/// At most so many commands and inputs of one workflow are told.
pub const SHOWN: usize = 1000;
/// So many commands are looked up one by one; of more the outbox is read from the first one on.
const ONE_BY_ONE: usize = 100;

/// What is told of one workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkflowTold {
    /// How it stands.
    pub row: ListedWorkflow,
    /// Its events, the newest of those that were asked for.
    pub events: Vec<EventRow>,
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
        object["earlier_commands"] = self.earlier.into();
        object["commands_after"] = self.commands_after.clone().into();
        object["inputs_after"] = self.inputs_after.clone().into();
        object
    }
}

/// Looks at one workflow: its events up to `at`, the newest `limit` of them; `None` if nothing
/// stands under this stream.
///
/// # Errors
/// [`StoreError`].
pub async fn told<S: Workflows>(
    store: &S,
    stream: &Stream,
    at: Option<i64>,
    limit: usize,
) -> Result<Option<WorkflowTold>, StoreError> {
    let Some(row) = store.workflow(stream.as_str()).await? else { return Ok(None) };
    let last = at.unwrap_or(row.head).min(row.head);
    let first = last.saturating_sub(i64::try_from(limit).unwrap_or(i64::MAX)).max(0);
    let mut events = store.load(stream, first, limit).await?;
    events.retain(|event| event.seq <= last);
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
    let mut waiting = store.waiting_inputs(Some(stream.as_str()), None, SHOWN + 1).await?;
    let follows = waiting.len() > SHOWN;
    waiting.truncate(SHOWN);
    let inputs_after = waiting.last().filter(|_| follows).map(|one| one.id.clone());
    Ok(Some(WorkflowTold { row, events, fates, earlier, commands_after, waiting, inputs_after }))
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
