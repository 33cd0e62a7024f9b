//! The story of one workflow, as far as the tables tell it.
//!
//! Guarantees: bounded: the newest events, and at most [`SHOWN`] commands and inputs. Does not:
//! fold the state; that needs the user's program.

use counterfoil_core::domain::{EventRow, Stream};
use counterfoil_core::port::Workflows;
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{ListedWorkflow, WaitingInput};
use serde_json::Value;

use crate::json::{self, Fate};

/// At most so many commands and inputs of one workflow are told.
pub const SHOWN: usize = 1000;

/// What is told of one workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkflowTold {
    /// How it stands.
    pub row: ListedWorkflow,
    /// Its events, the newest of those that were asked for.
    pub events: Vec<EventRow>,
    /// What became of its commands.
    pub fates: Vec<Fate>,
    /// What waits for it.
    pub waiting: Vec<WaitingInput>,
}

impl WorkflowTold {
    /// The object of `workflow show --json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json::workflow_story(&self.row, &self.events, &self.fates, &self.waiting)
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
    let mut fates = fates(store, stream).await?;
    fates.retain(|fate| fate.issued.seq <= last);
    let waiting = store.waiting_inputs(Some(stream.as_str()), None, SHOWN).await?;
    Ok(Some(WorkflowTold { row, events, fates, waiting }))
}

/// What the workflow issued, with what stands of it; what is archived has ended.
async fn fates<S: Workflows>(store: &S, stream: &Stream) -> Result<Vec<Fate>, StoreError> {
    let issued = store.issued(stream, (0, -1), SHOWN).await?;
    let filter = Filter { stream: Some(stream.to_string()), limit: SHOWN, ..Filter::default() };
    let listed = store.list(filter).await?;
    let fate = |issued: counterfoil_core::port::workflow::Issued| {
        let command_id = format!("{stream}:{}:{}", issued.seq, issued.idx);
        let listed = listed.iter().find(|row| row.command_id == command_id).cloned();
        Fate { command_id, issued, listed }
    };
    Ok(issued.into_iter().map(fate).collect())
}
