//! The port of workflows over the rows in memory.
//!
//! Guarantees: each method is one step. Does not: decide or keep rows; the files beside it do.

use counterfoil_core::domain::workflow::Program;
use counterfoil_core::domain::{Digest, EventRow, Micros, OutboxRow, Span, Stream};
use counterfoil_core::port::store::{Recorded, StoreError};
use counterfoil_core::port::workflow::{
    Aside, Carried, Dropped, DueFrom, DueInput, EndedByHand, InputRefused, Issued, Kept,
    ListedWorkflow, NewInput, Quarantine, Snapshot, Standing, Step, StepRefused, WaitingInput,
    WorkflowFilter,
};
use counterfoil_core::port::{Actor, Patience, Workflows};

use super::rows::{OutboxEntry, Rows, StreamEntry};
use super::{Fault, MemoryStore, StepsFault, locked};

impl Workflows for MemoryStore {
    async fn send_inputs(
        &self,
        inputs: Vec<NewInput>,
    ) -> Result<Vec<Result<Recorded, InputRefused>>, StoreError> {
        self.write(|rows, now| rows.send_inputs(inputs, now))
    }

    async fn due_inputs(&self, from: DueFrom) -> Result<Vec<DueInput>, StoreError> {
        self.read(|rows, now| rows.due_inputs(&from, now))
    }

    async fn next_input(&self, programs: &[Program]) -> Result<Option<Micros>, StoreError> {
        self.read(|rows, _| rows.next_input(programs))
    }

    async fn standing(
        &self,
        stream: &Stream,
        program: &Program,
    ) -> Result<(Option<Standing>, Option<Snapshot>), StoreError> {
        self.read(|rows, _| {
            let at = (stream.to_string(), program.to_string());
            let row = rows.streams.get(stream.as_str()).map(StreamEntry::standing);
            (row, rows.snapshots.get(&at).cloned())
        })
    }

    async fn load_page(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.read(|rows, _| rows.load_page(stream, after, limit))
    }

    async fn steps(&self, steps: Vec<Step>) -> Result<Vec<Result<(), StepRefused>>, StoreError> {
        let max = self.shared.body_bytes_max;
        let fault = locked(&self.shared.steps_faults).pop_front();
        let not_known = || StoreError::NotKnown("scripted".into());
        match fault {
            Some(StepsFault::Hangs) => std::future::pending().await,
            Some(StepsFault::Fails(Fault::Unavailable)) => {
                return Err(StoreError::Unavailable("scripted".into()));
            }
            Some(StepsFault::Fails(Fault::NotKnownLost)) => return Err(not_known()),
            Some(StepsFault::Fails(Fault::NotKnownApplied)) | None => {}
        }
        let done = self.write(|rows, now| {
            let done: Vec<_> = steps.into_iter().map(|step| rows.step(step, max, now)).collect();
            let changed = done.iter().any(Result::is_ok);
            (done, changed)
        })?;
        if fault.is_some() { Err(not_known()) } else { Ok(done) }
    }

    async fn when_due(
        &self,
        from: DueFrom,
        patience: Patience,
    ) -> Result<Option<Vec<DueInput>>, StoreError> {
        let mut commits = self.shared.commits.subscribe();
        while !patience.has_ended() {
            commits.mark_unchanged();
            let due = self.due_inputs(from.clone()).await?;
            if !due.is_empty() {
                return Ok(Some(due));
            }
            tokio::select! {
                biased;
                // The sender lives as long as the store.
                _ = commits.changed() => {}
                () = patience.ended() => {}
            }
        }
        Ok(None)
    }

    async fn quarantine(&self, quarantine: Quarantine) -> Result<Aside, StoreError> {
        self.write(|rows, now| {
            let done = rows.quarantine(quarantine, now);
            (done, done != Aside::Moved)
        })
    }

    async fn let_go(&self, owner: &str, streams: &[Stream]) -> Result<(), StoreError> {
        self.write(|rows, _| ((), rows.let_go(owner, streams)))
    }

