//! The port of workflows, whichever database the store is in.
//!
//! Guarantees: each method goes to the open store as it is. Does not: decide anything.

use counterfoil_core::domain::workflow::Program;
use counterfoil_core::domain::{EventRow, Micros, Span, Stream};
use counterfoil_core::port::store::{Recorded, StoreError};
use counterfoil_core::port::workflow::{
    Aside, Dropped, DueFrom, DueInput, EndedByHand, InputRefused, Issued, Kept, ListedWorkflow,
    NewInput, Quarantine, Snapshot, Standing, Step, StepRefused, Turned, WaitingInput,
    WorkflowFilter,
};
use counterfoil_core::port::{Actor, Patience, Workflows};

use super::{OpenStore, each};

impl Workflows for OpenStore {
    async fn send_inputs(
        &self,
        inputs: Vec<NewInput>,
    ) -> Result<Vec<Result<Recorded, InputRefused>>, StoreError> {
        each!(self, open => open.send_inputs(inputs).await)
    }

    async fn due_inputs(&self, from: DueFrom) -> Result<Vec<DueInput>, StoreError> {
        each!(self, open => open.due_inputs(from).await)
    }

    async fn next_input(&self, programs: &[Program]) -> Result<Option<Micros>, StoreError> {
        each!(self, open => open.next_input(programs).await)
    }

    async fn standing(
        &self,
        stream: &Stream,
        program: &Program,
    ) -> Result<(Option<Standing>, Option<Snapshot>), StoreError> {
        each!(self, open => open.standing(stream, program).await)
    }

    async fn load_page(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        each!(self, open => open.load_page(stream, after, limit).await)
    }

    async fn steps(&self, steps: Vec<Step>) -> Result<Vec<Result<(), StepRefused>>, StoreError> {
        each!(self, open => open.steps(steps).await)
    }

    async fn turn(&self, steps: Vec<Step>, next: DueFrom) -> Result<Turned, StoreError> {
        each!(self, open => open.turn(steps, next).await)
    }

    async fn when_due(
        &self,
        from: DueFrom,
        patience: Patience,
    ) -> Result<Option<Vec<DueInput>>, StoreError> {
        each!(self, open => open.when_due(from, patience).await)
    }

    async fn quarantine(&self, quarantine: Quarantine) -> Result<Aside, StoreError> {
        each!(self, open => open.quarantine(quarantine).await)
    }

    async fn let_go(&self, owner: &str, streams: &[Stream]) -> Result<(), StoreError> {
        each!(self, open => open.let_go(owner, streams).await)
    }

    async fn retry_workflow(&self, stream: &Stream, actor: Actor) -> Result<bool, StoreError> {
        each!(self, open => open.retry_workflow(stream, actor).await)
    }

    async fn drop_input(
        &self,
        stream: &Stream,
        input: &str,
        actor: Actor,
    ) -> Result<Dropped, StoreError> {
        each!(self, open => open.drop_input(stream, input, actor).await)
    }

    async fn end_workflow(&self, stream: &Stream, actor: Actor) -> Result<EndedByHand, StoreError> {
        each!(self, open => open.end_workflow(stream, actor).await)
    }

    async fn keep_inputs(&self, limit: usize, orphans_after: Span) -> Result<Kept, StoreError> {
        each!(self, open => open.keep_inputs(limit, orphans_after).await)
    }

    async fn workflows(&self, filter: WorkflowFilter) -> Result<Vec<ListedWorkflow>, StoreError> {
        each!(self, open => open.workflows(filter).await)
    }

    async fn workflow(&self, stream: &str) -> Result<Option<ListedWorkflow>, StoreError> {
        each!(self, open => open.workflow(stream).await)
    }

    async fn waiting_inputs(
        &self,
        stream: Option<&str>,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<WaitingInput>, StoreError> {
        each!(self, open => open.waiting_inputs(stream, after, limit).await)
    }

    async fn issued(
        &self,
        stream: &Stream,
        after: (i64, i64),
        limit: usize,
    ) -> Result<Vec<Issued>, StoreError> {
        each!(self, open => open.issued(stream, after, limit).await)
    }
}
