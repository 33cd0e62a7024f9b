//! What the runner of workflows asks of a store: inputs that are due, a place to load from, and one
//! transaction for all that a step decided.
//!
//! Guarantees asked of an implementation: a step is written whole or not at all, and only at the
//! head that it expects; an input is consumed once; the first receipt of a workflow's command
//! becomes an input in the transaction that writes it; an input of a workflow that cannot go on
//! costs no look at those that can. It is not asked to know what a program decides.

mod hand;
mod list;
mod page;
mod plan;
mod rule;
mod turned;

use std::future::Future;

pub use hand::{Dropped, EndByHand, EndedByHand};
pub use list::{Carried, Issued, ListedWorkflow, WaitingInput, WorkflowFilter};
pub use page::{Behind, DueLists, Placed};
pub use plan::PlannedStep;
pub use rule::{
    DROP_VERB, DUE_BYTES, END_VERB, EXPIRE_ACTOR, EXPIRE_VERB, INPUT_BODY_BYTES_MAX, RETRY_VERB,
    SET_ASIDE_VERB, aside_reason, canceller, drop_reason, ended_max, expire_reason, keys,
    twin_reason,
};
pub use turned::{StepRefused, Turned};

use super::act::Actor;
use super::patience::Patience;
use super::store::{Recorded, Store, StoreError};
use crate::domain::workflow::{InputKind, Program, Status};
use crate::domain::{
    Command, CommandId, Destination, Event, EventRow, Kind, Micros, ReceiptOutcome, Span, Stream,
};

/// An input to be written by this library, with the rights of a stranger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewInput {
    /// To which workflow.
    pub stream: Stream,
    /// Its id: the same twice is the same input.
    pub id: String,
    /// Start, signal or cancel.
    pub kind: InputKind,
    /// The workflow's name for a start, the signal's for a signal, a word for a cancel.
    pub name: String,
    /// Its bytes; `None` is kept apart from empty while it waits.
    pub body: Option<Vec<u8>>,
}

/// Why an input was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputRefused {
    /// The id stands with other content, waiting or decided.
    #[error(
        "input {id} of workflow {stream} stands with other content; another start or signal needs \
         another id"
    )]
    Conflict {
        /// The stream.
        stream: String,
        /// The input.
        id: String,
    },
    /// A value breaks a rule.
    #[error("{what} of input {id}: {why}")]
    Value {
        /// The input.
        id: String,
        /// Which value.
        what: &'static str,
        /// What is wrong and the way out.
        why: String,
    },
}

/// What a receipt said, as it is read for the runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptRead {
    /// The command.
    pub command_id: CommandId,
    /// To whom it went.
    pub destination: Destination,
    /// Its kind.
    pub kind: Kind,
    /// What became of it.
    pub outcome: ReceiptOutcome,
    /// The receiver's result.
    pub result: Option<Vec<u8>>,
    /// By what it is known.
    pub evidence: Option<String>,
}

/// An input that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueInput {
    /// The workflow.
    pub stream: Stream,
    /// The input's id.
    pub id: String,
    /// Its kind.
    pub kind: InputKind,
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub body: Vec<u8>,
    /// The workflow as it stands; `None` before its start was decided.
    pub standing: Option<Standing>,
    /// For a pointer: the receipt. `None` if there is none of that command: the pointer is forged.
    pub receipt: Option<ReceiptRead>,
}

/// The row of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The program that decides it.
    pub program: Program,
    /// How far it is.
    pub status: Status,
    /// The seq of its newest event.
    pub head: i64,
}

/// Where to look for due inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueFrom {
    /// The programs that the caller has. A start goes to every name among them; what runs goes by
    /// name and version.
    pub programs: Vec<Program>,
    /// Who asks: workflows that another one holds are left out.
    pub owner: String,
    /// At most so many inputs.
    pub limit: usize,
}

/// A saved state: where a load may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The program that wrote it; another one does not read it.
    pub program: Program,
    /// The seq of the newest event in it.
    pub seq: i64,
    /// The state.
    pub state: Vec<u8>,
}

/// One decided input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The input's id: it is deleted from `input` and is the `cause` of `event`.
    pub input: String,
    /// The input's own event: its kind and name, its body, and for a receipt what was read.
    pub event: Event,
    /// What was said beside the events: [`crate::domain::workflow::Decided`] as text.
    pub decided: Option<String>,
    /// The program's events, in order, without a cause.
    pub events: Vec<Event>,
    /// Commands; named by the seq of the decision's last event.
    pub commands: Vec<Command>,
    /// Timers to set, as inputs `(id, name, due at)`.
    pub timers: Vec<(String, String, Micros)>,
    /// Ids of timers to take back; one that has gone is no error.
    pub unset: Vec<String>,
    /// Commands to cancel; one that is no longer certain to be unsent, or ended, is left alone.
    pub cancel: Vec<CommandId>,
}