    async fn retry_workflow(&self, stream: &Stream, actor: Actor) -> Result<bool, StoreError> {
        self.write(|rows, now| {
            let done = rows.retry_workflow(stream, &actor, now);
            (done, done)
        })
    }

    async fn drop_input(
        &self,
        stream: &Stream,
        input: &str,
        actor: Actor,
    ) -> Result<Dropped, StoreError> {
        self.write(|rows, now| {
            let done = rows.drop_input(stream, input, &actor, now);
            (done, done == Dropped::Done)
        })
    }

    async fn end_workflow(&self, stream: &Stream, actor: Actor) -> Result<EndedByHand, StoreError> {
        self.write(|rows, now| {
            let done = rows.end_workflow(stream, &actor, now);
            let changed = done == Ok(EndedByHand::Done);
            (done, changed)
        })?
    }

    async fn keep_inputs(&self, limit: usize, orphans_after: Span) -> Result<Kept, StoreError> {
        self.write(|rows, now| rows.keep_inputs(limit, orphans_after, now))
    }

    async fn workflows(&self, filter: WorkflowFilter) -> Result<Vec<ListedWorkflow>, StoreError> {
        self.read(|rows, _| rows.workflows(&filter))
    }

    async fn workflow(&self, stream: &str) -> Result<Option<ListedWorkflow>, StoreError> {
        self.read(|rows, _| rows.workflow(stream))
    }

    async fn waiting_inputs(
        &self,
        stream: Option<&str>,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<WaitingInput>, StoreError> {
        self.read(|rows, _| rows.waiting_inputs(stream, after.as_ref(), limit))
    }

    async fn issued(
        &self,
        stream: &Stream,
        after: (i64, i64),
        limit: usize,
    ) -> Result<Vec<Issued>, StoreError> {
        self.read(|rows, _| rows.issued(stream, after, limit))
    }
}

impl Rows {
    fn issued(&self, stream: &Stream, after: (i64, i64), limit: usize) -> Vec<Issued> {
        let open = self.outbox.iter().filter_map(|(n, entry)| self.issued_as(*n, entry, stream));
        let archived = self.archived.iter().filter_map(|(id, tomb)| {
            let (seq, idx) =
                id.strip_prefix(stream.as_str())?.strip_prefix(':')?.split_once(':')?;
            let ordering_key = tomb.ordering_key.clone();
            Some(Issued {
                seq: seq.parse().ok()?,
                idx: idx.parse().ok()?,
                destination: tomb.destination.clone(),
                kind: tomb.kind.clone(),
                ordering_key: ordering_key.and_then(|key| key.try_into().ok()),
                digest: Some(tomb.digest),
                carried: None,
            })
        });
        let mut all: Vec<_> = open.chain(archived).filter(|it| (it.seq, it.idx) > after).collect();
        all.sort_by_key(|it| (it.seq, it.idx));
        all.truncate(limit);
        all
    }

    fn issued_as(&self, n: i64, entry: &OutboxEntry, stream: &Stream) -> Option<Issued> {
        let row: &OutboxRow = entry.row.as_ref().ok()?;
        let is_of = row.stream.as_ref() == Some(stream);
        let kept = || self.receipts_of(n).filter_map(|receipt| receipt.digests).next_back();
        Some(Issued {
            seq: row.seq.filter(|_| is_of)?,
            idx: row.idx?,
            destination: row.destination.to_string(),
            kind: row.kind.to_string(),
            ordering_key: row.ordering_key.clone(),
            digest: match entry.erased_at {
                Some(_) => kept().map(|(digest, _)| digest),
                None => Some(Digest::of(&row.body)),
            },
            carried: entry.erased_at.is_none().then(|| Carried {
                content_type: row.content_type.clone(),
                headers: row.headers.clone(),
                core_digest: row.core_digest.clone(),
                not_before: row.not_before,
                expires_at: row.expires_at,
            }),
        })
    }
}
