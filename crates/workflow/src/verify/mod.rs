//! Whether a program still decides what it decided: its history is decided again and compared.
//!
//! Guarantees: events, commands (id, destination, kind, key, digest of the body, and as long as
//! they are not archived media type, headers, core digest and times), timers and the end of each
//! decision are compared with what is recorded; each is decided several times, in states folded
//! anew and in one that was saved and read back, so that the order of a hash map, a clock or a
//! state that does not read back is found; of a workflow that goes on the saved state is compared
//! with the one that its events lead to. Does not: write anything, or send.

pub mod history;
mod history_line;
pub mod judge;
mod replay;
mod saved;

use std::fmt;

use counterfoil_core::domain::event::is_last_page;
use counterfoil_core::domain::workflow::{Program, Status};
use counterfoil_core::domain::{EventRow, Stream};
use counterfoil_core::port::bodies::{NoFiles, ReadBodies};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{
    Issued, ListedWorkflow, Snapshot, WorkflowFilter, Workflows,
};

use crate::instance::Instance;
use crate::programs::Programs;
use crate::running::Running;
pub(crate) use replay::Replay;

/// How many rows are read at once.
const PAGE: usize = 500;

/// A decision that is not what is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The workflow.
    pub workflow: String,
    /// The seq of the input's event.
    pub seq: i64,
    /// The input's id.
    pub input: String,
    /// What differs: `decided`, `event 2`, `command 0`.
    pub what: String,
    /// As it is recorded.
    pub recorded: String,
    /// As it is decided now.
    pub decided: String,
}

impl Mismatch {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "CF1206"
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workflow, seq, input, what, recorded, decided } = self;
        write!(
            f,
            "workflow {workflow}, event {seq} (input {input}), {what}: recorded {recorded}, \
             decided {decided}; a changed program needs another version"
        )
    }
}

/// What the verification of one workflow came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The workflow.
    pub workflow: String,
    /// Its program, `name/version`.
    pub program: String,
    /// How many decisions were decided again.
    pub decisions: u64,
    /// The first that differs.
    pub mismatch: Option<Mismatch>,
    /// The program is not among those given: nothing was decided again.
    pub is_unknown: bool,
    /// The first event whose body is archived and was not found: nothing from there on was decided
    /// again.
    pub archived: Option<Archived>,
}

/// An event whose body is archived, and was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// Its seq.
    pub seq: i64,
    /// The name of the file that has it.
    pub file: String,
}

impl Archived {
    /// The first of these.
    fn among(events: &[EventRow]) -> Option<Self> {
        let archived = |event: &EventRow| {
            let file = event.archived.as_ref()?.file.clone();
            Some(Self { seq: event.seq, file })
        };
        events.iter().find_map(archived)
    }
}

impl Verified {
    /// Whether all of it was decided again, and is what is recorded.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.mismatch.is_none() && !self.is_unknown && self.archived.is_none()
    }
}

/// Which workflows of a store are verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// Of this name. Default: of every name.
    pub name: Option<String>,
    /// Of this status. Default: of every status.
    pub status: Option<Status>,
}

/// Verifies one workflow; `None` where no workflow of this stream has begun.
///
/// Decides in the caller's task: a program that never answers holds it up.
///
/// # Errors
/// [`StoreError`].
pub async fn verify<S: Workflows>(
    store: &S,
    programs: &Programs,
    stream: &Stream,
) -> Result<Option<Verified>, StoreError> {
    verify_from(store, programs, stream, &mut NoFiles).await
}

/// The same with the bodies that an archive took, where they lie.
///
/// # Errors
/// As [`verify`], and what `bodies` found is not what was archived.
pub async fn verify_from<S: Workflows>(
    store: &S,
    programs: &Programs,
    stream: &Stream,
    bodies: &mut impl ReadBodies,
) -> Result<Option<Verified>, StoreError> {
    let Some(listed) = store.workflow(stream.as_str()).await? else { return Ok(None) };
    if listed.head == 0 {
        return Ok(None);
    }
    one(store, programs, &listed, bodies).await.map(Some)
}

/// Verifies all workflows of a store, in the order of streams, and hands each result to `tell`.
///
/// # Errors
/// [`StoreError`].
pub async fn verify_all<S: Workflows>(
    store: &S,
    programs: &Programs,
    which: Which,
    tell: impl FnMut(Verified),
) -> Result<(), StoreError> {
    verify_all_from(store, programs, which, &mut NoFiles, tell).await
}

/// The same with the bodies that an archive took, where they lie.
///
/// # Errors
/// As [`verify_from`].
pub async fn verify_all_from<S: Workflows>(
    store: &S,
    programs: &Programs,
    which: Which,
    bodies: &mut impl ReadBodies,
    mut tell: impl FnMut(Verified),
) -> Result<(), StoreError> {
    let Which { name, status } = which;
    let mut filter = WorkflowFilter { name, status, limit: PAGE, ..WorkflowFilter::default() };
    loop {
        let page = store.workflows(filter.clone()).await?;
        for listed in page.iter().filter(|listed| listed.head > 0) {
            tell(one(store, programs, listed, bodies).await?);
        }
        match page.last() {
            Some(last) if page.len() == PAGE => filter.after = Some(last.stream.clone()),
            _ => return Ok(()),
        }
    }
}