/// One transaction for one workflow: some inputs in a row, and where it stands then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The workflow.
    pub stream: Stream,
    /// The program that decided.
    pub program: Program,
    /// The head before it; 0 begins the workflow.
    pub expected_seq: i64,
    /// The time that the program was told; its events are recorded at it.
    pub at: Micros,
    /// At least one decision.
    pub decisions: Vec<Decision>,
    /// How far the workflow is then.
    pub status: Status,
    /// A state to save, which takes the place of an older one of the same program.
    pub snapshot: Option<Snapshot>,
    /// Who holds the workflow from now.
    pub owner: String,
    /// For how long; zero lets it go.
    pub lease: Span,
}

/// A workflow that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// The workflow.
    pub stream: Stream,
    /// The program.
    pub program: Program,
    /// The head at which it was found.
    pub expected_seq: i64,
    /// Why, for people.
    pub reason: String,
    /// The input on which it happened; empty if on none.
    pub input: String,
}

/// What became of a [`Quarantine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aside {
    /// Nothing: the workflow has moved.
    Moved,
    /// The workflow is set aside with its inputs.
    Workflow,
    /// The stream is a service's own and is left as it is: the input alone was taken away.
    Input,
}

/// What the upkeep of inputs did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Inputs that waited for a workflow that has come.
    pub adopted: usize,
    /// Orphans that were taken away as too old; each is recorded as an `operator_action`.
    pub expired: usize,
    /// Inputs that wait at workflows that have ended, whatever program those had: the next looks
    /// give them to any runner.
    pub ended: usize,
    /// More may be left.
    pub more: bool,
}

/// A store that keeps workflows.
pub trait Workflows: Store {
    /// Writes inputs by the rules of the guard, each by itself.
    ///
    /// # Errors
    /// [`StoreError`].
    fn send_inputs(
        &self,
        inputs: Vec<NewInput>,
    ) -> impl Future<Output = Result<Vec<Result<Recorded, InputRefused>>, StoreError>> + Send;

    /// Inputs that are due now: those at once by arrival, then those with a time by it, a page as
    /// [`DueLists`] makes it: of one workflow a timer that was due comes before what was recorded
    /// later. Of a workflow whose start waits, the start comes first. Reads only.
    ///
    /// After them come inputs of workflows that have ended, by a program that the caller does not
    /// have, as far as [`keep_inputs`](Self::keep_inputs) has met them: nothing is decided there
    /// any more, so any runner may write that they are ignored. Long bodies make a page short: it
    /// has [`DUE_BYTES`] and one input more at most.
    ///
    /// # Errors
    /// [`StoreError`].
    fn due_inputs(
        &self,
        from: DueFrom,
    ) -> impl Future<Output = Result<Vec<DueInput>, StoreError>> + Send;

    /// When the next input of these programs is due; reads only. A time that has passed means now.
    ///
    /// # Errors
    /// [`StoreError`].
    fn next_input(
        &self,
        programs: &[Program],
    ) -> impl Future<Output = Result<Option<Micros>, StoreError>> + Send;

    /// The row of a workflow and the newest snapshot of `program`, in one look; events follow by
    /// [`load_page`](Self::load_page).
    ///
    /// # Errors
    /// [`StoreError`].
    fn standing(
        &self,
        stream: &Stream,
        program: &Program,
    ) -> impl Future<Output = Result<(Option<Standing>, Option<Snapshot>), StoreError>> + Send;

