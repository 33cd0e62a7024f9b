//! The `Workflows` port on PostgreSQL: each method is one transaction.
//!
//! Guarantees: every answer is given after COMMIT. Does not: decide; see `workflow`.

use counterfoil_core::domain::workflow::Program;
use counterfoil_core::domain::{EventRow, Micros, Span, Stream};
use counterfoil_core::port::store::{Recorded, StoreError};
use counterfoil_core::port::workflow::{
    Aside, Dropped, DueFrom, DueInput, EndedByHand, InputRefused, Issued, Kept, ListedWorkflow,
    NewInput, Quarantine, Snapshot, Standing, Step, StepRefused, WaitingInput, WorkflowFilter,
};
use counterfoil_core::port::{Actor, Workflows};

use super::{PostgresStore, snapshot};
use crate::act;
use crate::read;
use crate::workflow::input::Send;
use crate::workflow::keep::Keep;
use crate::workflow::quarantine::{LetGo, SetAside, TakeUp};
use crate::workflow::step::Steps;
use crate::workflow::{due, hand, list};

/// One statement that reads.
macro_rules! glance {
    ($store:expr, |$tx:ident| $read:expr) => {{
        let glance = $store.inner.pool.glance().await?;
        let $tx = &glance;
        let read = $read.await;
        $store.done(glance, read).await
    }};
}

impl Workflows for PostgresStore {
    async fn send_inputs(
        &self,
        inputs: Vec<NewInput>,
    ) -> Result<Vec<Result<Recorded, InputRefused>>, StoreError> {
        self.write(Send::new(inputs)).await
    }

    async fn due_inputs(&self, from: DueFrom) -> Result<Vec<DueInput>, StoreError> {
        glance!(self, |tx| due::due(tx, &from, &self.inner.inputs))
    }

    async fn next_input(&self, programs: &[Program]) -> Result<Option<Micros>, StoreError> {
        glance!(self, |tx| due::next(tx, programs))
    }

    async fn standing(
        &self,
        stream: &Stream,
        program: &Program,
    ) -> Result<(Option<Standing>, Option<Snapshot>), StoreError> {
        glance!(self, |tx| due::standing(tx, stream, program))
    }

    async fn load_page(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        snapshot!(self, |tx| read::event::load_page(tx, stream, after, limit))
    }

    async fn steps(&self, steps: Vec<Step>) -> Result<Vec<Result<(), StepRefused>>, StoreError> {
        self.write(Steps::new(&self.inner, steps)).await
    }

    async fn quarantine(&self, quarantine: Quarantine) -> Result<Aside, StoreError> {
        self.write(SetAside { store: &self.inner, quarantine }).await
    }

    async fn let_go(&self, owner: &str, streams: &[Stream]) -> Result<(), StoreError> {
        let streams = streams.iter().map(Stream::as_str).collect();
        self.write(LetGo { owner, streams }).await
    }

    async fn retry_workflow(&self, stream: &Stream, actor: Actor) -> Result<bool, StoreError> {
        act::check(&actor)?;
        self.write(TakeUp { store: &self.inner, stream: stream.clone(), actor }).await
    }

    async fn drop_input(
        &self,
        stream: &Stream,
        input: &str,
        actor: Actor,
    ) -> Result<Dropped, StoreError> {
        act::check(&actor)?;
        let (store, stream, input) = (&*self.inner, stream.clone(), input.to_owned());
        self.write(hand::Drop { store, stream, input, actor }).await
    }

    async fn end_workflow(&self, stream: &Stream, actor: Actor) -> Result<EndedByHand, StoreError> {
        act::check(&actor)?;
        self.write(hand::End::new(&self.inner, stream.clone(), actor)?).await
    }

    async fn keep_inputs(&self, limit: usize, orphans_after: Span) -> Result<Kept, StoreError> {
        self.write(Keep { store: &self.inner, limit, orphans_after }).await
    }

    async fn workflows(&self, filter: WorkflowFilter) -> Result<Vec<ListedWorkflow>, StoreError> {
        glance!(self, |tx| list::workflows(tx, &filter))
    }

    async fn workflow(&self, stream: &str) -> Result<Option<ListedWorkflow>, StoreError> {
        snapshot!(self, |tx| list::workflow(tx, stream))
    }

    async fn waiting_inputs(
        &self,
        stream: Option<&str>,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<WaitingInput>, StoreError> {
        glance!(self, |tx| list::waiting(tx, stream, after.as_ref(), limit))
    }

    async fn issued(
        &self,
        stream: &Stream,
        after: (i64, i64),
        limit: usize,
    ) -> Result<Vec<Issued>, StoreError> {
        glance!(self, |tx| list::issued(tx, stream, after, limit))
    }
}
