//! The workflows of the store as one process sees them: steps go through the world as any write.
//!
//! Guarantees: what is written is written by the store in memory. Does not: fail by itself; reads
//! fail as the plan says.

use counterfoil_core::domain::workflow::Program;
use counterfoil_core::domain::{Micros, Span, Stream};
use counterfoil_core::port::store::{Recorded, StoreError};
use counterfoil_core::port::workflow::{
    Aside, Dropped, DueFrom, DueInput, EndedByHand, InputRefused, Issued, Kept, ListedWorkflow,
    NewInput, Quarantine, Snapshot, Standing, Step, StepRefused, WaitingInput, WorkflowFilter,
};
use counterfoil_core::port::{Actor, Patience, Workflows};

use super::request::{Write, Written};
use super::sim_store::{SimStore, strange};

impl Workflows for SimStore {
    async fn send_inputs(
        &self,
        inputs: Vec<NewInput>,
    ) -> Result<Vec<Result<Recorded, InputRefused>>, StoreError> {
        self.inner.send_inputs(inputs).await
    }

    async fn due_inputs(&self, from: DueFrom) -> Result<Vec<DueInput>, StoreError> {
        self.readable()?;
        self.inner.due_inputs(from).await
    }

    async fn next_input(&self, programs: &[Program]) -> Result<Option<Micros>, StoreError> {
        self.readable()?;
        self.inner.next_input(programs).await
    }

    async fn standing(
        &self,
        stream: &Stream,
        program: &Program,
    ) -> Result<(Option<Standing>, Option<Snapshot>), StoreError> {
        self.readable()?;
        self.inner.standing(stream, program).await
    }

    async fn steps(&self, steps: Vec<Step>) -> Result<Vec<Result<(), StepRefused>>, StoreError> {
        match self.write(Write::Steps(steps)).await? {
            Written::Steps(done) => Ok(done),
            _ => strange(),
        }
    }

    async fn when_due(
        &self,
        from: DueFrom,
        patience: Patience,
    ) -> Result<Option<Vec<DueInput>>, StoreError> {
        while !patience.has_ended() {
            let hint = self.mailbox.hint.notified();
            let due = self.due_inputs(from.clone()).await?;
            if !due.is_empty() {
                return Ok(Some(due));
            }
            tokio::select! {
                biased;
                () = hint => {}
                () = patience.ended() => {}
            }
        }
        Ok(None)
    }

    async fn quarantine(&self, quarantine: Quarantine) -> Result<Aside, StoreError> {
        match self.write(Write::Quarantine(quarantine)).await? {
            Written::Quarantined(done) => Ok(done),
            _ => strange(),
        }
    }

    async fn let_go(&self, owner: &str, streams: &[Stream]) -> Result<(), StoreError> {
        match self.write(Write::LetGo(owner.to_owned(), streams.to_vec())).await? {
            Written::LetGo => Ok(()),
            _ => strange(),
        }
    }

    async fn retry_workflow(&self, stream: &Stream, actor: Actor) -> Result<bool, StoreError> {
        self.inner.retry_workflow(stream, actor).await
    }

    async fn drop_input(
        &self,
        stream: &Stream,
        input: &str,
        actor: Actor,
    ) -> Result<Dropped, StoreError> {
        self.inner.drop_input(stream, input, actor).await
    }

    async fn end_workflow(&self, stream: &Stream, actor: Actor) -> Result<EndedByHand, StoreError> {
        self.inner.end_workflow(stream, actor).await
    }

    async fn keep_inputs(&self, limit: usize, orphans_after: Span) -> Result<Kept, StoreError> {
        self.readable()?;
        // With nothing set aside it only reads.
        if self.inner.look(|rows| rows.inputs.values().all(|input| input.workflow.is_some())) {
            return Ok(Kept::default());
        }
        match self.write(Write::Keep(limit, orphans_after)).await? {
            Written::Kept(kept) => Ok(kept),
            _ => strange(),
        }
    }

    async fn workflows(&self, filter: WorkflowFilter) -> Result<Vec<ListedWorkflow>, StoreError> {
        self.inner.workflows(filter).await
    }

    async fn workflow(&self, stream: &str) -> Result<Option<ListedWorkflow>, StoreError> {
        self.inner.workflow(stream).await
    }

    async fn waiting_inputs(
        &self,
        stream: Option<&str>,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<WaitingInput>, StoreError> {
        self.inner.waiting_inputs(stream, after, limit).await
    }

    async fn issued(
        &self,
        stream: &Stream,
        after: (i64, i64),
        limit: usize,
    ) -> Result<Vec<Issued>, StoreError> {
        self.inner.issued(stream, after, limit).await
    }
}
