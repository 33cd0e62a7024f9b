//! The `Workflows` port on a SQLite file: each method is one member of the commit queue, or one
//! read.
//!
//! Guarantees: every answer is given after COMMIT. Does not: decide; see `workflow`.

use std::sync::Arc;

use counterfoil_core::domain::workflow::Program;
use counterfoil_core::domain::{EventRow, Micros, Span, Stream};
use counterfoil_core::port::store::{Recorded, StoreError};
use counterfoil_core::port::workflow::{
    Aside, Dropped, DueFrom, DueInput, EndedByHand, InputRefused, Issued, Kept, ListedWorkflow,
    NewInput, Quarantine, Snapshot, Standing, Step, StepRefused, Turned, WaitingInput,
    WorkflowFilter,
};
use counterfoil_core::port::{Actor, Patience, Workflows};

use super::SqliteStore;
use crate::act::check_actor;
use crate::read;
use crate::workflow::keep::Keep;
use crate::workflow::quarantine::{SetAside, TakeUp};
use crate::workflow::step::{LetGo, Steps};
use crate::workflow::turn::{Look, Turn};
use crate::workflow::{due, hand, input, list};

impl Workflows for SqliteStore {
    async fn send_inputs(
        &self,
        inputs: Vec<NewInput>,
    ) -> Result<Vec<Result<Recorded, InputRefused>>, StoreError> {
        self.inner.queue.commit(input::Send(inputs)).await
    }

    async fn due_inputs(&self, from: DueFrom) -> Result<Vec<DueInput>, StoreError> {
        let cursor = Arc::clone(&self.inner.inputs);
        self.read(move |store, now| due::due(store, &from, &cursor, now)).await
    }

    async fn next_input(&self, programs: &[Program]) -> Result<Option<Micros>, StoreError> {
        let programs = programs.to_vec();
        self.read(move |store, now| due::next(store, &programs, now)).await
    }

    async fn standing(
        &self,
        stream: &Stream,
        program: &Program,
    ) -> Result<(Option<Standing>, Option<Snapshot>), StoreError> {
        let (of, by) = (stream.clone(), program.clone());
        let found = self.read(move |store, _| due::standing(store, &of, &by)).await?;
        found.map_err(|due::Unreadable| {
            StoreError::Broken(format!("the row of workflow {stream} names no program or status"))
        })
    }

    async fn load_page(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let stream = stream.clone();
        self.read(move |store, _| read::event::load_page(store, &stream, after, limit)).await
    }

    async fn steps(&self, steps: Vec<Step>) -> Result<Vec<Result<(), StepRefused>>, StoreError> {
        self.inner.queue.commit(Steps::new(steps, self.inner.options.body_bytes_max)).await
    }

    async fn turn(&self, steps: Vec<Step>, next: DueFrom) -> Result<Turned, StoreError> {
        let steps = Steps::new(steps, self.inner.options.body_bytes_max);
        let look = Look { from: next, cursor: Arc::clone(&self.inner.inputs), patience: None };
        self.inner.queue.commit(Turn { steps, look }).await
    }

    async fn when_due(
        &self,
        from: DueFrom,
        patience: Patience,
    ) -> Result<Option<Vec<DueInput>>, StoreError> {
        self.listen();
        let cursor = Arc::clone(&self.inner.inputs);
        let look = Look { from, cursor, patience: Some(patience.clone()) };
        self.inner.queue.commit_when_due(look, &patience).await.transpose()
    }

    async fn quarantine(&self, quarantine: Quarantine) -> Result<Aside, StoreError> {
        self.inner.queue.commit(SetAside(quarantine)).await
    }

    async fn let_go(&self, owner: &str, streams: &[Stream]) -> Result<(), StoreError> {
        let (owner, streams) = (owner.to_owned(), streams.to_vec());
        self.inner.queue.commit(LetGo { owner, streams }).await
    }

    async fn retry_workflow(&self, stream: &Stream, actor: Actor) -> Result<bool, StoreError> {
        check_actor(&actor)?;
        self.inner.queue.commit(TakeUp { stream: stream.clone(), actor }).await
    }

    async fn drop_input(
        &self,
        stream: &Stream,
        input: &str,
        actor: Actor,
    ) -> Result<Dropped, StoreError> {
        check_actor(&actor)?;
        let (stream, input) = (stream.clone(), input.to_owned());
        self.inner.queue.commit(hand::Drop { stream, input, actor }).await
    }

    async fn end_workflow(&self, stream: &Stream, actor: Actor) -> Result<EndedByHand, StoreError> {
        check_actor(&actor)?;
        self.inner.queue.commit(hand::End::new(stream.clone(), actor)?).await
    }

    async fn keep_inputs(&self, limit: usize, orphans_after: Span) -> Result<Kept, StoreError> {
        let cursor = Arc::clone(&self.inner.inputs);
        self.inner.queue.commit(Keep { limit, orphans_after, cursor }).await
    }

    async fn workflows(&self, filter: WorkflowFilter) -> Result<Vec<ListedWorkflow>, StoreError> {
        self.read(move |store, _| list::workflows(store, &filter)).await
    }

    async fn workflow(&self, stream: &str) -> Result<Option<ListedWorkflow>, StoreError> {
        let stream = stream.to_owned();
        self.read(move |store, _| list::workflow(store, &stream)).await
    }

    async fn waiting_inputs(
        &self,
        stream: Option<&str>,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<WaitingInput>, StoreError> {
        let stream = stream.map(str::to_owned);
        self.read(move |store, _| list::waiting(store, stream.as_deref(), after, limit)).await
    }

    async fn issued(
        &self,
        stream: &Stream,
        after: (i64, i64),
        limit: usize,
    ) -> Result<Vec<Issued>, StoreError> {
        let stream = stream.clone();
        self.read(move |store, _| list::issued(store, &stream, after, limit)).await
    }
}