async fn one<S: Workflows>(
    store: &S,
    programs: &Programs,
    listed: &ListedWorkflow,
    bodies: &mut impl ReadBodies,
) -> Result<Verified, StoreError> {
    let (Some(program), Ok(stream)) =
        (Program::parse(&listed.program), Stream::new(listed.stream.clone()))
    else {
        return Ok(unknown(&listed.stream, &listed.program));
    };
    let Some(mut replay) = Replay::begin(programs, &program, &stream) else {
        return Ok(unknown(&listed.stream, &listed.program));
    };
    if let Some(saved) = goes_on_from(store, &stream, &program).await? {
        replay.must_come_to(saved);
    }
    let (mut after, mut issued_after) = (0, (0, -1));
    loop {
        let mut events = store.load_page(&stream, after, PAGE).await?;
        bodies.read(&mut events)?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        let wanted: i64 = events.iter().map(|event| event.commands).sum();
        let issued = issued(store, &stream, &mut issued_after, wanted).await?;
        if !replay.take(events, issued) {
            break;
        }
    }
    Ok(replay.end())
}

/// The state from which a runner would go on; of what has ended none is read any more.
async fn goes_on_from<S: Workflows>(
    store: &S,
    stream: &Stream,
    program: &Program,
) -> Result<Option<Snapshot>, StoreError> {
    let (standing, snapshot) = store.standing(stream, program).await?;
    Ok(snapshot.filter(|_| standing.is_some_and(|row| !row.status.has_ended())))
}

/// The next `wanted` commands, or as many as there are.
async fn issued<S: Workflows>(
    store: &S,
    stream: &Stream,
    after: &mut (i64, i64),
    wanted: i64,
) -> Result<Vec<Issued>, StoreError> {
    let wanted = usize::try_from(wanted).unwrap_or(0);
    let mut all = Vec::new();
    while all.len() < wanted {
        let page = store.issued(stream, *after, PAGE.min(wanted - all.len())).await?;
        let Some(last) = page.last() else { break };
        *after = (last.seq, last.idx);
        all.extend(page);
    }
    Ok(all)
}

fn unknown(workflow: &str, program: &str) -> Verified {
    Verified {
        workflow: workflow.to_owned(),
        program: program.to_owned(),
        decisions: 0,
        mismatch: None,
        is_unknown: true,
        archived: None,
    }
}

/// A workflow as it stood after one of its events.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StateAt {
    /// The seq of the newest event in it.
    pub seq: i64,
    /// Its program, `name/version`.
    pub program: String,
    /// The program's state.
    pub state: serde_json::Value,
    /// What was open then; within a decision, as before it.
    pub running: Running,
}

/// The state of a workflow after event `seq`, or after its newest one; `None` where no workflow of
/// this stream has begun or its program is not given. `Err` within: the history does not fold, or
/// the body of an event is archived.
///
/// # Errors
/// [`StoreError`].
pub async fn state_at<S: Workflows>(
    store: &S,
    programs: &Programs,
    stream: &Stream,
    seq: Option<i64>,
) -> Result<Option<Result<StateAt, crate::Broken>>, StoreError> {
    state_at_from(store, programs, (stream, seq), &mut NoFiles).await
}

/// The same with the bodies that an archive took, where they lie.
///
/// # Errors
/// As [`state_at`], and what `bodies` found is not what was archived.
pub async fn state_at_from<S: Workflows>(
    store: &S,
    programs: &Programs,
    (stream, seq): (&Stream, Option<i64>),
    bodies: &mut impl ReadBodies,
) -> Result<Option<Result<StateAt, crate::Broken>>, StoreError> {
    let seq = seq.unwrap_or(i64::MAX);
    let Some(listed) = store.workflow(stream.as_str()).await? else { return Ok(None) };
    let Some(program) = Program::parse(&listed.program) else { return Ok(None) };
    let Some(code) = programs.get(&program) else { return Ok(None) };
    let mut instance = match Instance::begin(stream.clone(), program, code) {
        Ok(instance) => instance,
        Err(why) => return Ok(Some(Err(why))),
    };
    loop {
        let mut events: Vec<EventRow> = store.load_page(stream, instance.head, PAGE).await?;
        let is_last = is_last_page(&events, PAGE);
        bodies.read(&mut events)?;
        let is_last = is_last || events.last().is_some_and(|event| event.seq >= seq);
        for event in events.iter().filter(|event| event.seq <= seq) {
            if let Err(why) = instance.fold(event) {
                return Ok(Some(Err(why)));
            }
        }
        if is_last {
            return Ok(Some(seen(&instance)));
        }
    }
}

fn seen(instance: &Instance) -> Result<StateAt, crate::Broken> {
    let state = serde_json::from_str(instance.state()?.get()).unwrap_or_default();
    Ok(StateAt {
        seq: instance.head,
        program: instance.program.to_string(),
        state,
        running: instance.running.clone(),
    })
}