    /// As [`Store::load`], but that a page ends with the event by which it has
    /// [`EVENT_PAGE_BYTES`](crate::domain::event::EVENT_PAGE_BYTES):
    /// [`is_last_page`](crate::domain::event::is_last_page) says whether more may follow. By
    /// default as long as `load` makes it.
    ///
    /// # Errors
    /// [`StoreError`].
    fn load_page(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<EventRow>, StoreError>> + Send {
        self.load(stream, after, limit)
    }

    /// Writes steps, each whole or not at all; one that is refused refuses no other. Durable before
    /// it returns.
    ///
    /// # Errors
    /// [`StoreError`]; after `NotKnown` the workflow is loaded again.
    fn steps(
        &self,
        steps: Vec<Step>,
    ) -> impl Future<Output = Result<Vec<Result<(), StepRefused>>, StoreError>> + Send;

    /// Writes steps as [`Workflows::steps`] does and, in the same transaction, looks for what is
    /// due then, as [`Workflows::due_inputs`] does. Default, for a store to which a look by itself
    /// is as good: it looks at nothing.
    ///
    /// # Errors
    /// As [`Workflows::steps`].
    fn turn(
        &self,
        steps: Vec<Step>,
        next: DueFrom,
    ) -> impl Future<Output = Result<Turned, StoreError>> + Send {
        drop(next);
        async { Ok(Turned { written: self.steps(steps).await?, due: None }) }
    }

    /// Inputs that are due, when there are any: where there are none it waits for what becomes due
    /// by a commit, and is best told of in that very transaction. `None` when `patience` ends.
    /// Asked of a [patient](Store::is_patient) store only. Default: none is ever told. Reads only.
    ///
    /// # Errors
    /// [`StoreError`].
    fn when_due(
        &self,
        from: DueFrom,
        patience: Patience,
    ) -> impl Future<Output = Result<Option<Vec<DueInput>>, StoreError>> + Send {
        drop(from);
        async move {
            patience.ended().await;
            Ok(None)
        }
    }

    /// Sets a workflow aside with its inputs, if it is where the caller says; a workflow that never
    /// began gets its row so. A stream with events of which the first is no start, and without the
    /// row of a workflow, is a service's own: nothing becomes of it, and the input is taken away
    /// alone, recorded as [`SET_ASIDE_VERB`] about its stream.
    ///
    /// # Errors
    /// [`StoreError`].
    fn quarantine(
        &self,
        quarantine: Quarantine,
    ) -> impl Future<Output = Result<Aside, StoreError>> + Send;

    /// Lets go of those of these workflows that `owner` holds, so that nobody waits for its leases
    /// to run out. What another transaction is at work on may stay held.
    ///
    /// # Errors
    /// [`StoreError`].
    fn let_go(
        &self,
        owner: &str,
        streams: &[Stream],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Takes a quarantined workflow up again with its inputs; recorded with the actor as
    /// [`RETRY_VERB`]. `false`: it is not quarantined, or unknown. A workflow that never began
    /// waits for its start again.
    ///
    /// # Errors
    /// [`StoreError`].
    fn retry_workflow(
        &self,
        stream: &Stream,
        actor: Actor,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Takes a start, signal or cancel away that no runner decides: its workflow is quarantined, or
    /// did not begin. Recorded with the actor as [`DROP_VERB`] about its stream. Its id is free
    /// again.
    ///
    /// # Errors
    /// [`StoreError`].
    fn drop_input(
        &self,
        stream: &Stream,
        input: &str,
        actor: Actor,
    ) -> impl Future<Output = Result<Dropped, StoreError>> + Send;

    /// Ends a quarantined workflow as failed, for the actor's reason, by an event that says so; its
    /// timers go, and what else waits for it is ignored by the next runner. Recorded with the actor
    /// as [`END_VERB`]. Nothing is undone, and what is on its way stays so.
    ///
    /// # Errors
    /// [`StoreError`].
    fn end_workflow(
        &self,
        stream: &Stream,
        actor: Actor,
    ) -> impl Future<Output = Result<EndedByHand, StoreError>> + Send;

    /// Gives inputs their workflow where it has come meanwhile, and takes orphaned signals and
    /// cancels away that are at least as old as `orphans_after`, each recorded as [`EXPIRE_VERB`]
    /// about its stream; so, too, what cannot be read. Meets inputs of workflows that have ended.
    /// Looks at `limit` of either at most, going on where the last call stopped; with nothing to do
    /// it only reads.
    ///
    /// # Errors
    /// [`StoreError`].
    fn keep_inputs(
        &self,
        limit: usize,
        orphans_after: Span,
    ) -> impl Future<Output = Result<Kept, StoreError>> + Send;

    /// Workflows that have begun or are quarantined, or those whose start waits, in the order of
    /// streams.
    ///
    /// # Errors
    /// [`StoreError`].
    fn workflows(
        &self,
        filter: WorkflowFilter,
    ) -> impl Future<Output = Result<Vec<ListedWorkflow>, StoreError>> + Send;

    /// One workflow; `None` if neither a row nor an event with a cause nor an input stands.
    ///
    /// # Errors
    /// [`StoreError`].
    fn workflow(
        &self,
        stream: &str,
    ) -> impl Future<Output = Result<Option<ListedWorkflow>, StoreError>> + Send;

    /// Inputs that wait, of one stream or, without one, orphans: those of streams that have neither
    /// a row of a workflow nor a start that waits. After `(stream, id)`, at most `limit`, in that
    /// order.
    ///
    /// # Errors
    /// [`StoreError`].
    fn waiting_inputs(
        &self,
        stream: Option<&str>,
        after: Option<(String, String)>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<WaitingInput>, StoreError>> + Send;

    /// The commands that a stream issued after `(seq, idx)`, at most `limit`, in order, archived
    /// ones by their tombstones.
    ///
    /// # Errors
    /// [`StoreError`].
    fn issued(
        &self,
        stream: &Stream,
        after: (i64, i64),
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Issued>, StoreError>> + Send;
}
